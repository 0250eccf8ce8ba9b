package rabbitmq

import (
	"context"
	"strings"

	"bolt/apply/resource"
)

type permissionsType struct{}

// Permissions returns the type rabbitmq_user_permissions.
func Permissions() resource.Type { return permissionsType{} }

// nothing is the pattern of a permission that is not given for a new user of a virtual host. It matches no name.
const nothing = "^$"

// permissions is a rabbitmq_user_permissions.
type permissions struct {
	r                      *resource.Resource
	user, vhost            string
	configure, write, read *string // nil if not given
	absent                 bool

	is   *permissionsRow // nil for none
	done bool            // Do has set the permissions
}

type permissionsRow struct{ User, Configure, Write, Read string }

// New implements resource.Type.
func (permissionsType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	name := word(&f)
	x := &permissions{r: r, configure: optional(&f, "configure_permission"), write: optional(&f, "write_permission"), read: optional(&f, "read_permission"),
		absent: f.Text("ensure", "present") == "absent"}
	x.user, x.vhost, _ = strings.Cut(name, "@")
	if x.user == "" || x.vhost == "" || strings.HasPrefix(x.vhost, "-") {
		f.RefuseValue("name", "must be user@vhost", name)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *permissions) Read(ctx context.Context, h *resource.Host) error {
	return permissionsType{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. There is one query for each virtual host. A virtual host that does not exist has no permissions.
func (permissionsType) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return byVhost(items, func(i resource.Item) string { return i.(*permissions).vhost }, func(vhost string) ([]permissionsRow, error) {
		return list[permissionsRow](ctx, h, items[0].(*permissions).r, "list_permissions", "-p", vhost)
	}, func(i resource.Item, rows []permissionsRow) {
		x := i.(*permissions)
		x.is, x.done = nil, false
		for _, row := range rows {
			if row.User == x.user {
				x.is = &row
			}
		}
	})
}

// byVhost reads the rows of each virtual host once and gives them to the items.
func byVhost[T any](items []resource.Item, of func(resource.Item) string, read func(string) ([]T, error), set func(resource.Item, []T)) []error {
	type answer struct {
		rows []T
		err  error
	}
	answers := make(map[string]answer)
	errs := make([]error, len(items))
	for i, item := range items {
		a, known := answers[of(item)]
		if !known {
			a.rows, a.err = read(of(item))
			answers[of(item)] = a
		}
		errs[i] = a.err
		set(item, a.rows)
	}
	return errs
}

// Plan implements resource.Item.
func (x *permissions) Plan() ([]resource.Change, error) {
	changes, compare := existence("rabbitmq_user_permissions", x.absent, x.is != nil)
	if !compare {
		return changes, nil
	}
	for _, p := range []struct {
		property string
		want     *string
		is       string
	}{{"configure_permission", x.configure, x.is.Configure}, {"read_permission", x.read, x.is.Read}, {"write_permission", x.write, x.is.Write}} {
		if p.want != nil && *p.want != p.is {
			changes = append(changes, resource.Change{Property: p.property, Is: p.is, Should: *p.want})
		}
	}
	return changes, nil
}

// Do implements resource.Item. One command sets all permissions.
func (x *permissions) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	switch {
	case x.absent:
		return change(ctx, h, "", "clear_permissions", "-p", x.vhost, x.user)
	case x.done:
		return nil
	}
	is := permissionsRow{Configure: nothing, Write: nothing, Read: nothing}
	if x.is != nil {
		is = *x.is
	}
	or := func(want *string, is string) string {
		if want != nil {
			return *want
		}
		return is
	}
	err := change(ctx, h, "", "set_permissions", "-p", x.vhost, x.user, or(x.configure, is.Configure), or(x.write, is.Write), or(x.read, is.Read))
	x.done = err == nil
	return err
}
