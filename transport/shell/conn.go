package shell

import (
	"context"
	"errors"
	"sync"

	"bolt/transport"
)

// A Conn is a transport.Conn over a Starter without a connection of its own:
// each session is independent. It is safe for concurrent use.
type Conn struct {
	starter Starter
	opts    Options

	mu     sync.Mutex
	closed bool
	cancel map[*call]struct{} // running calls
	idle   sync.WaitGroup     // counts the running calls
}

// NewConn returns a Conn.
func NewConn(s Starter, o Options) *Conn {
	return &Conn{starter: s, opts: o, cancel: make(map[*call]struct{})}
}

// call is a running call.
type call struct{ cancel context.CancelCauseFunc }

// errClosed is the cause if a call ends because its Conn is closed.
var errClosed = errors.New("the connection was closed")

// Do calls do with a context that ends when the Conn is closed.
func (c *Conn) Do(ctx context.Context, do func(context.Context) error) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return &transport.Error{Class: transport.ClassCancelled, Err: errClosed,
			Msg: c.opts.Host + " cannot be used any more: " + errClosed.Error()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &call{cancel}
	c.cancel[r] = struct{}{}
	c.idle.Add(1)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.cancel, r)
		c.mu.Unlock()
		cancel(nil)
		c.idle.Done()
	}()
	return do(ctx)
}

// Run implements transport.Conn.
func (c *Conn) Run(ctx context.Context, cmd *transport.Cmd) (st transport.Status, err error) {
	err = c.Do(ctx, func(ctx context.Context) error {
		st, err = Run(ctx, c.starter, cmd, c.opts)
		return err
	})
	return st, err
}

// Put implements transport.Conn.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	return c.Do(ctx, func(ctx context.Context) error { return Put(ctx, c.starter, src, dst, o, c.opts) })
}

// Get implements transport.Conn.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	return c.Do(ctx, func(ctx context.Context) error { return Get(ctx, c.starter, src, dst, o, c.opts) })
}

// Close cancels all calls and waits for them. Then everything that they ran has
// ended.
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
