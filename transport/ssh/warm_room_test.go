package ssh

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// An answer that is longer than one may be is nobody's, and least of all the
// next command's.
func TestResidentLongAnswer(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	c := kept.mustDial(t, dest(s))
	hello := func() {
		t.Helper()
		if got := seen(t, c, transport.Cmd{Line: "echo hello"}); got != "{Code:0 Signal:}, <nil>\nstdout \"hello\\n\"\nstderr \"\"" {
			t.Errorf("the next line: %.200s", got)
		}
	}
	// printf goes through its format again for each argument.
	for _, arguments := range []int{1, 14, 18, 60, 900} {
		warmUp(t, c)
		var out bytes.Buffer
		line := "printf '" + strings.Repeat("x", 1000) + "%s\\n'" + strings.Repeat(" 7", arguments)
		if st, err := c.Run(t.Context(), &transport.Cmd{Line: line, Stdout: &out}); err != nil || !st.OK() || out.Len() != arguments*1002 {
			t.Errorf("%d arguments: %+v, %v, %d bytes", arguments, st, err, out.Len())
		}
		hello()
	}
	warmUp(t, c)
	if !c.warm.waits(&c.warm.resident) {
		t.Fatal("nothing waits")
	}
	request := fmt.Sprintf("printf '%%0%dd\\nend\\n' 0\n", 2*maxResidentAnswer)
	if answer, ok := c.Ask(t.Context(), []byte(request), func(b []byte) bool { return bytes.HasSuffix(b, []byte("end\n")) }); ok {
		t.Errorf("an answer of %d bytes", len(answer))
	}
	hello()
}

// Shells that have failed are tried again, but not soon.
func TestFailuresAge(t *testing.T) {
	w := warm{eager: true, ready: waiting{wanted: time.Now()}}
	s := &w.ready
	s.fails(1)
	if !w.lacks(s) {
		t.Error("one failure is enough")
	}
	s.fails(1)
	if w.lacks(s) {
		t.Error("two failures are not enough")
	}
	s.failed = time.Now().Add(-failuresLast)
	if !w.lacks(s) {
		t.Error("failures count for ever")
	}
	if s.fails(1); !w.lacks(s) {
		t.Error("old failures count with a new one")
	}
}

// barrier runs as many commands as there are places, which end when all of
// them have begun.
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

// Nor does a shell that is just being started, or that answers.
func TestShellsToComeTakeNoRoom(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	t.Run("starting", func(t *testing.T) {
		link := sshtest.Delay(t, s.Addr, 20*time.Millisecond) // so that it takes its time
		kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
		to := dest(s)
		to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
		c := kept.mustDial(t, to)
		seen(t, c, builtinCmd)
		for end, starting := time.Now().Add(10*time.Second), false; !starting; time.Sleep(time.Millisecond) {
			c.warm.mu.Lock()
			starting = c.warm.resident.starting != nil
			there := c.warm.resident.shell != nil
			c.warm.mu.Unlock()
			if there || time.Now().After(end) {
				t.Fatalf("nobody saw it start; it is there: %v", there)
			}
		}
		barrier(t, c)
	})
	t.Run("answering", func(t *testing.T) {
		kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
		c := kept.mustDial(t, dest(s))
		warmUp(t, c)
		var work sync.WaitGroup
		work.Go(func() {
			if _, ok := c.Ask(t.Context(), []byte("sleep 0.5; echo x\n"), func(b []byte) bool { return len(b) > 1 }); !ok {
				t.Error("no answer")
			}
		})
		time.Sleep(50 * time.Millisecond)
		barrier(t, c)
		work.Wait()
	})
	t.Run("spare session", func(t *testing.T) {
		c := newLab(t, nil, s).mustDial(t, dest(s))
		for range defaultMaxSessions - 1 { // the last one is the spare session's
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

// A ready shell is started where a round trip is long, whenever that is found
// out; one short answer tells that it is not.
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
		w := warm{kept: true, ready: waiting{wanted: time.Now()}, resident: waiting{wanted: time.Now()}, c: &Conn{}}
		for _, d := range k.took {
			w.took(d)
		}
		if got := w.lacks(&w.ready); got != k.want || got && w.due.IsZero() || !w.lacks(&w.resident) {
			t.Errorf("%v: %v, woken %v", k.took, got, !w.due.IsZero())
		}
		w.stop()
	}
}
