package ssh

import (
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

	places *places
	warm   warm

	closing sync.Once
	mu      sync.Mutex
	cause   error // why it has ended, or is about to
}

func newConn(e *endpoint, mux ssh.Conn, channels <-chan ssh.NewChannel, requests <-chan *ssh.Request, w *wire, sessions int, kept bool, log *slog.Logger) *Conn {
	c := &Conn{e: e, log: log, mux: mux, wire: w, ended: make(chan struct{}), places: &places{limit: sessions, most: sessions}}
	c.warm.c, c.warm.kept = c, kept
	c.peer = e.identity()
	c.keep()
	c.work.start(func() { c.serve(channels, requests) })
	return c
}

// Run runs a command in a session of its own. On a connection that is kept it
// may be one that was started ahead, or a shell that has run others, where the
// command cannot tell.
func (c *Conn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	defer c.started()()
	return shell.Run(ctx, c, cmd, c.options())
}

// started notes that an action begins; it returns what notes its end.
func (c *Conn) started() (ended func()) {
	c.warm.begin()
	c.expect()
	return c.warm.end
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
		return c.getBySFTP(ctx, src, dst)
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
	return shell.Options{Host: c.e.to.Host, User: c.e.user, LoginShell: c.e.to.LoginShell, Proof: &c.warm.proof, Logger: c.log}
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

// errClosed is the cause of our own end.
var errClosed = errors.New("closed by us")

// fail ends the connection for a reason; the first one counts.
func (c *Conn) fail(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	c.wire.Close()
}

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
		cause = caused{farText(cause.Error()), cause}
	}
	if doing == "" {
		return &transport.Error{Class: transport.ClassConnect, Code: codeConnect, Err: cause,
			Msg: fmt.Sprintf("Connection to %s has ended: %v", c.e.to.Host, cause)}
	}
	return &transport.Error{Class: transport.ClassLost, Err: cause,
		Msg: fmt.Sprintf("Connection to %s lost while %s: %v: the outcome is unknown", c.e.to.Host, doing, cause)}
}

// serve answers the server's own requests until the connection has ended.
func (c *Conn) serve(channels <-chan ssh.NewChannel, requests <-chan *ssh.Request) {
	defer close(c.ended)
	for channels != nil || requests != nil {
		select {
		case ch, ok := <-channels:
			if !ok {
				channels = nil
			} else if err := ch.Reject(ssh.Prohibited, "no channels from the server"); err != nil {
				c.log.Debug("reject a channel", "target", c.e.to.Host, "err", err)
			}
		case r, ok := <-requests:
			if !ok {
				requests = nil
			} else if err := r.Reply(false, nil); err != nil {
				c.log.Debug("answer a request", "target", c.e.to.Host, "err", err)
			}
		}
	}
	c.unkeep()
	err := c.mux.Wait()
	c.mu.Lock()
	if c.cause == nil {
		c.cause = err
	}
	c.mu.Unlock()
	c.work.stop()
}
