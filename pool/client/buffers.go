package client

import (
	"sync"

	"bolt/pool/wire"
)

// streamPiece is the size of a piece from which on there are probably more to
// come: half of what a machine sends at a time.
const streamPiece = 16 << 10

// buffers are those of pieces of streams, to be used again: a download would
// allocate its own size. The zero value is ready to use.
type buffers struct{ pool sync.Pool }

// get returns an empty slice with room for n bytes: for a whole piece, if n is
// that of a stream, for the next ones are joined to it. So a request's queue
// takes no more than four times its window, however its pieces come.
func (b *buffers) get(n int) []byte {
	if n < streamPiece {
		return nil
	}
	if p, ok := b.pool.Get().(*[wire.MaxPiece]byte); ok {
		return p[:0]
	}
	return make([]byte, 0, wire.MaxPiece)
}

// put takes a piece back that was delivered.
func (b *buffers) put(data []byte) {
	if cap(data) == wire.MaxPiece {
		b.pool.Put((*[wire.MaxPiece]byte)(data[:wire.MaxPiece]))
	}
}
