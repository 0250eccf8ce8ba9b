package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

const (
	// maxLeases and maxRequests bound what one client may hold at a time. A
	// fan-out has one lease and one request for each target. The bounds are
	// higher than any realistic number of targets.
	maxLeases   = 100_000
	maxRequests = 200_000
	// maxWarnings bounds the warnings that wait for a client that reads
	// nothing. maxAnswers is higher than the number of keys of any user.
	maxWarnings = 1000
	maxAnswers  = 1000
	// lastWords is how long an ending daemon waits for a client to read the
	// answers of the requests that were ended.
	lastWords = 5 * time.Second
	// socketBuffer is how much data the system may buffer for a client, as far
	// as it allows (net.core.wmem_max of Linux). With the default of 208 KiB,
	// the two processes of a stream wait for each other all the time.
	socketBuffer = 1 << 20
)

// errGone is the cause if requests end because their client has disconnected.
var errGone = errors.New("the client has gone")

// A client is one connected invocation of bolt.
type client struct {
	s      *Server
	conn   *clientConn
	w      *wire.Writer
	log    *slog.Logger
	dialer transport.Dialer // the pool, with the client's own router

	work sync.WaitGroup // requests, and leases that are being closed

	// The reading goroutine alone uses these fields.
	offers map[uint32]*offer
	held   map[wire.Digest]holding
	stops  bool // the client has sent "stop" and gets its answer when the daemon has ended

	mu       sync.Mutex
	requests map[uint32]*request
	leases   map[uint32]*lease
	answers  map[string]transport.Secret
	warnings warnings
	over     bool // nothing new may begin
}

// warnings are the warnings of a client's router. Lock order: sending,
// client.mu.
type warnings struct {
	// sending is held while warnings are sent. A goroutine that then finds none
	// waiting knows that all were sent.
	sending sync.Mutex
	waiting []wire.Warning // guarded by client.mu
}

// A request is a request that is in progress.
type request struct {
	cancel context.CancelCauseFunc
	window *window // nil without output
	input  *input  // nil without streamed input
	dials  bool
	// control marks a request that does not count as work.
	control bool
	// released marks a Dial whose lease was given up before it was made.
	released bool
	// contents are the contents that the request uses and gives back.
	contents []holding
}

// A lease is a connection that the pool has leased.
type lease struct{ conn transport.Conn }

// A clientConn bounds the time of each write once the daemon ends. Until then a
// client may be stopped for any time.
type clientConn struct {
	net.Conn
	ending atomic.Bool
}

func (c *clientConn) Write(p []byte) (int, error) {
	if c.ending.Load() {
		_ = c.SetWriteDeadline(time.Now().Add(lastWords)) // an error is Write's too
	}
	return c.Conn.Write(p)
}

// end stops reading and bounds the time of writes.
func (c *clientConn) end() {
	c.ending.Store(true)
	_ = c.SetWriteDeadline(time.Now().Add(lastWords))
	_ = c.SetReadDeadline(time.Unix(1, 0))
}

// serve serves a client from its greeting to its end.
func (s *Server) serve(ctx context.Context, raw net.Conn, pid int) {
	conn := &clientConn{Conn: raw}
	if u, ok := raw.(*net.UnixConn); ok {
		_ = u.SetWriteBuffer(socketBuffer) // without it, less data fits at a time
	}
	closes := true
	defer func() {
		if closes {
			conn.Close()
		}
	}()
	frames, w := wire.NewReader(conn), wire.NewWriter(conn)
	defer frames.Wipe()
	_ = conn.SetDeadline(time.Now().Add(greetTimeout)) // an error is the next read's
	unhook := context.AfterFunc(ctx, conn.end)         // a refusal that ends the daemon is still sent
	g, err := s.greet(ctx, frames, w)
	if err != nil {
		s.log.Warn("no greeting from a client", "pid", pid, "err", err)
	}
	if !unhook() || g == nil || err != nil {
		return
	}
	c := &client{
		s: s, conn: conn, w: w, log: s.log.With("client", pid),
		offers: make(map[uint32]*offer), held: make(map[wire.Digest]holding),
		requests: make(map[uint32]*request), leases: make(map[uint32]*lease), answers: make(map[string]transport.Secret),
	}
	c.dialer = s.o.Pool.For(s.o.Router(g.Caller, c.answer, c.warn))
	c.log.Debug("client connected", "version", g.Build)
	c.serve(ctx, frames)
	closes = !c.stops
	c.log.Debug("client disconnected")
}

// serve reads until the client or the daemon ends. Then it ends the work that
// the client has begun.
func (c *client) serve(ctx context.Context, frames *wire.Reader) {
	own, cancel := context.WithCancelCause(ctx)
	_ = c.conn.SetDeadline(time.Time{})
	unhook := context.AfterFunc(ctx, c.conn.end)
	err := c.read(own, frames)
	if ctx.Err() == nil {
		c.conn.Close() // also ends writes that are waiting
		c.logEnd(err)
	}
	unhook()
	cancel(errGone)
	c.end()
}

// logEnd logs why a client has disconnected, unless it did so regularly.
func (c *client) logEnd(err error) {
	switch {
	case err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE):
		c.log.Debug("client disconnected unexpectedly", "err", err)
	default:
		c.log.Warn("closed a client that broke the protocol", "err", err)
	}
}

// end waits for the cancelled work and gives everything back.
func (c *client) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.work.Wait()
	c.mu.Lock()
	leases := c.leases
	c.leases, c.answers = nil, nil
	c.mu.Unlock()
	for _, l := range leases {
		c.work.Go(func() { c.closeLease(l) })
	}
	c.work.Wait()
	for _, o := range c.offers {
		o.abandon()
	}
	for _, h := range c.held {
		h.release(c.s.contents)
	}
}

// read handles the client's frames as they arrive and in their order. It waits
// for nothing but room to answer. Its error is never nil.
func (c *client) read(ctx context.Context, frames *wire.Reader) error {
	for {
		f, err := frames.Next()
		if err != nil {
			return err
		}
		if err := c.treat(ctx, f); err != nil {
			return fmt.Errorf("frame of type %d, ID %d: %w", f.Type, f.ID, err)
		}
	}
}

// treat does or begins the work of a frame. An error means that the client has
// broken the protocol, or that writing to it fails.
func (c *client) treat(ctx context.Context, f wire.Frame) error {
	if (f.ID == 0) != (f.Type == wire.Answer || f.Type == wire.Forget) {
		return errors.New("not the ID of a request")
	}
	switch f.Type {
	case wire.Dial:
		return c.dial(ctx, f)
	case wire.Run:
		return c.run(ctx, f)
	case wire.Put:
		return c.put(ctx, f)
	case wire.Get:
		return c.get(ctx, f)
	case wire.Release:
		return c.release(f)
	case wire.Cancel:
		return c.cancel(f)
	case wire.Credit:
		return c.credit(f)
	case wire.Offer:
		return c.offer(f)
	case wire.Piece:
		return c.piece(f)
	case wire.End:
		return c.endOffer(f)
	case wire.Forget:
		return c.forget(f)
	case wire.Answer:
		return c.keepAnswer(f)
	case wire.Input, wire.InputEnd:
		return c.input(f)
	case wire.Control:
		return c.control(ctx, f)
	}
	return errors.New("unknown type")
}

// errInUse is the error if two requests have the same ID.
var errInUse = errors.New("the ID is in use")

// begin registers a request, whose ctx ends with it. The error is a protocol
// error; a refusal is sent to the client.
func (c *client) begin(ctx context.Context, id uint32, r *request) (own context.Context, refusal *transport.Error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, leased := c.leases[id]
	_, working := c.requests[id]
	_, offered := c.offers[id]
	switch {
	case leased || working || offered:
		return nil, nil, errInUse
	case len(c.requests) >= maxRequests, r.dials && len(c.leases) >= maxLeases:
		return nil, tooMany(), nil
	}
	own, r.cancel = context.WithCancelCause(ctx)
	c.requests[id] = r
	return own, nil, nil
}

func tooMany() *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported,
		Msg:  fmt.Sprintf("The pool daemon serves at most %d connections of one command at a time", maxLeases),
		Hint: "Lower the concurrency, or use --pool off to connect without the daemon."}
}

// An answer is the last frame of a request.
type answer struct {
	kind wire.Type
	body []byte
}

// start runs a request in its own goroutine and answers it.
func (c *client) start(ctx context.Context, id uint32, r *request, work func(ctx context.Context) answer) error {
	own, refusal, err := c.begin(ctx, id, r)
	if err != nil || refusal != nil {
		c.letGo(r)
	}
	if err != nil {
		return err
	}
	if refusal != nil {
		return c.w.Send(wire.Failed, id, wire.EncodeError(refusal))
	}
	counts := 1
	if r.control {
		counts = 0
	}
	c.s.life.add(counts, 0)
	c.work.Go(func() {
		a := c.guard(own, work)
		if a.kind == wire.Failed && errors.Is(context.Cause(own), errEnding) {
			a = stoppedWith(a)
		}
		r.cancel(nil)
		c.letGo(r)
		c.mu.Lock()
		delete(c.requests, id)
		c.mu.Unlock()
		// If the client cannot be written to, its reader detects it.
		_ = c.w.Send(a.kind, id, a.body)
		c.s.life.add(-counts, 0)
	})
	return nil
}

// cancel ends a request's work. The request's answer may have been sent
// already.
func (c *client) cancel(f wire.Frame) error {
	q, err := wire.DecodeCancel(f.Body)
	if err != nil {
		return err
	}
	if o := c.offers[f.ID]; o != nil {
		delete(c.offers, f.ID)
		o.abandon()
		return c.w.Send(wire.Failed, f.ID, wire.EncodeError(&transport.Error{Class: transport.ClassCancelled, Msg: "The content was cancelled"}))
	}
	cause := context.Canceled
	if q.Timeout {
		cause = context.DeadlineExceeded
	}
	c.mu.Lock()
	r := c.requests[f.ID]
	c.mu.Unlock()
	if r != nil {
		r.cancel(cause)
	}
	return nil
}

// credit lets a request send more output.
func (c *client) credit(f wire.Frame) error {
	n, err := wire.DecodeCredit(f.Body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	r := c.requests[f.ID]
	c.mu.Unlock()
	if r == nil || r.window == nil {
		return nil
	}
	return r.window.credit(n)
}

// input gives a piece of input, or its end, to the command. The command may
// have ended meanwhile.
func (c *client) input(f wire.Frame) error {
	c.mu.Lock()
	r := c.requests[f.ID]
	c.mu.Unlock()
	switch {
	case r == nil:
		return nil
	case r.input == nil:
		return errors.New("a request without input")
	case f.Type == wire.Input:
		return r.input.put(f.Body)
	case len(f.Body) > 0:
		return errors.New("a body in a frame that has none")
	}
	return r.input.finish()
}

// keepAnswer stores a passphrase.
func (c *client) keepAnswer(f wire.Frame) error {
	a, err := wire.DecodeAnswer(f.Body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[a.Path] = a.Passphrase; len(c.answers) > maxAnswers {
		return errors.New("too many answers")
	}
	return nil
}

// answer returns the passphrase that the client's user has entered, for its
// router.
func (c *client) answer(path string) (transport.Secret, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.answers[path]
	return s, ok
}

// warn takes a warning of the client's router. It must not wait for the client,
// because other clients may wait for the same dial.
func (c *client) warn(id, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || len(c.warnings.waiting) == maxWarnings {
		return
	}
	c.warnings.waiting = append(c.warnings.waiting, wire.Warning{ID: id, Text: text})
	if len(c.warnings.waiting) == 1 {
		c.work.Go(c.sendWarnings)
	}
}

// sendWarnings returns when the waiting warnings have been sent.
func (c *client) sendWarnings() {
	c.warnings.sending.Lock()
	defer c.warnings.sending.Unlock()
	c.mu.Lock()
	list := c.warnings.waiting
	c.warnings.waiting = nil
	c.mu.Unlock()
	for i := range list {
		if c.w.Send(wire.Warned, 0, list[i].Encode()) != nil {
			return
		}
	}
}

// closeLease gives a connection back, which ends the lease's running work.
func (c *client) closeLease(l *lease) {
	if err := l.conn.Close(); err != nil {
		c.log.Debug("give a connection back", "err", err)
	}
	c.s.life.add(0, -1)
}
