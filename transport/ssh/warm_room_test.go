package ssh

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestFailuresAge checks that failed shells are tried again, but only after a
// while.
func TestFailuresAge(t *testing.T) {
	w := warm{eager: true, ready: waiting{wanted: time.Now()}}
	s := &w.ready
	s.fails(1)
	if !w.lacks() {
		t.Error("one failure is enough")
	}
	s.fails(1)
	if w.lacks() {
		t.Error("two failures are not enough")
	}
	s.failed = time.Now().Add(-failuresLast)
	if !w.lacks() {
		t.Error("failures count for ever")
	}
	if s.fails(1); !w.lacks() {
		t.Error("old failures count with a new one")
	}
}

// barrier runs as many commands as there are places. They end when all of them
// have begun.
func barrier(t *testing.T, c *Conn) {
	t.Helper()
	dir := t.TempDir()
	all := fmt.Sprintf("; n=0; while [ $(ls %s | wc -l) -lt %d ]; do sleep 0.05; n=$((n+1)); [ $n -lt 200 ] || exit 1; done", dir, defaultMaxSessions)
	var work sync.WaitGroup
	for i := range defaultMaxSessions {
		work.Go(func() {
			st, err := c.Run(t.Context(), &transport.Cmd{Line: fmt.Sprintf("echo >%s/%d", dir, i) + all})
			if err != nil || !st.OK() {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
	work.Wait()
}

// TestShellsToComeTakeNoRoom checks that a shell that is being started does not
// take a place from a command.
func TestShellsToComeTakeNoRoom(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	t.Run("starting", func(t *testing.T) {
		link := sshtest.Delay(t, s.Addr, 20*time.Millisecond) // makes the start slow
		kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
		to := dest(s)
		to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
		c := kept.mustDial(t, to)
		seen(t, c, scriptCmd)
		for end, starting := time.Now().Add(10*time.Second), false; !starting; time.Sleep(time.Millisecond) {
			c.warm.mu.Lock()
			starting = c.warm.ready.starting != nil
			there := c.warm.ready.shell != nil
			c.warm.mu.Unlock()
			if there || time.Now().After(end) {
				t.Fatalf("nobody saw it start; it is there: %v", there)
			}
		}
		barrier(t, c)
	})
	t.Run("spare session", func(t *testing.T) {
		c := newLab(t, nil, s).mustDial(t, dest(s))
		for range defaultMaxSessions - 1 { // the last place belongs to the spare session
			if !c.places.try() {
				t.Fatal("no place")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		o, err := c.newSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.abandon(o)
	})
}

// TestReadyPays checks that a ready shell is started if round trips are long,
// whenever that is measured, and that one short answer prevents it.
func TestReadyPays(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		took []time.Duration
		want bool
	}{
		{nil, false},
		{[]time.Duration{readyPays - 1}, false},
		{[]time.Duration{readyPays}, true},
		{[]time.Duration{time.Second, readyPays}, true},
		{[]time.Duration{time.Second, time.Millisecond, time.Second}, false},
	} {
		w := warm{kept: true, ready: waiting{wanted: time.Now()}, c: &Conn{}}
		for _, d := range k.took {
			w.took(d)
		}
		if got := w.lacks(); got != k.want || got && w.due.IsZero() {
			t.Errorf("%v: %v, woken %v", k.took, got, !w.due.IsZero())
		}
		w.stop()
	}
}
