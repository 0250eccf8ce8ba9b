package reach

import (
	"strings"
	"testing"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/event"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/transport"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err     *event.Error
		applied *event.Applied
		want    driver.Result
	}{
		{nil, &event.Applied{Changed: 2}, driver.Result{Outcome: rollout.OutcomeDone, Changed: true, Changes: 2}},
		{nil, &event.Applied{Noop: 3}, driver.Result{Outcome: rollout.OutcomeDone, Changes: 3}},
		{&event.Error{Class: event.ClassFailed}, &event.Applied{Failed: 1}, driver.Result{Outcome: rollout.OutcomeFailed, Changed: true}},
		{&event.Error{Class: transport.ClassConnect}, nil, driver.Result{Outcome: rollout.OutcomeUnreachable}},
		{&event.Error{Class: transport.ClassTimeout, Code: "CONNECT_ERROR"}, nil, driver.Result{Outcome: rollout.OutcomeUnreachable}},
		{&event.Error{Class: transport.ClassTimeout}, nil, driver.Result{Outcome: rollout.OutcomeTimeout}},
		{&event.Error{Class: transport.ClassAuth}, nil, driver.Result{Outcome: rollout.OutcomeAuth}},
		{&event.Error{Class: transport.ClassRunAs}, nil, driver.Result{Outcome: rollout.OutcomeAuth}},
		{&event.Error{Class: transport.ClassLost}, nil, driver.Result{Outcome: rollout.OutcomeLost, Changed: true}},
		{&event.Error{Class: transport.ClassCancelled}, nil, driver.Result{Outcome: rollout.OutcomeCancelled, Changed: true}},
		{&event.Error{Class: event.ClassSkipped}, nil, driver.Result{Outcome: rollout.OutcomeCancelled}},
		{&event.Error{Class: transport.ClassBootstrap}, nil, driver.Result{Outcome: rollout.OutcomeFailed}},
	} {
		if got := outcome(&event.Result{Err: c.err, Applied: c.applied}); got != c.want {
			t.Errorf("%+v: %+v", c.err, got)
		}
	}
}

// TestTold translates the answers of machines.
func TestTold(t *testing.T) {
	ended := func(d frame.Done) *frame.Fate { return &frame.Fate{State: frame.StateEnded, Done: &d} }
	for _, c := range []struct {
		fate    *frame.Fate
		want    rollout.Outcome
		changed bool
	}{
		{&frame.Fate{State: frame.StateUnknown}, rollout.OutcomeAbsent, false},
		{&frame.Fate{State: frame.StateBroken, Progress: []string{"File[/a]"}, Rebooted: true}, rollout.OutcomeLost, true},
		{ended(frame.Done{Counts: frame.Counts{Unchanged: 3}}), rollout.OutcomeDone, false},
		{ended(frame.Done{Counts: frame.Counts{Changed: 3}}), rollout.OutcomeDone, true},
		{ended(frame.Done{Counts: frame.Counts{Failed: 1}}), rollout.OutcomeFailed, true},
		{ended(frame.Done{Error: "no space"}), rollout.OutcomeFailed, false},
		{ended(frame.Done{Stopped: frame.StopSignal, Counts: frame.Counts{Changed: 1, Skipped: 2}}), rollout.OutcomeLost, true},
		{ended(frame.Done{Stopped: frame.StopAsked, Counts: frame.Counts{Changed: 1, Failed: 1, Skipped: 2}}), rollout.OutcomeCancelled, true},
		{ended(frame.Done{Stopped: frame.StopAsked, Counts: frame.Counts{Skipped: 4}}), rollout.OutcomeCancelled, false},
		{ended(frame.Done{Stopped: frame.StopAsked, Counts: frame.Counts{Changed: 4}}), rollout.OutcomeDone, true},
		{ended(frame.Done{Refused: &frame.Refusal{Kind: frame.KindStale}}), rollout.OutcomeRefused, false},
	} {
		if got := told(c.fate); got.Outcome != c.want || got.Changed != c.changed {
			t.Errorf("%+v: %+v", c.fate, got)
		}
	}
}

// TestDeclined classifies refusals of machines.
func TestDeclined(t *testing.T) {
	e := &remote.RefusedError{Label: "web1", Refusal: frame.Refusal{Kind: frame.KindDrifted, Messages: []string{"this node has the release a"}}}
	r := &driver.Run{Rollout: &rollout.Created{Rollout: "r-rollback"}, Node: rollout.Node{Name: "web1"}}
	if got := declined(r, e); got.Outcome != rollout.OutcomeDrifted || got.Changed || !strings.Contains(got.Reason, "this node has the release a. Nothing was changed. ") || !strings.Contains(got.Reason, "--ignore-drift") {
		t.Errorf("%+v", got)
	}
	r.Rollout.Parent = "r"
	if got := declined(r, e); got.Outcome != rollout.OutcomeDrifted || !strings.Contains(got.Reason, "'bolt rollout skip web1 r-rollback'") {
		t.Errorf("%+v", got)
	}
	e.Kind = frame.KindStale
	if got := declined(r, e); got.Outcome != rollout.OutcomeRefused || got.Changed {
		t.Errorf("%+v", got)
	}
}

// TestExpected sends the release of the run, and the one that the node must have.
func TestExpected(t *testing.T) {
	n := rollout.Node{Name: "n", Release: "new", Previous: "old"}
	for _, c := range []struct {
		change func(c *rollout.Created, n *rollout.Node)
		want   string
	}{
		{func(*rollout.Created, *rollout.Node) {}, "old"},
		{func(_ *rollout.Created, n *rollout.Node) { n.Previous = "" }, ""},
		{func(_ *rollout.Created, n *rollout.Node) { n.Uncertain = true }, ""},
		{func(c *rollout.Created, _ *rollout.Node) { c.IgnoreDrift = true }, ""},
	} {
		created, node := rollout.Created{Sequence: 7}, n
		c.change(&created, &node)
		d := New(Options{}).delivery(&driver.Run{Rollout: &created, Node: node, ID: "x"})
		if d.Release != "new" || d.Expected != c.want || d.Seq != 7 {
			t.Errorf("release %q, expected %q, want %q", d.Release, d.Expected, c.want)
		}
	}
}
