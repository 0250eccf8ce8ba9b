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

// A Spill is one unlinked file for the parts of many Outputs that do not fit in
// memory. A closed or unreachable Output frees its space in the file.
//
// The creator must close it. Its contents can be read until then. A Spill is
// safe for concurrent use.
type Spill struct {
	dir  string
	slot int   // size of a slot of the file, in bytes
	most int64 // limit of inMemory

	inMemory atomic.Int64 // bytes in memory of Outputs that have ended

	mu     sync.Mutex
	file   *os.File // nil before the first use
	slots  int64    // number of slots in the file
	free   []int64
	closed bool
}

// NewSpill returns an empty Spill. When it needs a file, it makes one in dir (""
// for the system's directory).
func NewSpill(dir string) *Spill { return newSpill(dir, DefaultMemory) }

func newSpill(dir string, slot int) *Spill { return &Spill{dir: dir, slot: slot, most: maxInMemory} }

// Close closes the file. A second Close does nothing.
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

// take returns the file and a free slot in it.
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
		// The file is unlinked at once, so that it cannot outlive this process.
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

// errSpillClosed is the error of reading and writing after Close.
var errSpillClosed = errors.New("the file of outputs is closed")

// pages are the slots of one Output in a Spill, in order.
type pages struct {
	spill *Spill
	slots []int64
	sizes []int // used bytes of each slot
}

// add appends p, or changes nothing after an error.
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

// reader returns a reader of the stored data; size is its length.
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

// drop frees the slots.
func (g *pages) drop() {
	g.spill.give(g.slots...)
	g.slots, g.sizes = nil, nil
}

const (
	// maxInMemory limits the memory of all ended Outputs of a Spill together. It is
	// enough for the results of thousands of targets.
	maxInMemory = 64 << 20
	// minMoved is the smallest output that is moved to the file: one page.
	minMoved = 4 << 10
)

// Settle ends the writing. If the Outputs of the Spill already use much memory,
// Settle moves this Output to the file.
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
