// Package purge applies resources of the type resources: they remove resources that exist on the host and are
// not in the catalog.
package purge

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/catalog/types"
)

// purgeType has all types that can be applied.
type purgeType map[string]resource.Type

// Type returns the type resources. types are all types that can be applied, by capitalized name, and may be changed
// afterwards. A type that is a resource.Lister can be purged.
func Type(types map[string]resource.Type) resource.Type { return purgeType(types) }

// An identifier is a type whose resources are not named by their name alone.
type identifier interface {
	Identity(r *resource.Resource) string
}

// A sparer is a type with resources that are never purged, such as the accounts that a server needs.
type sparer interface {
	Spared(r *resource.Resource) bool
}

type item struct {
	t      purgeType
	r      *resource.Resource
	name   string // of the type, capitalized
	purge  bool
	system int64 // users with this number or less stay; -1 for none, -2 for the system's limit
	spared []int64
}

const (
	noLimit     = -1
	systemLimit = -2
)

// New implements resource.Type.
func (t purgeType) New(r *resource.Resource) (resource.Item, error) {
	name, given, err := r.Text("name")
	if err != nil {
		return nil, err
	}
	if !given {
		name = r.Title
	}
	name = strings.ToLower(name)
	i := &item{t: t, r: r, name: catalog.Capitals(name)}
	if i.purge, err = r.Bool("purge", false); err != nil {
		return nil, err
	}
	known := types.Find(name)
	switch {
	case known == nil && t[i.name] == nil:
		return nil, &resource.ParamError{Param: "name", Problem: "must be a resource type" + i.r.Shown("name", name)}
	case i.purge && known != nil && !slices.Contains(known.Properties, "ensure"):
		return nil, &resource.ParamError{Param: "purge", Problem: fmt.Sprintf("cannot be true for %s: the type has no parameter ensure", name)}
	}
	if err := i.limits(); err != nil {
		return nil, err
	}
	return i, nil
}

// limits reads the parameters that spare users.
func (i *item) limits() error {
	text, given, err := i.r.Text("unless_system_user")
	switch {
	case err != nil:
		return err
	case !given || text == "true":
		i.system = systemLimit
	case text == "false":
		i.system = noLimit
	default:
		if i.system, err = strconv.ParseInt(text, 10, 64); err != nil || i.system < 0 {
			return &resource.ParamError{Param: "unless_system_user", Problem: "must be true, false or the number of a user" + i.r.Shown("unless_system_user", text)}
		}
	}
	texts, _, err := i.r.Texts("unless_uid")
	if err != nil {
		return err
	}
	for _, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &resource.ParamError{Param: "unless_uid", Problem: fmt.Sprintf("must be numbers of users, and has %q", text)}
		}
		i.spared = append(i.spared, n)
	}
	return nil
}

// Read implements resource.Item.
func (*item) Read(context.Context, *resource.Host) error { return nil }

// Plan implements resource.Item.
func (*item) Plan() ([]resource.Change, error) { return nil, nil }

// Do implements resource.Item.
func (*item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

// inherited are the metaparameters that removed resources have from this one.
var inherited = []string{"noop", "schedule", "loglevel", "audit"}

// Generate implements resource.Generator.
func (i *item) Generate(ctx context.Context, h *resource.Host) ([]*resource.Resource, error) {
	if !i.purge {
		return nil, nil
	}
	typ := i.t[i.name]
	lister, is := typ.(resource.Lister)
	if !is {
		// Differs from Puppet: a machine without its undeclared packages or groups would be lost.
		h.Logf(i.r.Ref, report.Warning, "bolt does not purge resources of the type %s, so none is removed", strings.ToLower(i.name))
		return nil, nil
	}
	identity := nameOf
	if t, is := typ.(identifier); is {
		identity = t.Identity
	}
	spared := func(*resource.Resource) bool { return false }
	if t, is := typ.(sparer); is {
		spared = t.Spared
	}
	keep := make(map[string]bool)
	for _, r := range h.Declared(i.name) {
		keep[identity(r)] = true
	}
	found, err := lister.List(ctx, h)
	if err != nil {
		return nil, err
	}
	if i.name == "User" {
		if found, err = i.users(ctx, h, found); err != nil {
			return nil, err
		}
	}
	var list []*resource.Resource
	for _, r := range found {
		if keep[identity(r)] || spared(r) {
			continue
		}
		gone := *r
		gone.Params = r.Params.Clone()
		gone.Params.Set("ensure", "absent")
		for _, p := range inherited {
			if v, given := i.r.Params.Get(p); given {
				gone.Params.Set(p, v)
			}
		}
		list = append(list, &gone)
	}
	return list, nil
}

func nameOf(r *resource.Resource) string {
	if name, given, err := r.Text("name"); given && err == nil {
		return name
	}
	return r.Title
}

// systemUsers are never removed while system users are spared.
var systemUsers = []string{"root", "nobody", "bin", "noaccess", "daemon", "sys"}

// users returns the users that are not spared. A user without a known number is spared.
func (i *item) users(ctx context.Context, h *resource.Host, found []*resource.Resource) (list []*resource.Resource, err error) {
	limit := i.system
	if limit == systemLimit {
		if limit, err = lastSystemUser(ctx, h); err != nil {
			return nil, err
		}
	}
	for _, r := range found {
		uid, err := r.Int("uid", -1)
		switch {
		case err != nil || uid < 0 || slices.Contains(i.spared, uid):
		case i.system != noLimit && (uid <= limit || slices.Contains(systemUsers, nameOf(r))):
		default:
			list = append(list, r)
		}
	}
	return list, nil
}

// lastSystemUser is the highest number of a system user.
func lastSystemUser(ctx context.Context, h *resource.Host) (int64, error) {
	text, _, err := textfile.Read(ctx, h.Path("/etc/login.defs"))
	if err != nil {
		return 0, err
	}
	if m := regexp.MustCompile(`(?m)^\s*UID_MIN\s+(\d+)(?:\s*#.*)?$`).FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		return n - 1, err
	}
	return 499, nil
}
