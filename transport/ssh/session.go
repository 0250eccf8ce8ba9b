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
	smallBuffer = 1 << 10  // initial buffer size for a session's input
	fullBuffer  = 32 << 10 // x/crypto's largest packet
)

// A session is a shell.Session on a channel.
//
// Reads and writes on a channel of x/crypto end only when the server closes the
// channel, and sshd does not close a channel whose process still runs. So
// goroutines of the Conn do them. These goroutines and their memory can outlast
// Close until the server closes the channel.
type session struct {
	c  *Conn
	ch ssh.Channel

	stdin          stdinPipe
	stdout, stderr *shell.Stream

	once   sync.Once     // closes done
	done   chan struct{} // closed when the server has closed the channel, or by Close; status and err are set
	status transport.Status
	err    error

	// Guarded by places.mu.
	rested  bool // no request uses it any more
	vacated bool // the server has closed it
}

// Start runs a line in the login shell. On an open connection with a spare
// session it takes one round trip, or two with a terminal.
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
			// The request was sent in a session that then ended, and so did the
			// connection. The result of the request is unknown.
			err = c.lostError("starting a command")
		}
		if err != nil {
			return nil, err
		}
		if c.warm.kept {
			c.prepareSpare() // now, so that it is open when the request is answered
		}
		s, err := c.begin(ctx, ch, request, payload, tty)
		if err == errSpent && spare {
			continue // the server had closed the spare session
		}
		if err == errSpent {
			err = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("%s closed a session before it answered the request", c.e.to.Host)}
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// errSpent is the error if a channel was closed before the request was
// answered.
var errSpent = errors.New("session is spent")

// newSessionOn returns a session that does not copy its streams yet.
func (c *Conn) newSessionOn(ch ssh.Channel) *session {
	s := &session{c: c, ch: ch, done: make(chan struct{}), stdout: shell.NewStream(), stderr: shell.NewStream()}
	s.stdin.s = s
	return s
}

// adopt makes a session of a channel in which a process already runs. Its place
// is released when the server closes the channel.
func (c *Conn) adopt(o opened) *session {
	c.places.claim()
	s := c.newSessionOn(o.ch)
	running := c.work.start(func() {
		c.carry(s.stdout, o.ch)
		c.carry(s.stderr, o.ch.Stderr())
		s.serve(o.reqs)
	})
	if !running {
		c.places.release()
		return nil
	}
	return s
}

// ptyRequest is the request for a terminal (RFC 4254 6.2). It does not change
// the terminal modes.
type ptyRequest struct {
	Term                         string
	Columns, Rows, Width, Height uint32
	Modes                        string
}

// begin sends the request that starts a process in a channel. The channel's
// place is released when the server closes the channel.
func (c *Conn) begin(ctx context.Context, o opened, request string, payload []byte, tty bool) (*session, error) {
	s := c.newSessionOn(o.ch)
	if tty {
		s.stderr.End()
	}
	running := c.work.start(func() { s.serve(o.reqs) })
	if !running {
		c.places.release()
		return nil, c.lostError("")
	}
	begun := make(chan error, 1)
	if !c.work.start(func() {
		err := c.request(o.ch, request, payload, tty)
		if err != nil {
			o.ch.Close()
		} else if !tty {
			c.carry(s.stderr, o.ch.Stderr())
		}
		begun <- err
		if err == nil {
			pump(s.stdout, o.ch)
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
			// The process may start a moment later. A session that has started
			// can then be stopped properly.
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

// answerTakes is the time to wait for the answer to a request after the session
// is not needed any more.
const answerTakes = 2 * time.Second

// interrupted returns the error for a ctx that has ended.
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
				Hint: "The server's sshd_config or the key's options forbid it (PermitTTY, no-pty); set tty to false."}
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

// requestFailed distinguishes a channel that has ended from a connection that
// has ended.
func (c *Conn) requestFailed(err error) error {
	if !errors.Is(err, io.EOF) || c.awaitEnd() {
		return c.lostError("starting a command")
	}
	return errSpent
}

// carry runs pump in a goroutine. If the connection is closed, it ends the
// stream instead.
func (c *Conn) carry(to *shell.Stream, from io.Reader) {
	if !c.work.start(func() { pump(to, from) }) {
		to.End()
	}
}

// pump copies output from a channel to a stream. It discards output that comes
// after the stream is closed.
func pump(to *shell.Stream, from io.Reader) {
	if to.Carry(from) == nil {
		io.Copy(io.Discard, from)
	}
}

// serve handles the server's requests, which include the exit status, until the
// server closes the channel. Then it releases the session's place.
func (s *session) serve(q *requests) {
	defer s.c.vacate(s)
	s.c.claim(q)
	q.drain()
	status, err := q.status, error(nil)
	switch {
	case q.told:
	case s.c.awaitEnd():
		err = s.c.lostError("a command ran")
	default:
		err = &transport.Error{Class: transport.ClassLost,
			Msg: fmt.Sprintf("The server %s ended a command without its exit status: the outcome is unknown", s.c.e.to.Host)}
	}
	s.c.places.rest(s)
	s.end(status, err)
}

// end sets the session's result. It returns false if the result was set before.
func (s *session) end(status transport.Status, err error) (first bool) {
	s.once.Do(func() {
		first, s.status, s.err = true, status, err
		close(s.done)
	})
	return first
}

func (s *session) Stdin() io.WriteCloser { return &s.stdin }
func (s *session) Stdout() io.Reader     { return s.stdout }
func (s *session) Stderr() io.Reader     { return s.stderr }

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Wait() (transport.Status, error) {
	<-s.done
	return s.status, s.err
}

func (s *session) Close() error {
	s.stdout.Close()
	s.stderr.Close()
	s.stdin.abandon()
	if s.end(transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Msg: fmt.Sprintf("The session on %s was closed by bolt", s.c.e.to.Host)}) {
		s.c.places.leave(s)
		s.c.work.start(func() { s.ch.Close() }) // may wait for the network
	}
	return nil
}

// stdinPipe is the input of a session. Its goroutine starts at the first Write,
// because most commands have no input.
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
		first := min(max(len(b)+1, smallBuffer), fullBuffer) // feed enlarges a full buffer
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

// feed copies input to the channel, and then its end. buf is the first buffer;
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
