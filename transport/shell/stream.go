package shell

import (
	"io"
	"sync"
)

// A Stream passes the output of a session from the goroutine that reads it
// (Carry) to the one goroutine that uses it. While one piece is used, the next
// one is read.
type Stream struct {
	pieces chan []byte // each is valid until the next one is taken; closed at the end
	rest   []byte      // received, but not yet returned by Read
	gone   chan struct{}
	once   sync.Once // closes gone
}

// NewStream returns a Stream.
func NewStream() *Stream {
	return &Stream{pieces: make(chan []byte), gone: make(chan struct{})}
}

// Carry reads from a reader until the reader fails or Close is called. Close
// does not end a blocked Read. Carry returns the error of the reader, or nil
// after Close. It must be called once.
func (s *Stream) Carry(from io.Reader) error {
	defer close(s.pieces)
	var buf, last []byte
	size := firstBuffer
	for {
		if len(buf) < size {
			buf = make([]byte, size)
		}
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case s.pieces <- buf[:n]:
			case <-s.gone:
				return nil
			}
			if n == len(buf) {
				size = streamBuffer
			}
			buf, last = last, buf
		}
		if err != nil {
			return err
		}
	}
}

// End ends a Stream without output, instead of Carry.
func (s *Stream) End() { close(s.pieces) }

// Read implements io.Reader. After Close, it returns io.ErrClosedPipe.
func (s *Stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		select {
		case piece, ok := <-s.pieces:
			if !ok {
				return 0, io.EOF
			}
			s.rest = piece
		case <-s.gone:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close stops the Stream. It can be called at any time, and twice.
func (s *Stream) Close() error {
	s.once.Do(func() { close(s.gone) })
	return nil
}
