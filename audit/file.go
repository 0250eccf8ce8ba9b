package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bolt/format/fault"
)

// Kind is the kind of this package's errors.
const Kind = "bolt/audit-error"

// maxLine is the maximum length of a line, in bytes. A longer line is not a record.
const maxLine = 16 << 20

// failed returns the error for a record that could not be written.
func (l *Log) failed(err error) error {
	e := &fault.Error{Kind: Kind, Err: err, Msg: fmt.Sprintf("The audit log %s could not be written: %v", l.path, fault.WithoutPath(err))}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Hint = "Make the directory " + filepath.Dir(l.path) + ", or set another path under audit."
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "Everyone who runs bolt must be able to read and write it: add these users to the file's group, or set another path under audit."
	case errors.Is(err, context.DeadlineExceeded):
		e.Msg = fmt.Sprintf("The audit log %s could not be written: another process has held its lock for %v.", l.path, patience)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		e.Hint = "Make room on its file system."
	}
	return e
}

// piece is the number of bytes that are read at a time.
const piece = 64 << 10

// tailOf examines the last lines of a file of size bytes.
func tailOf(f io.ReaderAt, size int64) (tail, error) {
	for n := int64(piece); ; n *= 4 {
		n = min(n, size, 2*maxLine)
		text := make([]byte, n)
		if _, err := f.ReadAt(text, size-n); err != nil {
			return tail{}, err
		}
		if t, found, err := tailIn(text, n == size); found || err != nil {
			return t, err
		}
		if n == 2*maxLine {
			return tail{}, errNoLog
		}
	}
}

// tailIn examines the last lines of text, which is the end of a file, or the whole
// file if whole is set. If the last record begins before text, found is false.
func tailIn(text []byte, whole bool) (t tail, found bool, err error) {
	end := len(text)
	if t.open = text[end-1] != '\n'; !t.open {
		end--
	}
	for at := end; ; {
		start := bytes.LastIndexByte(text[:at], '\n') + 1
		if start == 0 && !whole {
			return tail{}, false, nil
		}
		r, ok := parse[link](text[start:at])
		switch {
		case ok && at-start <= maxLine:
			t.seq, t.hash = r.Seq, Digest(text[start:end])
			return t, true, nil
		case end-start > maxLine:
			return tail{}, false, errNoLog
		}
		t.torn = true
		if start == 0 {
			t.hash = Digest(text[:end])
			return t, true, nil
		}
		at = start - 1
	}
}

var errNoLog = fmt.Errorf("the last %d bytes do not hold a record, so the file is not an audit log", maxLine)

// A link is the part of a record that the chain consists of.
type link struct {
	Version int    `json:"v"`
	Seq     uint64 `json:"seq"`
	Prev    string `json:"prev"`
	Torn    bool   `json:"torn"`
	Event   Event  `json:"event"`
}

// parse reads a line into a record, or only its link. If the line is not a record,
// ok is false.
func parse[T link | Record](line []byte) (r *T, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return nil, false
	}
	r = new(T)
	if json.Unmarshal(line, r) != nil {
		return nil, false
	}
	switch r := any(r).(type) {
	case *link:
		ok = r.known()
	case *Record:
		ok = (&link{Version: r.Version, Seq: r.Seq, Event: r.Event}).known()
	}
	return r, ok
}

func (k *link) known() bool {
	return k.Version > 0 && k.Seq > 0 && (k.Event == Begin || k.Event == End)
}
