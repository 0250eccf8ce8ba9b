package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// account is a type whose state is data.
type account struct {
	state map[string]*ordered.Map // by name
	thing
}

func (t account) Show(_ context.Context, _ *resource.Host, name string) ([]*resource.Resource, error) {
	params := t.state[name]
	if params == nil {
		params = ordered.Of("ensure", "absent")
	}
	return []*resource.Resource{{Ref: catalog.Ref{Type: "User", Title: name}, Params: params}}, nil
}

// TestAudit applies a catalog several times, as runs on a machine that changes in between.
func TestAudit(t *testing.T) {
	m := &machine{}
	state := map[string]*ordered.Map{"a": ordered.Of("ensure", "present", "shell", "/bin/sh", "home", "/home/a"), "b": ordered.Of("ensure", "present", "shell", "hidden1")}
	recorded := make(map[catalog.Ref]map[string]string)
	apply := func(noop bool) string {
		t.Helper()
		m.log = nil
		h := resource.NewHost()
		var lines []string
		h.Log = func(ref catalog.Ref, level report.Level, text string) {
			lines = append(lines, fmt.Sprintf("%s %s: %s", ref.Title, level, text))
		}
		r, err := Prepare(parse(t, "User/a audit=shell,home,name change=home notify=Thing[c]\nUser/b audit=all shell=hidden1 secret=shell\nUser/none audit=all\nUser/d audit=password notify=Thing[c]\nThing/c\nThing/e audit=all"), h, Options{
			Noop: noop, Types: map[string]resource.Type{"User": account{state, thing{m}}, "Thing": thing{m}},
			Audited: func(ref catalog.Ref) map[string]string { return recorded[ref] },
		})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := r.Apply(t.Context(), func(r *report.Result) {
			for _, e := range r.Events {
				lines = append(lines, fmt.Sprintf("%s %s %s: %s", r.Ref.Title, r.Status, e.Outcome, e.Message))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for ref, values := range sum.Audited {
			recorded[ref] = values
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	first := apply(false)
	for _, line := range []string{"a notice: shell: audit change: newly-recorded value /bin/sh", "b warning: shell is not audited, because its value is Sensitive and would be recorded",
		"none notice: ensure: audit change: newly-recorded value absent", "c changed success: refreshed"} {
		if !strings.Contains(first, line) {
			t.Errorf("no %q in\n%s", line, first)
		}
	}
	if strings.Contains(first, "hidden1") || strings.Contains(fmt.Sprint(recorded), "hidden1") {
		t.Errorf("a secret is in %s or %v", first, recorded)
	}
	state["a"] = ordered.Of("ensure", "present", "shell", "/bin/false", "home", "/srv/a")
	state["none"] = ordered.Of("ensure", "present", "uid", int64(7))
	got := apply(true)
	want(got, `a noop audit: audit change: previously recorded value /bin/sh has been changed to /bin/false
a noop noop: home changed from a to b (previously recorded value was /home/a)
b warning: shell is not audited, because its value is Sensitive and would be recorded
c notice: would be refreshed, because a resource that notifies it would change or has changed
none unchanged audit: audit change: previously recorded value absent has been changed to 7
none unchanged audit: audit change: previously recorded value absent has been changed to present`)
	// The run with noop has recorded the values.
	delete(state, "none")
	got = apply(false)
	if strings.Contains(got, "a changed audit") || !strings.Contains(got, "none unchanged audit: audit change: previously recorded value present has been changed to absent") {
		t.Errorf("got %s", got)
	}
	// An audit event refreshes others.
	state["d"] = ordered.Of("ensure", "present", "password", "x")
	m.log = nil
	if got = apply(false); !strings.Contains(got, "d unchanged audit") || !slices.Contains(m.log, "refresh c 0") {
		t.Errorf("got %s, %v", got, m.log)
	}
}
