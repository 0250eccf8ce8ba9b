package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"

	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/archive"
)

// trees shares the packed form of a tree among concurrent uploads of that tree.
// It keeps nothing after the last of them, because the tree may change.
type trees struct {
	mu sync.Mutex
	m  map[treeKey]*tree
}

// treeKey identifies a tree of local files.
type treeKey struct{ path, name string }

// A tree is a tree that is being uploaded.
type tree struct {
	src     transport.Tree
	users   int // guarded by trees.mu
	packing flights[struct{}, *packed]

	mu     sync.Mutex
	packed *packed // nil before it was packed
}

// packed describes a tree's tar stream.
type packed struct {
	digest wire.Digest
	size   int64
	small  []byte      // the stream, if it is at most MaxPushed bytes long
	root   fs.FileInfo // before packing; nil if it is not a local tree
}

// hold returns the tree of an upload that begins.
func (x *trees) hold(src transport.Tree) *tree {
	if src.FS != nil { // two such trees cannot be compared
		return &tree{src: src}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	k := treeKey{src.Path, src.Name}
	t := x.m[k]
	if t == nil {
		if x.m == nil {
			x.m = make(map[treeKey]*tree)
		}
		t = &tree{src: src}
		x.m[k] = t
	}
	t.users++
	return t
}

// release undoes a hold.
func (x *trees) release(t *tree) {
	if t.src.FS != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(x.m, treeKey{t.src.Path, t.src.Name})
	}
}

// offer returns the digest of the tree's content when the daemon has it.
func (t *tree) offer(ctx context.Context, s *session, u *uses) (wire.Digest, error) {
	p, err := t.pack(ctx)
	if err != nil {
		return wire.Digest{}, err
	}
	return p.digest, s.offer(ctx, u, p.digest, p.size, func(w io.Writer) error { return t.send(p, w) })
}

// pack packs the tree to compute its digest. If the digest is known and the
// root has not changed, it does not pack again.
func (t *tree) pack(ctx context.Context) (*packed, error) {
	if p := t.known(t.stat()); p != nil {
		return p, nil
	}
	return t.packing.do(ctx, struct{}{}, func() (*packed, error) {
		root := t.stat()
		if p := t.known(root); p != nil {
			return p, nil
		}
		to := &measure{stop: func() error { return context.Cause(ctx) }, hash: sha256.New()}
		if err := archive.Pack(to, t.src); err != nil {
			return nil, err
		}
		p := &packed{digest: to.digest(), size: to.size, root: root}
		if to.size <= wire.MaxPushed {
			p.small = to.head
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.packed = p
		return p, nil
	})
}

// stat returns the FileInfo of the tree's root. It returns nil if there is none
// (Pack returns the reason) or the tree is not local.
func (t *tree) stat() fs.FileInfo {
	if t.src.FS != nil {
		return nil
	}
	info, err := os.Stat(t.src.Path)
	if err != nil {
		return nil
	}
	return info
}

// known returns the packed form if the root is still the same.
func (t *tree) known(root fs.FileInfo) *packed {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.packed
	switch {
	case p == nil:
		return nil
	case p.root == nil && t.src.FS != nil:
		return p
	case p.root == nil || root == nil || !os.SameFile(p.root, root) || p.root.Size() != root.Size() ||
		p.root.Mode() != root.Mode() || !p.root.ModTime().Equal(root.ModTime()):
		return nil
	}
	return p
}

// send packs the tree once more, into w. The stream must be the same as before.
func (t *tree) send(p *packed, w io.Writer) error {
	if p.small != nil {
		_, err := w.Write(p.small)
		return err
	}
	to := &same{w: w, left: p.size, hash: sha256.New()}
	err := archive.Pack(to, t.src)
	if err == nil && (to.left != 0 || !bytes.Equal(to.hash.Sum(nil), p.digest[:])) {
		err = errChanged
	}
	if err == errChanged {
		t.mu.Lock()
		t.packed = nil
		t.mu.Unlock()
		name := archive.Describe(t.src)
		err = &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR",
			Msg: fmt.Sprintf("Could not upload %s: it has changed while it was being read", name)}
	}
	return err
}

// measure is a writer that computes the digest and the size of a stream and
// keeps its beginning.
type measure struct {
	stop func() error // why it must stop, or nil
	hash hash.Hash
	size int64
	head []byte
}

func (m *measure) Write(p []byte) (int, error) {
	if err := m.stop(); err != nil {
		return 0, err
	}
	m.size += int64(len(p))
	if m.size <= wire.MaxPushed {
		m.head = append(m.head, p...)
	} else {
		m.head = nil
	}
	return m.hash.Write(p)
}

func (m *measure) digest() (d wire.Digest) {
	m.hash.Sum(d[:0])
	return d
}

// errChanged means that a tree has changed since it was first read.
var errChanged = errors.New("changed")

// same is a writer that fails if the stream is longer than the first time.
type same struct {
	w    io.Writer
	left int64
	hash hash.Hash
}

func (s *same) Write(p []byte) (int, error) {
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, errChanged
	}
	s.hash.Write(p)
	return s.w.Write(p)
}
