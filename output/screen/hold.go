package screen

import (
	"io"
	"sync"

	"bolt/event/capture"
)

// A hold stores the output to the terminal while a question is open there, and
// writes it after the answer. So writers do not wait, and no output appears
// between the question and the typed answer.
//
// A small part is stored in memory and the rest in a file without a name. Output
// beyond capture.DefaultLimit is dropped, with a line about it.
type hold struct {
	to [2]io.Writer // by capture.Stream

	mu   sync.Mutex
	kept *capture.Output // nil while no question is open
}

func newHold(out, err io.Writer) *hold {
	return &hold{to: [2]io.Writer{capture.Stdout: out, capture.Stderr: err}}
}

// begin begins to store output. Only one question is open at a time, so begin is
// not called again before end.
func (h *hold) begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = capture.New(capture.Options{})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		// If the terminal is gone, the next writer gets the error.
		_ = h.kept.Each(func(s capture.Stream, data []byte) error {
			_, err := h.to[s].Write(data)
			return err
		})
		_ = h.kept.Close()
		h.kept = nil
	}
}

// before returns a writer for one of the streams, which is a terminal. It is
// safe for concurrent use.
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
