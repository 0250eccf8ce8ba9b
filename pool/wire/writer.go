package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"sync"
)

const (
	// maxQueued is how many bytes may wait in a Writer before Send blocks.
	maxQueued = 1 << 20
	// largeBody is the size from which a frame belongs to a stream. A caller
	// that sends such a frame takes part in the writing and waits until its
	// frame is written.
	largeBody = 8 << 10
)

// A Writer writes frames. It is safe for concurrent use and has no goroutine of
// its own. While one caller writes, the frames of other callers are queued, and
// that caller's next write includes them. Callers with large frames take over
// the writing, so that no caller writes the streams of others for long.
type Writer struct {
	w io.Writer

	mu      sync.Mutex
	moved   sync.Cond // the queue has shrunk, the writing has stopped, or an error occurred
	queue   []byte
	spare   []byte
	queued  uint64 // total bytes that were put in the queue
	written uint64 // total bytes that were written
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

// errBody is the error if a caller passes too large a body.
var errBody = errors.New("frame is larger than the protocol allows")

// Send writes a frame, or queues it behind the frame that is being written. If
// Send returns an error, the frame was not written completely, so the peer will
// not act on it. If Send returns nil, a later write may still fail. After a
// failed write, every Send returns its error, and the queue is lost. Closing
// the underlying connection ends a Send that blocks.
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
		// No caller is writing, and frames queued behind this one have no
		// writer.
	}
	w.write()
	return w.fate(mine)
}

// fate returns the result of writing the frame that ends at that position of
// the stream.
func (w *Writer) fate(end uint64) error {
	if w.written >= end {
		return nil
	}
	return w.err
}

// Queue is like Send, but the frame may be written together with the next one.
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

// write empties the queue. If another caller waits to continue, it writes only
// once.
func (w *Writer) write() {
	w.writing = true
	if len(w.queue) < largeBody {
		// Callers that are about to send get a chance to queue their frames,
		// because a write costs more than everything else.
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
