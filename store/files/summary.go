package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/internal/appendfile"
	"bolt/internal/atomicfile"
	"bolt/internal/ownfile"
	"bolt/store"
)

func (s *Store) summary(log string) string {
	return filepath.Join(s.dir, "summaries", filepath.FromSlash(log)+logExt)
}

// Summarize implements store.Summaries.
func (s *Store) Summarize(ctx context.Context, log string, at store.Revision, values ...json.RawMessage) error {
	if err := checked(ctx, log); err != nil {
		return err
	}
	last, err := s.last(log)
	if err != nil {
		return err
	}
	if last.revision != at {
		return &store.ConflictError{Log: log, Have: last.revision}
	}
	var b bytes.Buffer
	now := time.Now().UTC()
	v := newVerifier(last.sum)
	for i, value := range values {
		if value, err = compact(value); err != nil {
			return err
		}
		l := line{Event: store.Event{Revision: at, Time: now, Data: value}, more: uint64(len(values) - 1 - i)}
		l.appendTo(&b, v)
	}
	path := s.summary(log)
	if err := s.prepare(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(path, b.Bytes(), 0o600)
}

// Summary implements store.Summaries.
func (s *Store) Summary(ctx context.Context, log string, n int) ([]json.RawMessage, error) {
	if err := checked(ctx, log); err != nil {
		return nil, err
	}
	f, err := ownfile.Open(s.summary(log), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	last, err := s.last(log)
	if err != nil || last.revision == 0 {
		return nil, err
	}
	v := newVerifier(last.sum)
	r := &lines{from: f}
	var values []json.RawMessage
	for len(values) < n {
		text, err := r.next()
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		l, err := v.line(text)
		if err != nil || l.Revision != last.revision {
			return nil, nil //nolint:nilerr // it is of another revision, or damaged
		}
		values = append(values, l.Data)
	}
	return values, nil
}

// lines reads a file line by line, and not much more than the lines that are needed.
type lines struct {
	from io.Reader
	rest []byte // was read and not returned
}

// next returns the next line without its end, or io.EOF.
func (r *lines) next() ([]byte, error) {
	for size := 4 << 10; ; size = min(4*size, 1<<20) {
		if line, rest, ended := bytes.Cut(r.rest, []byte("\n")); ended {
			r.rest = rest
			return line[:len(line):len(line)], nil
		}
		if len(r.rest) > maxData {
			return nil, fmt.Errorf("a line has more than %d bytes", maxData)
		}
		more := make([]byte, len(r.rest)+size)
		n, err := io.ReadAtLeast(r.from, more[copy(more, r.rest):], 1)
		if err != nil {
			return nil, err
		}
		r.rest = more[:len(r.rest)+n]
	}
}

// An ending is the last event of a log. The zero value is that of a log without events, or of a log whose last event is
// damaged or not complete.
type ending struct {
	revision store.Revision
	sum      string
}

// last reads the last whole line of a log. The lines before it are not read.
func (s *Store) last(log string) (ending, error) {
	f, err := ownfile.Open(s.log(log), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ending{}, nil
	}
	if err != nil {
		return ending{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ending{}, err
	}
	return lastLine(f, info.Size())
}

func lastLine(f io.ReaderAt, size int64) (ending, error) {
	for chunk := int64(1 << 10); ; chunk *= 8 {
		chunk = min(chunk, size, maxData)
		text := make([]byte, chunk)
		if n, err := f.ReadAt(text, size-chunk); int64(n) < chunk {
			if err == io.EOF { // another process has cut the file
				err = nil
			}
			return ending{}, err
		}
		end := bytes.LastIndexByte(text, '\n') // a torn line can follow
		at := bytes.LastIndexByte(text[:max(end, 0)], '\n')
		if at < 0 && chunk < size && chunk < maxData {
			continue
		}
		text = text[at+1 : max(end, at+1)]
		if len(text) < headSize || !bytes.HasPrefix(text, []byte(partSum)) {
			return ending{}, nil
		}
		l, err := fields(text[headSize:], new(clock))
		if err != nil || l.more > 0 {
			return ending{}, nil //nolint:nilerr // Load finds out
		}
		return ending{l.Revision, string(text[len(partSum) : headSize-len(`",`)])}, nil
	}
}

// Drop implements store.Logs.
func (s *Store) Drop(ctx context.Context, log string, at store.Revision) error {
	if err := checked(ctx, log); err != nil {
		return err
	}
	path := s.log(log)
	f, err := appendfile.Open(ctx, path, appendfile.Existing)
	switch {
	case errors.Is(err, fs.ErrNotExist) && at == 0:
		return s.drop(ctx, log)
	case errors.Is(err, fs.ErrNotExist):
		return &store.ConflictError{Log: log}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	last, err := lastLine(f, size)
	if err == nil && last.revision == 0 { // the last append is not complete, or damaged
		var t tail
		t, _, err = s.end(ctx, f, log)
		last.revision = t.revision
	}
	if err != nil {
		return err
	}
	if last.revision != at {
		return &store.ConflictError{Log: log, Have: last.revision}
	}
	// The log is the last one to go: without it, nothing would find the rest.
	if err := os.Remove(s.summary(log)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.drop(ctx, log); err != nil {
		return err
	}
	s.learn(log, tail{})
	if err := os.Remove(path); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}
