package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// A spool is the crontabs of users, and the program crontab.
type spool struct {
	tabs  map[string]string
	calls int
}

func (s *spool) run(_ context.Context, c *resource.Command) (*resource.Output, error) {
	if c.Argv[0] != "crontab" {
		return nil, errors.New("there is no such program")
	}
	s.calls++
	user := "root"
	if c.Argv[1] == "-u" {
		user = c.Argv[2]
	}
	change := c.Argv[len(c.Argv)-1] == "-"
	if want := map[bool]time.Duration{false: resource.QueryLimit, true: resource.ChangeLimit}[change]; c.Timeout != want {
		return nil, fmt.Errorf("the time limit of %q is %v, want %v", c.Argv, c.Timeout, want)
	}
	if change {
		if strings.Contains(string(c.Stdin), "refused") {
			return &resource.Output{Code: 1, Stdout: []byte("errors in crontab file, can't install.\n")}, nil
		}
		s.tabs[user] = string(c.Stdin)
		return &resource.Output{}, nil
	}
	text, there := s.tabs[user]
	if !there {
		return &resource.Output{Code: 1, Stdout: []byte("no crontab for " + user + "\n")}, nil
	}
	return &resource.Output{Stdout: []byte(text)}, nil
}

func testHost(t *testing.T, s *spool, declared ...*resource.Resource) *resource.Host {
	t.Helper()
	h := resource.NewHost()
	h.Root, h.Run = t.TempDir(), s.run
	h.Declared = func(string) []*resource.Resource { return declared }
	if err := os.Mkdir(h.Path("/etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	passwd := fmt.Sprintf("root:x:%d:0::/root:/bin/sh\ndaemon:x:77777:1::/:/bin/sh\n", os.Geteuid())
	if err := os.WriteFile(h.Path("/etc/passwd"), []byte(passwd), 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

func newResource(title string, params ...any) *resource.Resource {
	return &resource.Resource{Ref: catalog.Ref{Type: "Cron", Title: title}, Params: ordered.Of(params...)}
}

// apply does what the engine does with resources of one type that follow each other.
func apply(t *testing.T, h *resource.Host, resources ...*resource.Resource) (changes string, err error) {
	t.Helper()
	var items []resource.Item
	for _, r := range resources {
		it, err := Type().New(r)
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		items = append(items, it)
	}
	if err = errors.Join(Type().(resource.Reader).ReadAll(t.Context(), h, items)...); err != nil {
		return "", err
	}
	var works []resource.Work
	for _, it := range items {
		plan, planErr := it.Plan()
		err = errors.Join(err, planErr)
		for _, c := range plan {
			changes += fmt.Sprintf("%s %s>%s;", c.Property, c.Is, c.Should)
		}
		if len(plan) > 0 {
			works = append(works, resource.Work{Item: it, Changes: plan})
		}
	}
	return changes, errors.Join(append(Type().(resource.Doer).DoAll(t.Context(), h, works), err)...)
}

// Each case applies resources twice; the second time nothing changes.
func TestApply(t *testing.T) {
	const existing = "# mine\nMAILTO=ops\n\n1  2 3 4 5\t/bin/mine x\n# Puppet Name: old\nA=1\n5 5 * * * /bin/old\n# Puppet Name: gone\n6 6 * * * /bin/gone\n"
	for _, c := range []struct {
		name      string
		before    string // crontab of root; "-" for none
		resources []*resource.Resource
		changes   string
		after     string // without the header
		err       string
	}{
		{name: "created", before: "-", resources: []*resource.Resource{
			newResource("nightly", "command", " /bin/x ", "hour", int64(2), "minute", "05"),
			newResource("list", "command", "/bin/l", "minute", []any{int64(0), "15"}, "hour", []any{"8-12", int64(18)}, "weekday", "Mon", "month", "january", "monthday", "*/2"),
			newResource("special", "command", "/bin/s", "special", "reboot"),
			newResource("env", "command", "/bin/e", "environment", []any{"A=1", "PATH=/bin"}, "minute", "*")},
			changes: "ensure absent>present;ensure absent>present;ensure absent>present;ensure absent>present;",
			after: "# Puppet Name: nightly\n05 2 * * * /bin/x\n# Puppet Name: list\n0,15 8-12,18 */2 1 1 /bin/l\n# Puppet Name: special\n@reboot /bin/s\n" +
				"# Puppet Name: env\nA=1\nPATH=/bin\n* * * * * /bin/e\n"},
		{name: "changed", before: existing, resources: []*resource.Resource{
			newResource("old", "command", "/bin/new", "hour", int64(6), "minute", int64(5), "environment", []any{"B=1", "A=1"}),
			newResource("gone", "ensure", "absent"), newResource("never", "ensure", "absent", "command", "/bin/never")},
			changes: "command /bin/old>/bin/new;hour 5>6;environment A=1>B=1,A=1;ensure present>absent;",
			after:   "# mine\nMAILTO=ops\n\n1 2 3 4 5 /bin/mine x\n# Puppet Name: old\nB=1\nA=1\n5 6 * * * /bin/new\n"},
		{name: "adopted", before: existing, resources: []*resource.Resource{
			newResource("m", "command", "/bin/mine x", "minute", int64(1), "hour", int64(2), "monthday", int64(3)),
			newResource("m2", "command", "/bin/mine x", "minute", int64(1), "hour", int64(2))},
			changes: "ensure absent>present;",
			after:   strings.Replace(existing, "1  2 3 4 5\t", "1 2 3 4 5 ", 1) + "# Puppet Name: m2\n1 2 * * * /bin/mine x\n"},
		{name: "adopted and removed", before: "1 * * * * /bin/a\n@daily /bin/b\n", resources: []*resource.Resource{
			newResource("x", "ensure", "absent", "command", "/bin/b"), newResource("y", "ensure", "absent", "command", "/bin/a", "minute", int64(2))},
			changes: "ensure present>absent;", after: "1 * * * * /bin/a\n"},
		{name: "adopted and changed", before: "1 * * * * /bin/a\n", resources: []*resource.Resource{newResource("x", "command", "/bin/a", "environment", "A=1")},
			changes: "environment >A=1;", after: "# Puppet Name: x\nA=1\n1 * * * * /bin/a\n"},
		{name: "no longer special", before: "# Puppet Name: x\n@daily /bin/a\n", resources: []*resource.Resource{newResource("x", "command", "/bin/a", "hour", int64(3))},
			changes: "hour absent>3;", after: "# Puppet Name: x\n* 3 * * * /bin/a\n"},
		{name: "special", before: "# Puppet Name: x\n1 2 * * * /bin/a\n", resources: []*resource.Resource{newResource("x", "special", "daily")},
			changes: "special absent>daily;", after: "# Puppet Name: x\n@daily /bin/a\n"},
		{name: "absent times", before: "# Puppet Name: x\n1 2 * * * /bin/a\n", resources: []*resource.Resource{newResource("x", "minute", "absent", "environment", "absent")},
			changes: "minute 1>absent;", after: "# Puppet Name: x\n* 2 * * * /bin/a\n"},
		{name: "no command", before: "-", resources: []*resource.Resource{newResource("x", "minute", int64(1))}, after: "-", err: "cannot be added without the parameter command"},
		{name: "no user", before: "-", resources: []*resource.Resource{newResource("x", "command", "c", "user", "nosuch")}, changes: "ensure absent>present;", after: "-",
			err: `user "nosuch" does not exist`},
		{name: "one is refused", before: "-", resources: []*resource.Resource{newResource("x", "command", "refused"), newResource("y", "command", "c")},
			changes: "ensure absent>present;ensure absent>present;", after: "# Puppet Name: y\n* * * * * c\n", err: "crontab exited with code 1: errors in crontab file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &spool{tabs: map[string]string{}}
			if c.before != "-" {
				s.tabs["root"] = "# HEADER: This file was autogenerated by puppet.\n# HEADER: more\n" + c.before
			}
			h := testHost(t, s, c.resources...)
			changes, err := apply(t, h, c.resources...)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error is %v, want %q", err, c.err)
			}
			if changes != c.changes {
				t.Errorf("changes are %q, want %q", changes, c.changes)
			}
			got := "-"
			if text, there := s.tabs["root"]; there {
				if strings.Count(text, "HEADER: This file") != 1 {
					t.Errorf("the header is there more than once, or not: %s", text)
				}
				got = header().ReplaceAllString(text, "")
			}
			if got != c.after {
				t.Errorf("crontab is\n%swant\n%s", got, c.after)
			}
			if c.err == "" {
				if changes, err := apply(t, h, c.resources...); err != nil || changes != "" {
					t.Errorf("the second apply changes %q, %v", changes, err)
				}
			}
		})
	}
}

// Jobs of several users are read and written with one call for each user and step.
func TestCalls(t *testing.T) {
	s := &spool{tabs: map[string]string{}}
	a, b := newResource("a", "command", "a"), newResource("b", "command", "b")
	d := newResource("d", "command", "d", "user", "daemon", "hour", int64(1))
	if _, err := apply(t, testHost(t, s, a, b, d), a, b, d); err != nil {
		t.Fatal(err)
	}
	if s.calls != 6 || !strings.HasSuffix(s.tabs["daemon"], "\n# Puppet Name: d\n* 1 * * * d\n") {
		t.Errorf("%d calls, crontabs are %q", s.calls, s.tabs)
	}
}

// Do makes the changes one by one.
func TestDo(t *testing.T) {
	s := &spool{tabs: map[string]string{"root": "# Puppet Name: x\n1 2 * * * /bin/a\n"}}
	r := newResource("x", "command", "/bin/b", "hour", int64(3))
	h := testHost(t, s, r)
	x, err := Type().New(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Read(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	plan, _ := x.Plan()
	for i := range plan {
		if err := x.Do(t.Context(), h, &plan[i]); err != nil {
			t.Error(err)
		}
	}
	if got := header().ReplaceAllString(s.tabs["root"], ""); got != "# Puppet Name: x\n1 3 * * * /bin/b\n" {
		t.Errorf("crontab is %q", got)
	}
}

// What List finds can be removed one by one: all jobs but those without a name that belong to a resource.
func TestList(t *testing.T) {
	s := &spool{tabs: map[string]string{"root": "# mine\n1 * * * * /bin/own\n2 * * * * /bin/b x\n* * * * * /bin/b x\n@daily /bin/b x\n# Puppet Name: n\nA=1\n3 3 * * * /bin/n\n"}}
	declared := newResource("own", "command", "/bin/own", "minute", int64(1))
	h := testHost(t, s, declared)
	list, err := Type().(resource.Lister).List(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, r := range list {
		titles = append(titles, r.Title)
		r.Params.Set("ensure", "absent")
	}
	if got := strings.Join(titles, " "); got != "unmanaged:/bin/b_x-2 unmanaged:/bin/b_x-3 unmanaged:/bin/b_x-4 n" {
		t.Error(got)
	}
	for _, r := range list {
		if changes, err := apply(t, h, r); changes != "ensure present>absent;" || err != nil {
			t.Errorf("%s: %q, %v", r.Title, changes, err)
		}
	}
	if got := header().ReplaceAllString(s.tabs["root"], ""); got != "# mine\n1 * * * * /bin/own\n" {
		t.Errorf("crontab is %q", got)
	}
}

// Lines that are not jobs of a resource stay.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "\n",
		"\n# a\n\nB=1\nwhat is this\n": "\n# a\n\nB=1\nwhat is this\n",
		"# Puppet Name: x\n# c\nA=1\n\n@daily  x  \n": "# c\n\n# Puppet Name: x\nA=1\n@daily x  \n",
		"# Puppet Name: x\nA=1\n":                     "A=1\n",
		"# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (x)\n# (Cron version -- vixie 3)\n1 1 1 1 1 x\n": "1 1 1 1 1 x\n",
	} {
		if got := header().ReplaceAllString(parse(text).text("now"), ""); got != want {
			t.Errorf("parse(%q) is written as %q, want %q", text, got, want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"hour", int64(25)}, `The parameter hour must be a number from 0 to 23, a range such as 1-5 or */2, or a list of these, and is "25"`},
		{[]any{"weekday", "Mon-Fri"}, `The parameter weekday must be a number from 0 to 7, a name such as sunday, a range such as 1-5 or */2, or a list of these, and is "Mon-Fri"`},
		{[]any{"minute", "0,30"}, `The parameter minute must be a number from 0 to 59, a range such as 1-5 or */2, or a list of these, and is "0,30"`},
		{[]any{"special", "sometimes"}, `The parameter special must be one of reboot, yearly, annually, monthly, weekly, daily, midnight, hourly, absent, and is "sometimes"`},
		{[]any{"special", "daily", "hour", int64(1)}, "The parameter special cannot be given together with hour"},
		{[]any{"environment", "A"}, `The parameter environment must have the form NAME=value, and is "A"`},
		{[]any{"command", "a\nb"}, "The parameter command must be one line"},
		{[]any{"user", "../x"}, `The parameter user must be the name of a user, and is "../x"`},
		{[]any{"provider", "at"}, `The parameter provider must be crontab, and is "at"`},
	} {
		if _, err := Type().New(newResource("x", c.params...)); err == nil || err.Error() != c.want {
			t.Errorf("New(%v): error is %v, want %s", c.params, err, c.want)
		}
	}
}
