package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bolt/pool"
	"bolt/pool/client"
	"bolt/pool/daemon"
	"bolt/pool/wire"
	"bolt/transport"
)

// A reader is a Router to machines whose commands only read their input. The line of a command
// determines how.
type reader struct{ refusals atomic.Int32 }

func (r *reader) Dial(_ context.Context, to transport.Dest) (transport.Conn, error) {
	return &readerLink{reader: r, done: make(chan struct{})}, nil
}

func (r *reader) Route(_ context.Context, to transport.Dest) (transport.Route, error) {
	return readerRoute{r, to}, nil
}

type readerRoute struct {
	reader *reader
	to     transport.Dest
}

func (r readerRoute) Key() string { return r.to.Host }
func (r readerRoute) Dial(ctx context.Context) (transport.Conn, error) {
	return r.reader.Dial(ctx, r.to)
}

type readerLink struct {
	reader *reader
	done   chan struct{}
	close  sync.Once
}

func (l *readerLink) Run(ctx context.Context, c *transport.Cmd) (transport.Status, error) {
	refused := &transport.Error{Class: transport.ClassConnect, Msg: "not begun"}
	switch c.Line {
	case "none": // reads nothing
	case "wait": // reads nothing, until it is ended
		<-ctx.Done()
		return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Msg: "ended"}
	case "take": // reads until it is ended
		go io.Copy(io.Discard, c.Input)
		<-ctx.Done()
		return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Msg: "ended"}
	case "head":
		_, err := io.CopyN(c.Stdout, c.Input, 10)
		return transport.Status{}, err
	case "refuse": // the first time
		if l.reader.refusals.Add(1) == 1 {
			return transport.Status{}, refused
		}
		_, err := io.Copy(c.Stdout, c.Input)
		return transport.Status{}, err
	case "refuse late":
		_, _ = c.Input.Read(make([]byte, 1))
		return transport.Status{}, refused
	default:
		_, err := io.Copy(c.Stdout, c.Input)
		return transport.Status{}, err
	}
	return transport.Status{}, nil
}

func (l *readerLink) Put(context.Context, transport.Tree, string, transport.FileOptions) error {
	return errors.New("not here")
}

func (l *readerLink) Get(context.Context, string, string, transport.FileOptions) error {
	return errors.New("not here")
}

func (l *readerLink) Archive(context.Context, string, io.Writer, transport.FileOptions) error {
	return errors.New("not here")
}
func (l *readerLink) Close() error                { l.close.Do(func() { close(l.done) }); return nil }
func (l *readerLink) Done() <-chan struct{}       { return l.done }
func (l *readerLink) Check(context.Context) error { return nil }
func (l *readerLink) Stats() transport.LinkStats  { return transport.LinkStats{Sessions: 100} }

// dialReader returns a connection through a client and a daemon to a reader.
func dialReader(t *testing.T) transport.Conn {
	t.Helper()
	r := &reader{}
	p := pool.New(r, pool.Options{})
	dir := t.TempDir()
	socket := filepath.Join(dir, "s", "s")
	s, err := daemon.New(daemon.Options{Socket: socket, Pool: p, Build: "test", ContentDir: dir,
		Router: func(wire.Caller, func(string) (transport.Secret, bool), func(id, text string)) transport.Router {
			return r
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("daemon: %v", err)
		}
	})
	c := client.New(client.Options{Socket: socket, Build: "test"})
	t.Cleanup(func() {
		c.Close()
		cancel()
		wg.Wait()
		p.Close()
	})
	conn, err := c.Dial(t.Context(), transport.Dest{Host: "machine"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestInput(t *testing.T) {
	conn := dialReader(t)
	data := make([]byte, 8<<20)
	src := rand.NewChaCha8([32]byte{})
	_, _ = src.Read(data)
	for _, size := range []int{0, 1, wire.MaxPiece, wire.InputWindow, wire.InputWindow + 1, len(data)} {
		var got bytes.Buffer
		if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "all", Input: bytes.NewReader(data[:size]), Stdout: &got}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), data[:size]) {
			t.Errorf("%d bytes: got %d others", size, got.Len())
		}
	}
}

// endless is input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestInputNotRead checks that a command that does not read all its input blocks nothing else.
func TestInputNotRead(t *testing.T) {
	conn := dialReader(t)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := conn.Run(ctx, &transport.Cmd{Line: "wait", Input: endless{}, Grace: time.Second})
		waits <- err
	}()
	var got bytes.Buffer
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "head", Input: endless{}, Stdout: &got}); err != nil || got.Len() != 10 {
		t.Errorf("head: %d bytes, %v", got.Len(), err)
	}
	in, out := io.Pipe()
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "none", Input: in}); err != nil {
		t.Errorf("a Read that is blocked: %v", err)
	}
	out.Close()
	in.Close()
	cancel()
	if err := <-waits; transport.ClassOf(err) != transport.ClassCancelled {
		t.Errorf("cancel: %v", err)
	}
}

// broken fails after some bytes.
type broken struct{ err error }

func (b *broken) Read(p []byte) (int, error) { return 1, b.err }

func TestInputError(t *testing.T) {
	conn := dialReader(t)
	cause := errors.New("the disk is gone")
	_, err := conn.Run(t.Context(), &transport.Cmd{Line: "take", Input: &broken{cause}, Grace: time.Second})
	if transport.ClassOf(err) != transport.ClassCancelled || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestUnreadInputAllowsRepeat checks that a command that did not begin runs again only if nothing of
// its input was read.
func TestUnreadInputAllowsRepeat(t *testing.T) {
	conn := dialReader(t)
	var got bytes.Buffer
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "refuse", Input: bytes.NewReader([]byte("text")), Stdout: &got}); err != nil || got.String() != "text" {
		t.Errorf("nothing read: %q, %v", &got, err)
	}
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "refuse late", Input: endless{}}); transport.ClassOf(err) != transport.ClassLost {
		t.Errorf("something read: %v", err)
	}
}

func TestInputAndStdinAreRefused(t *testing.T) {
	conn := dialReader(t)
	_, err := conn.Run(t.Context(), &transport.Cmd{Line: "all", Input: endless{}, Stdin: []byte("x")})
	if transport.ClassOf(err) != transport.ClassUnsupported {
		t.Errorf("got %v", err)
	}
}
