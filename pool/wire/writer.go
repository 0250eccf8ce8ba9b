package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"sync"
)

const (
	// maxQueued is how much may wait in a Writer before Send blocks.
	maxQueued = 1 << 20
	// largeBody is where a stream begins: whoever sends so much does its share
	// of the writing, and waits until it is done.
	largeBody = 8 << 10
)

// A Writer writes frames. It is safe for concurrent use, and has no goroutine
// of its own: while one caller writes, the frames of others queue up and go out
// together with that caller's next write. Callers with large frames take the
// writing over, so that nobody writes for the streams of others for long.
type Writer struct {
	w io.Writer

	mu      sync.Mutex
	moved   sync.Cond // the queue has shrunk, nobody writes any more, or an error came
	queue   []byte
	spare   []byte
	queued  uint64 // bytes that were ever put in the queue
	written uint64 // and that were written
	waiting int    // callers that wait for their bytes to be written
	writing bool
	err     error
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer {
	wr := &Writer{w: w}
	wr.moved.L = &wr.mu
	return wr
}

// errBody is our own mistake.
var errBody = errors.New("frame is larger than the protocol allows")

// Send writes a frame, or queues it behind the one that is being written.
// With an error the frame was not written whole, so the peer will not act on
// it; without one that may turn out later. The error of a write is that of
// every Send after it; what was queued is lost. Closing the underlying
// connection ends a Send that blocks.
func (w *Writer) Send(t Type, id uint32, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.add(t, id, body); err != nil {
		return err
	}
	mine := w.queued
	if w.writing {
		if len(body) < largeBody {
			return nil
		}
		w.waiting++
		for w.err == nil && w.writing && w.written < mine {
			w.moved.Wait()
		}
		w.waiting--
		if w.writing || w.err != nil {
			return w.fate(mine)
		}
		// Nobody writes, and what is queued behind our frame has no owner.
	}
	w.write()
	return w.fate(mine)
}

// fate is what became of the frame that ends so far in the stream.
func (w *Writer) fate(end uint64) error {
	if w.written >= end {
		return nil
	}
	return w.err
}

// Queue is as Send, but the frame may go out together with the next one that
// is sent.
func (w *Writer) Queue(t Type, id uint32, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.add(t, id, body); err != nil {
		return err
	}
	if len(w.queue) > maxQueued && !w.writing {
		w.write()
	}
	return w.err
}

// add puts a frame in the queue when there is room.
func (w *Writer) add(t Type, id uint32, body []byte) error {
	if len(body) > MaxFrame {
		return errBody
	}
	for w.err == nil && w.writing && len(w.queue) > maxQueued {
		w.moved.Wait()
	}
	if w.err != nil {
		return w.err
	}
	w.queue = binary.BigEndian.AppendUint32(w.queue, uint32(len(body)))
	w.queue = append(w.queue, byte(t))
	w.queue = binary.BigEndian.AppendUint32(w.queue, id)
	w.queue = append(w.queue, body...)
	w.queued += uint64(headerSize + len(body))
	return nil
}

// write empties the queue, or writes once if somebody waits to go on with it.
func (w *Writer) write() {
	w.writing = true
	if len(w.queue) < largeBody {
		// Those who are about to send come along: a write costs more than all
		// the rest.
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
	}
	for len(w.queue) > 0 && w.err == nil {
		out := w.queue
		w.queue, w.spare = w.spare[:0], nil
		w.moved.Broadcast()
		w.mu.Unlock()
		n, err := w.w.Write(out)
		w.mu.Lock()
		if cap(out) <= 2*maxQueued {
			w.spare = out
		}
		w.written += uint64(n)
		w.err = err
		if w.waiting > 0 {
			break
		}
	}
	w.writing = false
	w.moved.Broadcast()
}
