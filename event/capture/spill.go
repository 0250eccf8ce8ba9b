package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Spill is where Outputs keep what is too much for memory: one file, which
// has no name any more, however many outputs there are. Outputs that nobody
// has any more give their places back.
//
// Whoever makes one closes it; until then what is in it can be read. It is safe
// for concurrent use.
type Spill struct {
	dir  string
	slot int   // the file is cut into places of so many bytes
	most int64 // of inMemory

	inMemory atomic.Int64 // bytes that Outputs hold there which have ended

	mu     sync.Mutex
	file   *os.File // nil before the first
	slots  int64    // that the file has
	free   []int64
	closed bool
}

// NewSpill returns an empty Spill, which makes a file in dir ("" for the
// system's) when it needs one.
func NewSpill(dir string) *Spill { return newSpill(dir, DefaultMemory) }

func newSpill(dir string, slot int) *Spill { return &Spill{dir: dir, slot: slot, most: maxInMemory} }

// Close gives up the file. A second Close does nothing.
func (s *Spill) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	s.file, s.closed = nil, true
	if f == nil {
		return nil
	}
	return f.Close()
}

// take returns the file and a place in it.
func (s *Spill) take() (f *os.File, slot int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, errSpillClosed
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "bolt-output-*")
		if err != nil {
			return nil, 0, err
		}
		// The name goes at once, so that no end of this process leaves a file.
		if err := os.Remove(f.Name()); err != nil {
			return nil, 0, errors.Join(err, f.Close())
		}
		s.file = f
	}
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		return s.file, slot, nil
	}
	s.slots++
	return s.file, s.slots - 1, nil
}

func (s *Spill) give(slots ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, slots...)
}

// errSpillClosed is what there is after Close.
var errSpillClosed = errors.New("the file of outputs is closed")

// pages are what one Output has in a Spill, in their order.
type pages struct {
	spill *Spill
	slots []int64
	sizes []int // how much of each slot is used
}

// add writes p behind what is there, or changes nothing.
func (g *pages) add(p []byte) (err error) {
	had := len(g.slots)
	for len(p) > 0 && err == nil {
		var f *os.File
		var slot int64
		if f, slot, err = g.spill.take(); err != nil {
			break
		}
		part := p[:min(len(p), g.spill.slot)]
		g.slots, g.sizes = append(g.slots, slot), append(g.sizes, len(part))
		_, err = f.WriteAt(part, slot*int64(g.spill.slot))
		p = p[len(part):]
	}
	if err != nil {
		g.spill.give(g.slots[had:]...)
		g.slots, g.sizes = g.slots[:had], g.sizes[:had]
	}
	return err
}

// reader reads what was written, size bytes.
func (g *pages) reader() (r io.Reader, size int, err error) {
	g.spill.mu.Lock()
	f, closed := g.spill.file, g.spill.closed
	g.spill.mu.Unlock()
	if closed {
		return nil, 0, fmt.Errorf("read captured output: %w", errSpillClosed)
	}
	parts := make([]io.Reader, len(g.slots))
	for i, slot := range g.slots {
		parts[i] = io.NewSectionReader(f, slot*int64(g.spill.slot), int64(g.sizes[i]))
		size += g.sizes[i]
	}
	return io.MultiReader(parts...), size, nil
}

// drop gives the places back.
func (g *pages) drop() {
	g.spill.give(g.slots...)
	g.slots, g.sizes = nil, nil
}

const (
	// maxInMemory is how much of the outputs that have ended stays in memory, of
	// all Outputs of a Spill together: results of thousands of targets, and
	// less than what a program may take without being noticed.
	maxInMemory = 64 << 20
	// minMoved is the least that is worth a place in the file: a page.
	minMoved = 4 << 10
)

// Settle says that nothing more is written. Where the Outputs of the Spill have
// much in memory already, this one goes to the file.
func (c *Output) Settle() {
	s := c.spill
	if s == nil || len(c.buf) == 0 {
		return
	}
	n := int64(cap(c.buf))
	if s.inMemory.Add(n) > s.most && len(c.buf) >= minMoved && c.move() == nil {
		s.inMemory.Add(-n)
		c.buf = nil
		return
	}
	runtime.AddCleanup(c, func(n int64) { s.inMemory.Add(-n) }, n)
}
