// Package capture holds the output of commands. An [Output] holds both streams
// of one command: in memory while they are short, then in a temporary file.
// Several Outputs can share one file, a [Spill].
package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync/atomic"
)

// Stream names an output stream of a command.
type Stream uint8

// These are the two streams.
const (
	Stdout Stream = iota
	Stderr
)

// These are the default limits of an Output.
const (
	// DefaultMemory applies to each target. The output of a hundred targets, or of
	// some thousands with short results, stays within a few MB. Any normal output
	// of a command fits.
	DefaultMemory = 64 << 10
	// DefaultLimit is the limit for each target, in memory and in the file
	// together.
	DefaultLimit = 256 << 20
)

// Options limit an Output. The zero value is ready.
type Options struct {
	Memory int    // bytes in memory before a file is used; 0: DefaultMemory
	Limit  int64  // bytes kept in all; 0: DefaultLimit
	Dir    string // of the temporary file; "" for the system's
	Spill  *Spill // shared with other Outputs, in place of a file in Dir; Memory is then DefaultMemory at most
}

// An Output stores both output streams of a command in the order of arrival. It
// stores a short output in memory and a longer one in an unlinked file. It
// drops all bytes beyond a limit and counts them; readers get a final line with
// the count.
//
// One goroutine at a time can write; afterwards several goroutines can read at
// once. The creator calls Close. Other code that keeps the Output calls Retain
// first and Close at the end. A nil Output reads as an empty one.
type Output struct {
	memory int
	limit  int64
	dir    string
	spill  *Spill // nil: its own Spill, made when it is needed

	// The log is a sequence of records: a header of 4 bytes, big endian, with
	// the stream in the top bit and the length of the data below, then the
	// data. Its beginning is in pages, nil if there are none; buf is the rest.
	pages *pages
	buf   []byte
	open  int // offset in buf of the last record's header, -1 if there is none

	kept    [2]int64 // bytes by stream
	dropped [2]int64
	reason  error // why bytes were dropped; nil: because of the limit
	full    bool  // later bytes are dropped
	cut     bool  // the written data was already cut
	printed bool  // there was a byte other than white space
	closed  bool
	holders atomic.Int32 // other holders, in addition to the creator
}

const (
	recordHeader = 4
	streamBit    = 1 << 31
	maxPiece     = 32 << 10 // maximum size of a piece of a Write
)

// errClosed is the error of reading after Close.
var errClosed = errors.New("read captured output: closed")

// New returns an empty Output.
func New(o Options) *Output {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	o.Memory = min(o.Memory, 1<<30) // a record's length has 31 bits
	if o.Spill != nil {
		o.Memory = min(o.Memory, DefaultMemory)
	}
	return &Output{memory: o.Memory, limit: o.Limit, dir: o.Dir, spill: o.Spill, open: -1}
}

// Stream returns the writer of one stream. Its Write never fails: a full disk
// ends the capture and not the command.
func (c *Output) Stream(s Stream) io.Writer { return writer{c, s} }

type writer struct {
	c *Output
	s Stream
}

func (w writer) Write(p []byte) (int, error) {
	w.c.write(w.s, p)
	return len(p), nil
}

func (c *Output) write(s Stream, p []byte) {
	if !c.printed {
		c.printed = !blank(p)
	}
	for len(p) > 0 && !c.full {
		n := min(len(p), maxPiece, max(1, c.memory-recordHeader))
		if room := c.limit - c.kept[Stdout] - c.kept[Stderr]; int64(n) > room {
			n, c.full = int(room), true
		}
		if n > 0 && !c.record(s, p[:n]) {
			break
		}
		p = p[n:]
	}
	c.dropped[s] += int64(len(p))
}

// record adds one piece to the log and reports whether it succeeded.
func (c *Output) record(s Stream, p []byte) bool {
	if len(c.buf) > 0 && len(c.buf)+recordHeader+len(p) > c.memory {
		if err := c.move(); err != nil {
			c.full, c.reason = true, err
			return false
		}
	}
	if c.open >= 0 {
		h := binary.BigEndian.Uint32(c.buf[c.open:])
		if Stream(h>>31) == s {
			binary.BigEndian.PutUint32(c.buf[c.open:], h+uint32(len(p)))
			c.buf = append(c.buf, p...)
			c.kept[s] += int64(len(p))
			return true
		}
	}
	c.open = len(c.buf)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(s)<<31|uint32(len(p)))
	c.buf = append(c.buf, p...)
	c.kept[s] += int64(len(p))
	return true
}

// move writes buf to the file. After an error, all stored bytes can still be
// read.
func (c *Output) move() error {
	if c.pages != nil {
		if err := c.pages.add(c.buf); err != nil {
			return err
		}
	} else if err := c.begin(); err != nil {
		return err
	}
	c.buf, c.open = c.buf[:0], -1
	return nil
}

// begin moves buf for the first time.
func (c *Output) begin() error {
	g := &pages{spill: c.spill}
	if c.spill == nil {
		g.spill = newSpill(c.dir, c.memory)
	}
	if err := g.add(c.buf); err != nil {
		if c.spill == nil {
			return errors.Join(err, g.spill.Close())
		}
		return err
	}
	if c.pages = g; c.spill != nil {
		// A plan can drop a result without closing it.
		runtime.AddCleanup(c, (*pages).drop, g)
	}
	return nil
}

// Limit returns the maximum number of stored bytes of both streams.
func (c *Output) Limit() int64 { return c.limit }

// Len returns the number of stored bytes of one stream.
func (c *Output) Len(s Stream) int64 {
	if c == nil {
		return 0
	}
	return c.kept[s]
}

// Dropped returns the number of dropped bytes of both streams and the error
// that caused the loss. The error is nil if the limit was the cause.
func (c *Output) Dropped() (int64, error) {
	if c == nil {
		return 0, nil
	}
	return c.dropped[Stdout] + c.dropped[Stderr], c.reason
}

// Cut reports whether any part of the command's output is missing.
func (c *Output) Cut() bool {
	n, _ := c.Dropped()
	return n > 0 || c != nil && c.cut
}

// MarkCut records that the written data had already been cut.
func (c *Output) MarkCut() { c.cut = true }

// Silent reports whether a stream is empty.
func (c *Output) Silent(s Stream) bool { return c == nil || c.kept[s] == 0 && c.dropped[s] == 0 }

// IsBlank reports whether the output is only white space (or NUL).
func (c *Output) IsBlank() bool { return c == nil || !c.printed }

// WriteStream writes the stored bytes of one stream to w, and the line about
// dropped bytes.
func (c *Output) WriteStream(w io.Writer, s Stream) error {
	for piece, err := range c.pieces() {
		if err != nil {
			return err
		}
		if piece.stream == s {
			if _, err := w.Write(piece.data); err != nil {
				return err
			}
		}
	}
	if c == nil || c.dropped[s] == 0 {
		return nil
	}
	return c.mark(w, c.dropped[s])
}

// WriteMerged writes the stored bytes of both streams to w, in the order of
// arrival, and the line about dropped bytes.
func (c *Output) WriteMerged(w io.Writer) error {
	for piece, err := range c.pieces() {
		if err != nil {
			return err
		}
		if _, err := w.Write(piece.data); err != nil {
			return err
		}
	}
	if n, _ := c.Dropped(); n > 0 {
		return c.mark(w, n)
	}
	return nil
}

// mark writes the line that replaces n dropped bytes.
func (c *Output) mark(w io.Writer, n int64) error {
	why := fmt.Sprintf("more than %d bytes were printed", c.limit)
	if c.reason != nil {
		why = c.reason.Error()
	}
	_, err := fmt.Fprintf(w, "\n[output cut here, %d bytes left out: %s]\n", n, why)
	return err
}

// Sum returns the SHA-256 hash of the output of WriteMerged. Equal outputs have
// equal sums.
func (c *Output) Sum() ([sha256.Size]byte, error) {
	h := sha256.New()
	err := c.WriteMerged(h)
	return [sha256.Size]byte(h.Sum(nil)), err
}

// Each passes the stored bytes to take in pieces, in the order of arrival, and
// then the lines about dropped bytes. A piece is valid only during the call.
func (c *Output) Each(take func(s Stream, data []byte) error) error {
	for piece, err := range c.pieces() {
		if err == nil {
			err = take(piece.stream, piece.data)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range []Stream{Stdout, Stderr} {
		if c == nil || c.dropped[s] == 0 {
			continue
		}
		var b bytes.Buffer
		if err := c.mark(&b, c.dropped[s]); err != nil {
			return err
		}
		if err := take(s, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// piece is a part of the log; data is valid until the next piece.
type piece struct {
	stream Stream
	data   []byte
}

// pieces reads the log.
func (c *Output) pieces() iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		if c == nil {
			return
		}
		if c.closed {
			yield(piece{}, errClosed)
			return
		}
		if c.pages != nil {
			r, size, err := c.pages.reader()
			if err != nil {
				yield(piece{}, err)
				return
			}
			if !readRecords(r, size, yield) {
				return
			}
		}
		for b := c.buf; len(b) > 0; {
			h := binary.BigEndian.Uint32(b)
			end := recordHeader + int(h&^streamBit)
			if !yield(piece{Stream(h >> 31), b[recordHeader:end]}, nil) {
				return
			}
			b = b[end:]
		}
	}
}

// readRecords passes the records of a file to yield, in pieces that fit its
// buffer. The file has size bytes. It reports whether to continue.
func readRecords(r io.Reader, size int, yield func(piece, error) bool) bool {
	buf := make([]byte, max(recordHeader, min(size, 32<<10)))
	have, pos := 0, 0
	fill := func() error { // makes at least a header available
		have = copy(buf, buf[pos:have])
		pos = 0
		n, err := io.ReadAtLeast(r, buf[have:], recordHeader-have)
		have += n
		return err
	}
	for {
		if have-pos < recordHeader {
			if err := fill(); err != nil {
				if err == io.EOF && have == 0 {
					return true
				}
				yield(piece{}, fmt.Errorf("read captured output: %w", err))
				return false
			}
		}
		h := binary.BigEndian.Uint32(buf[pos:])
		pos += recordHeader
		for left := int(h &^ streamBit); left > 0; {
			if pos == have {
				n, err := r.Read(buf)
				pos, have = 0, n
				if n == 0 && err != nil {
					yield(piece{}, fmt.Errorf("read captured output: %w", err))
					return false
				}
			}
			n := min(left, have-pos)
			if n > 0 && !yield(piece{Stream(h >> 31), buf[pos : pos+n]}, nil) {
				return false
			}
			pos, left = pos+n, left-n
		}
	}
}

// Retain keeps the output open until one more call of Close.
func (c *Output) Retain() {
	if c != nil {
		c.holders.Add(1)
	}
}

// Close releases the file and the memory after the last holder has called it.
// Len and Dropped work after Close. Further calls do nothing.
func (c *Output) Close() error {
	if c == nil || c.closed || c.holders.Add(-1) >= 0 {
		return nil
	}
	g := c.pages
	c.pages, c.buf, c.open, c.full, c.closed = nil, nil, -1, true, true
	switch {
	case g == nil:
		return nil
	case c.spill != nil:
		g.drop()
		return nil
	}
	return g.spill.Close()
}

// blank reports whether p is white space in Ruby's sense of strip.
func blank(p []byte) bool {
	for _, b := range p {
		switch b {
		case ' ', '\t', '\n', '\v', '\f', '\r', 0:
		default:
			return false
		}
	}
	return true
}
