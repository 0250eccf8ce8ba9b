package client

import (
	"errors"
	"fmt"
	"sync"

	"bolt/pool/wire"
	"bolt/transport"
)

// A request waits for its answer. The session's reader stores the incoming
// frames in it, and the goroutine that made the request takes them out.
type request struct {
	id      uint32
	opens   wire.Type     // Dial, Run, Put, Get, Offer or Control
	content wire.Digest   // of an Offer
	wake    chan struct{} // one slot: something new has arrived
	buffers *buffers      // of the session
	room    *room         // for input; nil without input

	mu     sync.Mutex
	queue  []piece // not yet taken
	unread int     // bytes that arrived and were not acknowledged
	wanted bool    // an Offer's content
	gone   bool    // no goroutine waits any more
	answer *answer
}

// A piece is some output.
type piece struct {
	stream wire.Type // Stdout, Stderr or Reply
	data   []byte
}

// An answer is the last frame of a request, or the reason why there was none.
type answer struct {
	status transport.Status
	err    *transport.Error // Failed
	lost   error            // why there was no answer
}

// isFinal reports whether a frame is the last of its request.
func isFinal(f wire.Frame) bool {
	switch f.Type {
	case wire.Stdout, wire.Stderr, wire.Wanted, wire.Taken:
		return false
	case wire.Reply:
		return len(f.Body) == 0
	}
	return true
}

// expects reports whether the daemon may send the request a frame of that type.
func (r *request) expects(t wire.Type) bool {
	switch t {
	case wire.Failed:
		return true
	case wire.Dialed:
		return r.opens == wire.Dial
	case wire.Stdout:
		return r.opens == wire.Run || r.opens == wire.Get
	case wire.Stderr, wire.Exited:
		return r.opens == wire.Run
	case wire.Finished:
		return r.opens == wire.Put || r.opens == wire.Get || r.opens == wire.Offer
	case wire.Wanted, wire.Had:
		return r.opens == wire.Offer
	case wire.Taken:
		return r.room != nil
	case wire.Reply:
		return r.opens == wire.Control
	}
	return false
}

// take stores a frame; the reader calls it. The error is a protocol error of
// the daemon.
func (r *request) take(f wire.Frame, final bool) error {
	if !r.expects(f.Type) {
		return fmt.Errorf("frame of type %d in answer to one of type %d", f.Type, r.opens)
	}
	if final {
		a, err := decodeAnswer(f)
		if err != nil {
			a = &answer{err: unreadable(f.Type, err)}
		}
		r.finish(a)
		return nil
	}
	if f.Type == wire.Taken {
		n, err := wire.DecodeCredit(f.Body)
		if err != nil {
			return err
		}
		return r.room.give(n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Type == wire.Wanted {
		if r.wanted {
			return errors.New("a content is wanted twice")
		}
		r.wanted = true
	} else if err := r.output(f); err != nil {
		return err
	}
	r.signal()
	return nil
}

func decodeAnswer(f wire.Frame) (*answer, error) {
	var err error
	a := new(answer)
	switch f.Type {
	case wire.Exited:
		a.status, err = wire.DecodeStatus(f.Body)
	case wire.Failed:
		a.err, err = wire.DecodeError(f.Body)
	default:
		if len(f.Body) > 0 {
			err = fmt.Errorf("frame of type %d with a body of %d bytes", f.Type, len(f.Body))
		}
	}
	return a, err
}

// output queues output; it must be called with the mutex held.
func (r *request) output(f wire.Frame) error {
	if len(f.Body) == 0 || len(f.Body) > wire.MaxPiece {
		return fmt.Errorf("piece of %d bytes", len(f.Body))
	}
	most := wire.Window
	if f.Type == wire.Reply {
		most = wire.MaxReply
	}
	if r.unread += len(f.Body); r.unread > most {
		return fmt.Errorf("more than %d bytes that are not acknowledged", most)
	}
	if r.gone {
		return nil
	}
	// Many small pieces become one, because each piece would cost more than it
	// holds.
	if n := len(r.queue); n > 0 && r.queue[n-1].stream == f.Type && len(r.queue[n-1].data)+len(f.Body) <= wire.MaxPiece {
		r.queue[n-1].data = append(r.queue[n-1].data, f.Body...)
		return nil
	}
	r.queue = append(r.queue, piece{f.Type, append(r.buffers.get(len(f.Body)), f.Body...)})
	return nil
}

// signal wakes the goroutine that waits for the request.
func (r *request) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// finish sets the answer; the first answer takes effect.
func (r *request) finish(a *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answer == nil {
		r.answer = a
		r.signal()
		if r.room != nil {
			r.room.close()
		}
	}
}

// next takes the output that has arrived, and the answer if there is one.
func (r *request) next() ([]piece, *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pieces := r.queue
	r.queue = nil
	return pieces, r.answer
}

// isWanted reports whether the daemon wants the offered content.
func (r *request) isWanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// credit acknowledges output.
func (r *request) credit(n int) {
	r.mu.Lock()
	r.unread -= n
	r.mu.Unlock()
}

// abandon records that no goroutine waits any more. Later frames are dropped.
func (r *request) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone, r.queue = true, nil
	if r.room != nil {
		r.room.close()
	}
}
