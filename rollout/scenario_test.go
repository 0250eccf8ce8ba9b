package rollout

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

func outcomeOf(text string) gate.Outcome { return gate.Outcome(text) }

const (
	n0, n1, n2, n3 = "node00000", "node00001", "node00002", "node00003"
)

func TestSoak(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {waves: [{count: 1, soak: 30m}, {rest: true}]}", 3)
	g.is(Running, "wave 1 of 2: count 1")
	g.all(OutcomeDone)
	g.is(Soaking, "soaks until 2026-09-01T10:30:00Z")
	if want := g.now.Add(30 * time.Minute); !g.next.Equal(want) || !g.s.SoakUntil().Equal(want) {
		t.Errorf("the next step is at %s, want %s", g.next, want)
	}
	t.Run("pause", func(t *testing.T) {
		g.pass(10 * time.Minute)
		g.do(&Paused{By: "ann"})
		g.is(PausedPhase, "paused by ann")
		g.pass(time.Hour)
		g.do(&Resumed{By: "ann"})
		g.is(Soaking, "soaks until 2026-09-01T11:30:00Z")
	})
	t.Run("clock set back", func(t *testing.T) {
		g.pass(10 * time.Minute)
		g.pass(-2 * time.Hour) // the last event was 10 minutes before
		g.is(Soaking, "soaks until 2026-09-01T09:40:00Z")
		g.pass(19 * time.Minute)
		g.is(Soaking, "")
	})
	t.Run("clock set forward", func(t *testing.T) {
		g.now = g.now.Add(24 * time.Hour)
		g.do(&ClockMoved{By: int64(24 * time.Hour), Reason: "the clock was set forward"})
		g.is(Soaking, "soaks until 2026-09-02T09:40:00Z")
		g.pass(time.Minute)
		g.is(Running, "wave 2 of 2: rest")
	})
	g.all(OutcomeDone)
	g.is(Succeeded, "3 of 3 nodes are done")
}

func TestPromote(t *testing.T) {
	g := play(t, "strategy: {waves: [{count: 1, soak: 30m}, {rest: true}]}", 3)
	g.refuse(&Promoted{By: "ann"}, "neither a soak nor a gate")
	g.all(OutcomeDone)
	g.do(&Promoted{By: "ann"})
	g.is(Running, "wave 2 of 2")
}

// TestLimits: a rollout stops when there are more failures than a limit tolerates.
func TestLimits(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {failures: {count: 1, strict: false}, concurrency: {max: 2}}", 6)
	g.finish(n0, OutcomeFailed)
	g.is(Running, "")
	g.finish(n1, OutcomeUnreachable)
	g.is(PausedPhase, "failures in wave 1: 2, failures.count is 1")
	g.node(n1, NodeUnreachable, "as played")
	if n := g.s.InWork(); n != 1 { // n2 was started after the first failure
		t.Errorf("%d nodes are in work", n)
	}
	g.finish(n2, OutcomeDone)
	g.do(&Resumed{By: "ann", Reason: "known"})
	g.is(Running, "")
	if n := g.s.InWork(); n != 2 {
		t.Errorf("%d nodes are in work after the failures were accepted", n)
	}
	g.all(OutcomeDone)
	g.all(OutcomeDone)
	g.is(Succeeded, "4 of 6 nodes are done, 2 are not")
}

func TestStrict(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {failures: {count: 2, strict: true}, concurrency: {max: 50}}", 10)
	if n := g.s.InWork(); n != 3 {
		t.Errorf("%d nodes are in work, want 3", n)
	}
	g.finish(n0, OutcomeFailed)
	if n := g.s.InWork(); n != 2 {
		t.Errorf("%d nodes are in work after a failure, want 2", n)
	}
	g.finish(n1, OutcomeDone)
	if n := g.s.InWork(); n != 2 {
		t.Errorf("%d nodes are in work after a success, want 2", n)
	}
}

func TestUncounted(t *testing.T) {
	g := play(t, "strategy: {counts_as_failure: [failed]}", 2)
	g.all(OutcomeUnreachable)
	g.all(OutcomeUnreachable)
	g.is(Succeeded, "0 of 2 nodes are done, 2 are not")
}

func TestWindow(t *testing.T) {
	const text = "order: [name]\nstrategy: {concurrency: {max: 1}}\nwindows: [{days: mon-thu, from: 09:00, to: 16:00, tz: UTC, at_close: "
	g := play(t, text+"pause}]", 3)
	g.pass(6 * time.Hour) // 16:00
	g.is(AwaitingWindow, "no window is open until 2026-09-02 09:00 UTC")
	g.finish(n0, OutcomeDone)
	g.is(AwaitingWindow, "")
	if len(g.runs) != 0 {
		t.Error("a node starts outside of the windows")
	}
	if want := time.Date(2026, 9, 2, 9, 0, 0, 0, time.UTC); !g.next.Equal(want) {
		t.Errorf("the next step is at %s, want %s", g.next, want)
	}
	g.pass(17 * time.Hour)
	g.is(Running, "")
	g.finish(n1, OutcomeDone)

	g = play(t, text+"finish_wave}]", 3)
	g.pass(6 * time.Hour)
	g.is(Running, "")
	g.finish(n0, OutcomeDone)
	g.finish(n1, OutcomeDone)
	g.finish(n2, OutcomeDone)
	g.is(Succeeded, "")
}

func TestProgressDeadline(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {progress_deadline: 30m, concurrency: {max: 1}, node: {timeout: 0s}}", 4)
	g.pass(20 * time.Minute)
	g.finish(n0, OutcomeDone) // arms it again
	g.pass(20 * time.Minute)
	g.is(Running, "")
	g.do(&Paused{By: "ann"})
	g.pass(5 * time.Hour)
	g.do(&Resumed{By: "ann"})
	g.is(Running, "")
	g.pass(29 * time.Minute)
	g.do(&DriverStopped{Session: "a"})
	g.now = g.now.Add(3 * time.Hour)
	g.do(&DriverStarted{Session: "b"})
	g.is(Running, "")
	if !slices.Equal(g.asked, []string{n1}) {
		t.Errorf("the nodes %v were asked", g.asked)
	}
	g.pass(time.Minute)
	g.is(PausedPhase, "no node was finished for 30m")
	g.do(&Resumed{By: "ann"})
	g.is(Running, "")
	g.pass(30 * time.Minute)
	g.is(PausedPhase, "no node was finished for 30m")
}

func TestApproval(t *testing.T) {
	const text = "strategy: {waves: [{name: first, count: 1, approve: [ann, bob, dev]}, {rest: true}]}\napprovals: {need: 2, not_author: true, expires: 8h, before: [first]}"
	g := play(t, text, 3)
	c := *g.s.Created()
	ok := func(by string) *Approved {
		return &Approved{By: by, Wave: 1, Release: c.Release, Strategy: c.StrategyDigest}
	}
	g.is(AwaitingApproval, "wave 1 (first) waits for approval by ann, bob, dev: 0 of 2")
	g.refuse(ok("eve"), "eve cannot approve wave 1")
	g.refuse(ok("dev"), "dev is the author")
	g.refuse(&Approved{By: "ann", Wave: 2, Release: c.Release, Strategy: c.StrategyDigest}, "wave 2 needs no approval")
	g.refuse(&Approved{By: "ann", Wave: 1, Release: c.Release, Strategy: "other"}, "the approval is for another release or strategy")
	g.do(ok("ann"))
	g.do(ok("ann"))
	g.is(AwaitingApproval, ": 1 of 2")
	if wave, need, by := g.s.Approval(g.now); wave != 1 || need.Need != 2 || !slices.Equal(by, []string{"ann"}) {
		t.Errorf("wave %d needs %+v, and has %v", wave, need, by)
	}

	st := read(t, text)
	st.Rules.Parallel.Max = 7
	edited := create(t, st, c.Nodes)
	g.do(&Edited{Strategy: edited.Strategy, StrategyDigest: edited.StrategyDigest, Nodes: edited.Nodes, Waves: edited.Waves, By: "dev"})
	g.is(AwaitingApproval, ": 0 of 2")
	g.refuse(ok("bob"), "the approval is for another release or strategy")
	c = *g.s.Created()
	g.do(ok("ann"))
	g.pass(9 * time.Hour)
	g.do(ok("bob"))
	g.is(AwaitingApproval, ": 1 of 2")
	g.do(ok("ann"))
	g.is(Running, "wave 1")
	g.refuse(&Edited{Strategy: edited.Strategy, StrategyDigest: edited.StrategyDigest, Nodes: edited.Nodes, Waves: edited.Waves, By: "dev"}, "after the start of the first wave")
	g.refuse(ok("bob"), "wave 1 has started already")
}

// TestWithoutDriver: a command is visible at once, also if no driver follows it.
func TestWithoutDriver(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {waves: [{count: 1}, {rest: true}]}\napprovals: {before: [rest], users: [ann, bob], need: 2}", 3)
	g.all(OutcomeDone)
	g.do(&DriverStopped{Session: "a"})
	c := g.s.Created()
	g.do(&Approved{By: "ann", Wave: 2, Release: c.Release, Strategy: c.StrategyDigest})
	g.is(AwaitingApproval, "wave 2 (rest) waits for approval by ann, bob: 1 of 2")
	g.do(&Approved{By: "bob", Wave: 2, Release: c.Release, Strategy: c.StrategyDigest})
	g.is(AwaitingApproval, "wave 2 (rest) is approved by ann, bob, and starts with the next driver")
	g.do(&Paused{By: "ann", Reason: "lunch"})
	g.is(PausedPhase, "paused by ann: lunch")
	g.do(&AbortRequested{By: "bob", Mode: Drain})
	g.is(Aborting, "aborted by bob")
}

func TestReject(t *testing.T) {
	g := play(t, "strategy: {waves: [{rest: true, approve: [ann]}]}", 3)
	g.refuse(&Rejected{By: "ann", Wave: 2}, "does not wait for an approval")
	g.do(&Rejected{By: "ann", Wave: 1, Reason: "not on a Friday"})
	g.is(Aborted, "wave 1 was rejected by ann: not on a Friday")
	g.node(n0, NodeCancelled, "before the node was started")
}

func TestNodeGates(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {concurrency: {max: 1}}\ngates: [{name: a, at: [node], command: x, count: 2, interval: 10s, error_limit: 1}]", 3)
	g.finish(n0, OutcomeDone)
	g.node(n0, NodeVerifying, "")
	if list := g.s.Gates(); len(list) != 1 || list[0].Node != n0 || list[0].Outcome != gate.Pending || !list[0].Waiting {
		t.Errorf("the gates are %+v", list)
	}
	g.measured("a "+n0, "successful")
	if want := g.now.Add(10 * time.Second); !g.next.Equal(want) {
		t.Errorf("the next step is at %s, want %s", g.next, want)
	}
	g.pass(10 * time.Second)
	g.measured("a "+n0, "error")
	g.pass(10 * time.Second)
	g.measured("a "+n0, "successful")
	g.node(n0, NodeDone, "")

	g.finish(n1, OutcomeDone)
	g.measured("a "+n1, "error")
	g.pass(10 * time.Second)
	g.measured("a "+n1, "error")
	g.is(PausedPhase, "gate a of node node00001 has no result (error): 2 values in a row could not be measured, error_limit is 1: as played")
	g.node(n1, NodeVerifying, "")
	g.do(&Resumed{By: "ann"})
	g.measured("a "+n1, "inconclusive")
	g.is(PausedPhase, "(inconclusive)")
	g.do(&Promoted{By: "ann"})
	g.node(n1, NodeDone, "")

	g.finish(n2, OutcomeDone)
	g.measured("a "+n2, "failed")
	g.node(n2, NodeFailed, "gate a failed: 1 measurement failed, failure_limit is 0: as played")
	g.is(PausedPhase, "failures in wave 1: 1")
}

func TestWaveGates(t *testing.T) {
	const text = "strategy: {on_failure: rollback}\ngates: [{name: a, at: [wave], command: x}]"
	g := play(t, text, 1)
	g.all(OutcomeDone)
	g.is(Gating, "gates of wave 1")
	g.measured("a", "error")
	g.is(PausedPhase, "has no result (error)") // never a rollback
	g.do(&Resumed{By: "ann"})
	g.measured("a", "failed")
	g.is(RollingBack, "gate a of wave 1 failed")

	g = play(t, "gates: [{name: a, at: [wave], command: x}]", 1)
	g.all(OutcomeDone)
	g.measured("a", "failed")
	g.is(PausedPhase, "gate a of wave 1 failed")
	g.do(&Promoted{By: "ann"})
	g.is(Succeeded, "")
}

func TestBackgroundGate(t *testing.T) {
	g := play(t, "strategy: {on_failure: abort, concurrency: {max: 1}}\ngates: [{name: a, at: [background], command: x, interval: 1m}]", 3)
	g.measured("a", "successful")
	g.pass(time.Minute)
	g.measured("a", "failed")
	g.is(Aborting, "background gate a failed")
	g.all(OutcomeDone)
	g.is(Failed, "background gate a failed")
}

func TestAbort(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {concurrency: {max: 2}, failures: {count: 5}}\nhooks: {before_node: a, after_node: b}", 4)
	g.hooked(n0, true)
	g.hooked(n1, true)
	g.do(&AbortRequested{By: "ann", Mode: Drain})
	g.is(Aborting, "aborted by ann")
	g.refuse(&AbortRequested{By: "ann", Mode: Drain}, "ending already")
	g.finish(n0, OutcomeDone)
	g.hooked(n0, true)
	g.do(&AbortRequested{By: "ann", Mode: Cancel})
	if !slices.Equal(g.stops, []string{n1}) {
		t.Errorf("the runs of %v are stopped", g.stops)
	}
	g.finish(n1, OutcomeCancelled)
	g.is(Aborting, "")
	g.hooked(n1, true) // the second half runs
	g.is(Aborted, "aborted by ann")
	g.node(n0, NodeDone, "")
	g.node(n1, NodeCancelled, "")
	g.node(n2, NodeCancelled, "")
	g.refuse(&Paused{By: "ann"}, "the rollout has ended: aborted")
}

func TestHooks(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {concurrency: {max: 1}, failures: {count: 5}}\nhooks: {before_node: a, after_node: b}", 3)
	g.node(n0, NodeLocked, "")
	g.hooked(n0, false)
	if len(g.runs) != 0 {
		t.Error("a run starts although the first hook failed")
	}
	g.hooked(n0, true)
	g.node(n0, NodeFailed, "the hook before_node failed: as played")
	g.hooked(n1, true)
	g.finish(n1, OutcomeFailed)
	g.hooked(n1, true)
	g.node(n1, NodeFailed, "as played")
	g.hooked(n2, true)
	g.finish(n2, OutcomeDone)
	g.hooked(n2, false)
	g.node(n2, NodeFailed, "the hook after_node failed: as played")
}

func TestRetries(t *testing.T) {
	g := play(t, "strategy: {node: {retries: 1, retry_on: [connect], retry_after: 30s}}", 1)
	g.finish(n0, OutcomeUnreachable)
	g.node(n0, NodePending, "attempt 1: as played; retry 1 of 1")
	g.pass(29 * time.Second)
	if len(g.runs) != 0 {
		t.Error("the retry comes too early")
	}
	g.pass(time.Second)
	g.finish(n0, OutcomeUnreachable)
	g.node(n0, NodeUnreachable, "as played")
	g.do(&Retried{By: "ann"}, &Resumed{By: "ann"})
	g.finish(n0, OutcomeFailed)
	g.node(n0, NodeFailed, "as played")
	g.do(&Retried{By: "ann", Nodes: []string{n0}}, &Resumed{By: "ann"})
	g.finish(n0, OutcomeDone)
	g.is(Succeeded, "1 of 1 nodes are done")
}

func TestLostTask(t *testing.T) {
	for _, idempotent := range []string{"false", "true"} {
		g := play(t, "action: {task: x, idempotent: "+idempotent+"}\nstrategy: {node: {retries: 1}}", 1)
		g.finish(n0, OutcomeLost)
		if _, waits := g.s.Paused(); idempotent == "true" {
			g.node(n0, NodePending, "retry 1 of 1")
		} else if waits != PauseFailures {
			t.Error("a lost task that is not idempotent is repeated")
		}
	}
}

func TestSkip(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {concurrency: {max: 1}, waves: [{count: 2}, {rest: true}]}", 4)
	g.refuse(&Skipped{Node: n0, By: "ann"}, "node node00000 is sending")
	g.refuse(&Skipped{Node: "web1", By: "ann"}, `node "web1" is not part of this rollout`)
	g.do(&Skipped{Node: n1, By: "ann", Reason: "in repair"})
	g.do(&Skipped{Node: n3, By: "ann"})
	g.finish(n0, OutcomeDone)
	g.is(Running, "wave 2")
	g.finish(n2, OutcomeFailed)
	g.is(PausedPhase, "")
	g.do(&Skipped{Node: n2, By: "ann"}, &Resumed{By: "ann"})
	g.is(Succeeded, "1 of 4 nodes are done, 3 are not")
	g.node(n1, NodeSkipped, "skipped by ann: in repair")
}

func TestMaxUnavailable(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {max_unavailable: 50%, failures: {count: 9}}", 5)
	if n := g.s.InWork(); n != 2 { // 2.5 rounded down
		t.Errorf("%d nodes are in work, want 2", n)
	}
	g.finish(n0, OutcomeFailed)
	g.finish(n1, OutcomeFailed)
	g.is(PausedPhase, "no node can start: max_unavailable is 50% (2 nodes), and 2 have failed")
	g.do(&Skipped{Node: n0, By: "ann"}, &Resumed{By: "ann"})
	g.is(Running, "")
}

func TestCheckKind(t *testing.T) {
	const windows = "\nwindows: [{days: mon-thu, from: 11:00, to: 12:00}]"
	for _, tt := range []struct {
		name, text string
		hour       time.Duration
		noop       bool
	}{
		{"without windows", "kind: check", 0, true},
		{"outside of the window", "kind: check" + windows, 0, true},
		{"inside of the window", "kind: check" + windows, time.Hour, false},
	} {
		c := create(t, read(t, tt.text), nodes(1, rand.New(rand.NewPCG(1, 1))))
		g := &stage{t: t, s: &State{}, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC).Add(tt.hour), runs: map[string]string{}, noop: map[string]bool{}}
		g.do(c, &DriverStarted{Session: "a"})
		if g.noop[n0] != tt.noop {
			t.Errorf("%s: noop is %v", tt.name, g.noop[n0])
		}
		g.finish(n0, OutcomeDone)
		g.is(Succeeded, "")
	}
}

func TestPreview(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {noop_first: {all: true, max_changes_per_node: 5}, concurrency: {max: 1}}", 2)
	g.is(NoopPreview, "")
	for i, name := range []string{n0, n1} {
		g.do(&PreviewFinished{Node: name, Run: g.s.preview.flight[int32(i)], Outcome: OutcomeDone, Changes: 4 + 2*i})
	}
	g.is(PausedPhase, "the preview of 1 nodes needs attention, the first is node00001")
	g.do(&Resumed{By: "ann"})
	g.is(Running, "")
}

func TestSuperseded(t *testing.T) {
	g := play(t, "strategy: {concurrency: {max: 1}}", 3)
	g.do(&Superseded{Rollout: "r2", By: "ann"})
	g.all(OutcomeDone)
	g.is(SupersededPhase, "superseded by rollout r2 by ann")
	g.refuse(&RollbackRequested{By: "ann"}, "superseded already")
}

func TestRollback(t *testing.T) {
	list := nodes(4, rand.New(rand.NewPCG(1, 1)))
	list[1].Previous, list[1].PreviousCatalog = "older", "older node00001"
	list[2].PreviousCatalog = list[2].Catalog
	list[3].Previous = ""
	g := perform(t, create(t, read(t, "order: [name]\nstrategy: {waves: [{percent: 50, soak: 5m, approve: [ann]}, {rest: true}]}\nwindows: [{days: mon-thu}]"), list))
	c := g.s.Created()
	g.do(&Approved{By: "ann", Wave: 1, Release: c.Release, Strategy: c.StrategyDigest})
	if _, _, err := NewRollback(g.s, "x", "ann"); err == nil {
		t.Error("a rollout without changes can be rolled back")
	}
	g.all(OutcomeDone)
	g.all(OutcomeDone)
	g.pass(5 * time.Minute)
	g.all(OutcomeDone)
	g.all(OutcomeDone)
	g.is(Succeeded, "")
	g.do(&RollbackRequested{By: "ann", Reason: "slow pages"})
	g.is(RollingBack, "rollback by ann: slow pages")
	name, pending := g.s.Rollback()
	if name != "r1-rollback" || !pending {
		t.Fatalf("the rollback is %q, pending %v", name, pending)
	}
	back, left, err := NewRollback(g.s, name, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Nodes) != 2 || back.Nodes[0].Release != "old" || back.Nodes[1].Release != "older" || back.Nodes[1].Catalog != "older node00001" || back.Nodes[1].PreviousCatalog != "new node00001" {
		t.Errorf("the nodes of the rollback are %+v", back.Nodes)
	}
	if left[n2] != "its catalog is the same in both releases" || left[n3] != "its release before the rollout is unknown" {
		t.Errorf("left out are %v", left)
	}
	if back.Parent != "r1" || len(back.Waves) != 1 || back.Strategy.Rules.OnFailure == strategy.RollbackAction {
		t.Errorf("the rollback is %+v", back)
	}
	child := perform(t, back)
	child.refuse(&RollbackRequested{By: "ann"}, "is a rollback of r1 itself")
	child.all(OutcomeDone)
	child.all(OutcomeDone)
	child.is(Succeeded, "")
	if _, _, err := NewRollback(child.s, "y", "ann"); err == nil {
		t.Error("a rollback can be rolled back")
	}
	g.do(&RollbackFinished{Rollout: name, State: Succeeded, Nodes: []string{n0, n1}})
	g.is(RolledBack, "rollback by ann: slow pages")
	g.node(n0, NodeRolledBack, "rolled back by r1-rollback")
	g.node(n2, NodeDone, "")
	if st := g.s.Status().Nodes; st[n0].Release != "old" || st[n2].Release != "new" {
		t.Errorf("the releases are %s and %s", st[n0].Release, st[n2].Release)
	}
	g.refuse(&RollbackRequested{By: "ann"}, "rolled_back already")
}

// TestRollbackFails: a rollback that fails ends the rollout as failed, and can be repeated.
func TestRollbackFails(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {on_failure: rollback, concurrency: {max: 1}}", 3)
	g.finish(n0, OutcomeDone)
	g.finish(n1, OutcomeFailed)
	g.is(RollingBack, "failures in wave 1: 1")
	g.do(&RollbackFinished{Rollout: "r1-rollback", State: Aborted, Nodes: []string{n0}, Reason: "aborted by ann"})
	g.is(Failed, "the rollback r1-rollback is aborted: aborted by ann")
	g.do(&RollbackRequested{By: "ann"})
	if name, _ := g.s.Rollback(); name != "r1-rollback-2" {
		t.Errorf("the second rollback is %q", name)
	}
	back, _, err := NewRollback(g.s, "r1-rollback-2", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Nodes) != 1 || back.Nodes[0].Name != n1 {
		t.Errorf("the second rollback has %+v", back.Nodes)
	}
}

// TestStatus: the JSON of a status has the keys that programs read.
func TestStatus(t *testing.T) {
	g := play(t, "order: [name]\nstrategy: {waves: [{name: canary, count: 1}, {rest: true}]}", 2)
	data, err := json.Marshal(g.s.Status())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"rollout":"r1","release":"new","state":"running","reason":"wave 1 of 2: canary","wave":1,` +
		`"waves":[{"name":"canary","state":"running","nodes":["node00000"]},{"name":"rest","state":"pending","nodes":["node00001"]}],` +
		`"nodes":{"node00000":{"state":"sending","release":"new","attempts":1,"reason":"wave 1"},"node00001":{"state":"pending","release":"old","attempts":0,"reason":""}}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestNoNodes(t *testing.T) {
	g := play(t, "strategy: {waves: [{count: 1}, {rest: true, approve: [ann]}]}", 0)
	g.is(Succeeded, "0 of 0 nodes are done")
	if _, err := New(Spec{Rollout: "r1", Strategy: read(t, "")}); err == nil {
		t.Error("a rollout without nodes is no error")
	}
	if _, err := New(Spec{Rollout: "r1", Strategy: read(t, "targets: {at_least: 5}"), Nodes: nodes(4, rand.New(rand.NewPCG(1, 1)))}); err == nil {
		t.Error("a rollout with too few nodes is no error")
	}
}
