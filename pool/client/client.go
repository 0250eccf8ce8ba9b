// Package client is a transport.Dialer that has the pool daemon dial: what
// comes back is a Conn whose commands and copies the daemon runs on a
// connection that it keeps.
//
// A Client speaks package pool/wire over one unix socket, opens it when it is
// first needed, starts a daemon if there is none, and opens it again when the
// daemon has ended: what had not begun is begun on the new daemon, and what had
// is reported lost. Contents (staged files, standard input, trees) cross the
// socket once.
//
// A Client owns its socket and, while that is open, two goroutines. Close ends
// them. It trusts the daemon no more than any other peer: whoever else listens
// at the socket's place is refused, and a daemon that breaks the protocol is
// left.
//
// docs/pool-protocol.md says who may send what.
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
	Socket string // path; its directory must be ours alone
	// Build and Made tell this program from others, as wire.Greeting has them.
	Build string
	Made  int64
	// Caller is whose dials these are.
	Caller wire.Caller
	// Start starts a daemon and returns when it listens, or why it does not.
	// One call at a time. nil: none is started.
	Start func(ctx context.Context) error
	// Passphrase asks for the passphrase of a key file, once for all dials, and
	// again (maxAsks in all) if the answer was wrong. Several files may be asked
	// for at a time. nil: nobody to ask.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)
	// Warn is told of what the daemon's dialer finds odd, one call at a time,
	// perhaps after the dial has returned, never after Close. nil discards.
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
	sessions []*session // all that were ever open
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

// An Unavailable is the error when there is no daemon to be had.
type Unavailable struct {
	Reason string
	Hint   string // what to do; "" if there is nothing to say
	Absent bool   // none is running, and nothing was done to start one
	Err    error  // the cause, or nil
}

func (u *Unavailable) Error() string { return "pool daemon: " + u.Reason }
func (u *Unavailable) Unwrap() error { return u.Err }

// errClosed is the cause of our own end.
var errClosed = errors.New("the client was closed")

// failureHolds is how long a failed attempt to connect speaks for the dials
// that follow: a fan-out must not start a daemon for each of its targets.
const failureHolds = 5 * time.Second

// Connect connects to the daemon, and starts one if need be. The error is an
// *Unavailable, or the cause of ctx's end. Dial does it by itself.
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

// live returns the session if it is open, or why there is no sense in opening
// one, or neither.
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

// Peer is the greeting of the daemon that was connected to last.
func (c *Client) Peer() wire.Greeting {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return wire.Greeting{}
	}
	return c.current.peer
}

// Control has the daemon do something: "status", "metrics", "drain", "stop",
// "ping". It returns what the daemon says to it. After "stop" the daemon has
// ended, if that took no longer than leaveTime.
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

// Close gives all leases up and closes the socket. What still runs is ended by
// the daemon, and reported lost here. It returns when the Client's goroutines
// have ended.
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
