package daemon

import (
	"errors"
	"sync"
	"time"

	"bolt/pool/wire"
)

// outputAfterEnd is how long what a cancelled request still says may wait for
// a client that takes nothing. Then it is thrown away, so that the request can end.
const outputAfterEnd = time.Second

// A window is how much of a request's output may be under way. One goroutine
// takes, others give credit.
type window struct {
	more chan struct{} // credit came

	mu     sync.Mutex
	free   int
	closed bool // nobody wants any more
}

func newWindow() *window { return &window{more: make(chan struct{}, 1), free: wire.Window} }

// errCredit is credit for what was never sent.
var errCredit = errors.New("credit for more than was sent")

// credit makes room again.
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

// take takes room for up to n bytes, and waits until there is some: not for
// long once ended is closed, and then there is none.
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

// A sink sends output to the client, and waits while the client takes none.
type sink struct {
	w      *wire.Writer
	id     uint32
	kind   wire.Type
	window *window
	ended  <-chan struct{} // closed when the request is cancelled
}

// Write sends p in pieces. Its error is that the client has gone.
func (s *sink) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := s.window.take(min(len(rest), wire.MaxPiece), s.ended)
		if n == 0 {
			break // nobody wants it
		}
		if err := s.w.Send(s.kind, s.id, rest[:n]); err != nil {
			return len(p) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(p), nil
}
