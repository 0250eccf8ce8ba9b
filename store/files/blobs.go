package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"bolt/internal/atomicfile"
	"bolt/internal/ownfile"
	"bolt/store"
)

func (s *Store) blobs() string { return filepath.Join(s.dir, "blobs") }

// blob returns the path of a content. Directories of the first two digits keep each directory
// small.
func (s *Store) blob(d store.Digest) string {
	return filepath.Join(s.blobs(), string(d[:2]), string(d[2:]))
}

// Put implements store.Blobs.
func (s *Store) Put(ctx context.Context, data []byte) (store.Digest, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	d := store.DigestOf(data)
	path := s.blob(d)
	if same(path, data) {
		return d, nil
	}
	if err := s.prepare(filepath.Dir(path)); err != nil {
		return "", err
	}
	return d, atomicfile.WriteOwn(path, data, 0o600)
}

// same reports whether a file has a content.
func same(path string, data []byte) bool {
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(data)) {
		return false
	}
	there, err := readAll(f, int64(len(data)))
	return err == nil && bytes.Equal(there, data)
}

// maxBlob is the size of the largest content that is read.
const maxBlob = 1 << 30

// Get implements store.Blobs.
func (s *Store) Get(ctx context.Context, d store.Digest) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if _, err := store.ParseDigest(string(d)); err != nil {
		return nil, err
	}
	f, err := ownfile.Open(s.blob(d), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &store.NotFoundError{Digest: d}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, maxBlob)
	if err != nil {
		return nil, err
	}
	if got := store.DigestOf(data); got != d {
		return nil, &store.DamagedError{File: s.blob(d), Why: "the content is damaged: its SHA-256 is now " + string(got)}
	}
	return data, nil
}

// Has implements store.Blobs.
func (s *Store) Has(ctx context.Context, d store.Digest) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if _, err := store.ParseDigest(string(d)); err != nil {
		return false, err
	}
	switch info, err := os.Lstat(s.blob(d)); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	default:
		return info.Mode().IsRegular(), nil
	}
}

// List implements store.Blobs.
func (s *Store) List(ctx context.Context) iter.Seq2[store.Digest, error] {
	return func(yield func(store.Digest, error) bool) {
		err := walk(ctx, s.blobs(), func(rel string, _ fs.DirEntry) error {
			d, err := store.ParseDigest(strings.Replace(rel, "/", "", 1))
			if err == nil && !yield(d, nil) { // other files are temporary
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// Remove implements store.Blobs.
func (s *Store) Remove(ctx context.Context, d store.Digest) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if _, err := store.ParseDigest(string(d)); err != nil {
		return err
	}
	if err := os.Remove(s.blob(d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
