package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"bolt/internal/ownfile"
	"bolt/store"
)

// A part is some of the events of a log, with the text that their Data is in.
type part struct {
	text   []byte
	events []store.Event
}

// again is the each of read for a caller that keeps nothing of a part.
func again(p *part) *part { return p }

const (
	// window is the number of bytes of a log that are read at once, if an Append is not longer.
	window = 256 << 10
	// widening is the factor for the next try with a longer Append.
	widening = 16
)

// read reads the lines of a file from a tail to size, and calls each with the events of complete appends, part by part. each
// returns the part to read into next. read returns the new tail. Lines after the new tail are torn.
func read(ctx context.Context, f io.ReaderAt, path string, t tail, size int64, each func(*part) *part) (tail, error) {
	p := new(part)
	for most := int64(window); t.offset < size; {
		if err := context.Cause(ctx); err != nil {
			return t, err
		}
		most = min(most, size-t.offset)
		if int64(cap(p.text)) < most {
			p.text = make([]byte, most)
		}
		n, err := f.ReadAt(p.text[:most], t.offset)
		if err != nil && err != io.EOF {
			return t, err
		}
		p.text = p.text[:n]
		whole := err == io.EOF || t.offset+most == size // another process can have cut the file
		end, err := p.lines(path, t, whole)
		if len(p.events) > 0 {
			p = each(p)
		}
		switch {
		case whole || err != nil:
			return end, err
		case end.offset == t.offset:
			most *= widening
		default:
			t, most = end, window
		}
	}
	return t, nil
}

// lines reads the events of complete appends from the text of the part, which begins at a tail. If the text is not whole, more lines follow
// it, and damage is left to the next text.
func (p *part) lines(path string, t tail, whole bool) (tail, error) {
	p.events = p.events[:0]
	rest := p.text
	var last store.Revision // of an Append that is not complete
	complete := 0
	defer func() { p.events = p.events[:complete] }()
	at := t
	v := newVerifier(t.sum)
	for {
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
			if !whole || torn(rest, last) {
				return t, nil
			}
			return t, &store.DamagedError{File: path, Line: at.line, Why: err.Error()}
		}
		rest = rest[end+1:]
		at.offset += int64(end + 1)
		at.revision, at.fence = l.Revision, max(at.fence, l.Fence)
		if p.events = append(p.events, l.Event); l.more > 0 {
			last = l.end()
			continue
		}
		at.sum = v.sum()
		complete, last, t = len(p.events), 0, at
	}
}

// Events implements store.Logs. It reads and verifies the next events while the caller works on those before them.
func (s *Store) Events(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := checked(ctx, log); err != nil {
			yield(store.Event{}, err)
			return
		}
		t := s.known(log)
		if after < t.revision {
			t = tail{}
		}
		const ahead = 2 // parts
		ready, free := make(chan *part), make(chan *part, ahead+1)
		for range ahead {
			free <- new(part)
		}
		work, stop := context.WithCancel(ctx)
		var reading sync.WaitGroup
		var failure error
		reading.Go(func() {
			defer close(ready)
			t, failure = s.follow(work, log, t, func(p *part) *part {
				select {
				case ready <- p:
					return <-free
				case <-work.Done(): // read returns
					return p
				}
			})
		})
		defer reading.Wait()
		defer stop()
		for p := range ready {
			for _, e := range p.events {
				if e.Revision > after && !yield(e, nil) {
					return
				}
			}
			free <- p
		}
		if err := cmp.Or(failure, context.Cause(ctx)); err != nil { // after the end of ctx, the last part can be missing
			yield(store.Event{}, err)
			return
		}
		s.learn(log, t)
	}
}

// follow reads the lines of a log behind a tail, as read does.
func (s *Store) follow(ctx context.Context, log string, t tail, each func(*part) *part) (tail, error) {
	path := s.log(log)
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return tail{}, nil
	}
	if err != nil {
		return t, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return t, err
	}
	return read(ctx, f, path, t.of(info), info.Size(), each)
}
