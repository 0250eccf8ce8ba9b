// Package yumrepo applies resources of the type yumrepo: the package repositories of yum and dnf.
//
// The rules are those of the module yumrepo_core. Lines that the resource is not about stay as they are. If a
// file that must be changed has a line that is not understood, the resource fails and the file stays as it is.
package yumrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/catalog/types"
)

// Type returns the type yumrepo.
func Type() resource.Type { return repoType{} }

type repoType struct{}

const (
	mainConfig  = "/etc/yum.conf"
	mainSection = "main"
)

// defaultDirs are the directories for files of repositories, if the main configuration names no others.
var defaultDirs = []string{"/etc/yum.repos.d", "/etc/yum/repos.d"}

// properties are all of the type, in the order in which Puppet writes them.
var properties = strings.Fields("descr mirrorlist baseurl enabled gpgcheck payload_gpgcheck repo_gpgcheck gpgkey mirrorlist_expire include " +
	"exclude gpgcakey includepkgs enablegroups module_hotfixes failovermethod keepalive retries http_caching " +
	"timeout metadata_expire protect priority minrate throttle bandwidth cost proxy proxy_username proxy_password " +
	"s3_enabled sslcacert sslverify sslclientcert sslclientkey metalink skip_if_unavailable assumeyes " +
	"deltarpm_percentage deltarpm_metadata_percentage username password")

// booleans are the properties whose values are capitalized, as in Puppet: true becomes True.
var booleans = strings.Fields("enabled gpgcheck payload_gpgcheck repo_gpgcheck enablegroups keepalive protect s3_enabled skip_if_unavailable sslverify assumeyes module_hotfixes")

// secrets are the properties that are never shown.
var secrets = []string{"password", "proxy_password"}

// A setting is the wanted value of a property.
type setting struct {
	property, key string
	value         string // absent for a key that must not be there
}

// An item is one repository.
type item struct {
	r      *resource.Resource
	name   string
	absent bool
	target string // "" for the default
	want   []setting

	files []*file  // Read: those that can have repositories
	found []*file  // that have the repository
	place string   // the file for the repository
	dirs  []string // that exist
}

const absent = "absent"

// New implements resource.Type.
func (repoType) New(r *resource.Resource) (resource.Item, error) {
	for _, e := range types.CheckForms(&catalog.Resource{Ref: r.Ref, Params: r.Params, Sensitive: r.Secrets}) {
		return nil, &resource.ParamError{Param: e.Param, Problem: e.Problem}
	}
	f := resource.Fields{R: r}
	x := &item{r: r, name: f.Text("name", r.Title), absent: f.Text("ensure", "present") == absent, target: f.Text("target", "")}
	if x.target == absent {
		x.target = ""
	}
	if strings.ContainsAny(x.name, "]\r\n") || x.name == "" || x.name == mainSection {
		f.Refuse("name", "must be one line without ], and not main")
	}
	if strings.ContainsAny(x.target, "\r\n") {
		f.Refuse("target", "must be one line")
	}
	for _, property := range properties {
		value, given, err := r.Text(property)
		if !given {
			continue
		}
		if err != nil {
			return nil, err
		}
		if text := strings.ReplaceAll(strings.ReplaceAll(value, "\n ", ""), "\n\t", ""); strings.ContainsAny(text, "\r\n") {
			f.Refuse(property, "must be one line, or further lines that begin with a space")
		}
		if slices.Contains(booleans, property) && value != absent {
			value = strings.ToUpper(value[:1]) + strings.ToLower(value[1:])
		}
		s := setting{property: property, key: property, value: value}
		if property == "descr" {
			s.key = "name"
		}
		x.want = append(x.want, s)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	x.found = nil
	config, err := open(ctx, h, mainConfig)
	if err != nil {
		return err
	}
	x.files = []*file{config}
	if x.dirs, err = directories(h, config); err != nil {
		return err
	}
	for _, dir := range x.dirs {
		names, err := filepath.Glob(h.Path(dir) + "/*.repo")
		if err != nil {
			return err
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
				continue
			}
			f, err := open(ctx, h, path.Join(dir, filepath.Base(name)))
			if err != nil {
				return err
			}
			x.files = append(x.files, f)
		}
	}
	for _, f := range x.files {
		for _, s := range f.sections {
			if s.name == x.name {
				x.found = append(x.found, f)
			}
		}
	}
	x.place = x.path()
	if len(x.found) > 1 && !x.absent {
		return fmt.Errorf("the repository is defined twice: in %s and in %s", x.found[0].path, x.found[1].path)
	}
	return nil
}

// directories returns the directories for files of repositories that exist.
func directories(h *resource.Host, config *file) (list []string, err error) {
	dirs := defaultDirs
	if main := config.find(mainSection); main != nil {
		if text := main.value("reposdir"); text != absent {
			dirs = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
		}
	}
	for _, dir := range dirs {
		info, err := os.Stat(h.Path(dir))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.IsDir():
			list = append(list, dir)
		}
	}
	return list, nil
}

// path returns the file in which the repository must be.
func (x *item) path() string {
	if len(x.dirs) == 0 {
		return mainConfig
	}
	last := x.dirs[len(x.dirs)-1]
	if x.target == "" {
		return path.Join(last, x.name+".repo")
	}
	name := path.Base(x.target)
	if !strings.HasSuffix(name, ".repo") {
		name += ".repo"
	}
	if dir := path.Dir(x.target); slices.Contains(x.dirs, dir) {
		return path.Join(dir, name)
	}
	return path.Join(last, name)
}

// is returns the repository, nil if it must be made or moved to another file.
func (x *item) is() *section {
	if len(x.found) == 0 || x.target != "" && x.found[0].path != x.place {
		return nil
	}
	return x.found[0].find(x.name)
}

// Plan implements resource.Item.
func (x *item) Plan() (changes []resource.Change, err error) {
	is := x.is()
	switch {
	case x.absent && len(x.found) > 0:
		return []resource.Change{{Property: "ensure", Name: "yumrepo_removed", Is: "present", Should: absent}}, nil
	case x.absent:
		return nil, nil
	case len(x.found) == 0 && x.target == "" && x.place != mainConfig && strings.Contains(x.name, "/"):
		return nil, errors.New("the name has a slash, so it cannot be the name of a new file. Set target")
	case is == nil:
		return []resource.Change{{Property: "ensure", Name: "yumrepo_created", Is: absent, Should: "present"}}, nil
	}
	for _, s := range x.want {
		value := is.value(s.key)
		if value == s.value {
			continue
		}
		c := resource.Change{Property: s.property, Is: value, Should: s.value}
		if slices.Contains(secrets, s.property) {
			c.Is, c.Should = report.Redacted, report.Redacted
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	if err := x.Read(ctx, h); err != nil { // other resources can have changed the files
		return err
	}
	switch {
	case c.Property == "ensure" && x.absent:
		for _, f := range x.found {
			f.remove(x.name)
			if err := f.write(h); err != nil {
				return err
			}
		}
		return nil
	case c.Property == "ensure":
		return x.create(ctx, h)
	case len(x.found) == 0:
		return errors.New("the repository has disappeared since it was read")
	}
	is := x.found[0].find(x.name)
	for _, s := range x.want {
		if s.property == c.Property {
			is.set(s.key, s.value)
		}
	}
	return x.found[0].write(h)
}

// create makes the repository, or moves it from another file.
func (x *item) create(ctx context.Context, h *resource.Host) error {
	to, err := open(ctx, h, x.place)
	if err != nil {
		return err
	}
	for _, f := range x.found {
		if err := f.whole(); err != nil {
			return err
		}
	}
	s := to.add(x.name)
	for _, f := range x.found {
		s.lines = append(s.lines, f.find(x.name).body()...)
	}
	for _, w := range x.want {
		s.set(w.key, w.value)
	}
	if err := to.write(h); err != nil {
		return err
	}
	for _, f := range x.found {
		f.remove(x.name)
		if err := f.write(h); err != nil {
			return err
		}
	}
	return nil
}

// write replaces the file. A file without repositories is removed, except the main configuration.
func (f *file) write(h *resource.Host) error {
	if err := f.whole(); err != nil {
		return err
	}
	at := h.Path(f.path)
	if f.exists {
		if err := h.Backup(at); err != nil {
			return err
		}
	}
	if len(f.sections) == 0 && f.path != mainConfig {
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := textfile.Write(at, f.String(), 0o644); err != nil {
		return err
	}
	return os.Chmod(at, 0o644)
}

// Watch implements resource.Watcher.
func (x *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	list := []resource.Watch{{Poll: true}} // reposdir of the configuration can name other directories
	for _, dir := range defaultDirs {
		list = append(list, resource.Watch{Path: h.Path(dir), Tree: true})
	}
	return list
}
