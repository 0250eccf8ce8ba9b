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
	// DefaultMaxContents is what contents may take that nobody uses any more.
	DefaultMaxContents = 256 << 20
	// maxUnused is how many there may be: large ones have a descriptor each.
	maxUnused = 64
	// maxInMemory is the size up to which a content is kept in memory, and
	// maxMemory what all of these may take; the others are files.
	maxInMemory = 1 << 20
	maxMemory   = 64 << 20
)

// A store keeps contents by their digest: those that clients hold, and the
// ones used last beyond them. It is safe for concurrent use.
type store struct {
	dir string
	max int64

	mu     sync.Mutex
	all    map[wire.Digest]*content
	unused list.List // of *content, the one unused for longest in front
	rest   int64     // bytes of the unused ones
	memory int64     // bytes of those in memory, or on the way there
	size   int64     // bytes of all
}

// newStore returns a store whose files are in dir, "" for the system's
// temporary directory.
func newStore(dir string, limit int64) *store {
	return &store{dir: dir, max: limit, all: make(map[wire.Digest]*content)}
}

// A content is bytes that are known by their digest. They never change.
type content struct {
	digest wire.Digest
	size   int64
	data   []byte // of one in memory, never nil
	onDisk bool
	file   *os.File // of one on disk, without a name

	// Guarded by the store's mutex.
	users int
	place *list.Element // among the unused ones

	mu     sync.Mutex
	loaded []byte // of a file, while loads > 0
	loads  int
	tree   *archive.FS // once somebody has asked for it
}

// use returns a content that is to be given back by drop, or nil.
func (s *store) use(d wire.Digest) *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.all[d]
	if c != nil {
		s.take(c)
	}
	return c
}

// take needs the lock.
func (s *store) take(c *content) {
	if c.users++; c.place != nil {
		s.unused.Remove(c.place)
		c.place = nil
		s.rest -= c.size
	}
}

// add keeps a new content, or returns the equal one that is there. Either is
// to be given back by drop.
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

// forget needs the lock. The content is in no list any more.
func (s *store) forget(c *content) {
	c.place = nil
	delete(s.all, c.digest)
	s.rest -= c.size
	s.size -= c.size
	s.free(c)
}

// free needs the lock.
func (s *store) free(c *content) {
	switch {
	case !c.onDisk:
		s.memory -= c.size
	case c.file != nil:
		c.file.Close() // an error would come too late for anybody
	}
}

// reserve reports whether a content of that size is to be kept in memory, and
// then counts it.
func (s *store) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > maxInMemory || s.memory+size > maxMemory {
		return false
	}
	s.memory += size
	return true
}

// abandon frees what was to become a content.
func (s *store) abandon(c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(c)
}

// sum is how many contents there are, and their bytes.
func (s *store) sum() (n int, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all), s.size
}

// close forgets everything. Nobody uses it any more.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.unused.Len() > 0 {
		s.forget(s.unused.Remove(s.unused.Front()).(*content))
	}
}

// bytes returns all of it, which nobody may change. Those who ask at a time
// share the memory; each calls release.
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

// asTree returns the content as the tree that it packs; source is where the
// client had it, for messages.
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

// spoolError says that our own disk failed us.
func spoolError(verb string, size int64, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Err: err,
		Msg:  fmt.Sprintf("The pool daemon could not %s a content of %d bytes: %v", verb, size, err),
		Hint: "Make room in its temporary directory (TMPDIR), or go without the daemon: --pool off."}
}
