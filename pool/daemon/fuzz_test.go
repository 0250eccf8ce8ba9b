package daemon

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"bolt/pool"
	"bolt/pool/wire"
	"bolt/transport"
)

// nowhere is a Router whose connections do nothing.
type nowhere struct{}

func (nowhere) Dial(context.Context, transport.Dest) (transport.Conn, error) { return nowhere{}, nil }
func (nowhere) Route(context.Context, transport.Dest) (transport.Route, error) {
	return nowhereRoute{}, nil
}

type nowhereRoute struct{}

func (nowhereRoute) Key() string                                  { return "k" }
func (nowhereRoute) Dial(context.Context) (transport.Conn, error) { return nowhere{}, nil }

func (nowhere) Run(_ context.Context, c *transport.Cmd) (transport.Status, error) {
	_, err := io.WriteString(c.Stdout, c.Line)
	return transport.Status{}, err
}
func (nowhere) Put(context.Context, transport.Tree, string, transport.FileOptions) error { return nil }
func (nowhere) Get(context.Context, string, string, transport.FileOptions) error         { return nil }
func (nowhere) Close() error                                                             { return nil }

// pipeListener returns the ends of pipes.
type pipeListener struct{ closed chan struct{} }

func (l pipeListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}
func (l pipeListener) Close() error {
	close(l.closed)
	return nil
}
func (pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "/pipe", Net: "unix"} }

// FuzzClient sends arbitrary frames of a client after its greeting. Nothing may
// hang, panic or be left over.
func FuzzClient(f *testing.F) {
	frame := func(kind wire.Type, id uint32, body []byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		return append(binary.BigEndian.AppendUint32(append(b, byte(kind)), id), body...)
	}
	seed := func(frames ...[]byte) {
		var all []byte
		for _, b := range frames {
			all = append(all, b...)
		}
		f.Add(all)
	}
	dial := frame(wire.Dial, 1, wire.EncodeDest(&transport.Dest{Host: "a"}))
	content := (&wire.OfferRequest{Size: 3, Pushed: true}).Encode()
	seed(dial)
	seed(dial, frame(wire.Run, 2, (&wire.RunRequest{Lease: 1, Cmd: transport.Cmd{Line: "x"}}).Encode()), frame(wire.Credit, 2, wire.EncodeCredit(1)))
	seed(dial, frame(wire.Run, 2, (&wire.RunRequest{Lease: 1, Cmd: transport.Cmd{Line: "x"}, HasInput: true}).Encode()), frame(wire.Input, 2, []byte("abc")), frame(wire.InputEnd, 2, nil))
	seed(dial, frame(wire.Get, 2, (&wire.GetRequest{Lease: 1, Src: "/x"}).Encode()), frame(wire.Cancel, 2, (&wire.CancelRequest{}).Encode()))
	seed(frame(wire.Offer, 3, content), frame(wire.Piece, 3, []byte("abc")), frame(wire.End, 3, nil), dial,
		frame(wire.Put, 4, (&wire.PutRequest{Lease: 1}).Encode()), frame(wire.Forget, 0, wire.EncodeForget(wire.Digest{})), frame(wire.Release, 1, nil))
	seed(frame(wire.Answer, 0, (&wire.AnswerRequest{Path: "p"}).Encode()), frame(wire.Control, 5, []byte("status")), frame(wire.Control, 6, []byte("metrics")))
	seed(frame(wire.Control, 7, []byte("drain")), dial)
	seed(frame(wire.Control, 8, []byte("stop")))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := pool.New(nowhere{}, pool.Options{})
		s, err := New(Options{Listener: pipeListener{make(chan struct{})}, Pool: p, ContentDir: t.TempDir(),
			Router: func(wire.Caller, func(string) (transport.Secret, bool), func(string, string)) transport.Router {
				return nowhere{}
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ours, theirs := net.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			go func() { _, _ = io.Copy(io.Discard, ours) }()
			_ = wire.NewWriter(ours).Send(wire.Hello, 0, (&wire.Greeting{Version: wire.Version}).Encode())
			_, _ = ours.Write(data) // it may be closed before the end
			ours.Close()
		}()
		running := make(chan error)
		go func() { running <- s.Run(ctx) }()
		s.life.enter(1)
		s.serve(ctx, theirs, 0)
		s.life.leave()
		<-ended
		cancel()
		select {
		case err := <-running:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("does not end")
		}
		if p.Busy() {
			t.Error("a lease is left")
		}
		if n, _ := s.contents.sum(); n > 0 || s.contents.memory > 0 {
			t.Errorf("%d contents are left, %d bytes in memory", n, s.contents.memory)
		}
	})
}
