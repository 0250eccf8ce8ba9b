package puppetdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bolt/format/ordered"
	"bolt/puppetdb/server"
)

const (
	// maxRow is how large a row may be. A catalog of 10,000 resources has 3 MB.
	maxRow = 64 << 20
	// maxRows is how large an answer may be that is kept whole. In memory it
	// takes several times that.
	maxRows = 128 << 20
)

// A largeError is the error of an answer, or a row of it, that is larger than
// may be kept in memory.
type largeError struct {
	What  string // "the answer", "a row"
	Limit int64  // bytes
}

// Error says how much may be kept.
func (e *largeError) Error() string {
	return fmt.Sprintf("%s is larger than %d MiB", e.What, e.Limit>>20)
}

// decodeRows reads a JSON array and hands each element on, as package ordered
// has it, as soon as it is there. It keeps one element at a time, which may have
// maxRow bytes.
func decodeRows(r io.Reader, maxRow int64, row func(any) error) error {
	in := &limited{from: r, what: "a row", size: maxRow, until: maxRow}
	d := json.NewDecoder(in)
	if t, err := d.Token(); err != nil {
		return unreadable(err)
	} else if t != json.Delim('[') {
		return server.Failed("the answer is not a list of rows: its JSON begins with %v", t)
	}
	var raw json.RawMessage
	for d.More() {
		raw = raw[:0]
		if err := d.Decode(&raw); err != nil {
			return unreadable(err)
		}
		v, err := ordered.ParseJSON(raw)
		if err != nil {
			return server.Failed("a row cannot be read: %w", err)
		}
		in.until = d.InputOffset() + maxRow
		if err := row(v); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return unreadable(err)
	}
	switch _, err := d.Token(); {
	case err == io.EOF:
		return nil
	case err == nil:
		return server.Failed("something follows the list of rows")
	default:
		return unreadable(err)
	}
}

// unreadable is the failure of an answer that could not be read to its end, or
// is not JSON.
func unreadable(err error) error {
	if _, ok := errors.AsType[*largeError](err); ok {
		return &server.Failure{Err: err, Hint: hintLarge}
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return server.Failed("the answer is not JSON: %w", e)
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &server.Failure{Err: errors.New("the connection closed before the whole response arrived"), Next: true}
	}
	return &server.Failure{Err: err, Next: true}
}

const hintLarge = "ask for fewer columns (inventory[certname, facts.os.name] {…}), or for fewer rows at a time (order by, limit, offset)"

// limited is a reader of a part of what there is.
type limited struct {
	from  io.Reader
	what  string
	size  int64 // for the message
	until int64 // offset
	at    int64
}

func (l *limited) Read(b []byte) (int, error) {
	if l.at >= l.until {
		return 0, &largeError{l.what, l.size}
	}
	n, err := l.from.Read(b[:min(int64(len(b)), l.until-l.at)])
	l.at += int64(n)
	return n, err
}

// document reads a JSON object of an answer that is small.
func document(r io.Reader) (*ordered.Map, error) {
	const most = 1 << 20
	data, err := io.ReadAll(&limited{from: r, what: "the answer", size: most, until: most})
	if err != nil {
		return nil, unreadable(err)
	}
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, server.Failed("the answer is not JSON: %w", err)
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		return nil, server.Failed("the answer is not a JSON object")
	}
	return m, nil
}
