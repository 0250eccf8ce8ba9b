package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/appendfile"
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
	t, err := read(ctx, f, path, s.known(log).of(info), size, again)
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

// Watch implements store.Logs.
func (s *Store) Watch(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := store.CheckName(log); err != nil {
			yield(store.Event{}, err)
			return
		}
		tick := time.NewTicker(pause)
		defer tick.Stop()
		work, stop := context.WithCancel(ctx)
		defer stop()
		var t tail
		for {
			var err error
			if info, serr := os.Lstat(s.log(log)); serr != nil || t.file == nil || info.Size() != t.offset {
				t, err = s.follow(work, log, t, func(p *part) *part {
					for _, e := range p.events {
						if e.Revision > after && work.Err() == nil {
							if after = e.Revision; !yield(e, nil) {
								stop()
							}
						}
					}
					return p
				})
			}
			if work.Err() != nil {
				return
			}
			if err != nil {
				yield(store.Event{}, err)
				return
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
