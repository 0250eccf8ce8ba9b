package timer_test

import (
	"strings"
	"testing"
	"time"

	"bolt/apply/provider"
	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/timer"
	"bolt/apply/resource"
	"bolt/format/ordered"
)

// TestOnce checks that a timer neither waits nor refreshes anything in a run that ends.
func TestOnce(t *testing.T) {
	got := hosttest.Apply(t, hosttest.Host(t), provider.All(), false, `Timer[t] {"interval":4000000000,"notify":"Exec[e]"}`, `Exec[e] {"command":"false","provider":"shell","refreshonly":true}`)
	if got != "" {
		t.Error(got)
	}
}

func TestInterval(t *testing.T) {
	item, err := timer.Type().New(&resource.Resource{Params: ordered.Of("interval", int64(30))})
	if err != nil {
		t.Fatal(err)
	}
	if got := item.(resource.Watcher).Watch(t.Context(), resource.NewHost()); len(got) != 1 || got[0] != (resource.Watch{Every: 30 * time.Second}) {
		t.Errorf("got %v", got)
	}
	for _, c := range []struct {
		v    any
		want string
	}{{nil, "interval must be given"}, {int64(0), "from 1 to"}, {int64(1) << 32, "from 1 to"}, {"soon", `must be a whole number, and is "soon"`}} {
		r := &resource.Resource{Params: ordered.Of("interval", c.v)}
		if c.v == nil {
			r.Params = ordered.Of()
		}
		if _, err := timer.Type().New(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v", c.v, err)
		}
	}
}
