package daemon

import (
	"errors"
	"io"
	"sync"

	"bolt/pool/wire"
)

// An input is the streamed input of one command. The reader of the client's
// connection adds data and never waits. The command's connection reads the
// data.
type input struct {
	// taken sends the client the permission for n more bytes. Read calls it.
	taken func(n int)

	mu     sync.Mutex
	ready  sync.Cond // something has changed
	queue  []byte    // arrived and was not read
	unsaid int       // bytes of room that the client has not been sent yet
	end    bool      // no more data will arrive
	closed bool      // nothing reads any more
}

func newInput(taken func(n int)) *input {
	in := &input{taken: taken, unsaid: wire.InputWindow}
	in.ready.L = &in.mu
	return in
}

var (
	errInputSize  = errors.New("more input than the window allows")
	errInputPiece = errors.New("an empty or too long piece of input")
	errInputEnd   = errors.New("input after its end")
)

// put takes a piece from the client. The error is a protocol error.
func (in *input) put(p []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case len(p) == 0 || len(p) > wire.MaxPiece:
		return errInputPiece
	case in.end:
		return errInputEnd
	case in.closed:
		return nil
	case len(in.queue)+in.unsaid+len(p) > wire.InputWindow:
		return errInputSize
	}
	in.queue = append(in.queue, p...)
	in.ready.Signal()
	return nil
}

// finish records the end of the input. The error is a protocol error.
func (in *input) finish() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.end {
		return errInputEnd
	}
	in.end = true
	in.ready.Signal()
	return nil
}

// close ends a waiting Read and all later ones.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.queue = true, nil
	in.ready.Broadcast()
}

// Read waits for the next bytes.
func (in *input) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	in.mu.Lock()
	if in.unsaid == wire.InputWindow && !in.closed { // the first Read: the session is open
		in.unsaid = 0
		in.mu.Unlock()
		in.taken(wire.InputWindow)
		in.mu.Lock()
	}
	for len(in.queue) == 0 && !in.end && !in.closed {
		in.ready.Wait()
	}
	if in.closed {
		in.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	if len(in.queue) == 0 {
		in.mu.Unlock()
		return 0, io.EOF
	}
	n := copy(p, in.queue)
	rest := copy(in.queue, in.queue[n:])
	in.queue = in.queue[:rest]
	said := 0
	if in.unsaid += n; !in.end && (rest == 0 || in.unsaid >= wire.InputWindow/2) {
		said, in.unsaid = in.unsaid, 0
	}
	in.mu.Unlock()
	if said > 0 {
		in.taken(said)
	}
	return n, nil
}
