package ssh

import (
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// On a connection that is kept, a command takes one round trip, and a script
// of some kilobytes, too; a run-as has to wait for the answer of sudo before
// it sends data. The same on a link without delay tells what the machine
// itself needs.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	const rtt = 400 * time.Millisecond
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	reach := func(oneWay time.Duration) *Conn {
		link := sshtest.Delay(t, s.Addr, oneWay)
		to := dest(s)
		to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
		return l.mustDial(t, to)
	}
	script := "#!/bin/sh\n" + strings.Repeat("# twenty kilobytes of script\n", 700) + "echo done\n"
	files := []transport.File{{Name: "x.sh", Mode: 0o700, Data: []byte(script)}}
	for _, k := range []struct {
		name string
		cmd  transport.Cmd
		want float64
	}{
		{"command", transport.Cmd{Line: "echo done | cat"}, 1},
		{"builtin command", transport.Cmd{Line: "echo done"}, 1},
		{"script of 20 KB", transport.Cmd{Argv: []string{"./x.sh"}, Files: files}, 1},
		{"line with environment", transport.Cmd{Line: "echo $A", Env: []string{"A=done"}}, 1},
		{"arguments and directory", transport.Cmd{Argv: []string{"echo", "done"}, Dir: "/tmp"}, 1},
		{"run-as", transport.Cmd{Line: "echo done", RunAs: transport.RunAs{User: "nobody"}}, 1},
		{"run-as of a script", transport.Cmd{Argv: []string{"./x.sh"}, Files: files, RunAs: transport.RunAs{User: "nobody"}}, 2},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			far, near := reach(rtt/2), reach(0)
			slow, fast := time.Hour, time.Hour
			timed(t, far, k.cmd) // what it is, so that the shell for it is started
			timed(t, near, k.cmd)
			for range 3 { // a busy machine makes some slow, never fast
				slow = min(slow, timed(t, far, k.cmd))
				fast = min(fast, timed(t, near, k.cmd))
			}
			got := float64(slow-fast) / float64(rtt)
			t.Logf("%.2f round trips; without delay %v", got, fast)
			if got > k.want+0.5 || got < k.want-0.5 {
				t.Errorf("%.2f round trips, want %v", got, k.want)
			}
		})
	}
}

// warmed waits until all that is wanted ahead is there.
func warmed(t testing.TB, c *Conn) {
	t.Helper()
	ready := func() bool {
		w := &c.warm
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.spare) == 1 && !w.ready.lacks() && !w.resident.lacks() && w.ready.starting == nil && w.resident.starting == nil && w.running == 0
	}
	for deadline := time.Now().Add(20 * time.Second); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not warm in time")
		}
	}
}

// timed runs a command that prints "done" on a connection that is warm.
func timed(t *testing.T, c *Conn, cmd transport.Cmd) time.Duration {
	t.Helper()
	warmed(t, c)
	var out strings.Builder
	cmd.Stdout = &out
	began := time.Now()
	if _, err := c.Run(t.Context(), &cmd); err != nil || out.String() != "done\n" {
		t.Fatalf("%q, %v", out.String(), err)
	}
	return time.Since(began)
}

// Without immediate acknowledgements, sshd's first channel takes 40 ms more
// than any later one.
func TestFirstChannelDoesNotStall(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	stall := 40 * time.Millisecond
	best := time.Hour
	for range 10 {
		r, err := l.own.route(dest(s))
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		o, err := c.newSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		o.ch.Close()
		c.places.release()
		c.Close()
	}
	t.Logf("first channel after %v", best)
	if best > stall/2 {
		t.Errorf("first channel took %v at best, want less than %v", best, stall/2)
	}
}
