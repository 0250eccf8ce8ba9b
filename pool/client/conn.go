package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/archive"
)

// answerSlack is how long after Grace the daemon may take to answer a cancelled
// request: the daemon itself waits a second or two for the machine. The Client
// does not wait for a daemon that is known to be silent.
const answerSlack = 5 * time.Second

// A Conn is a lease of one of the daemon's connections. Lock order: sending, mu.
type Conn struct {
	client *Client
	to     transport.Dest

	// sending is held for reading to send a request that names the lease, and
	// for writing to give up the lease. A request for a lease that was given up
	// is a protocol error and would end the session.
	sending sync.RWMutex

	mu     sync.Mutex
	s      *session
	id     uint32 // of the lease
	closed bool
}

// lease returns the lease on an open session. If the daemon has ended
// meanwhile, it makes a new lease.
func (c *Conn) lease(ctx context.Context) (*session, uint32, error) {
	c.mu.Lock()
	s, id, closed := c.s, c.id, c.closed
	c.mu.Unlock()
	if closed {
		return nil, 0, c.closedError()
	}
	if s.alive() {
		return s, id, nil
	}
	s, id, err := c.client.lease(ctx, &c.to)
	if err != nil {
		return nil, 0, err
	}
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		s.tell(wire.Release, id, nil)
		return nil, 0, c.closedError()
	case c.s.alive(): // another goroutine was faster
		other, otherID := c.s, c.id
		c.mu.Unlock()
		s.tell(wire.Release, id, nil)
		return other, otherID, nil
	}
	c.s, c.id = s, id
	c.mu.Unlock()
	return s, id, nil
}

func (c *Conn) closedError() *transport.Error {
	return &transport.Error{Class: transport.ClassConnect, Code: "CONNECT_ERROR", Err: errClosed,
		Msg: fmt.Sprintf("Connection to %s has ended: it was closed on this side", c.to.Host)}
}

// Close gives up the lease. The daemon ends the work that still runs on it.
func (c *Conn) Close() error {
	c.mu.Lock()
	s, id, was := c.s, c.id, c.closed
	c.closed = true
	c.mu.Unlock()
	if !was && s.alive() {
		c.sending.Lock()
		s.tell(wire.Release, id, nil)
		c.sending.Unlock()
	}
	return nil
}

// open sends the first frame of a request, unless the lease was given up.
func (c *Conn) open(s *session, opens wire.Type, body []byte, input bool) (*request, error) {
	c.sending.RLock()
	defer c.sending.RUnlock()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, c.closedError()
	}
	r := &request{opens: opens}
	if input {
		r.room = newRoom()
	}
	r, err := s.register(r)
	if err != nil {
		return nil, err
	}
	return r, s.send(opens, r.id, body)
}

// Run runs a command as transport.Conn's Run does.
func (c *Conn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	w := work{what: "command", host: cmp.Or(cmd.Label, c.to.Host), opens: wire.Run, grace: cmp.Or(cmd.Grace, transport.DefaultGrace),
		stdout: cmd.Stdout, stderr: cmd.Stderr, input: cmd.Input}
	if cmd.Input != nil && len(cmd.Stdin) > 0 {
		return transport.Status{}, &transport.Error{Class: transport.ClassUnsupported, Msg: "a command cannot have both data and a stream for its standard input"}
	}
	// The fields that are not sent have their zero values.
	req := wire.RunRequest{Cmd: *cmd, HasStdin: len(cmd.Stdin) > 0, HasInput: cmd.Input != nil}
	req.Cmd.Files, req.Cmd.Stdin, req.Cmd.Input, req.Cmd.Stdout, req.Cmd.Stderr = nil, nil, nil, nil, nil
	c.client.sums.hold(cmd)
	defer c.client.sums.release(cmd)
	return c.do(ctx, &w, func(s *session, lease uint32, u *uses) ([]byte, error) {
		if err := c.client.stage(ctx, s, u, cmd, &req); err != nil {
			return nil, err
		}
		req.Lease = lease
		return req.Encode(), nil
	})
}

// Put copies a tree as transport.Conn's Put does. It reads the tree even if the
// daemon already has it, to check that the tree is the same.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	w := work{what: "upload", host: cmp.Or(o.Label, c.to.Host), opens: wire.Put, grace: transport.DefaultGrace}
	t := c.client.trees.hold(src)
	defer c.client.trees.release(t)
	_, err := c.do(ctx, &w, func(s *session, lease uint32, u *uses) ([]byte, error) {
		digest, err := t.offer(ctx, s, u)
		if err != nil {
			return nil, err
		}
		req := wire.PutRequest{Lease: lease, Tree: digest, Source: archive.Describe(src), Name: archive.Name(src), Dst: dst, Options: o}
		return req.Encode(), nil
	})
	return err
}

// Get copies from the machine as transport.Conn's Get does.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	if ctx.Err() != nil {
		return stopped(ctx, "download", cmp.Or(o.Label, c.to.Host), " before it started")
	}
	return archive.Receive(src, cmp.Or(o.Label, c.to.Host), dst, o.Limits, func(to io.Writer) error {
		return c.Archive(ctx, src, to, o)
	})
}

// Archive writes the tar stream of a Get.
func (c *Conn) Archive(ctx context.Context, src string, to io.Writer, o transport.FileOptions) error {
	w := work{what: "download", host: cmp.Or(o.Label, c.to.Host), opens: wire.Get, grace: transport.DefaultGrace, stdout: to}
	req := wire.GetRequest{Src: src, Options: o}
	_, err := c.do(ctx, &w, func(_ *session, lease uint32, _ *uses) ([]byte, error) {
		req.Lease = lease
		return req.Encode(), nil
	})
	return err
}

// work is a Run, Put or Get.
type work struct {
	what, host     string // for messages
	opens          wire.Type
	grace          time.Duration
	stdout, stderr io.Writer // nil discards
	input          io.Reader // of a command; nil for none
}

// do runs work on the lease. prepare sends what the request needs and returns
// the request's body. Until the request itself was sent, the end of a session
// is not a failure: do starts again on the next session.
func (c *Conn) do(ctx context.Context, w *work, prepare func(*session, uint32, *uses) ([]byte, error)) (transport.Status, error) {
	for ended := 1; ; ended++ {
		if ctx.Err() != nil {
			return transport.Status{}, stopped(ctx, w.what, w.host, " before it started")
		}
		s, id, err := c.lease(ctx)
		if err != nil {
			return transport.Status{}, err
		}
		var u uses
		body, err := prepare(s, id, &u)
		var r *request
		if err == nil && len(body) <= wire.MaxFrame {
			r, err = c.open(s, w.opens, body, w.input != nil)
		}
		s.contents.done(u)
		switch {
		case err != nil && ctx.Err() != nil:
			return transport.Status{}, stopped(ctx, w.what, w.host, " before it started")
		case err != nil && s.alive():
			return transport.Status{}, err
		case len(body) > wire.MaxFrame:
			return transport.Status{}, tooLarge(w.what, w.host)
		case err == nil:
			return w.follow(ctx, s, r)
		}
		if ended == maxSessions {
			return transport.Status{}, unreached(ctx, w.host, err)
		}
	}
}

func tooLarge(what, host string) *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported,
		Msg: fmt.Sprintf("The %s for %s takes more than the %d bytes that the pool daemon accepts at a time", what, host, wire.MaxFrame)}
}

// follow delivers a request's output until it is answered or given up.
func (w *work) follow(ctx context.Context, s *session, r *request) (transport.Status, error) {
	// A sink that blocks must not delay the cancel.
	unhook := context.AfterFunc(ctx, func() {
		if s.enter() {
			defer s.wg.Done()
			s.tell(wire.Cancel, r.id, (&wire.CancelRequest{Timeout: isTimeout(ctx)}).Encode())
		}
	})
	defer unhook()
	inputErr := w.feed(s, r)
	var (
		sinkErr error // or the input's error
		broken  = w.sinkError
		taken   int
		limit   <-chan time.Time
		waited  = w.grace // by the caller that gives up, in the end
		done    = ctx.Done()
	)
	for {
		pieces, a := r.next()
		for _, p := range pieces {
			if sinkErr == nil {
				if sinkErr = w.deliver(p); sinkErr != nil {
					s.sendLater(wire.Cancel, r.id, (&wire.CancelRequest{}).Encode())
					limit = time.After(w.grace)
				}
			}
			r.buffers.put(p.data)
			if taken += len(p.data); taken >= wire.Window/2 && a == nil {
				r.credit(taken)
				s.tell(wire.Credit, r.id, wire.EncodeCredit(taken))
				taken = 0
			}
		}
		if a != nil {
			if sinkErr != nil {
				return transport.Status{}, broken(sinkErr)
			}
			return w.result(ctx, a)
		}
		select {
		case <-r.wake:
		case err := <-inputErr:
			if sinkErr == nil {
				sinkErr, broken = err, w.inputError
				s.sendLater(wire.Cancel, r.id, (&wire.CancelRequest{}).Encode())
				limit = time.After(w.grace)
			}
		case <-done:
			done = nil
			if limit == nil {
				limit = time.After(w.grace)
			}
		case <-limit:
			if waited == w.grace && !s.silent() {
				waited += answerSlack
				limit = time.After(answerSlack)
				continue
			}
			r.abandon()
			fate := fmt.Sprintf(", but the pool daemon did not answer within %v: it may still be running there", waited)
			if sinkErr != nil {
				e := broken(sinkErr)
				e.Msg += fate
				return transport.Status{}, e
			}
			return transport.Status{}, stopped(ctx, w.what, w.host, fate)
		}
	}
}

// deliver gives a piece to its sink.
func (w *work) deliver(p piece) error {
	sink := w.stdout
	if p.stream == wire.Stderr {
		sink = w.stderr
	}
	if sink == nil {
		return nil
	}
	n, err := sink.Write(p.data)
	if err == nil && n < len(p.data) {
		err = io.ErrShortWrite
	}
	return err
}

func (w *work) sinkError(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Err: err,
		Msg: fmt.Sprintf("%s on %s was ended because its output could not be stored: %v", w.what, w.host, err)}
}

// result converts an answer to the results of a Run, Put or Get.
func (w *work) result(ctx context.Context, a *answer) (transport.Status, error) {
	switch {
	case a.lost != nil:
		return transport.Status{}, lost(w.what, w.host, a.lost)
	case a.err != nil:
		return transport.Status{}, failed(ctx, a.err)
	}
	return a.status, nil
}
