package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/appendfile"
	"bolt/internal/ownfile"
	"bolt/store"
)

const logExt = ".jsonl"

func (s *Store) logs() string { return filepath.Join(s.dir, "logs") }

func (s *Store) log(name string) string {
	return filepath.Join(s.logs(), filepath.FromSlash(name)+logExt)
}

// A tail is the end of the lines of a log that were verified. The zero value is the beginning.
type tail struct {
	file     fs.FileInfo // which file it was
	offset   int64       // behind the last line
	line     int         // its number
	sum      string
	revision store.Revision
	fence    store.Fence // the highest
}

// of returns the tail for a file: the beginning if the tail is about another file.
func (t tail) of(info fs.FileInfo) tail {
	if t.file == nil || !os.SameFile(t.file, info) || info.Size() < t.offset {
		return tail{file: info}
	}
	return t
}

// known returns the end of the verified part of a log.
func (s *Store) known(log string) tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tails[log]
}

func (s *Store) learn(log string, t tail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tails[log] = t
}

// read reads the lines of a file from a tail to size, and calls each for the events of complete
// appends. It returns the new tail. Lines after the new tail are torn. The Data of all events share one buffer.
func read(ctx context.Context, f io.ReaderAt, path string, t tail, size int64, each func(store.Event)) (tail, error) {
	if size <= t.offset {
		return t, nil
	}
	rest := make([]byte, size-t.offset)
	n, err := f.ReadAt(rest, t.offset)
	if err != nil && err != io.EOF {
		return t, err
	}
	rest = rest[:n]        // another process can have cut the file
	var open []store.Event // of an Append that is not complete
	var last store.Revision
	at := t
	v := newVerifier(t.sum)
	for ctx.Err() == nil {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 { // a line that is whole but for its end was not synced
			return t, nil
		}
		at.line++
		l, err := v.line(rest[:end])
		if err == nil && l.Revision != at.revision+1 {
			err = errSum
		}
		if err != nil {
			if torn(rest, last) {
				return t, nil
			}
			return t, &store.DamagedError{File: path, Line: at.line, Why: err.Error()}
		}
		rest = rest[end+1:]
		at.offset += int64(end + 1)
		at.revision, at.fence = l.Revision, max(at.fence, l.Fence)
		if open = append(open, l.Event); l.more > 0 {
			last = l.end()
			continue
		}
		for _, e := range open {
			each(e)
		}
		at.sum = v.sum()
		open, last, t = open[:0], 0, at
	}
	return t, context.Cause(ctx)
}

// Load implements store.Logs.
func (s *Store) Load(ctx context.Context, log string, after store.Revision) ([]store.Event, error) {
	if err := checked(ctx, log); err != nil {
		return nil, err
	}
	t := s.known(log)
	if after < t.revision {
		t = tail{}
	}
	var events []store.Event
	t, _, err := s.follow(ctx, log, t, math.MaxInt64, func(e store.Event) {
		if e.Revision > after {
			if len(events) == cap(events) {
				events = slices.Grow(events, max(16, 3*len(events))) // a log is long, or it has a few new events
			}
			events = append(events, e)
		}
	})
	if _, damaged := errors.AsType[*store.DamagedError](err); damaged {
		return events, err
	}
	if err != nil {
		return nil, err
	}
	s.learn(log, t)
	return events, nil
}

// follow reads the lines of a log behind a tail: at most so many bytes. more reports whether the log has further bytes.
func (s *Store) follow(ctx context.Context, log string, t tail, most int64, each func(store.Event)) (end tail, more bool, err error) {
	path := s.log(log)
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return tail{}, false, nil
	}
	if err != nil {
		return t, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return t, false, err
	}
	t = t.of(info)
	rest := info.Size() - t.offset
	end, err = read(ctx, f, path, t, t.offset+min(rest, most), each)
	return end, rest > most, err
}

// Append implements store.Logs.
func (s *Store) Append(ctx context.Context, log string, after store.Revision, fence store.Fence, data ...json.RawMessage) (store.Revision, error) {
	if err := checked(ctx, log); err != nil {
		return 0, err
	}
	events := make([]json.RawMessage, len(data))
	for i, d := range data {
		var err error
		if events[i], err = compact(d); err != nil {
			return 0, err
		}
	}
	path := s.log(log)
	how := appendfile.Existing
	if after == 0 {
		how = appendfile.Any
		if err := s.prepare(filepath.Dir(path)); err != nil {
			return 0, err
		}
	}
	f, err := appendfile.Open(ctx, path, how)
	if errors.Is(err, fs.ErrNotExist) && after > 0 {
		return 0, &store.ConflictError{Log: log}
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	t, size, err := s.end(ctx, f, log)
	if err != nil {
		return 0, err
	}
	switch {
	case t.revision != after:
		return 0, &store.ConflictError{Log: log, Have: t.revision}
	case fence > 0 && fence < t.fence:
		return 0, &store.FencedError{Log: log, Have: t.fence}
	case len(events) == 0:
		return after, nil
	case size > t.offset:
		if err := f.Cut(t.offset); err != nil {
			return 0, err
		}
	}
	if t, err = write(f, t, fence, events); err != nil {
		return 0, err
	}
	s.learn(log, t)
	return t.revision, nil
}

// end verifies the lines of a locked log that are new, and returns its tail and its size.
func (s *Store) end(ctx context.Context, f *appendfile.File, log string) (tail, int64, error) {
	path := s.log(log)
	info, err := os.Lstat(path)
	if err != nil {
		return tail{}, 0, err
	}
	size, err := f.Size()
	if err != nil {
		return tail{}, 0, err
	}
	t, err := read(ctx, f, path, s.known(log).of(info), size, func(store.Event) {})
	return t, size, err
}

// write adds events to a file whose tail is t.
func write(f *appendfile.File, t tail, fence store.Fence, events []json.RawMessage) (tail, error) {
	var b bytes.Buffer
	before := t.offset
	now := time.Now().UTC()
	v := newVerifier(t.sum)
	for i, data := range events {
		l := line{Event: store.Event{Revision: t.revision + 1, Time: now, Fence: fence, Data: data}, more: uint64(len(events) - 1 - i)}
		l.appendTo(&b, v)
		t.revision++
		t.line++
	}
	t.sum = v.sum()
	t.offset += int64(b.Len())
	t.fence = max(t.fence, fence)
	if err := f.Append(b.Bytes(), true); err != nil {
		// After a failed fsync(2), the lines can be in the file.
		if cut := f.Cut(before); cut != nil {
			return t, fmt.Errorf("%w; the incomplete events could not be removed: %v", err, cut)
		}
		return t, err
	}
	return t, nil
}

// pause is the time between two reads of a watched log.
const pause = 100 * time.Millisecond

// watched is the number of bytes that Watch reads at once. A consumer can be slow, and the log of a large rollout must not wait
// for it in memory.
const watched = 1 << 20

// Watch implements store.Logs.
func (s *Store) Watch(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := store.CheckName(log); err != nil {
			yield(store.Event{}, err)
			return
		}
		tick := time.NewTicker(pause)
		defer tick.Stop()
		var t tail
		most := int64(watched)
		for ctx.Err() == nil {
			var events []store.Event
			var err error
			more := false
			if info, serr := os.Lstat(s.log(log)); serr != nil || t.file == nil || info.Size() != t.offset {
				t, more, err = s.follow(ctx, log, t, most, func(e store.Event) { events = append(events, e) })
			}
			if more && len(events) == 0 { // the lines of the next Append are longer
				most *= 2
			} else {
				most = watched
			}
			for _, e := range events {
				if e.Revision <= after {
					continue
				}
				if !yield(e, nil) {
					return
				}
				after = e.Revision
			}
			if err != nil {
				if ctx.Err() == nil {
					yield(store.Event{}, err)
				}
				return
			}
			if more {
				continue
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
}

// Names implements store.Logs.
func (s *Store) Names(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	err := walk(ctx, s.logs(), func(rel string, d fs.DirEntry) error {
		name, is := strings.CutSuffix(rel, logExt)
		if !is || !strings.HasPrefix(name, prefix) || store.CheckName(name) != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 { // an Append has failed
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}
