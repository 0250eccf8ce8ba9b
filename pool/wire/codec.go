package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// encoder appends values to a message.
type encoder []byte

func (e *encoder) uint(n uint64) { *e = binary.AppendUvarint(*e, n) }
func (e *encoder) int(n int64)   { *e = binary.AppendVarint(*e, n) }
func (e *encoder) size(n int64)  { e.uint(uint64(max(0, n))) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); *e = append(*e, s...) }

func (e *encoder) bool(b bool) {
	if b {
		*e = append(*e, 1)
	} else {
		*e = append(*e, 0)
	}
}

func (e *encoder) texts(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

// decoder reads values from a message. It keeps the first error; after an error
// every value is zero.
type decoder struct {
	rest []byte
	err  error
}

var (
	errShort = errors.New("message is too short")
	errLong  = errors.New("number is not in its shortest form")
)

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.rest = err, nil
	}
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if !d.skip(size) {
		return 0
	}
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.rest)
	if !d.skip(size) {
		return 0
	}
	return n
}

// skip removes a varint of that size, as encoding/binary returns it.
func (d *decoder) skip(size int) bool {
	switch {
	case size == 0:
		d.fail(errShort)
	case size < 0:
		d.fail(errors.New("number is too large"))
	case size > 1 && d.rest[size-1] == 0:
		d.fail(errLong)
	default:
		d.rest = d.rest[size:]
		return true
	}
	return false
}

// small reads a number of at most limit.
func (d *decoder) small(limit uint64) int {
	n := d.uint()
	if n > limit {
		d.fail(fmt.Errorf("number %d: larger than %d", n, limit))
		return 0
	}
	return int(n)
}

func (d *decoder) size() int64 {
	n := d.uint()
	if n > math.MaxInt64 {
		d.fail(fmt.Errorf("size %d: larger than %d", n, int64(math.MaxInt64)))
		return 0
	}
	return int64(n)
}

func (d *decoder) u32() uint32 { return uint32(d.small(math.MaxUint32)) }

// bytes reads a byte string, which is valid as long as the message is.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.rest)) { // also after an error: then nothing is left
		d.fail(errShort)
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) bool() bool {
	if len(d.rest) == 0 {
		d.fail(errShort)
		return false
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	if b > 1 {
		d.fail(fmt.Errorf("%d is neither true nor false", b))
	}
	return b == 1
}

// count reads the length of a list whose elements take at least one byte each.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func (d *decoder) texts() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.text())
	}
	return list
}

// end returns the first error; bytes that are left are an error, too.
func (d *decoder) end(what string) error {
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.rest))
	}
	if d.err != nil {
		return fmt.Errorf("%s: %w", what, d.err)
	}
	return nil
}
