package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A Store is a directory with contents that were sent to a machine. The directory belongs
// to the user of the process, and other users cannot read it. Open is safe for concurrent use.
type Store struct {
	dir     string
	checked map[string]bool // contents with the right digest
}

// NewStore returns the store in a directory, which must exist.
func NewStore(dir string) *Store { return &Store{dir, make(map[string]bool)} }

// Put stores a content after a check of its digest.
func (s *Store) Put(sum string, data []byte) error {
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("the content %s arrived with another digest", sum)
	}
	f, err := os.OpenFile(s.path(sum), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		s.checked[sum] = true
	}
	return err
}

func (s *Store) path(sum string) string { return filepath.Join(s.dir, sum) }

// Open opens a content. The error is fs.ErrNotExist if it was not sent. Reading to the end
// reports an error if the content has another digest.
func (s *Store) Open(sum string) (io.ReadCloser, error) {
	if !IsSum(sum) {
		return nil, fs.ErrNotExist
	}
	f, err := os.OpenFile(s.path(sum), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return Verify(f, sum), nil
}

// Has reports whether the store has a content. The digest of a file that came in another way than
// by Put is checked.
func (s *Store) Has(sum string) bool {
	if !s.checked[sum] && IsSum(sum) && InPlace(s.path(sum), sum) {
		s.checked[sum] = true
	}
	return s.checked[sum]
}

// Verify returns a reader that ends with an error if the data does not have the digest sum.
func Verify(r io.ReadCloser, sum string) io.ReadCloser {
	return &verified{ReadCloser: r, hash: sha256.New(), sum: sum}
}

type verified struct {
	io.ReadCloser
	hash interface {
		io.Writer
		Sum([]byte) []byte
	}
	sum string
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		return n, fmt.Errorf("the content is not %s", v.sum)
	}
	return n, err
}

// InPlace reports whether a regular file has a content. It never waits, and follows no
// link at the end of the path.
func InPlace(path, sum string) bool {
	if !filepath.IsAbs(path) || strings.Contains(path, "\x00") {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == sum
}
