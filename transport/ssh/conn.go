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
	// ended is closed when the connection has ended, for whatever reason.
	ended    chan struct{}
	onClosed func() // gives the jump host back; nil without one
	via      *Conn  // the jump host, or nil
	trust    *trust // why its host key was accepted; nil: any will do
	peer     string // for people
	keeper   keeper

	forwarding forwarding

	// Requests on channels that wait come to serve and go from it.
	watching, claiming chan *requests

	places    *places
	pairing   chan struct{} // holds a word for the pair that is between its sessions
	questions questions
	warm      warm
	unasked   shell.Unasked
	listings  *sftp.Budget

	closing sync.Once
	mu      sync.Mutex
	cause   error // why it has ended, or is about to
}

// secured is what a handshake has made.
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

// Run runs a command in a session of its own. On a connection that is kept it
// may be one that was started ahead, where the command cannot tell.
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

// started notes that an action begins; it returns what notes its end.
func (c *Conn) started() (ended func()) {
	c.warm.begin()
	c.expect()
	return func() {
		c.warm.end()
		c.endForwarding()
	}
}

// Put copies by the machine's shell and tar; by SFTP if it has no tar.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	defer c.started()()
	err := shell.Put(ctx, c, src, dst, o, c.options())
	if c.goesBySFTP(err, o) {
		return c.putBySFTP(ctx, src, dst)
	}
	return err
}

// Get copies by the machine's shell and tar; by SFTP if it has no tar.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	defer c.started()()
	err := shell.Get(ctx, c, src, dst, o, c.options())
	if c.goesBySFTP(err, o) {
		return c.getBySFTP(ctx, src, dst, o.Limits)
	}
	return err
}

// Archive implements transport.Archiver by the machine's shell and tar; by
// SFTP if it has no tar.
func (c *Conn) Archive(ctx context.Context, src string, to io.Writer, o transport.FileOptions) error {
	defer c.started()()
	err := shell.Archive(ctx, c, src, to, o, c.options())
	if c.goesBySFTP(err, o) {
		return c.archiveBySFTP(ctx, src, to)
	}
	return err
}

// goesBySFTP reports whether a copy that has failed is to be made by SFTP.
func (c *Conn) goesBySFTP(err error, o transport.FileOptions) bool {
	if !errors.Is(err, shell.ErrNoTar) || !c.isLogin(o.RunAs) {
		return false
	}
	c.log.Debug("no tar there, copying by SFTP", "target", c.e.to.Host)
	return true
}

func (c *Conn) options() shell.Options {
	return shell.Options{Host: c.e.to.Host, User: c.e.user, LoginShell: c.e.to.LoginShell, Proof: &c.warm.proof, Unasked: &c.unasked, Logger: c.log}
}

// isLogin reports whether r asks for nobody but the login user.
func (c *Conn) isLogin(r transport.RunAs) bool { return r.User == "" || r.User == c.e.user }

// Close ends the connection and all that runs on it, and waits for its own
// goroutines. Behind a jump host that does not answer they last until that
// host's connection ends; then Close returns after the disconnect timeout.
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

// lastWrite fails, now that the wire is down, and so x/crypto refuses all that
// come after it. It must before it closes the channels that it knows: one that
// is opened later would have no answer, and never an end. A writer before us
// that is stuck may keep us waiting, but not for long.
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

// errClosed is the cause of our own end.
var errClosed = errors.New("closed by us")

// fail ends the connection for a reason. It waits for a ProxyCommand to end.
func (c *Conn) fail(cause error) {
	c.doom(cause)
	c.wire.Close()
}

// doom notes why the connection is about to end; the first reason counts.
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

// awaitEnd reports whether the connection has ended, or does so now: x/crypto
// closes the channels first, and ended only when a ProxyCommand is gone.
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

// endingTakes is more than x/crypto needs from closing the first channel to
// closing the stream.
const endingTakes = 200 * time.Millisecond

// lostError says that the connection has ended. With doing, something was
// under way whose outcome nobody knows; else nothing was begun.
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

// serve answers the server's own requests, and those on channels that wait,
// until the connection has ended. It is there as long as the connection, so its
// stack is kept small: what is done now and then is elsewhere.
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

// answered logs why an answer could not be given.
func (c *Conn) answered(err error) {
	if err != nil {
		c.log.Debug("answer the server", "target", c.e.to.Host, "err", err)
	}
}

// served is the end of serve.
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
