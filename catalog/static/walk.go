package static

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"bolt/catalog"
	"bolt/internal/filestamp"
	"bolt/internal/glob"
	"bolt/internal/readfile"
)

// maxFiles is the number of files that a source may have.
const maxFiles = 100_000

// A walk reads the metadata of one file, or of the files below a directory.
type walk struct {
	sums   *sums
	links  string   // "manage" or "follow"
	owned  bool     // the owner, group and mode of the source are applied
	limit  int      // levels below the source; negative: all
	most   int      // files; negative: maxFiles
	ignore []string // patterns of names
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// plainMode is the recorded mode if the mode of the source is not applied.
const plainMode = 0o644

// timeFormat is the format of Ruby's Time#to_s, which is used in the checksums of directories.
const timeFormat = "2006-01-02 15:04:05 -0700"

// meta returns the metadata of one file; relative is "" if it is not in a tree.
func (w *walk) meta(ctx context.Context, root, relative string) (*catalog.FileMeta, error) {
	name := filepath.Join(root, filepath.FromSlash(relative))
	look := os.Lstat
	if w.links == "follow" {
		look = os.Stat
	}
	info, err := look(name)
	if err != nil {
		return nil, err
	}
	f := &catalog.FileMeta{Path: root, Relative: relative, Links: w.links, Mode: plainMode, SumType: "sha256"}
	if st, is := info.Sys().(*syscall.Stat_t); is && w.owned {
		f.Owner, f.Group, f.Mode = int64(st.Uid), int64(st.Gid), int64(st.Mode&0o7777)
	}
	switch info.Mode().Type() {
	case 0:
		f.Type = "file"
		f.Sum, err = w.sums.of(ctx, name, info)
	case fs.ModeDir:
		f.Type, f.SumType = "directory", "ctime"
		f.Sum = "{ctime}" + changed(info).Format(timeFormat)
	case fs.ModeSymlink:
		f.Type = "link"
		f.Destination, err = os.Readlink(name)
	default:
		err = &fs.PathError{Op: "read", Path: name, Err: errSpecial}
	}
	return f, err
}

// errSpecial is the error for a FIFO, a socket or a device, which has no content.
var errSpecial = errors.New("it is not a file, a directory or a link")

func changed(info fs.FileInfo) time.Time {
	if st, is := info.Sys().(*syscall.Stat_t); is {
		return time.Unix(st.Ctim.Unix()).UTC()
	}
	return info.ModTime().UTC()
}

// tree returns the metadata of a file or directory and of all files below it, sorted by name. A directory
// precedes its content. left are the paths below root of files without content, which are left out.
//
// Differs from Puppet: it serves these files, and the target fails when it applies them.
func (w *walk) tree(ctx context.Context, root string) (files []*catalog.FileMeta, left []string, err error) {
	most := w.most
	if most < 0 {
		most = maxFiles
	}
	var visit func(relative string, level int) error
	visit = func(relative string, level int) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		f, err := w.meta(ctx, root, relative)
		switch {
		case err != nil && level > 0 && errors.Is(err, errSpecial):
			left = append(left, relative)
			return nil
		case err != nil && level > 0 && missing(err): // otherwise only the source itself is missing
			return fmt.Errorf("%s leads to no file", filepath.Join(root, filepath.FromSlash(relative)))
		case err != nil:
			return err
		}
		if len(files) == most {
			return fmt.Errorf("it has more than %d files", most)
		}
		files = append(files, f)
		if f.Type != "directory" || w.limit >= 0 && level >= w.limit || level > maxLevels {
			return nil
		}
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(relative)))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !w.ignored(e.Name()) {
				if err := visit(path.Join(relative, e.Name()), level+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err = visit(".", 0)
	return files, left, err
}

// maxLevels ends the walk through links to directories that contain them.
const maxLevels = 100

// ignored reports whether a name matches a pattern.
func (w *walk) ignored(name string) bool {
	return slices.ContainsFunc(w.ignore, func(pattern string) bool { return glob.File(pattern, name, false) })
}

// sums caches the digests of unchanged files.
type sums struct{ m sync.Map } // path to sum

type sum struct {
	stamp filestamp.Stamp
	text  string
}

// of returns "{sha256}" and the digest of a file.
func (s *sums) of(ctx context.Context, name string, info fs.FileInfo) (string, error) {
	stamp := filestamp.Of(info)
	if old, found := s.m.Load(name); found && old.(sum).stamp == stamp {
		return old.(sum).text, nil
	}
	file, err := readfile.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, &stoppable{ctx, file}); err != nil {
		return "", err
	}
	text := "{sha256}" + hex.EncodeToString(h.Sum(nil))
	if !stamp.Fresh() {
		s.m.Store(name, sum{stamp, text})
	}
	return text, nil
}

// A stoppable reader ends with the error of its context.
type stoppable struct {
	ctx context.Context
	io.Reader
}

func (r *stoppable) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
