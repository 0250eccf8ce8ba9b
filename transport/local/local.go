// Package local is the transport to the machine that we are on: each command
// is a shell below us, in a process group of its own.
//
// Commands start in our working directory and with our environment, as with
// Puppet Bolt's local transport. Staging, run-as, cancellation and cleanup are
// transport/shell's, as on any other machine.
package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"

	"bolt/transport"
	"bolt/transport/shell"
)

// Options are the Dialer's. The zero value is ready.
type Options struct {
	Logger *slog.Logger // nil discards
}

// Dialer reaches the local machine. It is safe for concurrent use.
type Dialer struct {
	log  *slog.Logger
	cred *syscall.Credential // whose processes; nil for ours
	user func() string       // their name, looked up at the first Dial
}

// NewDialer returns a Dialer.
func NewDialer(o Options) *Dialer {
	d := &Dialer{log: o.Logger}
	d.user = sync.OnceValue(func() string { return loginUser(d.cred) })
	return d
}

// Dial returns a Conn at once. Of the destination only Host is used, to name
// the machine in messages.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, &transport.Error{Class: transport.ClassCancelled, Err: context.Cause(ctx), Msg: "connecting to the local machine was cancelled"}
	}
	host := to.Host
	if host == "" {
		host = "localhost"
	}
	c := &Conn{cred: d.cred, cancel: make(map[*running]struct{})}
	c.shell = shell.Options{Host: host, User: d.user(), Local: true, Logger: d.log}
	return c, nil
}

// loginUser is the name of the user whose processes we start; a user without
// a name has a number.
func loginUser(cred *syscall.Credential) string {
	uid := strconv.Itoa(os.Getuid())
	if cred != nil {
		uid = strconv.FormatUint(uint64(cred.Uid), 10)
	}
	u, err := user.LookupId(uid)
	if err != nil {
		return uid
	}
	return u.Username
}

// Conn is the local machine. It is safe for concurrent use.
type Conn struct {
	shell shell.Options
	cred  *syscall.Credential

	mu     sync.Mutex
	closed bool
	cancel map[*running]struct{} // what runs
	idle   sync.WaitGroup        // of what runs
}

// running is one call that has not returned.
type running struct{ cancel context.CancelCauseFunc }

// errClosed is why a call ends when its Conn is closed.
var errClosed = errors.New("the connection was closed")

// begin admits a call, whose context ends when the Conn is closed.
func (c *Conn) begin(ctx context.Context) (context.Context, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, &transport.Error{Class: transport.ClassCancelled, Err: errClosed,
			Msg: c.shell.Host + " cannot be used any more: " + errClosed.Error()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{cancel}
	c.cancel[r] = struct{}{}
	c.idle.Add(1)
	return ctx, func() {
		c.mu.Lock()
		delete(c.cancel, r)
		c.mu.Unlock()
		cancel(nil)
		c.idle.Done()
	}, nil
}

// Run implements transport.Conn.
func (c *Conn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return transport.Status{}, err
	}
	defer end()
	return shell.Run(ctx, starter{cred: c.cred}, cmd, c.shell)
}

// Put implements transport.Conn.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return shell.Put(ctx, starter{cred: c.cred}, src, dst, o, c.shell)
}

// Get implements transport.Conn.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return shell.Get(ctx, starter{cred: c.cred}, src, dst, o, c.shell)
}

// Close cancels all calls and returns when they have returned, that is, when
// what they ran has been ended.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	for r := range c.cancel {
		r.cancel(errClosed)
	}
	c.mu.Unlock()
	c.idle.Wait()
	return nil
}
