package account

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// User is the type user.
func User() resource.Type { return users{} }

type users struct{}

// properties are the properties of a user in Puppet's order, except for ensure.
var properties = []string{"home", "uid", "gid", "comment", "shell", "password", "password_min_age", "password_max_age", "password_warn_days", "groups", "expiry"}

// A user is one user.
type user struct {
	r      *resource.Resource
	name   string
	absent bool
	// want has the wanted values of properties as texts. That of groups is joined by commas.
	want                                                 map[string]string
	groups                                               []string
	inclusive, system, allowdupe, managehome, forcelocal bool
	// keys are the files whose keys are purged; "" stands for the default one.
	keys []string

	db *database
}

// New implements resource.Type.
func (users) New(r *resource.Resource) (resource.Item, error) {
	u := &user{r: r, want: make(map[string]string)}
	if err := u.read(); err != nil {
		return nil, err
	}
	return u, nil
}

func (u *user) read() (err error) {
	if u.name, err = name(u.r); err != nil {
		return err
	}
	if u.absent, err = absent(u.r); err != nil {
		return err
	}
	if err = provider(u.r, "useradd"); err != nil {
		return err
	}
	for param, b := range map[string]*bool{"system": &u.system, "allowdupe": &u.allowdupe, "managehome": &u.managehome, "forcelocal": &u.forcelocal} {
		if *b, err = u.r.Bool(param, false); err != nil {
			return err
		}
	}
	membership, _, err := u.r.Text("membership")
	if err != nil {
		return err
	}
	u.inclusive = membership == "inclusive"
	for _, param := range properties {
		if param == "groups" {
			continue
		}
		text, given, err := u.r.Text(param)
		if err != nil {
			return err
		}
		if !given {
			continue
		}
		if u.want[param], err = u.value(param, text); err != nil {
			return err
		}
	}
	if err := u.readGroups(); err != nil {
		return err
	}
	return u.readKeys()
}

var (
	date   = lazyregexp.New(`^\d{4}-\d{2}-\d{2}$`)
	digits = lazyregexp.New(`^\d+$`)
)

// value checks and normalizes a value of a property.
func (u *user) value(param, text string) (string, error) {
	bad := func(problem string) (string, error) {
		if !u.r.Secret(param) && param != "password" {
			problem += fmt.Sprintf(", and is %q", text)
		}
		return "", &resource.ParamError{Param: param, Problem: problem}
	}
	switch param {
	case "password_min_age", "password_max_age", "password_warn_days":
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return bad("must be a whole number")
		}
		return strconv.FormatInt(n, 10), nil
	case "expiry":
		if text != "absent" && !date().MatchString(text) {
			return bad("must be a date of the form YYYY-MM-DD, or absent")
		}
	case "uid", "gid": // useradd fails for a uid that is not a number, as in Puppet
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10), nil
		}
	}
	// useradd and usermod check the other values. chpasswd would take a second line for another user.
	if param == "password" && strings.ContainsAny(text, ":\n") || strings.Contains(text, "\x00") {
		return bad("must not have a colon or the end of a line in it")
	}
	return text, nil
}

func (u *user) readGroups() error {
	groups, given, err := u.r.Texts("groups")
	if err != nil || !given {
		return err
	}
	for _, g := range groups {
		switch {
		case g == "":
			return &resource.ParamError{Param: "groups", Problem: "must not have an empty name in it: an empty list means no groups"}
		case digits().MatchString(g):
			return &resource.ParamError{Param: "groups", Problem: fmt.Sprintf("must be names, and has the number %s", g)}
		case strings.ContainsAny(g, ",:\n"):
			return &resource.ParamError{Param: "groups", Problem: fmt.Sprintf("must be a list of names, and has %q", g)}
		}
	}
	slices.Sort(groups)
	u.groups = slices.Compact(groups)
	u.want["groups"] = strings.Join(u.groups, ",")
	return nil
}

// Read implements resource.Item.
func (u *user) Read(ctx context.Context, h *resource.Host) error {
	return readUsers(ctx, h, []*user{u})[0]
}

// ReadAll implements resource.Reader.
func (users) ReadAll(ctx context.Context, h *resource.Host, list []resource.Item) []error {
	return readUsers(ctx, h, items[*user](list))
}

func readUsers(ctx context.Context, h *resource.Host, list []*user) []error {
	var names, groups []string
	for _, u := range list {
		// With forcelocal only the files count. A user that is in the files has no other entry.
		if !u.forcelocal {
			names = append(names, u.name)
		}
		groups = append(groups, u.groups...)
		if gid := u.want["gid"]; gid != "" && !isNumber(gid) {
			groups = append(groups, gid)
		}
	}
	db, err := load(ctx, h, names, groups)
	for _, u := range list {
		u.db = db
	}
	return fill(len(list), err)
}

// Plan implements resource.Item.
func (u *user) Plan() ([]resource.Change, error) {
	is := u.db.users[u.name]
	switch {
	case u.absent && is != nil:
		return resource.Removed("user"), nil
	case u.absent:
		return nil, nil
	case is == nil:
		return resource.Created("user"), nil
	}
	var changes []resource.Change
	for _, p := range properties {
		should, given := u.want[p]
		if !given || u.inSync(is, p, should) {
			continue
		}
		c := resource.Change{Property: p, Is: u.current(is, p), Should: should}
		switch p {
		case "groups":
			c.Should = strings.Join(u.allGroups(), ",")
		case "password":
			// A hash is never shown, even if it is not Sensitive in the manifest.
			c.Is, c.Should, c.Message = "[hash of the old password]", "[hash of the new password]", "password changed"
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func (u *user) inSync(is *passwd, property, should string) bool {
	switch property {
	case "gid":
		return is.gid == u.db.gid(should)
	case "groups":
		return slices.Equal(u.db.groupsOf(u.name), u.allGroups())
	}
	return u.current(is, property) == should
}

// allGroups are the groups that the user is in afterwards, sorted.
func (u *user) allGroups() []string {
	groups := slices.Clone(u.groups)
	if !u.inclusive {
		groups = append(groups, u.db.groupsOf(u.name)...)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// current is the present value of a property.
func (u *user) current(is *passwd, property string) string {
	s := u.db.shadows[u.name]
	if s == nil {
		s = &shadow{"absent", "absent", "absent", "absent", "absent"}
	}
	switch property {
	case "home":
		return is.home
	case "uid":
		return is.uid
	case "gid":
		return is.gid
	case "comment":
		return is.comment
	case "shell":
		return is.shell
	case "groups":
		return strings.Join(u.db.groupsOf(u.name), ",")
	case "password":
		return s.hash
	case "password_min_age":
		return s.min
	case "password_max_age":
		return s.max
	case "password_warn_days":
		return s.warn
	}
	return s.expiry
}
