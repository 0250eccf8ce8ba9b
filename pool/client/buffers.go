package client

import (
	"sync"

	"bolt/pool/wire"
)

// streamPiece is the size from which a piece is assumed to belong to a stream,
// so that more pieces probably follow. It is half of the size that a machine
// sends at a time.
const streamPiece = 16 << 10

// buffers reuses the buffers of stream pieces. Without it, a download would
// allocate its own size. The zero value is ready to use.
type buffers struct{ pool sync.Pool }

// get returns an empty slice with room for n bytes. If n is the size of a
// stream's piece, the slice has room for a whole piece, because the next pieces
// are joined to it. So a request's queue takes at most four times its window,
// whatever the size of its pieces.
func (b *buffers) get(n int) []byte {
	if n < streamPiece {
		return nil
	}
	if p, ok := b.pool.Get().(*[wire.MaxPiece]byte); ok {
		return p[:0]
	}
	return make([]byte, 0, wire.MaxPiece)
}

// put takes back a piece that was delivered.
func (b *buffers) put(data []byte) {
	if cap(data) == wire.MaxPiece {
		b.pool.Put((*[wire.MaxPiece]byte)(data[:wire.MaxPiece]))
	}
}
