package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
)

type users struct{}

// User returns the type rabbitmq_user.
func User() resource.Type { return users{} }

// administrator is the tag that the parameter admin stands for.
const administrator = "administrator"

// A user is a rabbitmq_user.
type user struct {
	r        *resource.Resource
	name     string
	password *string // nil if not given
	admin    bool
	tags     []string // without administrator; sorted
	absent   bool

	found     bool
	isTags    []string // sorted
	rightPass bool
	tagged    bool // Do has set the tags
}

// New implements resource.Type.
func (users) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &user{r: r, name: word(&f), admin: f.Bool("admin", false), absent: f.Text("ensure", "present") == "absent"}
	if r.Params.Value("password") != nil {
		text := f.Text("password", "")
		x.password = &text
		// rabbitmqctl reads one line and removes the blanks at its ends.
		if strings.TrimSpace(text) != text || strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			f.Refuse("password", "must have only ASCII characters, and no blanks at its ends. rabbitmqctl cannot read other passwords from its standard input")
		}
	}
	x.tags, _ = words(&f, "tags")
	if slices.Contains(x.tags, administrator) {
		f.Refuse("tags", "cannot have administrator: use admin")
	}
	x.tags = slices.Compact(slices.Sorted(slices.Values(x.tags)))
	return x, f.Err
}

// Read implements resource.Item.
func (x *user) Read(ctx context.Context, h *resource.Host) error {
	return users{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (users) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	rows, err := list[struct {
		User string
		Tags []string
	}](ctx, h, items[0].(*user).r, "list_users")
	errs := slices.Repeat([]error{err}, len(items))
	if err != nil {
		return errs
	}
	for i, item := range items {
		x := item.(*user)
		x.found, x.rightPass, x.tagged = false, true, false
		for _, row := range rows {
			if row.User == x.name {
				x.found, x.isTags = true, slices.Sorted(slices.Values(row.Tags))
			}
		}
		if x.found && !x.absent && x.password != nil {
			errs[i] = x.check(ctx, h)
		}
	}
	return errs
}

// refused is the exit code of authenticate_user for a wrong password.
const refused = 65

// check tries the password.
func (x *user) check(ctx context.Context, h *resource.Host) error {
	out, err := run(ctx, h, false, limit, *x.password+"\n", "rabbitmqctl", "-q", "authenticate_user", x.name)
	if err != nil {
		return fmt.Errorf("rabbitmqctl: %w", err)
	}
	x.rightPass = out.Code == 0
	if out.Code == refused {
		return nil
	}
	return out.Failure("rabbitmqctl")
}

func (x *user) isAdmin() bool { return slices.Contains(x.isTags, administrator) }

// others are the present tags without administrator.
func (x *user) others() []string {
	return slices.DeleteFunc(slices.Clone(x.isTags), func(t string) bool { return t == administrator })
}

// Plan implements resource.Item.
func (x *user) Plan() ([]resource.Change, error) {
	changes, compare := existence("rabbitmq_user", x.absent, x.found)
	if !compare {
		return changes, nil
	}
	if !x.rightPass {
		changes = append(changes, resource.Change{Property: "password", Is: "[old password redacted]", Should: "[new password redacted]", Message: "password has been changed"})
	}
	if x.isAdmin() != x.admin {
		changes = append(changes, resource.Change{Property: "admin", Is: fmt.Sprint(x.isAdmin()), Should: fmt.Sprint(x.admin)})
	}
	if is := x.others(); !slices.Equal(is, x.tags) {
		changes = append(changes, resource.Change{Property: "tags", Is: strings.Join(is, ", "), Should: strings.Join(x.tags, ", ")})
	}
	return changes, nil
}

// Do implements resource.Item. One command sets all tags, also the tag of an administrator.
func (x *user) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	switch {
	case x.absent:
		return change(ctx, h, "", "delete_user", x.name)
	case c.Property == "ensure":
		if x.password == nil {
			return errors.New("a new user needs the parameter password")
		}
		if err := change(ctx, h, *x.password+"\n", "add_user", x.name); err != nil {
			return err
		}
		if !x.admin && len(x.tags) == 0 {
			return nil
		}
	case c.Property == "password":
		return change(ctx, h, *x.password+"\n", "change_password", x.name)
	case x.tagged:
		return nil
	}
	args := append([]string{"set_user_tags", x.name}, x.tags...)
	if x.admin {
		args = append(args, administrator)
	}
	err := change(ctx, h, "", args...)
	x.tagged = err == nil
	return err
}
