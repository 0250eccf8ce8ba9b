package ledger

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"bolt/rollout"
	"bolt/rollout/strategy"
	"bolt/store/files"
)

// fill makes rollouts of the same nodes that have ended, without summaries. It returns their IDs.
func fill(tb testing.TB, dir string, rollouts, nodes int) []string {
	tb.Helper()
	s, err := files.Open(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	spec := rollout.Spec{Release: fmt.Sprintf("%064d", 2), Sequence: 2, Strategy: strategy.Default(), Author: "ann"}
	for i := range nodes {
		spec.Nodes = append(spec.Nodes, rollout.Node{
			Name: fmt.Sprintf("node%05d.example.com", i), Release: fmt.Sprintf("%064d", 2), Catalog: fmt.Sprintf("%064d", i),
			Previous: fmt.Sprintf("%064d", 1), PreviousCatalog: fmt.Sprintf("%064d", i+1),
		})
	}
	var ids []string
	for at := range rollouts {
		spec.Rollout = NewID("web", time.Date(2026, 1, 1, 0, at, 0, 0, time.UTC))
		var data []json.RawMessage
		for _, e := range ended(tb, spec) {
			text, err := rollout.Encode(e)
			if err != nil {
				tb.Fatal(err)
			}
			data = append(data, text)
		}
		if _, err := s.Append(tb.Context(), Log(spec.Rollout), 0, 0, data...); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, spec.Rollout)
	}
	return ids
}

// ended returns the events of a rollout that succeeds.
func ended(tb testing.TB, spec rollout.Spec) []rollout.Event {
	tb.Helper()
	c, err := rollout.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	s := new(rollout.State)
	var events []rollout.Event
	add := func(e rollout.Event) {
		if err := s.Apply(rollout.Record{Revision: s.Revision() + 1, Time: time.Now(), Event: e}); err != nil {
			tb.Fatal(err)
		}
		events = append(events, e)
	}
	add(c)
	add(&rollout.DriverStarted{Session: "s"})
	for !s.Ended() {
		due, _ := rollout.Step(s, time.Now())
		for _, e := range due {
			add(e)
			if started, is := e.(*rollout.NodeStarted); is {
				add(&rollout.NodeProgress{Node: started.Node, Run: started.Run, State: rollout.NodeApplying})
			}
		}
		for _, e := range due {
			if started, is := e.(*rollout.NodeStarted); is {
				add(&rollout.NodeFinished{Node: started.Node, Run: started.Run, Outcome: rollout.OutcomeDone, Changed: true, Changes: 1})
			}
		}
	}
	add(&rollout.DriverStopped{Session: "s"})
	return events
}

// BenchmarkEnded reads 50 rollouts of 1,000 nodes that have ended, with and without summaries. It lists them, and finds the releases
// of their nodes, also if one of the nodes is new.
func BenchmarkEnded(b *testing.B) {
	const rollouts, nodes = 50, 1000
	dir := b.TempDir()
	ids := fill(b, dir, rollouts, nodes)
	names := make([]string, nodes+1)
	for i := range names {
		names[i] = fmt.Sprintf("node%05d.example.com", i) // the last one is new
	}
	for _, with := range []string{"log", "summary"} {
		s, err := files.Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		l := In(s)
		b.Run("history/"+with, func(b *testing.B) {
			for b.Loop() {
				for e, err := range l.Entries(b.Context(), ids) {
					if err != nil || !e.Ended() {
						b.Fatalf("%+v, %v", e, err)
					}
				}
			}
		})
		for what, names := range map[string][]string{"known": names[:nodes], "new": names} {
			b.Run("last/"+what+"/"+with, func(b *testing.B) {
				for b.Loop() {
					if last, err := l.Last(b.Context(), names); err != nil || len(last) != nodes {
						b.Fatalf("%d, %v", len(last), err)
					}
				}
			})
		}
		for e, err := range l.Entries(b.Context(), ids) {
			if err != nil {
				b.Fatal(err)
			}
			e.summarize(b.Context())
		}
	}
}
