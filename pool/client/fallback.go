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

	past atomic.Bool // there is no daemon

	mu      sync.Mutex
	checked bool // the daemon sees the network that we see
}

// NewFallback makes one. Without direct, the daemon is required. warn gets the
// reason if the daemon is passed over. The Fallback owns daemon.
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
			Msg: fmt.Sprintf("The pool daemon is required and not to be had: %v", u)}
	}
	text := fmt.Sprintf("Connecting without the pool daemon: %v", u)
	if u.Hint != "" {
		text += ". " + u.Hint
	}
	f.warn("pool_unavailable", text)
	f.past.Store(true)
	return f.direct.Dial(ctx, to)
}

// check sees, once, that the daemon's network is ours: in another network
// namespace (ip-netns(8)) an address may be another machine's.
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
			Hint: "Set BOLT_POOL_SOCKET for a daemon in this one, or BOLT_POOL=off."}
	}
	f.checked = true
	return nil
}
