package account

import (
	"context"
	"slices"
	"strconv"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// shown are the properties of a user that Show returns, in Puppet's order. The hash of the password is not one of
// them.
var shown = []string{"comment", "expiry", "gid", "groups", "home", "password_max_age", "password_min_age", "password_warn_days", "shell", "uid"}

// Show implements resource.Shower. Users of directories such as LDAP are shown by name only.
func (users) Show(ctx context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	db, err := load(ctx, h, wanted(name), nil)
	if err != nil {
		return nil, err
	}
	for _, n := range names(db.users, name) {
		params := ordered.Of("ensure", "absent")
		if is := db.users[n]; is != nil {
			params.Set("ensure", "present")
			u := &user{name: n, db: db}
			for _, p := range shown {
				switch text := u.current(is, p); {
				case p == "groups":
					if groups := db.groupsOf(n); groups != nil {
						params.Set(p, ordered.Strings(groups))
					}
				case p == "uid" || p == "gid":
					params.Set(p, number(text))
				case text == "absent" || text == "":
				case p == "comment" || p == "home" || p == "shell" || p == "expiry":
					params.Set(p, text)
				default:
					params.Set(p, number(text))
				}
			}
		}
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "User", Title: n}, Params: params})
	}
	return list, nil
}

// List implements resource.Lister. The only properties are numbers, because purges need nothing else.
func (users) List(ctx context.Context, h *resource.Host) (list []*resource.Resource, err error) {
	db, err := load(ctx, h, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, n := range names(db.users, "") {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "User", Title: n}, Params: ordered.Of("ensure", "present", "uid", number(db.users[n].uid))})
	}
	return list, nil
}

// Show implements resource.Shower.
func (groups) Show(ctx context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	db, err := load(ctx, h, nil, wanted(name))
	if err != nil {
		return nil, err
	}
	for _, n := range names(db.groups, name) {
		params := ordered.Of("ensure", "absent")
		if is := db.groups[n]; is != nil {
			params = ordered.Of("ensure", "present", "gid", number(is.gid))
		}
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Group", Title: n}, Params: params})
	}
	return list, nil
}

func wanted(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// names are the name, or all names for "".
func names[T any](all map[string]T, name string) (list []string) {
	if name != "" {
		return []string{name}
	}
	for n := range all {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// number is a number as one, if it is.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}
