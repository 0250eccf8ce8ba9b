package factcache

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/safetext"
)

// A record is
//
//	magic    8 bytes, whose last is the version of this format
//	checksum 4 bytes, little-endian: CRC-32C of all that follows
//	seconds  varint, of Unix time: when the facts were collected
//	target, source, version: texts
//	facts    to the end, each:
//	  name   text
//	  size   uvarint, of the value as JSON (RFC 8259)
//	  stored uvarint, the size of the deflated value; 0 if the value is not deflated
//	  value  JSON, or deflated JSON (RFC 1951)
//
// where a text is its length in bytes, an uvarint, and its bytes in UTF-8.

const (
	magic = "boltfac\x01"
	// maxHead limits the part of a record before the facts.
	maxHead = 64 << 10
	// deflateFrom is the size from which values are deflated. facter's facts about
	// disks, interfaces and mounts shrink to a sixth.
	deflateFrom = 256
)

var errShort = errors.New("it is cut off")

// An encoder writes records, one after the other.
type encoder struct {
	raw, packed bytes.Buffer
	json        *bufio.Writer // to raw; it is reused because it is larger than most facts
	deflate     *flate.Writer // nil before it is needed
}

// encode returns an encoded record. The caller owns it.
func (e *encoder) encode(r *Record) ([]byte, error) {
	b := make([]byte, len(magic)+crc32.Size, 16<<10)
	copy(b, magic)
	b = binary.AppendVarint(b, r.Collected.Unix())
	for _, s := range []string{r.Target, r.Source, r.Version} {
		b = appendText(b, s)
	}
	if len(b) > maxHead {
		return nil, errors.New("the target's name is too long")
	}
	if e.json == nil {
		e.json = bufio.NewWriter(&e.raw)
	}
	total := 0
	for name, v := range r.Facts.All() {
		e.raw.Reset()
		e.json.Reset(&e.raw)
		if err := errors.Join(safejson.Write(e.json, v), e.json.Flush()); err != nil {
			return nil, fmt.Errorf("the fact %s cannot be written as JSON: %w", safetext.String(name), err)
		}
		raw := e.raw.Bytes()
		if total += len(name) + len(raw) + 3*binary.MaxVarintLen32; total > maxRecord {
			return nil, fmt.Errorf("they have more than %d MiB", maxRecord>>20)
		}
		b = appendText(b, name)
		b = binary.AppendUvarint(b, uint64(len(raw)))
		if packed := e.pack(raw); len(packed) < len(raw) {
			b = append(binary.AppendUvarint(b, uint64(len(packed))), packed...)
		} else {
			b = append(binary.AppendUvarint(b, 0), raw...)
		}
	}
	binary.LittleEndian.PutUint32(b[len(magic):], checksum(b))
	return b, nil
}

// pack deflates raw if it has at least deflateFrom bytes.
func (e *encoder) pack(raw []byte) []byte {
	if len(raw) < deflateFrom {
		return raw
	}
	if e.deflate == nil {
		e.deflate, _ = flate.NewWriter(nil, flate.BestSpeed) // the level is valid
	}
	e.packed.Reset()
	e.deflate.Reset(&e.packed)
	_, _ = e.deflate.Write(raw) // Write to a Buffer never fails
	_ = e.deflate.Close()
	return e.packed.Bytes()
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// checksum returns the checksum of a record, which must be longer than its
// head.
func checksum(record []byte) uint32 {
	return crc32.Checksum(record[len(magic)+crc32.Size:], crc32.MakeTable(crc32.Castagnoli))
}

// decode reads a record. It decodes only the requested facts.
func decode(data []byte, want Want) (*Record, error) {
	const body = len(magic) + crc32.Size
	switch {
	case len(data) < body:
		return nil, errShort
	case !strings.HasPrefix(string(data[:len(magic)]), magic[:len(magic)-1]):
		return nil, errors.New("it is not a record of facts")
	case data[len(magic)-1] != magic[len(magic)-1]:
		return nil, errors.New("another version of this program wrote it")
	case binary.LittleEndian.Uint32(data[len(magic):]) != checksum(data):
		return nil, errors.New("its checksum is wrong")
	}
	d := decoder{rest: data[body:]}
	seconds := d.varint()
	r := &Record{Target: d.text(), Source: d.text(), Version: d.text(), Collected: time.Unix(seconds, 0).UTC(), Facts: &ordered.Map{}}
	for d.err == nil && len(d.rest) > 0 {
		name, size := d.bytes(d.uvarint()), d.uvarint()
		stored := d.uvarint()
		deflated := stored > 0
		if !deflated {
			stored = size
		}
		value := d.bytes(stored)
		if d.err != nil || !want.has(name) {
			continue
		}
		d.fact(r.Facts, string(name), value, size, deflated)
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// A decoder decodes a record, up to the first error.
type decoder struct {
	rest    []byte
	err     error
	total   uint64 // size of the decoded values, as JSON
	inflate io.ReadCloser
	raw     bytes.Buffer
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) text() string { return string(d.bytes(d.uvarint())) }

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.fail(errShort)
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// fact decodes a stored value, which has size bytes as JSON.
func (d *decoder) fact(facts *ordered.Map, name string, stored []byte, size uint64, deflated bool) {
	if size > maxRecord || d.total+size > maxRecord {
		d.fail(fmt.Errorf("its facts have more than %d MiB", maxRecord>>20))
		return
	}
	d.total += size
	if deflated {
		if err := d.unpack(stored, size); err != nil {
			d.fail(fmt.Errorf("the fact %s: %w", safetext.String(name), err))
			return
		}
		stored = d.raw.Bytes()
	}
	v, err := ordered.ParseJSON(stored)
	if err != nil {
		d.fail(fmt.Errorf("the fact %s: %w", safetext.String(name), err))
		return
	}
	facts.Set(name, v)
}

// unpack inflates stored into raw. The result must have size bytes.
func (d *decoder) unpack(stored []byte, size uint64) error {
	if d.inflate == nil {
		d.inflate = flate.NewReader(bytes.NewReader(stored))
	} else if err := d.inflate.(flate.Resetter).Reset(bytes.NewReader(stored), nil); err != nil {
		return err
	}
	d.raw.Reset()
	n, err := d.raw.ReadFrom(io.LimitReader(d.inflate, int64(min(size, math.MaxInt64-1))+1))
	if err == nil && uint64(n) != size {
		err = errors.New("its size is wrong")
	}
	return err
}
