package daemon

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"os"
	"sync"

	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/archive"
)

const (
	// DefaultMaxContents limits the size of all unused contents together.
	DefaultMaxContents = 256 << 20
	// maxUnused limits the number of unused contents: each large one needs a
	// descriptor.
	maxUnused = 64
	// maxInMemory is the size up to which a content is kept in memory.
	// maxMemory limits the size of all contents in memory. Other contents are
	// files.
	maxInMemory = 1 << 20
	maxMemory   = 64 << 20
)

// A store keeps contents by their digest: the contents that clients hold, and
// the most recently used others. It is safe for concurrent use.
type store struct {
	dir string
	max int64

	mu     sync.Mutex
	all    map[wire.Digest]*content
	unused list.List // of *content, in front the content that has been unused for longest
	rest   int64     // bytes of the unused contents
	memory int64     // bytes of the contents in memory, including those being received
	size   int64     // bytes of all contents
}

// newStore returns a store whose files are in dir. If dir is "", it uses the
// system's directory for temporary files.
func newStore(dir string, limit int64) *store {
	return &store{dir: dir, max: limit, all: make(map[wire.Digest]*content)}
}

// A content is a sequence of bytes identified by its digest. It never changes.
type content struct {
	digest wire.Digest
	size   int64
	data   []byte // of a content in memory, never nil
	onDisk bool
	file   *os.File // of a content on disk; the file has no name

	// Guarded by the store's mutex.
	users int
	place *list.Element // among the unused contents

	mu     sync.Mutex
	loaded []byte // of a file, while loads > 0
	loads  int
	tree   *archive.FS // nil before the first use
}

// use returns a content, or nil. The caller must give the content back with
// drop.
func (s *store) use(d wire.Digest) *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.all[d]
	if c != nil {
		s.take(c)
	}
	return c
}

// take must be called with the lock held.
func (s *store) take(c *content) {
	if c.users++; c.place != nil {
		s.unused.Remove(c.place)
		c.place = nil
		s.rest -= c.size
	}
}

// add stores a new content, or returns the equal content that is already
// stored. The caller must give either back with drop.
func (s *store) add(c *content) *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.all[c.digest]; there != nil {
		s.free(c)
		c = there
	} else {
		s.all[c.digest] = c
		s.size += c.size
	}
	s.take(c)
	return c
}

// drop gives a content back.
func (s *store) drop(c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	c.place = s.unused.PushBack(c)
	s.rest += c.size
	for s.rest > s.max || s.unused.Len() > maxUnused {
		s.forget(s.unused.Remove(s.unused.Front()).(*content))
	}
}

// forget must be called with the lock held. The content must not be in the list
// of unused contents.
func (s *store) forget(c *content) {
	c.place = nil
	delete(s.all, c.digest)
	s.rest -= c.size
	s.size -= c.size
	s.free(c)
}

// free must be called with the lock held.
func (s *store) free(c *content) {
	switch {
	case !c.onDisk:
		s.memory -= c.size
	case c.file != nil:
		c.file.Close() // nothing can handle an error here
	}
}

// reserve reports whether a content of that size is kept in memory. If so, it
// adds the size to the memory in use.
func (s *store) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > maxInMemory || s.memory+size > maxMemory {
		return false
	}
	s.memory += size
	return true
}

// abandon frees a content that was not completely received.
func (s *store) abandon(c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(c)
}

// sum returns the number of contents and their total size.
func (s *store) sum() (n int, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all), s.size
}

// close forgets all contents. No content may be in use.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.unused.Len() > 0 {
		s.forget(s.unused.Remove(s.unused.Front()).(*content))
	}
}

// bytes returns the whole content, which callers must not change. Concurrent
// callers share the memory; each must call release.
func (c *content) bytes() (data []byte, release func(), err error) {
	if !c.onDisk {
		return c.data, func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loads == 0 {
		c.loaded = make([]byte, c.size)
		if _, err := c.file.ReadAt(c.loaded, 0); err != nil {
			c.loaded = nil
			return nil, nil, spoolError("read", c.size, err)
		}
	}
	c.loads++
	return c.loaded, c.unload, nil
}

func (c *content) unload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loads--; c.loads == 0 {
		c.loaded = nil
	}
}

// asTree returns the content as the tree that it packs. source is the tree's
// path on the client, for messages.
func (c *content) asTree(source string) (transport.Tree, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tree == nil {
		var r io.ReaderAt = c.file
		if !c.onDisk {
			r = bytes.NewReader(c.data)
		}
		tree, err := archive.Open(r, c.size)
		if err != nil {
			return transport.Tree{}, fmt.Errorf("open the packed tree %s: %w", source, err)
		}
		c.tree = tree
	}
	own := *c.tree
	own.Origin = source
	return transport.Tree{FS: &own, Path: own.Top()}, nil
}

// spoolError returns an error of the daemon's own disk.
func spoolError(verb string, size int64, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Err: err,
		Msg:  fmt.Sprintf("The pool daemon could not %s a content of %d bytes: %v", verb, size, err),
		Hint: "Free space in its temporary directory (TMPDIR), or use --pool off to run without the daemon."}
}
