package htpasswd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"bolt/apply/resource"
)

// groupTarget is the file of a group without a target.
const groupTarget = "/etc/httpd/conf/htgroup"

type groups struct{}

// Group returns the type htgroup.
func Group() resource.Type { return groups{} }

// A group is a htgroup.
type group struct {
	name   string
	users  []string // sorted; nil if not given
	target string   // "" for the default
	absent bool

	path  string // of the file
	found bool
	is    []string // sorted
}

// New implements resource.Type.
func (groups) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &group{name: f.Text("name", r.Title), users: f.Texts("users"), target: f.Text("target", ""), absent: f.Text("ensure", "present") == "absent"}
	switch {
	case x.name == "" || strings.ContainsAny(x.name, ":\r\n\x00") || strings.HasPrefix(x.name, "#") || strings.Trim(x.name, blanks) != x.name:
		f.RefuseValue("name", "must be a group without colons, and without # and blanks at its ends", x.name)
	case x.target != "" && !strings.HasPrefix(x.target, "/"):
		f.RefuseValue("target", "must be an absolute path", x.target)
	}
	for _, u := range x.users {
		if u == "" || strings.ContainsAny(u, blanks+"\n\x00") {
			f.RefuseValue("users", "must be names without blanks", u)
		}
	}
	x.users = sorted(x.users)
	return x, f.Err
}

func sorted(users []string) []string {
	list := slices.Clone(users)
	slices.Sort(list)
	return slices.Compact(list)
}

// Read implements resource.Item.
func (x *group) Read(ctx context.Context, h *resource.Host) error {
	return groups{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. Each file is read once. If a group has several lines, all of them count, as for Apache.
func (groups) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	files := make(files)
	errs := make([]error, len(items))
	for i, it := range items {
		x := it.(*group)
		x.path = at(h, x.target, groupTarget)
		f := files.open(ctx, x.path)
		errs[i] = f.err
		x.is, x.found = f.table.usersOf(x.name)
	}
	return errs
}

// usersOf returns the sorted users of a group, and whether the group has a line.
func (t table) usersOf(group string) (users []string, found bool) {
	for _, e := range t {
		if e.user == group {
			users, found = append(users, strings.FieldsFunc(e.hash, func(r rune) bool { return strings.ContainsRune(blanks, r) })...), true
		}
	}
	return sorted(users), found
}

// Plan implements resource.Item.
func (x *group) Plan() ([]resource.Change, error) {
	if !x.found || x.absent {
		return resource.Ensure("htgroup", x.found, x.absent), nil
	}
	if x.users == nil || slices.Equal(x.is, x.users) {
		return nil, nil
	}
	return []resource.Change{{Property: "users", Is: strings.Join(x.is, " "), Should: strings.Join(x.users, " ")}}, nil
}

// Do implements resource.Item.
func (x *group) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return doAll(ctx, h, []resource.Work{{Item: x, Changes: []resource.Change{*c}}})[0]
}

// DoAll implements resource.Doer.
func (groups) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	return doAll(ctx, h, works)
}

func (x *group) where() string { return x.path }

func (x *group) change(f *file) error {
	switch {
	case x.absent:
		f.table = f.table.remove(x.name, "")
		return nil
	case x.users == nil:
		return errors.New("a new group needs the parameter users")
	}
	users := strings.Join(x.users, " ")
	wanted := entry{line: x.name + ":" + users, user: x.name, hash: users}
	if at := f.table.find(x.name, ""); at >= 0 {
		wanted.mark = f.table[at].mark // a comment of another type
	}
	f.table = f.table.set(wanted)
	return nil
}

// Watch implements resource.Watcher.
func (x *group) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return resource.Paths(at(h, x.target, groupTarget))
}
