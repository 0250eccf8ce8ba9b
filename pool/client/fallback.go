package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"bolt/transport"
)

// A Fallback is a transport.Dialer that dials through the daemon, and directly if
// there is no daemon. It is safe for concurrent use.
type Fallback struct {
	daemon *Client
	direct transport.Dialer
	warn   func(id, text string)

	past atomic.Bool // the daemon cannot be used

	mu      sync.Mutex
	checked bool // the daemon is in this process's network namespace
}

// NewFallback returns a Fallback that owns daemon. Without direct, the daemon is
// required. warn gets the reason if the Fallback does not use the daemon.
func NewFallback(daemon *Client, direct transport.Dialer, warn func(id, text string)) *Fallback {
	return &Fallback{daemon: daemon, direct: direct, warn: warn}
}

// Close closes the client of the daemon.
func (f *Fallback) Close() error { return f.daemon.Close() }

// Dial implements transport.Dialer.
func (f *Fallback) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	if f.past.Load() {
		return f.direct.Dial(ctx, to)
	}
	var c transport.Conn
	err := f.check(ctx)
	if err == nil {
		c, err = f.daemon.Dial(ctx, to)
	}
	u, absent := errors.AsType[*Unavailable](err)
	switch {
	case !absent:
		return c, err
	case f.direct == nil:
		return nil, &transport.Error{Class: transport.ClassUnsupported, Err: err, Hint: u.Hint,
			Msg: fmt.Sprintf("The pool daemon is required but not available: %v", u)}
	}
	text := fmt.Sprintf("Connecting without the pool daemon: %v", u)
	if u.Hint != "" {
		text += ". " + u.Hint
	}
	f.warn("pool_unavailable", text)
	f.past.Store(true)
	return f.direct.Dial(ctx, to)
}

// check verifies once that the daemon is in this process's network namespace
// (ip-netns(8)). In another one, the same address may belong to another machine.
func (f *Fallback) check(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.checked {
		return nil
	}
	if err := f.daemon.Connect(ctx); err != nil {
		return err
	}
	pid := f.daemon.Peer().PID
	ours, err := os.Readlink("/proc/self/ns/net")
	theirs, terr := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err == nil && terr == nil && ours != theirs {
		return &Unavailable{Reason: fmt.Sprintf("process %d is in another network namespace", pid),
			Hint: "Set BOLT_POOL_SOCKET to start a daemon in this namespace, or set BOLT_POOL=off."}
	}
	f.checked = true
	return nil
}
