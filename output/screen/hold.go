package screen

import (
	"io"
	"sync"

	"bolt/event/capture"
)

// A hold keeps what others write to the terminal while a question is open there,
// and writes it when there is an answer. So whoever writes goes on, and nothing
// comes between the question and what is typed.
//
// What is kept is little in memory and the rest in a file without a name; from
// capture.DefaultLimit on it is dropped, with a line that says so.
type hold struct {
	to [2]io.Writer // by capture.Stream

	mu   sync.Mutex
	kept *capture.Output // nil while no question is open
}

func newHold(out, err io.Writer) *hold {
	return &hold{to: [2]io.Writer{capture.Stdout: out, capture.Stderr: err}}
}

// begin begins to keep. Questions are asked one at a time, so it is not called
// again before end was.
func (h *hold) begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = capture.New(capture.Options{})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		// A terminal that is gone is noticed by whoever writes next.
		_ = h.kept.Each(func(s capture.Stream, data []byte) error {
			_, err := h.to[s].Write(data)
			return err
		})
		_ = h.kept.Close()
		h.kept = nil
	}
}

// before returns a writer to one of the streams, which is a terminal. It is safe
// for concurrent use.
func (h *hold) before(s capture.Stream) io.Writer { return heldWriter{h, s} }

type heldWriter struct {
	h *hold
	s capture.Stream
}

func (w heldWriter) Write(p []byte) (int, error) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	if w.h.kept != nil {
		return w.h.kept.Stream(w.s).Write(p)
	}
	return w.h.to[w.s].Write(p)
}
