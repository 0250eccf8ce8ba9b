package driver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store/files"
)

// instant is a fleet whose runs take no time.
type instant struct{}

func (instant) Apply(_ context.Context, r *Run) Result {
	return Result{Outcome: rollout.OutcomeDone, Changed: true, Changes: 1, Catalog: r.Node.Catalog}
}
func (instant) Ask(context.Context, *Run) Result  { return Result{Outcome: rollout.OutcomeLost} }
func (instant) Hook(context.Context, *Hook) error { return nil }
func (instant) Measure(context.Context, *Measurement) (gate.Outcome, any, string) {
	return gate.Successful, nil, ""
}

// BenchmarkDrive drives a rollout of 10,000 nodes with a store on files.
func BenchmarkDrive(b *testing.B) {
	st, err := strategy.Read([]byte("strategy: {waves: [{count: 1}, {percent: 10}, {rest: true}], concurrency: {max: 100}, failures: {percent: 5, strict: false}}"), "s.yaml")
	if err != nil {
		b.Fatal(err)
	}
	spec := rollout.Spec{Release: "r2", Sequence: 2, Strategy: *st, Author: "ann"}
	for i := range 10_000 {
		spec.Nodes = append(spec.Nodes, rollout.Node{Name: fmt.Sprintf("node%05d.example.com", i), Release: "r2", Catalog: fmt.Sprintf("%064d", i), Previous: "r1", PreviousCatalog: fmt.Sprintf("%064d", i+1)})
	}
	for b.Loop() {
		s, err := files.Open(b.Context(), b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		spec.Rollout = ledger.NewID("bench", time.Now())
		c, err := rollout.New(spec)
		if err != nil {
			b.Fatal(err)
		}
		l := ledger.In(s)
		if err := l.Create(b.Context(), c, "ann"); err != nil {
			b.Fatal(err)
		}
		end, err := Drive(b.Context(), Options{Logs: s, Rollout: spec.Rollout, Session: "s", Holder: "ann", User: "ann", Fleet: instant{}, Checks: instant{}})
		if err != nil || end.Phase != rollout.Succeeded {
			b.Fatalf("%+v, %v", end, err)
		}
		start := time.Now()
		done, err := l.Load(b.Context(), spec.Rollout)
		if err != nil {
			b.Fatal(err)
		}
		_ = done.Status()
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/status")
		b.ReportMetric(float64(done.Revision()), "events")
	}
}
