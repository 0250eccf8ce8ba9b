package daemon

import (
	"errors"
	"sync"
	"time"

	"bolt/pool/wire"
)

// outputAfterEnd is how long the output of a cancelled request may wait for a
// client that reads nothing. Then the output is discarded, so that the request can
// end.
const outputAfterEnd = time.Second

// A window limits the output of a request that the client has not acknowledged. One
// goroutine takes room, others give credit.
type window struct {
	more chan struct{} // credit has arrived

	mu     sync.Mutex
	free   int
	closed bool // output is not wanted any more
}

func newWindow() *window { return &window{more: make(chan struct{}, 1), free: wire.Window} }

// errCredit is the error if the client acknowledges more than was sent.
var errCredit = errors.New("credit for more than was sent")

// credit gives room back.
func (w *window) credit(n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free += n; w.free > wire.Window {
		return errCredit
	}
	select {
	case w.more <- struct{}{}:
	default:
	}
	return nil
}

// take takes room for up to n bytes and waits until there is some. When ended is
// closed, it waits at most outputAfterEnd longer and then returns 0.
func (w *window) take(n int, ended <-chan struct{}) int {
	var late <-chan time.Time
	for {
		w.mu.Lock()
		got, closed := min(n, w.free), w.closed
		w.free -= got
		w.mu.Unlock()
		if got > 0 || closed {
			return got
		}
		select {
		case <-w.more:
		case <-ended:
			ended = nil
			late = time.After(outputAfterEnd)
		case <-late:
			w.mu.Lock()
			w.closed = true
			w.mu.Unlock()
			return 0
		}
	}
}

// A sink sends output to the client. It waits while the client reads nothing.
type sink struct {
	w      *wire.Writer
	id     uint32
	kind   wire.Type
	window *window
	ended  <-chan struct{} // closed when the request is cancelled
}

// Write sends p in pieces. An error means that the client has disconnected.
func (s *sink) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := s.window.take(min(len(rest), wire.MaxPiece), s.ended)
		if n == 0 {
			break // the output is not wanted
		}
		if err := s.w.Send(s.kind, s.id, rest[:n]); err != nil {
			return len(p) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(p), nil
}
