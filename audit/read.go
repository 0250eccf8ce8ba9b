package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/format/fault"
	"bolt/internal/appendfile"
	"bolt/internal/ownfile"
)

// A line is a line of a log with its position.
type line struct {
	appendfile.Line
	file   string
	number int
}

// readLines reads the lines of files, one file after the other, until each returns
// an error, which readLines returns. It also reads files compressed with gzip(1).
func readLines(ctx context.Context, files []string, each func(l *line) error) error {
	for _, path := range files {
		if err := readFile(ctx, path, each); err != nil {
			return err
		}
	}
	return nil
}

func readFile(ctx context.Context, path string, each func(l *line) error) error {
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return unread(path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, piece)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return unread(path, err)
		}
		in = bufio.NewReaderSize(z, piece)
	}
	lines := appendfile.NewReader(in, maxLine)
	for number := 1; ctx.Err() == nil; number++ {
		l, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unread(path, err)
		}
		if err := each(&line{l, path, number}); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func unread(path string, err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("its gzip data is damaged: %w", err)
	}
	e := &fault.Error{Kind: Kind, Err: err, Msg: fmt.Sprintf("The audit log %s could not be read: %v", path, fault.WithoutPath(err))}
	if errors.Is(err, fs.ErrNotExist) {
		e.Hint = "No action was recorded in it yet, or the file was removed."
	}
	return e
}

// A Report is the result of Verify.
type Report struct {
	Records int    `json:"records"`
	Torn    int    `json:"torn"`   // lines that were cut off, and that the next record marks as torn
	First   uint64 `json:"first"`  // the number of the first record; 0 if there is none
	Last    uint64 `json:"last"`   // the number of the last record
	Before  string `json:"before"` // the hash of the line before the first, which is in none of the files; ""
	Hash    string `json:"hash"`   // of the last record's line
	Cut     bool   `json:"cut"`    // the last line was cut off, or is just being written
	Found   bool   `json:"found"`  // the record that was expected was there; false if none was
	Break   *Break `json:"break"`  // where the chain is broken; nil: nowhere
}

// A Break is the first line that was changed after it was written.
type Break struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// Verify checks the chain through files, the oldest first. It ends at the first
// break. expect is the hash, in hex, of a record that must exist; "" for none.
// Errors are *fault.Error, for files that cannot be read.
func Verify(ctx context.Context, files []string, expect string) (*Report, error) {
	v := &verifier{expect: expect}
	err := readLines(ctx, files, v.line)
	if err != nil && !errors.Is(err, errBroken) {
		return nil, err
	}
	v.end()
	return &v.Report, nil
}

var errBroken = errors.New("the chain is broken")

// A verifier checks each line against the lines before it.
type verifier struct {
	Report
	expect string

	since  hash.Hash // of the last record and all bytes after it; nil before the first line
	size   int64     // of the bytes after it
	strays int       // lines after the last record
	stray  Break     // the first of them
	open   bool      // the last of them has no end
}

func (v *verifier) line(l *line) error {
	r, ok := parse[link](l.Text)
	if !ok || l.Long {
		if v.strays++; v.strays == 1 {
			v.stray = Break{l.file, l.number, "it is not a record"}
		}
		if v.size += int64(len(l.Text)) + 1; l.Long || v.size > maxLine+1 {
			v.Break = &v.stray
			return errBroken
		}
		if v.since == nil {
			v.since = sha256.New()
		} else {
			v.since.Write([]byte{'\n'})
		}
		v.since.Write(l.Text)
		v.open = l.Open
		return nil
	}
	if why := v.wrong(r); why != "" {
		if v.Break = &v.stray; v.strays == 0 {
			v.Break = &Break{l.file, l.number, why}
		}
		return errBroken
	}
	if v.First == 0 {
		v.First = r.Seq
		if v.since == nil {
			v.Before = r.Prev
		}
	}
	v.Torn += v.strays
	v.strays, v.size = 0, 0
	v.Records++
	v.since = sha256.New()
	v.since.Write(l.Text)
	v.Last, v.Hash = r.Seq, v.hash()
	v.Found = v.Found || v.Hash == v.expect
	return nil
}

func (v *verifier) hash() string { return hex.EncodeToString(v.since.Sum(nil)) }

// wrong returns the reason why a record cannot follow the lines that were read, or
// "" if it can.
func (v *verifier) wrong(r *link) string {
	switch {
	case v.since == nil:
		if r.Seq == 1 && r.Prev != "" || r.Seq > 1 && r.Prev == "" {
			return fmt.Sprintf("it is record %d, but its hash of the line before it does not match this number", r.Seq)
		}
		return ""
	case r.Seq == 1 && r.Prev == "":
		return fmt.Sprintf("a new chain begins here: the log does not show that record %d before it was the last", v.Last)
	case r.Prev != v.hash():
		return "its hash of the line before it does not match"
	case r.Seq != v.Last+1:
		return fmt.Sprintf("it is record %d, and follows record %d", r.Seq, v.Last)
	case r.Torn != (v.strays > 0):
		return "its mark for a cut-off line before it is wrong"
	}
	return ""
}

// end checks the lines after the last record.
func (v *verifier) end() {
	if v.Break != nil || v.strays == 0 {
		return
	}
	if v.strays == 1 && v.open {
		v.Cut = true
		return
	}
	v.Break = &v.stray
}

// An Entry is an action with its two records. End is nil if there is none. Begin is
// nil if none of the files contains it.
type Entry struct {
	Begin, End *Record
}

// Limits of the stored actions without an end record. Beyond them, the oldest action
// is reported without an end, even if its end record follows.
const (
	maxOpen      = 10000
	maxOpenBytes = 64 << 20
)

type entryKey struct {
	request string
	step    int
}

// Entries reads the actions of files, the oldest first, until each returns an error,
// which Entries returns. The actions come in the order of their ends; actions
// without an end come last. others is the number of lines that are not records.
func Entries(ctx context.Context, files []string, each func(*Entry) error) (others int, err error) {
	type open struct {
		entry *Entry
		size  int
	}
	pending := make(map[entryKey]open)
	var order []entryKey // of their beginnings, including ended actions
	bytes := 0
	drop := func() error { // the oldest
		for {
			k := order[0]
			order = order[1:]
			if o, ok := pending[k]; ok {
				delete(pending, k)
				bytes -= o.size
				return each(o.entry)
			}
		}
	}
	err = readLines(ctx, files, func(l *line) error {
		r, ok := parse[Record](l.Text)
		if !ok || l.Long {
			others++
			return nil
		}
		k := entryKey{r.Request, r.Step}
		o, known := pending[k]
		if r.Event == End {
			delete(pending, k)
			bytes -= o.size
			if !known {
				o.entry = &Entry{}
			}
			if o.entry.End = r; len(order) > 2*len(pending)+maxOpen {
				order = compact(order, func(k entryKey) bool { _, ok := pending[k]; return ok })
			}
			return each(o.entry)
		}
		if known {
			return nil // no action begins twice
		}
		pending[k] = open{&Entry{Begin: r}, len(l.Text)}
		order = append(order, k)
		bytes += len(l.Text)
		for len(pending) > maxOpen || bytes > maxOpenBytes && len(pending) > 1 {
			if err := drop(); err != nil {
				return err
			}
		}
		return nil
	})
	for err == nil && len(pending) > 0 {
		err = drop()
	}
	return others, err
}

// compact returns the wanted keys in a new slice.
func compact(order []entryKey, wanted func(entryKey) bool) []entryKey {
	var kept []entryKey
	for _, k := range order {
		if wanted(k) {
			kept = append(kept, k)
		}
	}
	return kept
}

// Files returns the files of a log: the rotated files, the oldest first, and the log
// itself.
func (l *Log) Files() []string {
	var files []string
	for _, info := range l.rotated() {
		files = append(files, filepath.Join(filepath.Dir(l.path), info.Name()))
	}
	return append(files, l.path)
}

// Outcome returns the outcome of the action, or nil if it is unknown.
func (e *Entry) Outcome() *Outcome {
	if e.End == nil {
		return nil
	}
	return e.End.Outcome
}

// A Filter chooses actions. Its zero value chooses all.
type Filter struct {
	Since  time.Time
	Actor  string // the user who runs the process, or who called sudo for it
	Action string // "command", "task" …
	Target string // a name, as the inventory has it
	Failed bool   // actions that failed, were stopped, or have no end
}

// Match reports whether the filter selects an action.
func (f *Filter) Match(e *Entry) bool {
	r := cmp.Or(e.Begin, e.End)
	o := e.Outcome()
	switch {
	case r.Time.Before(f.Since),
		f.Actor != "" && f.Actor != r.Actor.User && f.Actor != r.Actor.SudoUser,
		f.Action != "" && f.Action != r.Name,
		f.Target != "" && !r.Targets.Has(f.Target) && (o == nil || !o.FailedOn.Has(f.Target)),
		f.Failed && o != nil && o.Status == Success:
		return false
	}
	return true
}

// OK reports whether the chain is unbroken and, if expected is true, the expected
// record was found.
func (r *Report) OK(expected bool) bool { return r.Break == nil && (r.Found || !expected) }
