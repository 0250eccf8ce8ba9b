// Package systemd applies resources of two types of the module systemd. loginctl_user makes the services of a user run
// without a login. systemd_purge_units removes unit files that Puppet wrote earlier.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/safepath"
	"bolt/apply/provider/tool"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// limit ends a loginctl that hangs.
const limit = time.Minute

// User returns the type loginctl_user.
func User() resource.Type { return userType{} }

type userType struct{}

// A user is the setting of one user.
type user struct {
	name    string
	lingers bool // as wanted
	is      bool
}

// New implements resource.Type.
func (userType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &user{name: f.Text("name", r.Title), lingers: f.Text("linger", "disabled") == "enabled"}
	if x.name == "" || strings.HasPrefix(x.name, "-") || x.name == "." || x.name == ".." || strings.ContainsAny(x.name, "/ \t\r\n") {
		f.RefuseValue("name", "must be the name of a user", x.name)
	}
	return x, f.Err
}

// Read implements resource.Item. logind keeps the setting as a file, also if the user is not logged in.
func (x *user) Read(_ context.Context, h *resource.Host) error {
	_, err := os.Lstat(h.Path("/var/lib/systemd/linger/" + x.name))
	x.is = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Watch implements resource.Watcher.
func (x *user) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return resource.Paths(h.Path("/var/lib/systemd/linger/" + x.name))
}

// Plan implements resource.Item.
func (x *user) Plan() ([]resource.Change, error) {
	if x.is == x.lingers {
		return nil, nil
	}
	return []resource.Change{{Property: "linger", Is: word(x.is), Should: word(x.lingers)}}, nil
}

func word(lingers bool) string {
	if lingers {
		return "enabled"
	}
	return "disabled"
}

// Do implements resource.Item.
func (x *user) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	command := "disable-linger"
	if x.lingers {
		command = "enable-linger"
	}
	loginctl := &tool.Tool{Name: "loginctl", Hint: "It is part of systemd", Limit: limit}
	return loginctl.Change(ctx, h, command, x.name)
}

// Purge returns the type systemd_purge_units.
func Purge() resource.Type { return purgeType{} }

type purgeType struct{}

// A purge is one directory with unit files.
type purge struct {
	r       *resource.Resource
	dir     string
	manages bool // ensure is purged; otherwise nothing is removed
	kinds   []string
	found   int // files to remove
}

// kinds are the kinds of units that the define systemd::manage_unit writes.
var kinds = strings.Fields("automount mount path service slice socket swap timer")

// New implements resource.Type.
func (purgeType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &purge{r: r, dir: f.Text("path", r.Title), kinds: f.Texts("unit_types"), manages: f.Text("ensure", "purged") == "purged"}
	if !filepath.IsAbs(x.dir) {
		f.RefuseValue("path", "must be an absolute path", x.dir)
	}
	if r.Params.Value("unit_types") == nil {
		x.kinds = kinds
	}
	for _, kind := range x.kinds {
		if !slices.Contains(kinds, kind) {
			f.RefuseValue("unit_types", "must be from "+strings.Join(kinds, ", "), kind)
		}
	}
	return x, f.Err
}

// header begins the first line of the unit files that the module writes.
const header = "# Deployed with puppet"

// Generate returns the unit files to remove.
func (x *purge) Generate(_ context.Context, h *resource.Host) ([]*resource.Resource, error) {
	x.found = 0
	if !x.manages {
		return nil, nil
	}
	dir, err := safepath.Open(x.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var entries []os.DirEntry
	if err == nil {
		defer dir.Close()
		entries, err = os.ReadDir(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			h.Logf(x.r.Ref, report.Warning, "%s is not a directory, so nothing is purged", x.dir)
			return nil, nil
		}
		return nil, err
	}
	declared, err := declaredIn(dir, h)
	if err != nil {
		return nil, err
	}
	var list []*resource.Resource
	for _, e := range entries {
		file := filepath.Join(x.dir, e.Name())
		if !e.Type().IsRegular() || declared[e.Name()] || !slices.Contains(x.kinds, strings.TrimPrefix(filepath.Ext(file), ".")) {
			continue
		}
		is, err := written(dir, e.Name())
		if err != nil {
			return nil, err
		}
		if is {
			list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "File", Title: file}, Params: x.params(), Tags: x.r.Tags})
		}
	}
	x.found = len(list)
	return list, nil
}

// declaredIn returns the names of the files in a directory that the catalog has. It compares directories by their inodes, because a
// directory can have several paths: /lib can be a link to /usr/lib.
func declaredIn(dir *os.File, h *resource.Host) (map[string]bool, error) {
	this, err := dir.Stat()
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	same := make(map[string]bool) // by path of the directory
	for _, r := range h.Declared("File") {
		name, given := r.Params.Value("path").(string)
		if !given {
			name = r.Title
		}
		above, base := filepath.Split(filepath.Clean(name))
		is, known := same[above]
		if !known {
			info, err := os.Stat(above)
			is = err == nil && os.SameFile(info, this)
			same[above] = is
		}
		if is {
			names[base] = true
		}
	}
	return names, nil
}

// params are the parameters of a file to remove: with the metaparameters of the resource.
func (x *purge) params() *ordered.Map {
	params := ordered.Of("ensure", "absent")
	for _, name := range []string{"noop", "schedule", "loglevel", "tag", "notify", "before"} {
		if v := x.r.Params.Value(name); v != nil {
			params.Set(name, v)
		}
	}
	return params
}

// written reports whether the module has written a file.
func written(dir *os.File, name string) (bool, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ELOOP { // it has changed meanwhile
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	begin := make([]byte, len(header))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == header, nil
}

// Read implements resource.Item. Generate has read the directory.
func (x *purge) Read(context.Context, *resource.Host) error { return nil }

// Watch implements resource.Watcher.
func (x *purge) Watch(context.Context, *resource.Host) []resource.Watch {
	if !x.manages {
		return nil
	}
	return []resource.Watch{{Path: x.dir, Tree: true}}
}

// Plan implements resource.Item.
func (x *purge) Plan() ([]resource.Change, error) {
	if x.found == 0 {
		return nil, nil
	}
	return []resource.Change{{Property: "ensure", Name: "systemd_purge_units_changed", Is: "purgable", Should: "purged"}}, nil
}

// Do implements resource.Item. The files are removed as resources of their own.
func (x *purge) Do(context.Context, *resource.Host, *resource.Change) error { return nil }
