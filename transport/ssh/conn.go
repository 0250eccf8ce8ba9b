package ssh

import (
	"bolt/internal/safetext"
	"bolt/transport/ssh/sftp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/shell"
	"golang.org/x/crypto/ssh"
)

// A Conn is a transport.Conn over one SSH connection.
type Conn struct {
	e    *endpoint
	log  *slog.Logger
	mux  ssh.Conn
	wire *wire
	work crew
	// ended is closed when the connection has ended, for any reason.
	ended    chan struct{}
	onClosed func() // releases the jump host; nil without one
	via      *Conn  // the jump host, or nil
	trust    *trust // why the host key was accepted; nil: any key is accepted
	peer     string // for display
	keeper   keeper

	forwarding forwarding

	// Channels that wait for use are added to serve and taken back from it by
	// these.
	watching, claiming chan *requests

	places    *places
	pairing   chan struct{} // holds an element while a pair is between its sessions
	questions questions
	warm      warm
	unasked   shell.Unasked
	listings  *sftp.Budget

	closing sync.Once
	mu      sync.Mutex
	cause   error // why the connection has ended or is about to end
}

// secured is the result of a handshake.
type secured struct {
	mux      ssh.Conn
	channels <-chan ssh.NewChannel
	requests <-chan *ssh.Request
	wire     *wire
	trust    *trust
}

func newConn(d *Dialer, e *endpoint, s secured) *Conn {
	c := &Conn{e: e, log: d.log, mux: s.mux, wire: s.wire, trust: s.trust, ended: make(chan struct{}),
		watching: make(chan *requests), claiming: make(chan *requests), listings: d.listings, pairing: make(chan struct{}, 1),
		places: &places{limit: d.o.MaxSessions, most: d.o.MaxSessions}}
	c.warm.c, c.warm.kept, c.warm.eager = c, d.o.Keep, d.o.eager
	c.work.panicked = func(p any) { c.fail(panicError(c.log, e.to.Host, p)) }
	c.peer = e.identity()
	c.keep()
	last := c.lastWrite
	c.wire.onDown.Store(&last)
	c.work.start(func() { c.serve(s.channels, s.requests) })
	return c
}

// Run runs a command in its own session. If the connection is cached, that can
// be a session or shell that was started in advance; the command cannot see a
// difference.
func (c *Conn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	defer c.started()()
	if c.e.conf.RequestTTY && !cmd.TTY && c.e.to.LoginShell != "powershell" {
		onTerminal := *cmd
		onTerminal.TTY = true
		cmd = &onTerminal
	}
	if cmd.Input == nil {
		return shell.Run(ctx, c, cmd, c.options())
	}
	p := &pair{Conn: c}
	defer p.done()
	return shell.Run(ctx, p, cmd, c.options())
}

// started records the begin of an action. It returns a function that records
// the end.
func (c *Conn) started() (ended func()) {
	c.warm.begin()
	c.expect()
	return func() {
		c.warm.end()
		c.endForwarding()
	}
}

// Put copies with the machine's shell and tar, or by SFTP if the machine has no
// tar.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	defer c.started()()
	err := shell.Put(ctx, c, src, dst, o, c.options())
	if c.goesBySFTP(err, o) {
		return c.putBySFTP(ctx, src, dst)
	}
	return err
}

// Get copies with the machine's shell and tar, or by SFTP if the machine has no
// tar.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	defer c.started()()
	err := shell.Get(ctx, c, src, dst, o, c.options())
	if c.goesBySFTP(err, o) {
		return c.getBySFTP(ctx, src, dst, o.Limits)
	}
	return err
}

// Archive implements transport.Archiver with the machine's shell and tar, or by
// SFTP if the machine has no tar.
func (c *Conn) Archive(ctx context.Context, src string, to io.Writer, o transport.FileOptions) error {
	defer c.started()()
	err := shell.Archive(ctx, c, src, to, o, c.options())
	if c.goesBySFTP(err, o) {
		return c.archiveBySFTP(ctx, src, to)
	}
	return err
}

// goesBySFTP reports whether a failed copy must be repeated by SFTP.
func (c *Conn) goesBySFTP(err error, o transport.FileOptions) bool {
	if !errors.Is(err, shell.ErrNoTar) || !c.isLogin(o.RunAs) {
		return false
	}
	c.log.Debug("the machine has no tar, copying by SFTP", "target", c.e.to.Host)
	return true
}

func (c *Conn) options() shell.Options {
	return shell.Options{Host: c.e.to.Host, User: c.e.user, LoginShell: c.e.to.LoginShell, Proof: &c.warm.proof, Unasked: &c.unasked, Logger: c.log}
}

// isLogin reports whether r runs commands as the login user.
func (c *Conn) isLogin(r transport.RunAs) bool { return r.User == "" || r.User == c.e.user }

// Close ends the connection and all commands on it, and waits for its own
// goroutines. Behind a jump host that does not answer, they last until the jump
// host's connection ends. Then Close returns after the disconnect timeout.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.warm.stop()
		c.work.stop()
		c.fail(errClosed)
		done := make(chan struct{})
		go func() {
			c.work.finish()
			close(done)
		}()
		in := time.NewTimer(c.e.disconnect)
		defer in.Stop()
		select {
		case <-done:
		case <-in.C:
			c.log.Debug("connection does not end in time", "target", c.e.to.Host)
		}
		if c.onClosed != nil {
			c.onClosed()
		}
	})
	return nil
}

// lastWrite sends a request, which fails because the wire is down. After the
// failed write, x/crypto refuses all further writes. This must happen before
// x/crypto closes its channels: a channel that is opened later would never get
// an answer or an end. If another writer blocks, lastWrite waits at most
// endingTakes.
func (c *Conn) lastWrite() {
	done := make(chan struct{})
	go func() {
		_, _, _ = c.mux.SendRequest("end@bolt", false, nil)
		close(done)
	}()
	in := time.NewTimer(endingTakes)
	defer in.Stop()
	select {
	case <-done:
	case <-in.C:
	}
}

// errClosed is the cause if Close ended the connection.
var errClosed = errors.New("closed by us")

// fail ends the connection with a cause. It waits until a ProxyCommand has
// ended.
func (c *Conn) fail(cause error) {
	c.doom(cause)
	c.wire.Close()
}

// doom records why the connection is about to end. Only the first cause is
// kept.
func (c *Conn) doom(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
}

// isOver reports whether the connection has ended. It does not wait.
func (c *Conn) isOver() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// awaitEnd reports whether the connection has ended or ends within endingTakes.
// x/crypto closes the channels first. ended is closed only when a ProxyCommand
// has ended.
func (c *Conn) awaitEnd() bool {
	if c.wire.down.Load() {
		return true
	}
	t := time.NewTimer(endingTakes)
	defer t.Stop()
	select {
	case <-c.ended:
		return true
	case <-t.C:
		return c.isOver() || c.wire.down.Load()
	}
}

// endingTakes is longer than x/crypto needs from closing the first channel
// until it closes the stream.
const endingTakes = 200 * time.Millisecond

// lostError returns the error for a connection that has ended. If doing is set,
// an operation was running and its result is unknown. If doing is "", nothing
// had begun.
func (c *Conn) lostError(doing string) *transport.Error {
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	switch {
	case cause == nil:
		cause = errors.New("ended by the peer")
	case errors.Is(cause, io.EOF):
		cause = caused{"closed by the peer", cause}
	default:
		cause = caused{safetext.Message(cause.Error()), cause}
	}
	if doing == "" {
		return &transport.Error{Class: transport.ClassConnect, Code: codeConnect, Err: cause,
			Msg: fmt.Sprintf("Connection to %s has ended: %v", c.e.to.Host, cause)}
	}
	return &transport.Error{Class: transport.ClassLost, Err: cause,
		Msg: fmt.Sprintf("Connection to %s lost while %s: %v: the outcome is unknown", c.e.to.Host, doing, cause)}
}

// serve answers the requests of the server, also those on channels that wait
// for use, until the connection has ended. It runs as long as the connection,
// so its stack is kept small: rare work is done in other functions.
func (c *Conn) serve(channels <-chan ssh.NewChannel, requests <-chan *ssh.Request) {
	var w watchList
	for channels != nil || requests != nil {
		watching := c.watching
		if w.full() {
			watching = nil
		}
		var r *ssh.Request
		var ok bool
		i := 0
		select {
		case ch, open := <-channels:
			if !open {
				channels = nil
			} else {
				c.accept(ch)
			}
			continue
		case r, ok = <-requests:
			if !ok {
				requests = nil
			} else {
				c.refuse(r)
			}
			continue
		case q := <-watching:
			w.replace(nil, q)
			continue
		case q := <-c.claiming:
			w.replace(q, nil)
			continue
		case r, ok = <-w.in(0):
		case r, ok = <-w.in(1):
			i = 1
		case r, ok = <-w.in(2):
			i = 2
		case r, ok = <-w.in(3):
			i = 3
		}
		if !ok {
			w[i] = nil // the server has closed the channel
		} else {
			c.answered(w[i].note(r))
		}
	}
	c.served(&w)
}

func (c *Conn) refuse(r *ssh.Request) { c.answered(r.Reply(false, nil)) }

// answered logs an error of sending an answer.
func (c *Conn) answered(err error) {
	if err != nil {
		c.log.Debug("answer the server", "target", c.e.to.Host, "err", err)
	}
}

// served cleans up when serve ends.
func (c *Conn) served(w *watchList) {
	defer c.endForwarding()
	defer close(c.ended)
	for _, q := range w {
		if q != nil {
			q.drain()
		}
	}
	c.unkeep()
	c.doom(c.end())
	c.work.stop()
}

// errProtocol ends a connection whose peer has violated the protocol.
var errProtocol = errors.New("the server broke the protocol")

// end returns why x/crypto has ended the connection. After a message that violates the
// protocol, x/crypto waits for its reader. If the server has sent more than sixteen
// further messages, the reader waits forever for room for the next one. So end waits
// no longer than an orderly end takes.
func (c *Conn) end() error {
	ended := make(chan error, 1)
	go func() { ended <- c.mux.Wait() }()
	in := time.NewTimer(endingTakes)
	defer in.Stop()
	select {
	case err := <-ended:
		return err
	case <-in.C:
		c.wire.Close()
		return errProtocol
	}
}
