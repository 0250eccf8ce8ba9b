package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"bolt/pool/wire"
)

const (
	// stallTime is how long the daemon may read nothing while this side writes.
	// The daemon's reader never waits, so after that time it is stopped or
	// dead.
	stallTime = 30 * time.Second
	// maxWarnings is how many warnings may wait for Options.Warn.
	maxWarnings = 256
)

// A session is one connection to a daemon, from the greeting to its end. Its
// reader waits only for the socket.
type session struct {
	conn     net.Conn
	w        *wire.Writer
	peer     wire.Greeting
	log      *slog.Logger
	warnings chan *wire.Warning // nil without Options.Warn
	ended    chan struct{}      // closed by fail
	wg       sync.WaitGroup     // all goroutines
	contents *contents
	buffers  buffers
	watch    watch
	told     told

	mu       sync.Mutex
	last     uint32 // ID
	requests map[uint32]*request
	err      error // why it ended
}

// told counts how many of the client's answers the daemon has.
type told struct {
	mu sync.Mutex
	n  int
}

// newSession starts the reader. warn may be nil.
func newSession(conn net.Conn, w *wire.Writer, r *wire.Reader, peer wire.Greeting, warn func(id, text string), log *slog.Logger) *session {
	s := &session{conn: conn, w: w, peer: peer, log: log, ended: make(chan struct{}),
		requests: make(map[uint32]*request), contents: newContents()}
	if warn != nil {
		s.warnings = make(chan *wire.Warning, maxWarnings)
		s.wg.Go(func() {
			for w := range s.warnings {
				warn(w.ID, w.Text)
			}
		})
	}
	s.wg.Go(func() { s.read(r) })
	return s
}

func (s *session) alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// await waits for the session's end, at most for limit.
func (s *session) await(ctx context.Context, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C:
	case <-ctx.Done():
	}
}

// fail ends the session; the first reason takes effect. Requests without an
// answer get the reason as their answer.
func (s *session) fail(why error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = why
	lost := s.requests
	s.requests = nil
	if s.watch.timer != nil {
		s.watch.timer.Stop()
	}
	close(s.ended)
	s.mu.Unlock()
	s.conn.Close()
	for _, r := range lost {
		r.finish(&answer{lost: why})
	}
}

// begin registers a request that opens with a frame of that type. The error is
// the reason why the session has ended; nothing was sent.
func (s *session) begin(opens wire.Type) (*request, error) {
	return s.register(&request{opens: opens})
}

func (s *session) register(r *request) (*request, error) {
	r.wake, r.buffers = make(chan struct{}, 1), &s.buffers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	s.last++
	r.id = s.last
	s.requests[r.id] = r
	s.beginWatch()
	return r, nil
}

// send sends a frame. If it returns an error, the session has ended and the
// daemon has not seen the frame. Otherwise the daemon may have seen it.
func (s *session) send(t wire.Type, id uint32, body []byte) error {
	err := s.w.Send(t, id, body)
	if err != nil {
		s.fail(err)
	}
	return err
}

// tell sends a frame whose loss does not matter, because its request ends with
// the session.
func (s *session) tell(t wire.Type, id uint32, body []byte) { _ = s.send(t, id, body) }

// enter adds the calling goroutine to the session's goroutines until it calls
// wg.Done. It reports false if the session has ended.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.wg.Add(1)
	return true
}

// sendLater sends a frame without waiting. A daemon that does not read must not
// block a caller that has stopped waiting.
func (s *session) sendLater(t wire.Type, id uint32, body []byte) {
	if s.enter() {
		go func() {
			defer s.wg.Done()
			s.tell(t, id, body)
		}()
	}
}

// read is the reader's goroutine.
func (s *session) read(r *wire.Reader) {
	if s.warnings != nil {
		defer close(s.warnings)
	}
	for {
		f, err := r.Next()
		switch {
		case err != nil && isHungUp(err):
			s.fail(errEnded)
			return
		case err != nil:
			s.fail(err)
			return
		}
		s.watch.heard.Add(1)
		if err := s.take(f); err != nil {
			s.log.Warn("pool daemon broke the protocol", "pid", s.peer.PID, "err", err)
			s.fail(&protocolError{err})
			return
		}
	}
}

// errEnded is the error if the daemon closed the connection without a reason.
var errEnded = errors.New("it closed the connection")

// A protocolError wraps an error about a frame that the daemon must not send.
type protocolError struct{ err error }

func (e *protocolError) Error() string { return "it broke the protocol: " + e.err.Error() }
func (e *protocolError) Unwrap() error { return e.err }

// take hands a frame to its request.
func (s *session) take(f wire.Frame) error {
	if f.Type == wire.Warned && f.ID == 0 {
		w, err := wire.DecodeWarning(f.Body)
		if err != nil {
			s.log.Warn("a warning of the pool daemon cannot be decoded", "pid", s.peer.PID, "err", err)
			return nil
		}
		s.warned(w)
		return nil
	}
	final := isFinal(f)
	s.mu.Lock()
	r := s.requests[f.ID]
	if r != nil && final {
		delete(s.requests, f.ID)
	}
	ended := s.err != nil
	s.mu.Unlock()
	if r == nil {
		if ended {
			return nil
		}
		return fmt.Errorf("frame of type %d for ID %d, which belongs to no request", f.Type, f.ID)
	}
	if err := r.take(f, final); err != nil {
		err = fmt.Errorf("ID %d: %w", f.ID, err)
		why := &protocolError{err}
		s.fail(why)                  // first: the request's goroutine checks whether the session is alive
		r.finish(&answer{lost: why}) // the session may not list the request any more
		return err
	}
	if r.opens == wire.Offer && f.Type == wire.Failed {
		s.contents.refused(r.content) // after it is answered, see push
	}
	return nil
}

func (s *session) warned(w *wire.Warning) {
	if s.warnings == nil {
		return
	}
	select {
	case s.warnings <- w:
	default:
		s.log.Warn("too many warnings at a time", "id", w.ID, "text", w.Text)
	}
}

// steady is a connection whose writes fail if the peer does not read.
type steady struct{ net.Conn }

func (c steady) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("it has read nothing for %v", stallTime)
	}
	return n, err
}
