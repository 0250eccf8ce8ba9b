package client

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

// TestViolations checks that nothing hangs and the client disconnects if the
// daemon breaks the protocol.
func TestViolations(t *testing.T) {
	status := wire.EncodeStatus(transport.Status{})
	cases := []struct {
		name string
		do   func(p *peer, id uint32)
		want string
	}{
		{"ID of nobody", func(p *peer, id uint32) { p.send(wire.Exited, id+100, status) }, "belongs to no request"},
		{"ID 0", func(p *peer, _ uint32) { p.send(wire.Stdout, 0, []byte("x")) }, "belongs to no request"},
		{"frame of a client", func(p *peer, id uint32) { p.send(wire.Run, id, nil) }, "frame of type 4"},
		{"unknown type", func(p *peer, id uint32) { p.send(250, id, nil) }, "frame of type 250"},
		{"Dialed for a Run", func(p *peer, id uint32) { p.send(wire.Dialed, id, nil) }, "frame of type 67"},
		{"empty piece", func(p *peer, id uint32) { p.send(wire.Stdout, id, nil) }, "piece of 0 bytes"},
		{"large piece", func(p *peer, id uint32) { p.send(wire.Stdout, id, make([]byte, wire.MaxPiece+1)) }, "piece of 65537 bytes"},
		{"more than the window", func(p *peer, id uint32) {
			// The sink below blocks, so nothing is acknowledged.
			for range wire.Window/wire.MaxPiece + 2 {
				p.send(wire.Stdout, id, make([]byte, wire.MaxPiece))
			}
		}, "not acknowledged"},
		{"huge length", func(p *peer, _ uint32) { p.conn.Write([]byte("\x7f\xff\xff\xff\x44\x00\x00\x00\x01")) }, "larger than"},
		{"half a frame", func(p *peer, _ uint32) { p.conn.Write([]byte("\x00\x00\x00\x09\x44")); p.conn.Close() }, "it closed the connection"},
		{"answer twice", func(p *peer, id uint32) { p.send(wire.Exited, id, status); p.send(wire.Exited, id, status) }, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var bad atomic.Bool
			d := newFake(t, func(p *peer, f wire.Frame) bool {
				if f.Type == wire.Run && bad.CompareAndSwap(false, true) {
					c.do(p, f.ID)
					return true
				}
				return false
			})
			conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
			left := make(chan struct{})
			s := conn.(*Conn).s
			go func() { // the sink blocks until the client has noticed
				defer close(left)
				select {
				case <-s.ended:
				case <-time.After(time.Minute):
				}
			}()
			_, err := conn.Run(testContext(t), &transport.Cmd{Line: "x", Stdout: writerFunc(func(p []byte) (int, error) { <-left; return len(p), nil })})
			if c.want != "" {
				expectClass(t, err, transport.ClassLost, c.want)
			}
			eventually(t, "the daemon is left", func() bool { return !conn.(*Conn).s.alive() })
			say(t, conn, "hello")
		})
	}
}

// TestUnreadableAnswer checks that an answer that cannot be decoded fails only
// its own request.
func TestUnreadableAnswer(t *testing.T) {
	var other atomic.Uint32
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type != wire.Run {
			return false
		}
		r, err := wire.DecodeRun(f.Body)
		if err != nil {
			t.Error(err)
			return true
		}
		switch r.Cmd.Line {
		case "good":
			other.Store(f.ID)
		case "odd":
			p.send(wire.Warned, 0, []byte("\xff"))
			p.send(wire.Exited, f.ID, []byte{1})
			p.send(wire.Stdout, other.Load(), []byte("fine"))
			p.send(wire.Exited, other.Load(), wire.EncodeStatus(transport.Status{Code: 1<<32 - 1}))
		default:
			return false
		}
		return true
	})
	c := newClient(t, Options{Socket: d.socket})
	good, odd := mustDial(t, c), mustDial(t, c)
	var work sync.WaitGroup
	work.Go(func() {
		var out bytes.Buffer
		st, err := good.Run(testContext(t), &transport.Cmd{Line: "good", Stdout: &out})
		if out.String() != "fine" || st.Code != 1<<32-1 || err != nil {
			t.Errorf("the other request: %q, %+v, %v", out.String(), st, err)
		}
	})
	eventually(t, "the other request runs", func() bool { return other.Load() != 0 })
	_, err := odd.Run(testContext(t), &transport.Cmd{Line: "odd"})
	expectClass(t, err, transport.ClassLost, "cannot be decoded")
	work.Wait()
	if !odd.(*Conn).s.alive() {
		t.Error("the session has ended")
	}
	say(t, odd, "hello")
}

// FuzzSession sends arbitrary frames of a daemon.
func FuzzSession(f *testing.F) {
	var seed bytes.Buffer
	w := wire.NewWriter(&seed)
	w.Send(wire.Stdout, 1, []byte("out"))
	w.Send(wire.Warned, 0, (&wire.Warning{ID: "a", Text: "b"}).Encode())
	w.Send(wire.Exited, 1, wire.EncodeStatus(transport.Status{Code: 3}))
	w.Send(wire.Wanted, 2, nil)
	w.Send(wire.Had, 2, nil)
	w.Send(wire.Reply, 3, []byte("x"))
	w.Send(wire.Failed, 3, wire.EncodeError(&transport.Error{Class: transport.ClassAuth, Msg: "no"}))
	f.Add(seed.Bytes())
	f.Add([]byte("\x00\x00\x00\x00\x44\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		near, far := net.Pipe()
		s := newSession(near, wire.NewWriter(near), wire.NewReader(near), wire.Greeting{}, func(string, string) {}, New(Options{}).log)
		var all []*request
		for _, typ := range []wire.Type{wire.Run, wire.Offer, wire.Control, wire.Dial, wire.Get} {
			r, err := s.begin(typ)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		far.Write(in)
		far.Close()
		s.wg.Wait()
		for _, r := range all {
			if pieces, a := r.next(); a == nil || len(pieces) > len(in) {
				t.Errorf("request %d: %d pieces, answer %v", r.id, len(pieces), a)
			}
		}
	})
}
