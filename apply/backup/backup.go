// Package backup keeps copies of files on a machine before they are replaced or removed.
//
// A copy is named by its SHA-256, so equal contents are kept once. The file "list" has the path of
// each copy: one JSON object on each line, in the order of the copies.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bolt/internal/appendfile"
	"bolt/internal/ownfile"
)

const (
	listName = "list"
	// keep is how long a copy stays.
	keep = 90 * 24 * time.Hour
	// keepAll is how long a copy stays also if there are more than maxSize bytes of them.
	keepAll = 24 * time.Hour
	maxSize = 1 << 30
	// maxList is the size at which the list begins anew.
	maxList = 8 << 20
)

// A Store is a directory with copies, which only the user of the process can read. It is safe
// for concurrent use.
type Store struct {
	dir string
	now func() time.Time
}

// New returns the store in a directory, which must exist.
func New(dir string, now func() time.Time) *Store { return &Store{dir, now} }

// An entry is a line of the list.
type entry struct {
	Time time.Time `json:"time"`
	Path string    `json:"path"`
	Sum  string    `json:"sha256"`
	Mode string    `json:"mode"`
	UID  uint32    `json:"uid"`
	GID  uint32    `json:"gid"`
}

// Keep copies a regular file. It follows no link at the end of the path.
func (s *Store) Keep(ctx context.Context, path string) error {
	in, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(in.Fd()), &st); err != nil {
		return err
	}
	sum, err := s.copy(in)
	if err != nil {
		return err
	}
	text, err := json.Marshal(entry{s.now().UTC().Truncate(time.Second), path, sum, octal(st.Mode), st.Uid, st.Gid})
	if err != nil {
		return err
	}
	list, err := appendfile.Open(ctx, filepath.Join(s.dir, listName), appendfile.Any)
	if err != nil {
		return err
	}
	return errors.Join(list.Append(append(text, '\n'), false), list.Close())
}

func octal(mode uint32) string {
	const digits = "01234567"
	b := [4]byte{}
	for i := range b {
		b[3-i] = digits[mode>>(3*i)&7]
	}
	return string(b[:])
}

// copy stores a content and returns its digest.
func (s *Store) copy(in io.Reader) (sum string, err error) {
	out, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	err = errors.Join(err, out.Close())
	if err == nil {
		sum = hex.EncodeToString(h.Sum(nil))
		err = os.Rename(out.Name(), filepath.Join(s.dir, sum))
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return sum, err
}

// Prune removes old copies, and the remains of interrupted copies. If the other copies are larger than maxSize together, it also removes
// the oldest of them, but not those of the last day.
func (s *Store) Prune() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var copies []fs.FileInfo
	var size int64
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var old bool
		switch age := s.now().Sub(info.ModTime()); {
		case e.Name() == listName:
			old = info.Size() > maxList
		case filepath.Ext(e.Name()) != "": // a hidden name
			old = age > time.Hour
		case age > keep:
			old = true
		default:
			copies = append(copies, info)
			size += info.Size()
		}
		if old {
			if err := s.remove(e.Name()); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(copies, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range copies {
		if size <= maxSize || s.now().Sub(info.ModTime()) < keepAll {
			break
		}
		if err := s.remove(info.Name()); err != nil {
			return err
		}
		size -= info.Size()
	}
	return nil
}

func (s *Store) remove(name string) error { return os.Remove(filepath.Join(s.dir, name)) }
