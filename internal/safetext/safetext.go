// Package safetext turns bytes of unknown origin into text that is safe for
// its destination: valid UTF-8, the inside of a JSON string, a terminal.
//
// Each form is a filter around a writer. A filter gets its input in pieces of
// any size, holds back at most a few bytes of it, and needs Flush after the
// last piece. Filters are not safe for concurrent use. A filter writes many
// small pieces, so its writer should be buffered.
//
// Bytes that are not UTF-8 become the text \xHH with upper-case digits, one
// for each byte, as Puppet Bolt writes them.
package safetext

import (
	"io"
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// UTF8 passes valid UTF-8 through and writes every other byte as \xHH.
type UTF8 struct {
	w    io.Writer
	rest [utf8.UTFMax]byte // beginning of an incomplete sequence
	n    int
}

// NewUTF8 returns a filter that writes to w.
func NewUTF8(w io.Writer) *UTF8 { return &UTF8{w: w} }

// Write filters p.
func (u *UTF8) Write(p []byte) (int, error) {
	size := len(p)
	for u.n > 0 && len(p) > 0 { // complete the sequence that was held back, byte by byte
		u.rest[u.n] = p[0]
		u.n++
		p = p[1:]
		if utf8.FullRune(u.rest[:u.n]) {
			held := u.rest // the array is reused for the rest of it
			n := u.n
			u.n = 0
			if err := u.pass(held[:n]); err != nil {
				return 0, err
			}
		}
	}
	if len(p) > 0 {
		if err := u.pass(p); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// pass writes p except an incomplete sequence at its end, which it holds back.
func (u *UTF8) pass(p []byte) error {
	end := len(p)
	for i := len(p) - 1; i >= 0 && i > len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				end = i
			}
			break
		}
	}
	u.n = copy(u.rest[:], p[end:])
	return writeValid(u.w, p[:end])
}

// Flush writes the bytes that were held back: an incomplete sequence.
func (u *UTF8) Flush() error {
	held := u.rest
	n := u.n
	u.n = 0
	return writeValid(u.w, held[:n])
}

// writeValid writes p, with \xHH for each byte that is not UTF-8.
func writeValid(w io.Writer, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if utf8.Valid(p) {
		_, err := w.Write(p)
		return err
	}
	start := 0
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		if r != utf8.RuneError || size != 1 {
			i += size
			continue
		}
		if i > start {
			if _, err := w.Write(p[start:i]); err != nil {
				return err
			}
		}
		if _, err := w.Write([]byte{'\\', 'x', upperHex[p[i]>>4], upperHex[p[i]&15]}); err != nil {
			return err
		}
		i++
		start = i
	}
	if start == len(p) {
		return nil
	}
	_, err := w.Write(p[start:])
	return err
}

// String returns s, with \xHH for each byte that is not UTF-8.
func String(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	_ = writeValid(&b, []byte(s)) // a Builder never returns an error
	return b.String()
}
