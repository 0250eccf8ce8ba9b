package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

func TestManyClients(t *testing.T) {
	t.Parallel()
	v := serve(t, nil)
	const clients, each = 50, 20
	var work sync.WaitGroup
	peers := make([]*peer, clients)
	for i := range peers {
		peers[i] = v.connect(t)
	}
	for i, p := range peers {
		work.Go(func() {
			lease := p.dial(fmt.Sprintf("host%d", i%10))
			ids := make(map[uint32]string)
			for n := range each {
				text := fmt.Sprintf("%d.%d", i, n)
				ids[p.start(lease, "echo "+text)] = text + "\n"
			}
			for exited := 0; exited < each; {
				switch f := p.next(); f.Type {
				case wire.Stdout:
					if want := ids[f.ID]; string(f.Body) != want {
						t.Errorf("output %q, want %q", f.Body, want)
					}
					delete(ids, f.ID)
				case wire.Exited:
					exited++
				default:
					t.Errorf("frame of type %d", f.Type)
					return
				}
			}
			if len(ids) > 0 {
				t.Errorf("no output of %v", ids)
			}
		})
	}
	work.Wait()
	if n := v.router.dials.Load(); n != 10 {
		t.Errorf("%d dials for 10 hosts", n)
	}
	eventually(t, "nothing is in flight", func() bool { return peers[0].status().InFlight == 0 })
	if st := peers[0].status(); st.Clients != clients-1 || st.Runs != clients*each || len(st.Connections) != 10 {
		t.Errorf("status: %+v", st)
	}
}

// process waits for a command's PID in a file.
func process(t *testing.T, file string) int {
	t.Helper()
	var pid int
	eventually(t, "the command has started", func() bool {
		data, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0 && strings.HasSuffix(string(data), "\n")
	})
	return pid
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// TestDeadClientEndsItsWork checks that the work of a client ends with it, and that
// its leases are given back.
func TestDeadClientEndsItsWork(t *testing.T) {
	v := serve(t, nil)
	file := filepath.Join(t.TempDir(), "pid")
	p := v.connect(t)
	lease := p.dial("a")
	p.start(lease, "echo $$ >"+file+"; exec sleep 1000")
	pid := process(t, file)
	p.conn.Close()
	eventually(t, "the command is gone", func() bool { return gone(pid) })
	q := v.connect(t)
	eventually(t, "all is given back", func() bool {
		st := q.status()
		return st.Clients == 0 && st.InFlight == 0 && len(st.Connections) == 1 && st.Connections[0].State == wire.Idle
	})
	if _, _, _, err := q.finish(q.start(q.dial("a"), "true")); err != nil {
		t.Errorf("the connection has suffered: %v", err)
	}
}

func TestCancelEndsRequest(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout bool
		want    transport.Class
	}{
		{"nobody wants it", false, transport.ClassCancelled},
		{"out of time", true, transport.ClassTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := serve(t, nil)
			file := filepath.Join(t.TempDir(), "pid")
			p := v.connect(t)
			lease := p.dial("a")
			id := p.start(lease, "echo $$ >"+file+"; exec sleep 1000")
			pid := process(t, file)
			p.send(wire.Cancel, id, (&wire.CancelRequest{Timeout: c.timeout}).Encode())
			if _, _, _, err := p.finish(id); transport.ClassOf(err) != c.want {
				t.Errorf("got %v, want class %s", err, c.want)
			}
			eventually(t, "the command is gone", func() bool { return gone(pid) })
			p.send(wire.Cancel, id, (&wire.CancelRequest{}).Encode()) // too late
			p.send(wire.Credit, id, wire.EncodeCredit(1))
			if _, _, _, err := p.finish(p.start(lease, "true")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCancelWithFullWindow checks that a request can be cancelled although its client
// reads nothing.
func TestCancelWithFullWindow(t *testing.T) {
	t.Parallel()
	v := serve(t, nil)
	p := v.connect(t)
	id := p.start(p.dial("a"), "yes")
	for got := 0; got < wire.Window; {
		got += len(p.expect(wire.Stdout, id))
	}
	p.send(wire.Cancel, id, (&wire.CancelRequest{}).Encode())
	if e := p.failed(id); e.Class != transport.ClassCancelled {
		t.Error(e)
	}
}

func TestReleaseEndsRunningCommands(t *testing.T) {
	v := serve(t, nil)
	file := filepath.Join(t.TempDir(), "pid")
	p := v.connect(t)
	lease := p.dial("a")
	id := p.start(lease, "echo $$ >"+file+"; exec sleep 1000")
	pid := process(t, file)
	p.send(wire.Release, lease, nil)
	if e := p.failed(id); e.Class != transport.ClassCancelled {
		t.Errorf("got class %s: %v", e.Class, e)
	}
	eventually(t, "the command is gone", func() bool { return gone(pid) })
	p.send(wire.Release, lease, nil) // a second Release does nothing
	p.control("ping")
}

// TestReleaseEndsDial checks that the dial ends, is answered, and leaves no lease.
func TestReleaseEndsDial(t *testing.T) {
	v := serve(t, nil)
	v.router.before = func(ctx context.Context, _ transport.Dest) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	p := v.connect(t)
	id := p.id()
	p.send(wire.Dial, id, wire.EncodeDest(&transport.Dest{Host: "a"}))
	eventually(t, "it dials", func() bool { return p.status().InFlight == 1 })
	p.send(wire.Release, id, nil)
	if e := p.failed(id); e.Class != transport.ClassCancelled {
		t.Error(e)
	}
	eventually(t, "no lease is left", func() bool { return !v.pool.Busy() })
}

func TestDialErrors(t *testing.T) {
	v := serve(t, nil)
	want := &transport.Error{Class: transport.ClassAuth, Code: "AUTH_ERROR", Msg: "no way in", Hint: "try a key", Ask: "/home/x/.ssh/id"}
	v.router.before = func(_ context.Context, to transport.Dest) error {
		if to.Host == "odd" {
			return errors.New("an error without a class")
		}
		return want
	}
	p := v.connect(t)
	id := p.id()
	p.send(wire.Dial, id, wire.EncodeDest(&transport.Dest{Host: "a"}))
	if got := p.failed(id); *got != *want {
		t.Errorf("got %+v", got)
	}
	id = p.id()
	p.send(wire.Dial, id, wire.EncodeDest(&transport.Dest{Host: "odd"}))
	if got := p.failed(id); got.Class != transport.ClassProtocol || !strings.Contains(got.Msg, "an error without a class") {
		t.Errorf("got %+v", got)
	}
}

// TestAnswersAndWarnings checks that answers and warnings belong to one client.
func TestAnswersAndWarnings(t *testing.T) {
	type view struct {
		caller wire.Caller
		answer func(string) (transport.Secret, bool)
		warn   func(id, text string)
	}
	views := make(chan view, 2)
	router := newHere()
	v := serve(t, func(o *Options) {
		o.Router = func(c wire.Caller, answer func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
			views <- view{c, answer, warn}
			return router
		}
	})
	caller := wire.Caller{Home: "/home/x", Dir: "/", AgentSocket: "/a", Env: []string{"A=b"}}
	p := v.socketOnly(t)
	p.hello(wire.Greeting{Version: wire.Version, Made: 100, Caller: caller})
	p.expect(wire.Welcome, 0)
	mine := <-views
	other := v.connect(t)
	theirs := <-views
	if fmt.Sprint(mine.caller) != fmt.Sprint(caller) {
		t.Errorf("caller %+v", mine.caller)
	}
	if _, ok := mine.answer("/key"); ok {
		t.Error("an answer before anybody was asked")
	}
	p.send(wire.Answer, 0, (&wire.AnswerRequest{Path: "/key", Passphrase: transport.NewSecret("s3cret")}).Encode())
	p.control("ping") // it is read after the answer
	if s, ok := mine.answer("/key"); !ok || s.Reveal() != "s3cret" {
		t.Error("the answer is not known")
	}
	if _, ok := theirs.answer("/key"); ok {
		t.Error("another client knows the answer")
	}
	mine.warn("id1", "first")
	w, err := wire.DecodeWarning(p.expect(wire.Warned, 0))
	if err != nil || *w != (wire.Warning{ID: "id1", Text: "first"}) {
		t.Errorf("warning %+v, %v", w, err)
	}
	// In a dial, the warning comes before the answer.
	router.before = func(context.Context, transport.Dest) error {
		mine.warn("id2", "second")
		return nil
	}
	for i := range 50 {
		id := p.id()
		p.send(wire.Dial, id, wire.EncodeDest(&transport.Dest{Host: fmt.Sprint(i)}))
		p.expect(wire.Warned, 0)
		p.expect(wire.Dialed, id)
	}
	other.control("ping") // it got no warning

	p.conn.Close()
	eventually(t, "the client is out", func() bool { return other.status().Clients == 0 })
	mine.warn("id3", "to nobody")
	if _, ok := mine.answer("/key"); ok {
		t.Error("the answer is kept longer than the client")
	}
	if strings.Contains(v.log.String(), "s3cret") {
		t.Error("the log has the secret")
	}
}

// TestProtocolViolations checks that a violation closes the client's connection and
// affects no other client.
func TestProtocolViolations(t *testing.T) {
	v := serve(t, nil)
	v.router.before = func(ctx context.Context, to transport.Dest) error {
		if to.Host == "slow" {
			<-ctx.Done()
		}
		return nil
	}
	type frame struct {
		kind wire.Type
		id   uint32
		body []byte
	}
	run := func(lease uint32) []byte {
		return (&wire.RunRequest{Lease: lease, Cmd: transport.Cmd{Line: "sleep 1000"}}).Encode()
	}
	dial := wire.EncodeDest(&transport.Dest{Host: "a"})
	offer := func(size int64) []byte { return (&wire.OfferRequest{Size: size, Pushed: true}).Encode() }
	for _, c := range []struct {
		name   string
		frames []frame // after a lease 1
	}{
		{"unknown type", []frame{{200, 2, nil}}},
		{"the daemon's type", []frame{{wire.Exited, 2, nil}}},
		{"second greeting", []frame{{wire.Hello, 0, (&wire.Greeting{Version: wire.Version}).Encode()}}},
		{"request with ID 0", []frame{{wire.Dial, 0, dial}}},
		{"answer with an ID", []frame{{wire.Answer, 2, (&wire.AnswerRequest{}).Encode()}}},
		{"ID of a lease", []frame{{wire.Dial, 1, dial}}},
		{"ID of a request", []frame{{wire.Run, 2, run(1)}, {wire.Run, 2, run(1)}}},
		{"ID of an offer", []frame{{wire.Offer, 2, offer(1)}, {wire.Run, 2, run(1)}}},
		{"offer with the ID of a request", []frame{{wire.Run, 2, run(1)}, {wire.Offer, 2, offer(1)}}},
		{"unknown lease", []frame{{wire.Run, 2, run(7)}}},
		{"released lease", []frame{{wire.Release, 1, nil}, {wire.Run, 2, run(1)}}},
		{"lease not dialed yet", []frame{{wire.Dial, 2, wire.EncodeDest(&transport.Dest{Host: "slow"})}, {wire.Run, 3, run(2)}}},
		{"body in a release", []frame{{wire.Release, 1, []byte{0}}}},
		{"credit for nothing", []frame{{wire.Run, 2, run(1)}, {wire.Credit, 2, wire.EncodeCredit(1)}}},
		{"content not offered", []frame{{wire.Put, 2, (&wire.PutRequest{Lease: 1}).Encode()}}},
		{"piece of nothing", []frame{{wire.Piece, 2, []byte("x")}}},
		{"end of nothing", []frame{{wire.End, 2, nil}}},
		{"content too long", []frame{{wire.Offer, 2, offer(2)}, {wire.Piece, 2, []byte("xyz")}}},
		{"empty piece", []frame{{wire.Offer, 2, offer(2)}, {wire.Piece, 2, nil}}},
		{"large piece", []frame{{wire.Offer, 2, offer(1 << 20)}, {wire.Piece, 2, make([]byte, wire.MaxPiece+1)}}},
		{"body in an end", []frame{{wire.Offer, 2, offer(0)}, {wire.End, 2, []byte("x")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := v.connect(t)
			if p.dial("a") != 1 {
				t.Fatal("the lease is not 1")
			}
			for _, f := range c.frames {
				if p.w.Send(f.kind, f.id, f.body) != nil {
					break // the previous frame closed it
				}
			}
			p.closed()
		})
	}
	q := v.connect(t)
	eventually(t, "they are out", func() bool {
		st := q.status()
		return st.Clients == 0 && st.InFlight == 0
	})
	if n := strings.Count(v.log.String(), "broke the protocol"); n != 21 {
		t.Errorf("%d lines in the log", n)
	}
	q.control("ping")
}

// TestUnreadableRequest checks that a request that cannot be decoded fails, and that
// other requests continue.
func TestUnreadableRequest(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	lease := p.dial("a")
	for _, kind := range []wire.Type{wire.Dial, wire.Run, wire.Put, wire.Get} {
		id := p.id()
		p.send(kind, id, []byte{1})
		if e := p.failed(id); e.Class != transport.ClassProtocol || !strings.Contains(e.Msg, "cannot decode") {
			t.Errorf("type %d: got %+v", kind, e)
		}
	}
	if out, _, st, err := p.finish(p.start(lease, "echo fine")); out != "fine\n" || !st.OK() || err != nil {
		t.Errorf("got %q, %+v, %v", out, st, err)
	}
}

// TestPanicEndsOnlyItsRequest checks that a panic ends only the request in which it
// happened.
func TestPanicEndsOnlyItsRequest(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	c := &client{s: v.Server, log: v.Server.log}
	a := c.guard(context.Background(), func(context.Context) answer { panic("oh no") })
	e, err := wire.DecodeError(a.body)
	if a.kind != wire.Failed || err != nil || !strings.Contains(e.Msg, "oh no") {
		t.Errorf("answer %+v, %v, %v", a, e, err)
	}
	p.control("ping")
}

// TestUnreadAnswersDoNotBlockOthers checks that a client that stops reading only
// delays its own requests.
func TestUnreadAnswersDoNotBlockOthers(t *testing.T) {
	v := serve(t, nil)
	stopped := v.connect(t)
	lease := stopped.dial("a")
	for range 20 {
		stopped.start(lease, "yes")
	}
	p := v.connect(t)
	eventually(t, "they run", func() bool { return p.status().InFlight == 20 })
	began := time.Now()
	for range 10 {
		if _, _, _, err := p.finish(p.start(p.dial("a"), "true")); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("ten commands of another client took %v", took)
	}
	stopped.conn.Close()
	eventually(t, "they have ended", func() bool { return p.status().InFlight == 0 })
}
