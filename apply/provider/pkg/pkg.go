// Package pkg applies packages with the package managers of the system (apt, dpkg, dnf, yum, rpm, zypper, apk,
// pacman) and of languages (pip, gem, npm).
//
// The states of all packages that can be applied come from one query of each manager, and the candidates of
// packages that are to be latest from another one. Packages that need the same kind of change with the same options
// are changed in one transaction. If it fails, a new query finds the packages that are as
// wanted all the same, and the others are tried again in halves, down to one by one: a name that does not exist
// fails its own resource only.
//
// A transaction runs in a session of its own and is never interrupted. If another program holds the lock of
// the package database, managers that can wait do so for lockWait.
package pkg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

// Type is the type package.
func Type() resource.Type { return packages{} }

type packages struct{}

// A wish is the kind of the wanted state.
type wish int

const (
	present wish = iota
	latest
	version
	absent
	purged
)

// An item is one package.
type item struct {
	r    *resource.Resource
	name string
	wish wish
	// version is the wanted version or range of versions.
	version string
	mark    string // "", "hold" or "none"
	// provider is the parameter; "" stands for the manager of the platform.
	provider string
	// command is the program of the manager; "" stands for the first one in the PATH.
	command            string
	source, response   string
	install, uninstall []string // options
	replace            bool     // configuration files
	cdrom, only        bool     // allowcdrom, install_only
	virtual            bool     // names of virtual packages are allowed, if hasVirtual
	hasVirtual         bool

	m  *manager
	is state
	// candidate is the version that latest means, once it is known.
	candidate string
	// pick is the version in the range that is installed.
	pick string
	err  error // of the query for this package
}

// A state is the state of a package, as a query returns it.
type state struct {
	name     string   // of the package that provides a virtual one; "" is the item's
	versions []string // that are installed; most managers have one at most
	partial  bool     // it is neither installed nor removed: a script failed
	torn     bool     // it is partial, because dpkg was killed while it unpacked the package
	leftover bool     // it is not installed, and its configuration is still there
	held     bool
}

func (s *state) installed() bool { return len(s.versions) > 0 }

// String is the state for people, in Puppet's words.
func (s *state) String() string {
	switch {
	case s.installed():
		return strings.Join(s.versions, "; ")
	case s.leftover || s.partial:
		return "absent"
	}
	return "purged"
}

// shown is the state for people. As in Puppet, a manager that does not purge has no state purged.
func (it *item) shown() string {
	s := it.is.String()
	if s == "purged" && !it.m.purges {
		return "absent"
	}
	return s
}

// New implements resource.Type.
func (packages) New(r *resource.Resource) (resource.Item, error) {
	it := &item{r: r}
	if err := it.read(); err != nil {
		return nil, err
	}
	return it, nil
}

// arguments are the parameters that become arguments of programs, which every user of the machine can see.
var arguments = []string{"name", "ensure", "source", "install_options", "uninstall_options"}

func (it *item) read() (err error) {
	for _, p := range arguments {
		if it.r.Secret(p) {
			return &resource.ParamError{Param: p, Problem: "must not be Sensitive: it becomes an argument of a program, and every user of the machine can see arguments"}
		}
	}
	texts := make(map[string]string)
	for _, p := range []string{"name", "ensure", "mark", "provider", "command", "source", "responsefile", "configfiles"} {
		if texts[p], _, err = it.r.Text(p); err != nil {
			return err
		}
	}
	it.name, it.mark, it.provider, it.source, it.response = texts["name"], texts["mark"], texts["provider"], texts["source"], texts["responsefile"]
	it.replace = texts["configfiles"] == "replace"
	if it.name == "" {
		it.name = it.r.Title
	}
	if c := texts["command"]; c != "default" {
		it.command = c
	}
	for _, p := range []string{"name", "source"} {
		text := it.source
		if p == "name" {
			text = it.name
		}
		if strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\n\x00") {
			return &resource.ParamError{Param: p, Problem: fmt.Sprintf("must not begin with - or have the end of a line in it, and is %q", text)}
		}
	}
	for p, b := range map[string]*bool{"allowcdrom": &it.cdrom, "install_only": &it.only, "allow_virtual": &it.virtual} {
		if *b, err = it.r.Bool(p, false); err != nil {
			return err
		}
	}
	_, it.hasVirtual = it.r.Params.Get("allow_virtual")
	if it.install, err = it.options("install_options"); err != nil {
		return err
	}
	if it.uninstall, err = it.options("uninstall_options"); err != nil {
		return err
	}
	if err := it.wanted(texts["ensure"]); err != nil {
		return err
	}
	if it.provider == "" {
		return nil
	}
	m := managers()[it.provider]
	if m == nil {
		return &resource.ParamError{Param: "provider", Problem: fmt.Sprintf("is %q: bolt has %s", it.provider, strings.Join(managerNames(), ", "))}
	}
	return it.allowed(m, true)
}

// wanted reads the parameter ensure.
func (it *item) wanted(ensure string) error {
	switch ensure {
	case "", "present", "installed":
		it.wish = present
	case "held":
		it.wish, it.mark = present, "hold"
	case "latest":
		it.wish = latest
	case "absent", "purged":
		it.wish = absent
		if ensure == "purged" {
			it.wish = purged
		}
		if it.mark != "" {
			return &resource.ParamError{Param: "mark", Problem: fmt.Sprintf("has no meaning with ensure => %s", ensure)}
		}
	case "disabled":
		return &resource.ParamError{Param: "ensure", Problem: "is disabled, which is for modules of dnf: bolt cannot apply them"}
	default:
		if strings.HasPrefix(ensure, "-") || strings.ContainsAny(ensure, "\n\x00") {
			return &resource.ParamError{Param: "ensure", Problem: "must be a state or a version" + it.r.Shown("ensure", ensure)}
		}
		it.wish, it.version = version, ensure
	}
	return nil
}

// allowed returns an error if the manager does not have a feature that the resource needs. param is set if the
// provider is a parameter, so that this is a mistake in the catalog.
func (it *item) allowed(m *manager, param bool) error {
	problem := ""
	switch {
	case it.wish == version && !m.versions:
		problem = fmt.Sprintf("is %q, and %s cannot install a certain version", it.version, m.name)
	case it.wish == purged && !m.purges:
		problem = fmt.Sprintf("is purged, and %s does not distinguish this from absent", m.name)
	default:
		return nil
	}
	if param {
		return &resource.ParamError{Param: "ensure", Problem: problem}
	}
	return fmt.Errorf("ensure %s", problem)
}

// options reads a list of strings, and of hashes that stand for NAME=VALUE.
//
// Differs from Puppet: a value with a space is not put in quotes, which would get into the option.
func (it *item) options(param string) (list []string, err error) {
	v, given := it.r.Params.Get(param)
	if !given {
		return nil, nil
	}
	values, is := v.([]any)
	if !is {
		values = []any{v}
	}
	bad := &resource.ParamError{Param: param, Problem: "must be a list of strings and of hashes of strings"}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case *ordered.Map:
			var pairs []string
			for name, value := range v.All() {
				text, is := value.(string)
				if !is {
					return nil, bad
				}
				pairs = append(pairs, name+"="+text)
			}
			slices.Sort(pairs)
			list = append(list, pairs...)
		default:
			return nil, bad
		}
	}
	return list, nil
}

// real is the name of the package that is changed.
func (it *item) real() string {
	if it.is.name != "" {
		return it.is.name
	}
	return it.name
}

// Read implements resource.Item.
func (it *item) Read(ctx context.Context, h *resource.Host) error {
	return readAll(ctx, h, []*item{it})[0]
}

// Plan implements resource.Item.
func (it *item) Plan() ([]resource.Change, error) {
	if err := it.allowed(it.m, false); err != nil {
		return nil, err
	}
	if !it.inSync() {
		return []resource.Change{it.change()}, nil
	}
	if it.mark != "" && it.m.hold != nil && it.is.installed() && it.is.held != (it.mark == "hold") {
		is := "none"
		if it.is.held {
			is = "hold"
		}
		return []resource.Change{{Property: "mark", Is: is, Should: it.mark}}, nil
	}
	return nil, nil
}

func (it *item) change() resource.Change {
	c := resource.Change{Property: "ensure", Name: "package_changed", Is: it.shown()}
	switch it.wish {
	case absent:
		c.Name, c.Should = "package_removed", "absent"
	case purged:
		c.Name, c.Should = "package_purged", "purged"
	case present:
		c.Should = "present"
	case latest:
		c.Should = "latest"
		if it.candidate != "" {
			c.Should = it.candidate
		}
	case version:
		c.Should = it.version
	}
	if it.wish <= version && !it.is.installed() {
		c.Name = "package_installed"
	}
	return c
}

// inSync compares ensure.
func (it *item) inSync() bool {
	switch it.wish {
	case present:
		return it.is.installed()
	case latest:
		return it.is.installed() && (it.candidate == "" || slices.Contains(it.is.versions, it.candidate))
	case absent:
		return !it.is.installed()
	case purged:
		return !it.is.installed() && !it.is.leftover && !it.is.partial
	}
	if len(it.is.versions) > 1 && !it.only && !it.m.several {
		return false
	}
	return slices.ContainsFunc(it.is.versions, it.satisfies)
}

// satisfies reports whether a version is the wanted one, or in the wanted range.
func (it *item) satisfies(v string) bool {
	if v == it.version {
		return true
	}
	if it.m.compare == nil {
		return false
	}
	if terms := parseRange(it.version); terms != nil {
		return terms.include(v, it.m.compare)
	}
	return it.m.against(it.version, v) == 0
}

// Do implements resource.Item.
func (it *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return doAll(ctx, h, []resource.Work{{Item: it, Changes: []resource.Change{*c}}})[0]
}

// Refresh implements resource.Refresher: as in Puppet, none of these managers reinstalls a package, and the refresh
// counts as carried out.
func (it *item) Refresh(context.Context, *resource.Host, []resource.Change) error { return nil }

// Watch implements resource.Watcher. Each manager of a distribution replaces files of its database. The versions that can be installed
// change in other ways, and the packages of languages have no database.
func (x *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	var list []resource.Watch
	if x.wish == latest || x.provider != "" {
		list = append(list, resource.Watch{Poll: true})
	}
	for _, path := range databases {
		list = append(list, resource.Watch{Path: h.Path(path), Tree: true})
	}
	return list
}

// databases are the package databases of dpkg, rpm (two places), apk and pacman.
var databases = []string{"/var/lib/dpkg/status", "/var/lib/rpm", "/usr/lib/sysimage/rpm", "/lib/apk/db", "/var/lib/pacman/local"}
