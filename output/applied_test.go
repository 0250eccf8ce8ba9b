package output

import (
	"bytes"
	"strings"
	"testing"

	"bolt/event"
	"bolt/inventory"
)

func appliedOn(name string, a *event.Applied) *event.Result {
	r := &event.Result{Target: &inventory.Target{Name: name}, Action: event.Apply, Applied: a}
	if a.Failed > 0 {
		r.Err = &event.Error{Msg: "Resources failed to apply for " + name, Class: event.ClassFailed}
	}
	return r
}

func printApplied(t *testing.T, o Options, results ...*event.Result) string {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	targets := make([]*inventory.Target, len(results))
	for i, r := range results {
		targets[i] = r.Target
	}
	send := func(e event.Event) {
		if err := s.Event(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	send(event.ActionBegin{Action: event.Apply, Targets: targets})
	for _, r := range results {
		send(event.TargetEnd{Result: r})
	}
	send(event.ActionEnd{})
	return out.String()
}

var motd = event.Resource{Ref: "File[/etc/motd]", Status: "changed", Changes: []event.Change{{
	Property: "content", Status: "success", Message: "change of content from a to b", Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\x1b[31m\n",
}}}

// TestAppliedTogether checks that equal changes of several targets are printed once, and that
// control sequences of a target are never printed.
func TestAppliedTogether(t *testing.T) {
	broken := event.Resource{Ref: "Package[x]", Status: "failed", Place: "site.pp:3", Changes: []event.Change{{Property: "ensure", Status: "failure", Message: "change of ensure from absent to present failed: no such package\nsecond line"}}}
	left := event.Resource{Ref: "Service[x]", Status: "skipped", Reason: "it depends on Package[x], which failed"}
	got := printApplied(t, Options{Verbose: true},
		appliedOn("web1", &event.Applied{Changed: 1, Unchanged: 2, Resources: []event.Resource{motd}}),
		appliedOn("web3", &event.Applied{Changed: 1, Failed: 1, Skipped: 1, Resources: []event.Resource{motd, broken, left}}),
		appliedOn("web2", &event.Applied{Changed: 1, Unchanged: 2, Resources: []event.Resource{motd}, Logs: []event.ResourceLog{{Ref: "Exec[e]", Level: "notice", Message: "hello"}}}),
	)
	want := `On web[1-3] (3 targets):
  File[/etc/motd]: change of content from a to b
    --- a
    +++ b
    @@ -1 +1 @@
    -old
    +new
On web3:
  Package[x]: failed: change of ensure from absent to present failed: no such package (site.pp:3)
    second line
  Skipped: Service[x]: it depends on Package[x], which failed
On web2:
  Notice: Exec[e]: hello
web[1-2] (2 targets): changed: 1, failed: 0, unchanged: 2 skipped: 0, noop: 0
web3: changed: 1, failed: 1, unchanged: 0 skipped: 1, noop: 0
Successful on 2 targets: web1,web2
Failed on 1 target: web3
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("output is\n%s\nwant\n%s", got, want)
	}
}

// TestAppliedLost checks that the error of a lost connection is printed beside the resources.
func TestAppliedLost(t *testing.T) {
	lost := func(name string) *event.Result {
		r := appliedOn(name, &event.Applied{Changed: 1, Resources: []event.Resource{motd}})
		r.Err = &event.Error{Class: "lost", Msg: "The connection was lost\nThe rest was skipped."}
		return r
	}
	for _, results := range [][]*event.Result{{lost("web1")}, {lost("web1"), lost("web2")}} {
		if got := printApplied(t, Options{Verbose: true}, results...); strings.Count(got, "  The connection was lost\n  The rest was skipped.\n") != 1 {
			t.Errorf("output is\n%s", got)
		}
	}
}

func TestAppliedAlone(t *testing.T) {
	got := printApplied(t, Options{Verbose: true}, appliedOn("web1", &event.Applied{Changed: 1, Noop: 1, Resources: []event.Resource{motd, {Ref: "Exec[e]", Status: "noop", Changes: []event.Change{{Property: "returns", Status: "noop", Message: "it runs"}}},
		{Ref: "File[f]", Status: "unchanged", Changes: []event.Change{{Property: "owner", Status: "audit", Message: "audit change: x"}}}}}))
	want := `Finished on web1:
  File[/etc/motd]: change of content from a to b
    --- a
    +++ b
    @@ -1 +1 @@
    -old
    +new
  Exec[e]: would happen: it runs
  File[f]: owner: audit change: x
  changed: 1, failed: 0, unchanged: 0 skipped: 0, noop: 1
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("output is\n%s\nwant\n%s", got, want)
	}
}

func TestAppliedEvents(t *testing.T) {
	var out bytes.Buffer
	s, err := New(Options{Out: &out, Format: NDJSON})
	if err != nil {
		t.Fatal(err)
	}
	target := &inventory.Target{Name: "web1"}
	if err := s.Event(t.Context(), event.TargetResource{Target: target, Resource: &motd}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"event":"resource"`, `"target":"web1","resource":"File[/etc/motd]","status":"changed","refreshed":false,"changes":[{"property":"content","status":"success","message":"change of content from a to b","diff":"--- a`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s does not have %s", out.String(), want)
		}
	}
}
