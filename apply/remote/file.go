package remote

import (
	"bytes"
	"io"
	"io/fs"
	"time"

	"bolt/apply/bundle"
)

// A single is a file system with one regular file, which is opened anew each time.
type single struct {
	name string
	mode fs.FileMode
	size int64
	open func() (io.ReadCloser, error)
}

func ofBytes(name string, mode fs.FileMode, data []byte) *single {
	return &single{name, mode, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// ofContent returns a content with a check of its digest.
func ofContent(c *content, open func() (io.ReadCloser, error)) *single {
	return &single{c.Sum, 0o600, c.size, func() (io.ReadCloser, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		return bundle.Verify(r, c.Sum), nil
	}}
}

func (s *single) Open(name string) (fs.File, error) {
	if name != s.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	return &singleFile{r, s}, nil
}

type singleFile struct {
	io.ReadCloser
	s *single
}

func (f *singleFile) Stat() (fs.FileInfo, error) { return singleInfo{f.s}, nil }

type singleInfo struct{ s *single }

func (i singleInfo) Name() string       { return i.s.name }
func (i singleInfo) Size() int64        { return i.s.size }
func (i singleInfo) Mode() fs.FileMode  { return i.s.mode }
func (i singleInfo) ModTime() time.Time { return time.Time{} }
func (i singleInfo) IsDir() bool        { return false }
func (i singleInfo) Sys() any           { return nil }
