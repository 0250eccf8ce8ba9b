package facts

import (
	"context"
	"testing"
	"time"

	"bolt/event"
	"bolt/facts/factcache"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
	"bolt/transport/all"
)

// told is a task that tells facts.
type told struct{}

func (told) Name() string   { return "task" }
func (told) Object() string { return Task }
func (told) Do(_ context.Context, site *run.Site) error {
	site.Result.Value = ordered.Of("from", "task", "_output", "x")
	return nil
}

// TestCollection: facts come from the helper, or from the task where no helper can run. A lost connection is
// an error, as it would be one for the task.
func TestCollection(t *testing.T) {
	inv, err := inventory.New(t.Context(), ordered.Of("targets", []any{"web1", "switch"}), inventory.Options{Transports: all.Tables(all.List())})
	if err != nil {
		t.Fatal(err)
	}
	targets := inv.AllTargets()
	lost := &transport.Error{Class: transport.ClassLost, Msg: "lost"}
	for _, c := range []struct {
		name   string
		site   run.Site
		err    error // of the helper
		source string
	}{
		{"helper", run.Site{Via: targets[0]}, nil, FromHelper},
		{"no helper can run", run.Site{Via: targets[0]}, &transport.Error{Class: transport.ClassBootstrap, Msg: "noexec"}, FromTask},
		{"PowerShell", run.Site{Via: targets[0], Settings: inventory.Settings{PowerShell: true}}, lost, FromTask},
		{"device", run.Site{Via: targets[1]}, lost, FromTask},
		{"lost", run.Site{Via: targets[0]}, lost, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := Open(t.TempDir(), "", time.Now())
			if err := store.Prepare(store.Now); err != nil {
				t.Fatal(err)
			}
			action := store.Collect(told{}, func(context.Context, *run.Site) (*ordered.Map, error) {
				return ordered.Of("from", "helper", "_hidden", int64(1), "more", true), c.err
			}, "1.0")
			if action.Name() != "task" || action.Object() != Task || Recorded(action) != (event.Action)(told{}) {
				t.Errorf("the action is %s %s", action.Name(), action.Object())
			}
			site := c.site
			site.Target, site.Result = targets[0], &event.Result{}
			err := action.Do(t.Context(), &site)
			record, gerr := store.Record(t.Context(), "web1", factcache.All())
			if gerr != nil {
				t.Fatal(gerr)
			}
			if c.source == "" {
				if err != c.err || record != nil {
					t.Errorf("%v, %v", err, record)
				}
				return
			}
			if err != nil || record == nil || record.Source != c.source || record.Facts.Value("from") != c.source {
				t.Fatalf("%v, %+v, want facts of the %s", err, record, c.source)
			}
			if n := site.Result.Value.Value("facts"); n != record.Facts.Len() {
				t.Errorf("the result has %v facts, and the record %d", n, record.Facts.Len())
			}
		})
	}
}
