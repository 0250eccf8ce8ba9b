package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
	"golang.org/x/sys/unix"
)

func TestLifeEndsDaemon(t *testing.T) {
	const idle = 15 * time.Minute
	over := func(l *life) bool {
		synctest.Wait()
		select {
		case <-l.over:
			return true
		default:
			return false
		}
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T, l *life, inUse *atomic.Bool)
		why  string // why it has ended, "" if it has not
	}{
		{"nobody ever came", func(t *testing.T, l *life, _ *atomic.Bool) {
			time.Sleep(idle - time.Nanosecond)
			if over(l) {
				t.Error("too early")
			}
			time.Sleep(time.Nanosecond)
		}, "idle"},
		{"a client stays", func(t *testing.T, l *life, _ *atomic.Bool) {
			l.enter(1)
			time.Sleep(10 * idle)
		}, ""},
		{"from the last client's end", func(t *testing.T, l *life, _ *atomic.Bool) {
			for range 5 {
				l.enter(2)
				time.Sleep(idle / 2)
				l.enter(2)
				l.leave()
				time.Sleep(idle)
				l.leave()
				time.Sleep(idle - time.Nanosecond)
			}
			if over(l) {
				t.Error("too early")
			}
			time.Sleep(time.Nanosecond)
		}, "idle"},
		{"a connection is in use", func(t *testing.T, l *life, inUse *atomic.Bool) {
			inUse.Store(true)
			time.Sleep(3*idle + 1)
			if over(l) {
				t.Error("too early")
			}
			inUse.Store(false)
			time.Sleep(idle)
		}, "idle"},
		{"drained at once", func(t *testing.T, l *life, _ *atomic.Bool) {
			l.enter(1)
			l.drain()
		}, "drained"},
		{"drained with the last request", func(t *testing.T, l *life, _ *atomic.Bool) {
			l.enter(1)
			l.add(1, 1)
			l.drain()
			l.add(-1, 0)
			if over(l) {
				t.Error("a lease is still there")
			}
			l.add(1, 0)
			l.add(0, -1)
			if over(l) {
				t.Error("a request is still there")
			}
			l.add(-1, 0)
		}, "drained"},
		{"yields", func(t *testing.T, l *life, _ *atomic.Bool) {
			l.enter(2)
			if !l.yield("newer") {
				t.Error("did not")
			}
		}, "newer"},
		{"does not yield under others", func(t *testing.T, l *life, _ *atomic.Bool) {
			l.enter(2)
			l.enter(2)
			if l.yield("newer") {
				t.Error("did")
			}
		}, ""},
		{"the first reason counts", func(t *testing.T, l *life, _ *atomic.Bool) {
			l.end("one")
			l.end("two")
			if _, ok := l.enter(9); ok {
				t.Error("a client came in afterwards")
			}
		}, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inUse atomic.Bool
				l := newLife(idle, inUse.Load)
				l.start()
				defer l.end("test is over")
				c.test(t, l, &inUse)
				if over(l) != (c.why != "") || l.reason() != c.why {
					t.Errorf("ended: %v, %q; want %q", over(l), l.reason(), c.why)
				}
			})
		})
	}
}

func TestIdleExit(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.IdleTimeout = 1500 * time.Millisecond })
	p := v.connect(t)
	p.send(wire.Release, p.dial("a"), nil) // this leaves a pooled connection
	time.Sleep(1700 * time.Millisecond)
	p.control("ping")
	p.conn.Close()
	v.wait(t)
	if _, err := os.Lstat(v.Addr()); err == nil {
		t.Error("the socket is left behind")
	}
	if n := len(v.pool.Connections()); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// TestStopEndsRunningRequests checks that running requests are ended and answered, and that
// "stop" is answered last.
func TestStopEndsRunningRequests(t *testing.T) {
	v := serve(t, nil)
	file := filepath.Join(t.TempDir(), "pid")
	p, q := v.connect(t), v.connect(t)
	id := p.start(p.dial("a"), "echo $$ >"+file+"; exec sleep 1000")
	pid := process(t, file)
	q.control("stop")
	if !gone(pid) {
		t.Error("the command still runs")
	}
	if e := p.failed(id); e.Class != transport.ClassCancelled {
		t.Error(e)
	}
	p.closed()
	q.closed()
	if _, err := os.Lstat(v.Addr()); err == nil {
		t.Error("the socket is left behind")
	}
	v.wait(t)
}

// TestStopOfStoppedClients checks that clients that read nothing do not keep a daemon
// running.
func TestStopOfStoppedClients(t *testing.T) {
	t.Parallel()
	v := serve(t, nil)
	stopped := v.connect(t)
	lease := stopped.dial("a")
	for range 10 {
		stopped.start(lease, "yes")
	}
	p := v.connect(t)
	var waits int
	eventually(t, "the socket is full", func() bool {
		before := waits
		waits = stopped.unread()
		return waits > 100_000 && waits == before
	})
	began := time.Now()
	p.control("stop")
	if took := time.Since(began); took > lastWords+30*time.Second {
		t.Errorf("took %v", took)
	}
	v.wait(t)
}

// unread returns how many bytes wait in the client's socket.
func (p *peer) unread() (n int) {
	p.t.Helper()
	raw, err := p.conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		p.t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { n, failed = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); err != nil || failed != nil {
		p.t.Fatal(err, failed)
	}
	return n
}

// TestContextEndStopsDaemon checks that the end of the context (SIGTERM) has the same effect
// as "stop".
func TestContextEndStopsDaemon(t *testing.T) {
	v := serve(t, nil)
	file := filepath.Join(t.TempDir(), "pid")
	p := v.connect(t)
	id := p.start(p.dial("a"), "echo $$ >"+file+"; exec sleep 1000")
	pid := process(t, file)
	v.end()
	if e := p.failed(id); e.Class != transport.ClassCancelled {
		t.Error(e)
	}
	v.wait(t)
	if !gone(pid) {
		t.Error("the command still runs")
	}
}

// TestDrainLetsRequestsEnd checks that running requests continue to their end, and that the
// socket is free for the next daemon.
func TestDrainLetsRequestsEnd(t *testing.T) {
	v := serve(t, nil)
	file := filepath.Join(t.TempDir(), "go")
	p, q := v.connect(t), v.connect(t)
	lease := p.dial("a")
	id := p.start(lease, "echo $$ >"+file+".pid; until test -e "+file+"; do sleep 0.1; done; echo done")
	process(t, file+".pid")
	q.control("drain")
	if st := q.status(); !st.Draining || st.InFlight != 1 || len(st.Connections) != 1 || st.Connections[0].State != wire.Closing {
		t.Errorf("status: %+v", st)
	}
	next := serve(t, func(o *Options) { o.Socket = v.Addr() })
	next.connect(t).control("ping")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, _, err := p.finish(id); out != "done\n" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
	if out, _, _, err := p.finish(p.start(lease, "echo more")); out != "more\n" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
	p.send(wire.Release, lease, nil)
	v.wait(t)
	q.closed()
	next.connect(t).control("ping") // the draining daemon has not removed its socket
}

// TestDrainKeepsInheritedSocket checks that an inherited socket stays and new clients are
// refused.
func TestDrainKeepsInheritedSocket(t *testing.T) {
	v := serve(t, func(o *Options) { o.Listener, o.Socket = listenForTest(t), "" })
	p := v.connect(t)
	lease := p.dial("a")
	p.control("drain")
	q := v.socketOnly(t)
	q.hello(wire.Greeting{Version: wire.Version, Made: 100})
	r, err := wire.DecodeRefusal(q.expect(wire.Refused, 0))
	if err != nil || r.Leaving || !strings.Contains(r.Reason, "draining") {
		t.Errorf("refusal %+v, %v", r, err)
	}
	p.send(wire.Release, lease, nil)
	v.wait(t)
}

func TestStatus(t *testing.T) {
	v := serve(t, func(o *Options) {
		o.Log = "/log"
		o.Limits = wire.Limits{MaxConnections: 7, IdleTimeout: time.Minute, MaxAge: time.Hour}
	})
	p := v.connect(t)
	lease := p.dial("a")
	p.send(wire.Release, p.dial("a"), nil)
	for range 2 {
		p.finish(p.start(lease, "true"))
	}
	eventually(t, "nothing is in flight", func() bool { return p.status().InFlight == 0 })
	data := p.control("status")
	var st wire.Status
	if err := json.Unmarshal(data, &st); err != nil {
		t.Fatal(err)
	}
	if st.PID != os.Getpid() || st.Version != "1.0-test" || st.Protocol != wire.Version || st.Socket != v.Addr() || st.Log != "/log" || time.Since(st.Started) > time.Minute {
		t.Errorf("who: %+v", st)
	}
	if st.Clients != 0 || st.InFlight != 0 || st.Draining || st.Dials != 1 || st.DialsSaved != 1 || st.Runs != 2 || st.Limits.MaxConnections != 7 {
		t.Errorf("counts: %+v", st)
	}
	if st.Memory < 1<<20 || st.Goroutines < 3 || st.Files < 3 {
		t.Errorf("process: %d bytes, %d goroutines, %d files", st.Memory, st.Goroutines, st.Files)
	}
	if len(st.Connections) != 1 || st.Connections[0].Peer != "a" || st.Connections[0].State != wire.Busy || st.Connections[0].Sent != 1 {
		t.Errorf("connections: %+v", st.Connections)
	}
	fresh := serve(t, nil)
	if text := string(fresh.connect(t).control("status")); !strings.Contains(text, `"connections":[]`) {
		t.Errorf("no list without connections: %s", text)
	}
}

func TestUnknownControl(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	p.send(wire.Control, 1, []byte("dance\x1b[2J"))
	if e := p.failed(1); e.Class != transport.ClassUnsupported || strings.Contains(e.Msg, "\x1b") {
		t.Errorf("got %+v", e)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a server without a pool")
	}
}

// TestMetrics parses the metrics as Prometheus's text format 0.0.4.
func TestMetrics(t *testing.T) {
	v := serve(t, func(o *Options) { o.Build = `1.0 "odd\` })
	p := v.connect(t)
	p.finish(p.start(p.dial("a"), "true"))
	values, kinds := parseMetrics(t, string(p.control("metrics")))
	for name, want := range map[string]string{
		"bolt_pool_up": "1", "bolt_pool_clients": "0", "bolt_pool_runs_total": "1", "bolt_pool_dials_total": "1",
		`bolt_pool_connections{state="busy"}`: "1", `bolt_pool_connections{state="idle"}`: "0",
		fmt.Sprintf(`bolt_pool_build_info{version="1.0 \"odd\\",protocol="%d"}`, wire.Version): "1",
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q", name, values[name], want)
		}
	}
	for name, kind := range kinds {
		if strings.HasSuffix(name, "_total") != (kind == "counter") {
			t.Errorf("%s is a %s", name, kind)
		}
	}
}

// parseMetrics returns the values of all series and the kinds of all metrics.
func parseMetrics(t *testing.T, text string) (values, kinds map[string]string) {
	t.Helper()
	values, kinds = make(map[string]string), make(map[string]string)
	helped := ""
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		fields := strings.Fields(line)
		switch {
		case !whole || len(fields) < 2:
			t.Errorf("line %q", line)
		case strings.HasPrefix(line, "# HELP ") && len(fields) > 3:
			helped = fields[2]
		case strings.HasPrefix(line, "# TYPE ") && len(fields) == 4 && fields[2] == helped:
			kinds[helped] = fields[3]
		default:
			series, value := line[:strings.LastIndexByte(line, ' ')], fields[len(fields)-1]
			name, _, _ := strings.Cut(series, "{")
			if name != helped || kinds[name] == "" || values[series] != "" {
				t.Errorf("line %q out of place", line)
			}
			values[series] = value
		}
	}
	return values, kinds
}

// TestEndWhileGreeting checks that clients that have not greeted do not keep a daemon
// running.
func TestEndWhileGreeting(t *testing.T) {
	v := serve(t, nil)
	p := v.socketOnly(t)
	eventually(t, "it is in", func() bool { return v.life.pulse().clients == 1 })
	began := time.Now()
	v.end()
	v.wait(t)
	p.closed()
	if took := time.Since(began); took >= greetTimeout {
		t.Errorf("took %v", took)
	}
}
