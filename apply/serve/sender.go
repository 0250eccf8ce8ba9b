package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"bolt/apply/frame"
	"bolt/apply/report"
)

// A sender writes frames in the background, so that a slow reader slows the work only when many
// frames wait. After the reader is gone, it throws them away. It is safe for concurrent use.
type sender struct {
	lost    <-chan struct{}
	queue   chan []byte
	stalled chan struct{} // closed when frames cannot be delivered any more
	once    sync.Once
	done    chan struct{}
	size    atomic.Int64 // of all frames
}

const (
	// maxDiffs and maxLogs are the sizes of output behind which diffs, and then messages, are left
	// out. The controller refuses a helper that sends much more.
	maxDiffs = 64 << 20
	maxLogs  = 128 << 20
	// maxQueue is the number of frames that wait.
	maxQueue = 256
	// maxStall is how long a reader can take to read anything. A connection that takes longer has
	// been lost.
	maxStall = 2 * time.Minute
)

// newSender writes the greeting and the Hello before it returns: the work begins after them, so that a controller
// without a greeting knows that nothing was done.
func newSender(w io.Writer, lost <-chan struct{}, h *frame.Hello) *sender {
	out := frame.NewWriter(w)
	if out.Greet(h.Run) == nil {
		_ = out.Message(frame.TypeHello, h) // the next write has the same error
	}
	s := &sender{lost: lost, queue: make(chan []byte, maxQueue), stalled: make(chan struct{}), done: make(chan struct{})}
	go s.write(w)
	return s
}

// write is the goroutine that writes. It flushes when nothing waits.
func (s *sender) write(w io.Writer) {
	defer close(s.done)
	out := bufio.NewWriterSize(w, 16<<10)
	var err error
	for b := range s.queue {
		if err == nil {
			_, err = out.Write(b)
		}
		if err == nil && len(s.queue) == 0 {
			err = out.Flush()
		}
		if err != nil {
			s.stall()
		}
	}
	if err == nil {
		_ = out.Flush() // nobody is left to hear of it
	}
}

func (s *sender) stall() { s.once.Do(func() { close(s.stalled) }) }

func (s *sender) put(b []byte) {
	s.size.Add(int64(len(b)))
	select {
	case s.queue <- b:
		return
	default:
	}
	late := time.NewTimer(maxStall)
	defer late.Stop()
	select {
	case s.queue <- b:
	case <-s.lost:
	case <-s.stalled:
	case <-late.C:
		s.stall()
	}
}

// message sends a frame. It returns an error if the message is longer than a frame can be.
func (s *sender) message(t frame.Type, v any) error {
	var b bytes.Buffer
	err := frame.NewWriter(&b).Message(t, v)
	if err == nil {
		s.put(b.Bytes())
	}
	return err
}

// result sends the result of a resource.
func (s *sender) result(r *frame.Result) {
	if s.size.Load() > maxDiffs {
		r.Shorten()
	}
	var b bytes.Buffer
	if err := frame.NewWriter(&b).Message(frame.TypeEvent, r); errors.Is(err, frame.ErrLong) {
		r.Shorten()
		b.Reset()
		_ = frame.NewWriter(&b).Message(frame.TypeEvent, r) // it is short
	}
	s.put(b.Bytes())
}

// log sends a message about a resource.
func (s *sender) log(l *report.Log) {
	switch size := s.size.Load(); {
	case size > maxLogs:
		return
	case len(l.Message) > maxLog:
		l.Message = l.Message[:maxLog] + " (the rest was cut)"
	}
	s.message(frame.TypeLog, l)
}

// maxLog is the length of one message.
const maxLog = 64 << 10

// close waits until all frames are written, or cannot be.
func (s *sender) close() {
	close(s.queue)
	late := time.NewTimer(maxStall)
	defer late.Stop()
	select {
	case <-s.done:
	case <-s.lost:
	case <-s.stalled:
	case <-late.C:
	}
}
