package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Group is the type group.
func Group() resource.Type { return groups{} }

type groups struct{}

// A group is one group.
type group struct {
	r                             *resource.Resource
	name, gid                     string // gid is "" if it is not given
	absent                        bool
	members                       []string
	hasMembers, complete          bool // complete: other members are removed
	system, allowdupe, forcelocal bool

	db *database
	// libuser is set if the host has libuser: without it, the members of a group are not managed, as in
	// Puppet.
	libuser bool
}

// New implements resource.Type.
func (groups) New(r *resource.Resource) (resource.Item, error) {
	g := &group{r: r}
	if err := g.read(); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *group) read() (err error) {
	if g.name, err = name(g.r); err != nil {
		return err
	}
	if g.absent, err = absent(g.r); err != nil {
		return err
	}
	if err = provider(g.r, "groupadd"); err != nil {
		return err
	}
	for param, b := range map[string]*bool{"system": &g.system, "allowdupe": &g.allowdupe, "forcelocal": &g.forcelocal, "auth_membership": &g.complete} {
		if *b, err = g.r.Bool(param, false); err != nil {
			return err
		}
	}
	if _, given := g.r.Params.Get("gid"); given {
		gid, err := g.r.Int("gid", 0)
		if err != nil {
			return err
		}
		g.gid = strconv.FormatInt(gid, 10)
	}
	members, given, err := g.r.Texts("members")
	for _, m := range members {
		g.members = append(g.members, strings.FieldsFunc(m, func(c rune) bool { return c == ',' || c == ' ' })...)
	}
	slices.Sort(g.members)
	g.members = slices.Compact(g.members)
	g.hasMembers = given
	return err
}

// Read implements resource.Item.
func (g *group) Read(ctx context.Context, h *resource.Host) error {
	return readGroups(ctx, h, []*group{g})[0]
}

// ReadAll implements resource.Reader.
func (groups) ReadAll(ctx context.Context, h *resource.Host, list []resource.Item) []error {
	return readGroups(ctx, h, items[*group](list))
}

func readGroups(ctx context.Context, h *resource.Host, list []*group) []error {
	var names, members []string
	for _, g := range list {
		if !g.forcelocal {
			names = append(names, g.name)
		}
		members = append(members, g.members...)
	}
	libuser := has(h, "lgroupmod") && has(h, "luseradd")
	if !libuser {
		members = nil
	}
	db, err := load(ctx, h, members, names)
	for _, g := range list {
		g.db, g.libuser = db, libuser
		if g.hasMembers && !libuser {
			h.Logf(g.r.Ref, report.Info, "The members of the group are not managed: libuser is not installed")
		}
	}
	return fill(len(list), err)
}

// Plan implements resource.Item.
func (g *group) Plan() ([]resource.Change, error) {
	is := g.db.groups[g.name]
	switch {
	case g.absent && is != nil:
		return resource.Removed("group"), nil
	case g.absent:
		return nil, nil
	case is == nil:
		return resource.Created("group"), nil
	}
	var changes []resource.Change
	if g.gid != "" && g.gid != is.gid {
		changes = append(changes, resource.Change{Property: "gid", Is: is.gid, Should: g.gid})
	}
	if should := g.allMembers(); g.hasMembers && g.libuser && (len(without(should, is.members)) > 0 || len(without(is.members, should)) > 0) {
		changes = append(changes, resource.Change{Property: "members", Is: strings.Join(is.members, ","), Should: strings.Join(should, ",")})
	}
	return changes, nil
}

// allMembers are the members that the group has afterwards.
func (g *group) allMembers() []string {
	members := slices.Clone(g.members)
	if is := g.db.groups[g.name]; is != nil && !g.complete {
		members = append(members, is.members...)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// tool is the name of a program, or of libuser's variant of it for a group that must be local.
func (g *group) tool(h *resource.Host, name string) string {
	if g.forcelocal && has(h, "l"+name) {
		return "l" + name
	}
	return name
}

// Do implements resource.Item.
func (g *group) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	busybox := !has(h, "groupadd") && has(h, "addgroup")
	switch {
	case c.Property == "ensure" && g.absent && busybox:
		return run(ctx, h, "", "delgroup", g.name)
	case c.Property == "ensure" && g.absent:
		return run(ctx, h, "", g.tool(h, "groupdel"), g.name)
	case c.Property == "ensure":
		return g.create(ctx, h, busybox)
	case c.Property == "members":
		return g.setMembers(ctx, h)
	case busybox:
		return errors.New("gid of an existing group: BusyBox has no program that changes it. Install the package shadow")
	}
	program := g.tool(h, "groupmod")
	args := []string{"-g", g.gid}
	if g.allowdupe && program == "groupmod" {
		args = append(args, "-o")
	}
	return run(ctx, h, "", program, append(args, g.name)...)
}

func (g *group) create(ctx context.Context, h *resource.Host, busybox bool) error {
	program, system := g.tool(h, "groupadd"), "-r"
	if busybox {
		program, system = "addgroup", "-S"
	}
	if program != "groupadd" && !g.allowdupe && g.gid != "" {
		for name, is := range g.db.groups {
			if is.gid == g.gid {
				return fmt.Errorf("the number %s is the one of the group %s. Set allowdupe to use it twice", g.gid, name)
			}
		}
	}
	if g.libuser {
		if err := g.checkMembers(); err != nil {
			return err
		}
	}
	var args []string
	if g.gid != "" {
		args = append(args, "-g", g.gid)
	}
	if g.allowdupe && program == "groupadd" {
		args = append(args, "-o")
	}
	if g.system {
		args = append(args, system)
	}
	if err := run(ctx, h, "", program, append(args, g.name)...); err != nil {
		return err
	}
	if g.hasMembers && g.libuser {
		return g.setMembers(ctx, h)
	}
	return nil
}

// checkMembers is an error if a member is not a user.
func (g *group) checkMembers() error {
	for _, m := range g.members {
		if g.db.users[m] == nil {
			return fmt.Errorf("user %q does not exist", m)
		}
	}
	return nil
}

// setMembers adds and removes members with lgroupmod.
func (g *group) setMembers(ctx context.Context, h *resource.Host) error {
	if err := g.checkMembers(); err != nil {
		return err
	}
	var is []string
	if e := g.db.groups[g.name]; e != nil {
		is = e.members
	}
	should := g.allMembers()
	for _, set := range []struct {
		flag  string
		names []string
	}{{"-m", without(is, should)}, {"-M", without(should, is)}} {
		if len(set.names) > 0 {
			if err := run(ctx, h, "", "lgroupmod", set.flag, strings.Join(set.names, ","), g.name); err != nil {
				return err
			}
		}
	}
	return nil
}
