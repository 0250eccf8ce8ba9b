package ssh

import (
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

func fleet(t testing.TB, n int) (*sshtest.Fleet, []transport.Dest) {
	t.Helper()
	f := sshtest.NewFleet(t, n, func(_ context.Context, c sshtest.Call) int {
		io.WriteString(c.Stdout, c.Line)
		return 0
	}, nil)
	var to []transport.Dest
	for _, addr := range f.Addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		p, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, transport.Dest{Protocol: "ssh", Host: host, Port: p, User: "root", PrivateKey: f.KeyFile,
			ConnectTimeout: time.Minute, HostKeyCheck: transport.CheckNone})
	}
	return f, to
}

// TestIdleConnectionIsSmall checks that an idle connection has four goroutines
// and some tens of kilobytes.
func TestIdleConnectionIsSmall(t *testing.T) {
	const n = 100
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 1000\n"})
	l := newLab(t, nil, s)
	l.mustDial(t, dest(s)) // creates the shared state
	measure := func() (int, uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc + m.StackInuse
	}
	goroutines, memory := measure()
	var conns []*Conn
	for range n {
		conns = append(conns, l.mustDial(t, dest(s)))
	}
	for _, c := range conns {
		say(t, c, "true")
	}
	g, m := measure()
	perGoroutine, perMemory := float64(g-goroutines)/n, float64(m-memory)/n/1024
	t.Logf("%.1f goroutines, %.1f KB each", perGoroutine, perMemory)
	if perGoroutine > 4.5 {
		t.Errorf("%.1f goroutines for each connection, want 4", perGoroutine)
	}
	if perMemory > 60 { // the race detector makes it larger
		t.Errorf("%.1f KB for each connection, want less than 60", perMemory)
	}
}

func BenchmarkDial(b *testing.B) {
	_, to := fleet(b, 1)
	l := newLab(b, nil)
	for b.Loop() {
		c, err := l.Dial(b.Context(), to[0])
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func BenchmarkDialSSHD(b *testing.B) {
	s := sshtest.Start(b, sshtest.Options{})
	l := newLab(b, nil, s)
	for b.Loop() {
		c, err := l.Dial(b.Context(), dest(s))
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func BenchmarkRun(b *testing.B) {
	_, to := fleet(b, 1)
	l := newLab(b, func(o *Options) { o.Keep = true })
	c := l.mustDial(b, to[0])
	for b.Loop() {
		if _, _, _, err := output(b.Context(), c, "true", "", false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRunSSHD(b *testing.B) {
	s := sshtest.Start(b, sshtest.Options{})
	l := newLab(b, func(o *Options) { o.Keep = true }, s)
	c := l.mustDial(b, dest(s))
	for b.Loop() {
		if _, _, _, err := output(b.Context(), c, "true", "", false); err != nil {
			b.Fatal(err)
		}
	}
}
