package client

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"bolt/pool/wire"
	"bolt/transport"
)

// A room counts how many bytes of a command's input can still be sent.
type room struct {
	mu     sync.Mutex
	more   sync.Cond // free or closed has changed
	free   int
	closed bool // the command needs no more
}

func newRoom() *room {
	r := &room{} // the daemon gives some when the command reads
	r.more.L = &r.mu
	return r
}

// take waits for room and takes up to n bytes of it. It returns 0 if the
// command needs no more input.
func (r *room) take(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.free == 0 && !r.closed {
		r.more.Wait()
	}
	if r.closed {
		return 0
	}
	n = min(n, r.free)
	r.free -= n
	return n
}

// give adds room. It returns an error if the daemon has broken the protocol.
func (r *room) give(n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free += n; r.free > wire.InputWindow {
		return errors.New("more input was taken than sent")
	}
	r.more.Signal()
	return nil
}

func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.more.Signal()
}

// inputPiece is the size of a Read of the input.
const inputPiece = 32 << 10

// feed sends the input of a command as fast as the machine accepts it. The
// channel receives an error of Read other than io.EOF. It is nil if there is no
// input. The goroutine of feed ends with the request, or when a Read that is
// blocked returns.
func (w *work) feed(s *session, r *request) <-chan error {
	if w.input == nil {
		return nil
	}
	failed := make(chan error, 1)
	go func() {
		buf := make([]byte, inputPiece)
		for {
			n := r.room.take(len(buf))
			if n == 0 {
				return
			}
			got, err := w.input.Read(buf[:n])
			if got > 0 && s.send(wire.Input, r.id, buf[:got]) != nil {
				return
			}
			switch {
			case err == io.EOF:
				s.tell(wire.InputEnd, r.id, nil)
				return
			case err != nil:
				failed <- err
				return
			}
			if got < n && r.room.give(n-got) != nil {
				return // impossible: the room was taken just now
			}
		}
	}()
	return failed
}

func (w *work) inputError(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Err: err,
		Msg: fmt.Sprintf("%s on %s was ended because its input could not be read: %v", w.what, w.host, err)}
}
