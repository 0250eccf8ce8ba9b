// Package cron applies resources of the type cron: jobs in the crontabs of users.
//
// Crontabs are read and written with crontab(1). A job is found by a comment "# Puppet Name: NAME" before
// it, so crontabs that Puppet wrote work on. A job without that comment is taken as it is if its
// command and times are those of a resource. The resources that are applied together are read and written with one call
// for each user.
package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider/login"
	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// Type returns the type cron.
func Type() resource.Type { return cronType{} }

type cronType struct{}

// An item is one job.
type item struct {
	r       *resource.Resource
	name    string
	ensure  string
	user    string // "" for the user of this process
	command *string
	special *string             // "" if it must be absent
	times   map[string][]string // of the fields that are given; nil for *
	env     *[]string

	state *entry // Read: nil if the job is not there
}

// owner returns the user whose crontab has the job.
func (x *item) owner(ctx context.Context, h *resource.Host) string {
	if x.user != "" {
		return x.user
	}
	if u, err := login.FindUser(ctx, h, fmt.Sprint(os.Geteuid())); err == nil {
		return u.Name
	}
	return "root"
}

// Read finds the job.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return cronType{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll finds the jobs of several resources.
func (cronType) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	errs := make([]error, len(items))
	byUser := make(map[string][]int)
	for i, it := range items {
		user := it.(*item).owner(ctx, h)
		byUser[user] = append(byUser[user], i)
	}
	for user, places := range byUser {
		t, err := read(ctx, h, user)
		var group []*item
		for _, i := range places {
			errs[i] = err
			group = append(group, items[i].(*item))
		}
		found := match(t, withDeclared(ctx, h, user, group))
		for _, x := range group {
			x.state = found[x.name]
		}
	}
	return errs
}

// withDeclared adds the resources of the catalog for the same crontab: a job without a name goes to the first resource that it
// fits.
func withDeclared(ctx context.Context, h *resource.Host, user string, items []*item) (all []*item) {
	names := make(map[string]bool)
	for _, r := range h.Declared("Cron") {
		if it, err := (cronType{}).New(r); err == nil && it.(*item).owner(ctx, h) == user {
			all = append(all, it.(*item))
			names[it.(*item).name] = true
		}
	}
	for _, x := range items {
		if !names[x.name] {
			all = append(all, x)
		}
	}
	return all
}

// match finds the entries of resources, by the name of the resource.
func match(t table, items []*item) map[string]*entry {
	found := make(map[string]*entry)
	named := make(map[string]bool)
	for _, x := range items {
		named[x.name] = true
	}
	for _, e := range t.entries() {
		if e.name != "" && named[e.name] {
			found[e.name] = e
		}
	}
	for _, e := range t.entries() {
		if e.name != "" {
			continue
		}
		for _, x := range items {
			if found[x.name] == nil && x.fits(e) {
				found[x.name] = e
				break
			}
		}
	}
	return found
}

// fits reports whether an entry has the command and the times of the resource.
func (x *item) fits(e *entry) bool {
	if x.command == nil || *x.command != e.command || x.special != nil && *x.special != e.special {
		return false
	}
	for f, want := range x.times {
		if !slices.Equal(want, e.times[f]) {
			return false
		}
	}
	return true
}

// Plan compares the job with the wanted one.
func (x *item) Plan() ([]resource.Change, error) {
	switch {
	case x.ensure == "absent" && x.state == nil:
		return nil, nil
	case x.ensure == "absent":
		return []resource.Change{{Property: "ensure", Name: "cron_removed", Is: "present", Should: "absent", Message: "removed"}}, nil
	case x.state == nil && x.command == nil:
		return nil, errors.New("the job is not in the crontab, and cannot be added without the parameter command")
	case x.state == nil:
		return []resource.Change{{Property: "ensure", Name: "cron_created", Is: "absent", Should: "present", Message: "created"}}, nil
	}
	var changes []resource.Change
	differs := func(property, is, should string) {
		if is != should {
			changes = append(changes, resource.Change{Property: property, Is: is, Should: should})
		}
	}
	if x.command != nil {
		differs("command", x.state.command, *x.command)
	}
	if x.special != nil {
		differs("special", orAbsent(x.state.special), orAbsent(*x.special))
	}
	for _, f := range timeFields {
		if want, given := x.times[f]; given {
			differs(f, orAbsent(strings.Join(x.state.times[f], ",")), orAbsent(strings.Join(want, ",")))
		}
	}
	if x.env != nil && !slices.Equal(sorted(x.state.env), sorted(*x.env)) {
		differs("environment", strings.Join(x.state.env, ","), strings.Join(*x.env, ","))
	}
	return changes, nil
}

func orAbsent(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// Do makes one change.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return write(ctx, h, x.owner(ctx, h), []resource.Work{{Item: x, Changes: []resource.Change{*c}}})
}

// DoAll writes each crontab once. If crontab(1) refuses it, the jobs are written one by one, so that one wrong
// job does not fail the others.
func (cronType) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	byUser := make(map[string][]int)
	for i, w := range works {
		user := w.Item.(*item).owner(ctx, h)
		byUser[user] = append(byUser[user], i)
	}
	for user, places := range byUser {
		var group []resource.Work
		for _, i := range places {
			group = append(group, works[i])
		}
		err := write(ctx, h, user, group)
		for _, i := range places {
			errs[i] = err
			if err != nil && len(places) > 1 {
				errs[i] = write(ctx, h, user, works[i:i+1])
			}
		}
	}
	return errs
}

// write makes changes in the crontab of a user.
func write(ctx context.Context, h *resource.Host, user string, works []resource.Work) error {
	if _, err := login.FindUser(ctx, h, user); err != nil {
		return err
	}
	t, err := read(ctx, h, user)
	if err != nil {
		return err
	}
	var items []*item
	for _, w := range works {
		items = append(items, w.Item.(*item))
	}
	found := match(t, withDeclared(ctx, h, user, items))
	for _, w := range works {
		t = w.Item.(*item).change(t, found[w.Item.(*item).name], w.Changes)
	}
	c := crontab(ctx, h, user, "-")
	c.Stdin = []byte(t.text(h.Now().Format(time.RFC3339)))
	c.Session, c.Timeout = true, resource.ChangeLimit
	out, err := h.Run(ctx, c)
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("crontab exited with code %d: %s", out.Code, safetext.Message(strings.TrimSpace(string(out.Stdout))))
	}
	return nil
}

// change makes the changes of one resource in a table.
func (x *item) change(t table, e *entry, changes []resource.Change) table {
	for _, c := range changes {
		switch {
		case c.Property == "ensure" && x.ensure == "absent":
			return t.remove(e)
		case e == nil:
			e = &entry{name: x.name, times: make(map[string][]string)}
			t = append(t, e)
			x.set(e, "command")
			x.set(e, "special")
			x.set(e, "environment")
			for _, f := range timeFields {
				x.set(e, f)
			}
		default:
			x.set(e, c.Property)
		}
	}
	return t
}

// set gives an entry the wanted value of a property.
func (x *item) set(e *entry, property string) {
	switch property {
	case "command":
		e.command = *x.command
	case "special":
		if x.special != nil {
			e.special = *x.special
		}
	case "environment":
		if x.env == nil {
			return
		}
		e.env = *x.env
		// Differs from Puppet: only the environment of a named entry is found again, so in Puppet the change of
		// an entry without a name is made in every run.
		if len(e.env) > 0 {
			e.name = x.name
		}
	default:
		if want, given := x.times[property]; given {
			e.times[property] = want
			if x.special == nil { // else the time has no effect
				e.special = ""
			}
		}
	}
}

// crontab is the program for the crontab of a user. Some versions do not let a user name himself.
func crontab(ctx context.Context, h *resource.Host, user, arg string) *resource.Command {
	argv := []string{"crontab"}
	if u, err := login.FindUser(ctx, h, user); err != nil || int(u.UID) != os.Geteuid() {
		argv = append(argv, "-u", user)
	}
	return &resource.Command{Argv: append(argv, arg), Env: append(slices.Clone(h.Env), "LC_ALL=C"), Combined: true, Timeout: resource.QueryLimit}
}

// read reads the crontab of a user. It is empty if the user does not exist or cannot have a crontab: both can
// change in the same run.
func read(ctx context.Context, h *resource.Host, user string) (table, error) {
	if _, err := login.FindUser(ctx, h, user); errors.Is(err, login.ErrUnknown) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	out, err := h.Run(ctx, crontab(ctx, h, user, "-l"))
	if err != nil {
		return nil, err
	}
	text := string(out.Stdout)
	switch {
	case out.Code == 0:
		return parse(text), nil
	case strings.Contains(text, "no crontab for"), strings.Contains(text, "not allowed to"), strings.Contains(text, "No such file or directory"):
		return nil, nil
	}
	return nil, fmt.Errorf("the crontab of %s cannot be read: crontab exited with code %d: %s", user, out.Code, safetext.Message(strings.TrimSpace(text)))
}

// Watch implements resource.Watcher. crontab(1) keeps the tables in directories that differ between systems.
func (*item) Watch(ctx context.Context, h *resource.Host) (list []resource.Watch) {
	for _, dir := range spools {
		list = append(list, resource.Watch{Path: h.Path(dir), Tree: true})
	}
	return list
}
