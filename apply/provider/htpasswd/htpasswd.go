// Package htpasswd applies resources of the types htpasswd and htgroup: users in password files of web servers, as htpasswd(1) of Apache writes them,
// and groups of such users.
//
// The rules come from the modules leinaddm-htpasswd and citrin-htpasswd. Each line of a user has a comment above it with the name of the
// resource, so that Puppet finds its lines in files of bolt, and the reverse.
package htpasswd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"bolt/apply/resource"
)

// defaultTarget is the file of a resource without a target.
const defaultTarget = "/etc/httpd/conf/htpasswd"

// newMode is the mode of a new file, as in Puppet.
const newMode = 0o600

type passwords struct{}

// Type returns the type htpasswd.
func Type() resource.Type { return passwords{} }

// An item is one resource.
type item struct {
	r          *resource.Resource
	name, user string
	hash       *string // nil if not given
	target     string  // "" for the default
	absent     bool

	path  string // of the file
	found *entry
	stale string // the user of another line under the name of the resource; "" if there is none
}

// New implements resource.Type.
func (passwords) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := itemOf(&f)
	const line = "\r\n\x00"
	switch {
	case x.name == "" || strings.ContainsAny(x.name, line):
		f.RefuseValue("name", "must be one line", x.name)
	case x.user == "" || strings.ContainsAny(x.user, ":"+line) || strings.HasPrefix(x.user, "#") || strings.Trim(x.user, blanks) != x.user:
		f.RefuseValue("username", "must be a user name without colons, and without # and blanks at its ends", x.user)
	case x.hash != nil && (*x.hash == "" || strings.ContainsAny(*x.hash, line) || strings.Trim(*x.hash, blanks) != *x.hash):
		f.Refuse("cryptpasswd", "must be a hash on one line, without blanks at its ends")
	case x.target != "" && !strings.HasPrefix(x.target, "/"):
		f.RefuseValue("target", "must be an absolute path", x.target)
	}
	return x, f.Err
}

func itemOf(f *resource.Fields) *item {
	name := f.Text("name", f.R.Title)
	// A comment does not keep the blanks at the end of a name.
	x := &item{r: f.R, name: strings.TrimRight(name, blanks), target: f.Text("target", ""), absent: f.Text("ensure", "present") == "absent"}
	x.user = f.Text("username", name)
	if f.R.Params.Value("cryptpasswd") != nil {
		hash := f.Text("cryptpasswd", "")
		x.hash = &hash
	}
	return x
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return passwords{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// A place is a user of a file.
type place struct{ path, user string }

// ReadAll implements resource.Reader. Each file is read once.
func (passwords) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	declared := make(map[place][]*resource.Resource)
	for _, r := range h.Declared("Htpasswd") {
		f := resource.Fields{R: r}
		x := itemOf(&f)
		p := place{at(h, x.target, defaultTarget), x.user}
		declared[p] = append(declared[p], r)
	}
	files := make(files)
	errs := make([]error, len(items))
	for i, it := range items {
		x := it.(*item)
		x.path = at(h, x.target, defaultTarget)
		for _, r := range declared[place{x.path, x.user}] {
			if r.Ref != x.r.Ref {
				errs[i] = fmt.Errorf("%s is about the same user of the file %s", r.Ref, x.path)
			}
		}
		if errs[i] == nil {
			errs[i] = x.read(ctx, files)
		}
	}
	return errs
}

func (x *item) read(ctx context.Context, files files) error {
	x.found, x.stale = nil, ""
	f := files.open(ctx, x.path)
	if f.err != nil {
		return f.err
	}
	if i := f.table.find(x.user, x.name); i >= 0 {
		x.found = &f.table[i]
	}
	for _, e := range f.table {
		if e.name == x.name && e.user != x.user {
			x.stale = e.user
		}
	}
	return nil
}

// Plan implements resource.Item.
func (x *item) Plan() (changes []resource.Change, err error) {
	if x.found == nil || x.absent {
		return resource.Ensure("htpasswd", x.found != nil, x.absent), nil
	}
	if is := cmp.Or(x.stale, x.found.user); is != x.user {
		changes = append(changes, resource.Change{Property: "username", Is: is, Should: x.user})
	}
	if x.hash != nil && x.found.hash != *x.hash {
		changes = append(changes, resource.Change{Property: "cryptpasswd", Is: "[old hash redacted]", Should: "[new hash redacted]", Message: "cryptpasswd changed"})
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return doAll(ctx, h, []resource.Work{{Item: x, Changes: []resource.Change{*c}}})[0]
}

// DoAll implements resource.Doer. Any change of an item makes all of its changes.
func (passwords) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	return doAll(ctx, h, works)
}

func (x *item) where() string { return x.path }

// change makes the line of the resource as it must be, or removes it.
func (x *item) change(f *file) error {
	if x.absent {
		f.table = f.table.remove(x.user, x.name)
		return nil
	}
	hash := x.hash
	if hash == nil && x.found != nil {
		hash = &x.found.hash // another resource can have removed its line
	}
	if hash == nil {
		return errors.New("a new user needs the parameter cryptpasswd")
	}
	f.table = f.table.set(entry{mark: marker + x.name, name: x.name, line: x.user + ":" + *hash, user: x.user, hash: *hash})
	return nil
}

// Watch implements resource.Watcher.
func (x *item) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return resource.Paths(at(h, x.target, defaultTarget))
}
