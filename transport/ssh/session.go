package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/shell"
	"golang.org/x/crypto/ssh"
)

const (
	smallBuffer = 1 << 10  // what a session begins to read with
	fullBuffer  = 32 << 10 // x/crypto's largest packet
)

// A session is a shell.Session on a channel.
//
// x/crypto's reads and writes on a channel end only when the server says so,
// and sshd does not close a channel whose process lives on. So goroutines of
// the Conn stand between, and what they hold may outlast Close until the
// server lets go.
type session struct {
	c  *Conn
	ch ssh.Channel

	stdin          stdinPipe
	stdout, stderr *io.PipeReader

	done   chan struct{} // the server has closed the channel; status and err are set
	status transport.Status
	err    error

	giveUp sync.Once
	gone   chan struct{} // closed by Close

	rested bool // guarded by places.mu: no request has it any more
}

// Start runs a line under the login shell. On an open connection with a spare
// session it takes one round trip, two with a terminal.
func (c *Conn) Start(ctx context.Context, line string, tty bool) (shell.Session, error) {
	s, err := c.start(ctx, "exec", ssh.Marshal(&struct{ Line string }{line}), tty)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// start opens a session and makes one request on it.
func (c *Conn) start(ctx context.Context, request string, payload []byte, tty bool) (*session, error) {
	for sent := false; ; sent = true {
		ch, spare, err := c.session(ctx)
		if sent && transport.ClassOf(err) == transport.ClassConnect {
			// The request was in a session that ended then, and the connection
			// after it: who knows what it has come to.
			err = c.lostError("starting a command")
		}
		if err != nil {
			return nil, err
		}
		s, err := c.begin(ctx, ch, request, payload, tty)
		if err == errSpent && spare {
			continue // the server had closed the session that was opened ahead
		}
		if err == errSpent {
			err = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("%s closed a session before it began", c.e.to.Host)}
		}
		if err != nil {
			return nil, err
		}
		if c.warm.kept {
			c.prepareSpare()
		}
		return s, nil
	}
}

// errSpent says that a channel was closed before the request was answered.
var errSpent = errors.New("session is spent")

// newSessionOn is a session before anything carries its streams.
func (c *Conn) newSessionOn(ch ssh.Channel) (s *session, out, errs *io.PipeWriter) {
	s = &session{c: c, ch: ch, done: make(chan struct{}), gone: make(chan struct{})}
	s.stdin.s = s
	s.stdout, out = io.Pipe()
	s.stderr, errs = io.Pipe()
	return s, out, errs
}

// adopt makes a session of a channel in which something runs already. Its
// place is given back when the server closes it.
func (c *Conn) adopt(o opened) *session {
	c.places.claim()
	s, out, errs := c.newSessionOn(o.ch)
	running := c.work.start(func() {
		defer c.vacate(s)
		if !c.work.start(func() { pump(out, o.ch) }) || !c.work.start(func() { pump(errs, o.ch.Stderr()) }) {
			out.Close()
			errs.Close()
		}
		s.serve(o.reqs)
		c.places.rest(s)
		close(s.done)
	})
	if !running {
		c.places.release()
		return nil
	}
	return s
}

// ptyRequest asks for a terminal (RFC 4254 6.2), with the modes as they are.
type ptyRequest struct {
	Term                         string
	Columns, Rows, Width, Height uint32
	Modes                        string
}

// begin makes the request that starts something in a channel, whose place
// it gives back when the server closes it.
func (c *Conn) begin(ctx context.Context, o opened, request string, payload []byte, tty bool) (*session, error) {
	s, out, errs := c.newSessionOn(o.ch)
	if tty {
		errs.Close()
	}
	running := c.work.start(func() {
		defer c.vacate(s)
		s.serve(o.reqs)
		c.places.rest(s)
		close(s.done)
	})
	if !running {
		c.places.release()
		return nil, c.lostError("")
	}
	begun := make(chan error, 1)
	if !c.work.start(func() {
		err := c.request(o.ch, request, payload, tty)
		if err != nil {
			o.ch.Close()
		} else if !tty && !c.work.start(func() { pump(errs, o.ch.Stderr()) }) {
			err = c.lostError("starting a command")
		}
		begun <- err
		if err == nil {
			pump(out, o.ch)
		}
	}) {
		return nil, c.lostError("")
	}
	var late <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case err := <-begun:
			if err != nil {
				return nil, err
			}
			return s, nil
		case <-done:
			// What has been asked for may be running a moment later, and a
			// session that has started can be stopped as it should be.
			done, late = nil, time.After(answerTakes)
		case <-late:
			s.Close()
			err := c.interrupted(ctx, "starting a command; it may run")
			err.Err = errors.Join(shell.ErrMayRun, err.Err)
			return nil, err
		case <-c.ended:
			s.Close()
			return nil, c.lostError("starting a command")
		}
	}
}

// answerTakes is how long the answer to a request is waited for when nobody
// wants the session any more.
const answerTakes = 2 * time.Second

// interrupted is the error for a ctx that has ended.
func (c *Conn) interrupted(ctx context.Context, doing string) *transport.Error {
	class, what := transport.ClassCancelled, "cancelled"
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		class, what = transport.ClassTimeout, "out of time"
	}
	return &transport.Error{Class: class, Err: context.Cause(ctx), Msg: fmt.Sprintf("%s on %s while %s", what, c.e.to.Host, doing)}
}

func (c *Conn) request(ch ssh.Channel, request string, payload []byte, tty bool) error {
	if tty {
		ok, err := ch.SendRequest("pty-req", true, ssh.Marshal(&ptyRequest{Term: "xterm", Columns: 80, Rows: 24}))
		switch {
		case err != nil:
			return c.requestFailed(err)
		case !ok:
			return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("%s refuses a terminal", c.e.to.Host),
				Hint: "Its sshd_config or the key's options forbid it (PermitTTY, no-pty); set tty to false."}
		}
	}
	if err := c.askForwarding(ch); err != nil {
		return err
	}
	if err := c.sendEnv(ch); err != nil {
		return c.requestFailed(err)
	}
	ok, err := ch.SendRequest(request, true, payload)
	switch {
	case err != nil:
		return c.requestFailed(err)
	case !ok:
		return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("%s refuses the request %q", c.e.to.Host, request),
			Hint: "The account or its key may be restricted (ForceCommand, a shell that does not run commands)."}
	}
	c.wire.hurry.Store(false)
	return nil
}

// sendEnv sends the variables of SetEnv and SendEnv (RFC 4254 6.4). sshd accepts the
// variables that its AcceptEnv names. It sends no reply.
func (c *Conn) sendEnv(ch ssh.Channel) error {
	for _, kv := range c.e.env {
		name, value, _ := strings.Cut(kv, "=")
		if _, err := ch.SendRequest("env", false, ssh.Marshal(&struct{ Name, Value string }{name, value})); err != nil {
			return err
		}
	}
	return nil
}

// requestFailed tells a channel that has ended from a connection that has.
func (c *Conn) requestFailed(err error) error {
	if !errors.Is(err, io.EOF) || c.awaitEnd() {
		return c.lostError("starting a command")
	}
	return errSpent
}

// pump carries output from a channel to its reader, and throws away what comes
// when there is none any more.
func pump(w *io.PipeWriter, r io.Reader) {
	buf := make([]byte, smallBuffer)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				io.Copy(io.Discard, r)
				return
			}
		}
		if err != nil {
			w.Close() // how it ended is for Wait to tell
			return
		}
		if n == len(buf) && n < fullBuffer {
			buf = make([]byte, fullBuffer)
		}
	}
}

// serve takes the server's requests until it closes the channel; the status is
// among them.
func (s *session) serve(q *requests) {
	s.c.claim(q)
	q.drain()
	if s.status = q.status; q.told {
		return
	}
	if s.c.awaitEnd() {
		s.err = s.c.lostError("a command ran")
		return
	}
	s.err = &transport.Error{Class: transport.ClassLost,
		Msg: fmt.Sprintf("The server %s ended a command without its exit status: the outcome is unknown", s.c.e.to.Host)}
}

func (s *session) Stdin() io.WriteCloser { return &s.stdin }
func (s *session) Stdout() io.Reader     { return s.stdout }
func (s *session) Stderr() io.Reader     { return s.stderr }

func (s *session) Wait() (transport.Status, error) {
	select {
	case <-s.done:
		return s.status, s.err
	default:
	}
	select {
	case <-s.done:
		return s.status, s.err
	case <-s.gone:
		return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Msg: fmt.Sprintf("The session on %s was given up", s.c.e.to.Host)}
	}
}

func (s *session) Close() error {
	s.giveUp.Do(func() {
		close(s.gone)
		s.stdout.CloseWithError(io.ErrClosedPipe)
		s.stderr.CloseWithError(io.ErrClosedPipe)
		s.stdin.abandon()
		select {
		case <-s.done:
		default:
			s.c.places.leave(s)
			s.c.work.start(func() { s.ch.Close() }) // may wait for the network
		}
	})
	return nil
}

// stdinPipe is the input of a session. Its goroutine starts with the first
// Write: most commands have no input.
type stdinPipe struct {
	s *session

	mu     sync.Mutex
	w      *io.PipeWriter
	r      *io.PipeReader
	closed bool
}

func (p *stdinPipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	if p.w == nil {
		r, w := io.Pipe()
		first := min(max(len(b)+1, smallBuffer), fullBuffer) // a full one becomes larger
		if !p.s.c.work.start(func() { p.feed(r, make([]byte, first)) }) {
			p.mu.Unlock()
			return 0, io.ErrClosedPipe
		}
		p.r, p.w = r, w
	}
	w := p.w
	p.mu.Unlock()
	return w.Write(b)
}

// feed carries input to the channel, then its end. buf is what it begins with:
// most input is one small piece.
func (p *stdinPipe) feed(r *io.PipeReader, buf []byte) {
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := p.s.ch.Write(buf[:n]); err != nil {
				r.CloseWithError(io.ErrClosedPipe)
				return
			}
		}
		if err != nil {
			p.s.ch.CloseWrite()
			return
		}
		if n == len(buf) && n < fullBuffer {
			buf = make([]byte, fullBuffer)
		}
	}
}

func (p *stdinPipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	if p.w != nil {
		return p.w.Close()
	}
	p.s.c.work.start(func() { p.s.ch.CloseWrite() })
	return nil
}

// abandon ends a blocked Write.
func (p *stdinPipe) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.r != nil {
		p.r.CloseWithError(io.ErrClosedPipe)
	}
}
