// Package client is a transport.Dialer that dials through the pool daemon. The
// daemon runs the commands and copies of a Conn on a connection that it keeps
// open.
//
// A Client speaks package pool/wire over one unix socket. It opens the socket
// when it is first needed and starts a daemon if there is none. If the daemon
// has ended, the Client opens the socket again. Work that had not begun begins
// on the new daemon; work that had begun is reported lost. Contents (staged
// files, standard input, trees) cross the socket once.
//
// A Client owns its socket and, while that is open, two goroutines. Close ends
// them. The Client trusts the daemon no more than any other peer. It refuses a
// process of another user that listens at the socket's path, and disconnects
// from a daemon that breaks the protocol.
//
// docs/pool-protocol.md specifies which side may send which message.
package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

// Options are the settings of a Client. Socket is required.
type Options struct {
	Socket string // path; only this user may have access to its directory
	// Build and Made identify this program's build, as in wire.Greeting.
	Build string
	Made  int64
	// Caller is the invocation that dials.
	Caller wire.Caller
	// Start starts a daemon and returns when it listens, or the reason why it
	// does not. It is called once at a time. If it is nil, the Client starts no
	// daemon.
	Start func(ctx context.Context) error
	// Passphrase asks for the passphrase of a key file, once for all dials. If
	// the answer was wrong, it is called again (maxAsks calls in all). It may
	// be called for several files at a time. If it is nil, passphrases cannot
	// be asked for.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)
	// Warn receives the warnings of the daemon's dialer, one call at a time. It
	// may be called after the dial has returned, but never after Close. If it
	// is nil, warnings are discarded.
	Warn func(id, text string)

	Logger *slog.Logger // nil discards
}

// A Client is a transport.Dialer. It is safe for concurrent use.
type Client struct {
	o       Options
	log     *slog.Logger
	opening flights[struct{}, *session]
	sums    sums
	trees   trees
	answers answers

	mu       sync.Mutex
	current  *session   // nil before the first
	sessions []*session // all that were ever opened
	closed   bool
	failure  error // of the last attempt to connect, until retryAt
	retryAt  time.Time
}

// New returns a Client. It opens nothing.
func New(o Options) *Client {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Client{o: o, log: log}
}

// An Unavailable is the error if the daemon cannot be used.
type Unavailable struct {
	Reason string
	Hint   string // what to do; "" without advice
	Absent bool   // no daemon is running, and none was started
	Err    error  // the cause, or nil
}

func (u *Unavailable) Error() string { return "pool daemon: " + u.Reason }
func (u *Unavailable) Unwrap() error { return u.Err }

// errClosed is the cause if the Client itself was closed.
var errClosed = errors.New("the client was closed")

// failureHolds is how long a failed attempt to connect is the result of later
// dials, too. Otherwise a fan-out would start a daemon for each of its targets.
const failureHolds = 5 * time.Second

// Connect connects to the daemon, and starts one if none runs. The error is an
// *Unavailable, or the cause of ctx's end. Dial connects by itself.
func (c *Client) Connect(ctx context.Context) error {
	c.mu.Lock()
	c.failure = nil
	c.mu.Unlock()
	_, err := c.session(ctx)
	return err
}

// session returns the open session, or opens one.
func (c *Client) session(ctx context.Context) (*session, error) {
	if s, err := c.live(); s != nil || err != nil {
		return s, err
	}
	return c.opening.do(ctx, struct{}{}, func() (*session, error) {
		if s, err := c.live(); s != nil || err != nil {
			return s, err
		}
		s, err := c.connect(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && !c.adopt(s): // Close does not know it
			s.fail(errClosed)
			s.wg.Wait()
			return nil, errClosed
		case err != nil:
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failure, c.retryAt = err, time.Now().Add(failureHolds)
			return nil, err
		}
		return s, nil
	})
}

// adopt makes a session the current one, unless the Client was closed.
func (c *Client) adopt(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.current, c.sessions = s, append(c.sessions, s)
	return true
}

// live returns the session if it is open, an error if opening one is pointless,
// or neither.
func (c *Client) live() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, errClosed
	case c.current != nil && c.current.alive():
		return c.current, nil
	case c.failure != nil && time.Now().Before(c.retryAt):
		return nil, c.failure
	}
	return nil, nil
}

// Peer returns the greeting of the last daemon that the Client connected to.
func (c *Client) Peer() wire.Greeting {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return wire.Greeting{}
	}
	return c.current.peer
}

// Control sends the daemon a command: "status", "metrics", "drain", "stop" or
// "ping". It returns the daemon's reply. After "stop" the daemon has ended, if
// that took no longer than leaveTime.
func (c *Client) Control(ctx context.Context, command string) ([]byte, error) {
	s, err := c.session(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.begin(wire.Control)
	if err == nil {
		err = s.send(wire.Control, r.id, []byte(command))
	}
	if err != nil {
		return nil, fmt.Errorf("pool daemon: %w", err)
	}
	var reply []byte
	for {
		pieces, a := r.next()
		for _, p := range pieces {
			reply = append(reply, p.data...)
		}
		switch {
		case a == nil:
		case a.lost != nil:
			return nil, fmt.Errorf("pool daemon: %s: %w", command, a.lost)
		case a.err != nil:
			return nil, a.err
		default:
			if command == "stop" {
				s.await(ctx, leaveTime)
			}
			return reply, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			r.abandon()
			return nil, context.Cause(ctx)
		}
	}
}

// Close gives up all leases and closes the socket. The daemon ends the work
// that is still running, and the Client reports it lost. Close returns when the
// Client's goroutines have ended.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	all := c.sessions
	c.mu.Unlock()
	for _, s := range all {
		s.fail(errClosed)
	}
	for _, s := range all {
		s.wg.Wait()
	}
	return nil
}
