package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"time"

	"bolt/store"
)

// A line is an event in the form of a log:
//
//	{"sum":"…","revision":1,"time":"…","fence":0,"more":0,"data":…}
//
// The keys are always in this order, without blanks, so that a line is read without a JSON parser.
type line struct {
	store.Event
	more uint64 // lines of the same Append that follow
}

// end returns the last revision of the line's Append.
func (l *line) end() store.Revision { return l.Revision + store.Revision(l.more) }

// The parts of a line between its values.
const (
	partSum      = `{"sum":"`
	partRevision = `"revision":`
	partTime     = `,"time":"`
	partFence    = `","fence":`
	partMore     = `,"more":`
	partData     = `,"data":`
	sumDigits    = 2 * sha256.Size
	headSize     = len(partSum) + sumDigits + len(`",`)
)

// A verifier has the sum of the last line of a log, as hexadecimal digits.
type verifier struct {
	hash hash.Hash
	last []byte // "" before the first line
	next [sumDigits]byte
	raw  [sha256.Size]byte
	time clock
}

// A clock parses the times of lines. All lines of an Append have the same time.
type clock struct {
	text string
	time time.Time
}

func (c *clock) parse(text []byte) (time.Time, error) {
	if string(text) != c.text {
		at, err := time.Parse(time.RFC3339Nano, string(text))
		if err != nil {
			return at, err
		}
		c.text, c.time = string(text), at
	}
	return c.time, nil
}

func newVerifier(last string) *verifier {
	return &verifier{hash: sha256.New(), last: append(make([]byte, 0, sumDigits), last...)}
}

func (v *verifier) sum() string { return string(v.last) }

// chain returns the sum of a line. The result is valid until the next call. It is the SHA-256 of the previous
// line's sum and of the text after the line's own sum.
func (v *verifier) chain(rest []byte) []byte {
	v.hash.Reset()
	v.hash.Write(v.last)
	v.hash.Write(rest)
	hex.Encode(v.next[:], v.hash.Sum(v.raw[:0]))
	return v.next[:]
}

// appendTo writes the line and its end.
func (l *line) appendTo(b *bytes.Buffer, v *verifier) {
	var rest []byte
	rest = append(rest, partRevision...)
	rest = strconv.AppendUint(rest, uint64(l.Revision), 10)
	rest = append(rest, partTime...)
	rest = l.Time.AppendFormat(rest, time.RFC3339Nano)
	rest = append(rest, partFence...)
	rest = strconv.AppendUint(rest, uint64(l.Fence), 10)
	rest = append(rest, partMore...)
	rest = strconv.AppendUint(rest, l.more, 10)
	rest = append(rest, partData...)
	rest = append(rest, l.Data...)
	rest = append(rest, '}')
	v.last = append(v.last[:0], v.chain(rest)...)
	b.WriteString(partSum)
	b.Write(v.last)
	b.WriteString(`",`)
	b.Write(rest)
	b.WriteByte('\n')
}

// The reasons why a line is damaged.
var (
	errNotEvent = errors.New("the line is not an event")
	errSum      = errors.New("this line or the line before it was changed")
)

// line reads the next line, without its end. The Data of the event is a part of text.
func (v *verifier) line(text []byte) (line, error) {
	var l line
	rest, is := bytes.CutPrefix(text, []byte(partSum))
	if !is || len(rest) < sumDigits+2 || string(rest[sumDigits:sumDigits+2]) != `",` {
		return l, errNotEvent
	}
	sum, rest := rest[:sumDigits], rest[sumDigits+2:]
	if !bytes.Equal(v.chain(rest), sum) {
		return l, errSum
	}
	v.last = append(v.last[:0], sum...)
	return fields(rest, &v.time)
}

// fields reads the text after the sum of a line.
func fields(rest []byte, clock *clock) (line, error) {
	var l line
	rest, is := bytes.CutPrefix(rest, []byte(partRevision))
	cut := func(part string) []byte {
		before, after, found := bytes.Cut(rest, []byte(part))
		is = is && found
		rest = after
		return before
	}
	number := func(text []byte) uint64 {
		n, err := strconv.ParseUint(string(text), 10, 64)
		is = is && err == nil
		return n
	}
	l.Revision = store.Revision(number(cut(partTime)))
	at, err := clock.parse(cut(partFence))
	l.Time = at
	l.Fence = store.Fence(number(cut(partMore)))
	l.more = number(cut(partData))
	data, closed := bytes.CutSuffix(rest, []byte("}"))
	if !is || !closed || err != nil {
		return l, errNotEvent
	}
	l.Data = data
	return l, nil
}

// torn reports whether lines that cannot be verified can be the rest of one Append. After a crash of the machine, parts of
// these lines can be zero bytes, which no line has. end is the last revision of the Append; 0 if it is not known.
//
// If the lines are of several Appends, the first of these was synced, so the file was damaged later.
func torn(rest []byte, end store.Revision) bool {
	if bytes.IndexByte(rest, 0) < 0 {
		return false
	}
	for text := range bytes.Lines(rest) {
		text = bytes.TrimSuffix(text, []byte("\n"))
		if len(text) < headSize || !bytes.HasPrefix(text, []byte(partSum)) {
			continue
		}
		l, err := fields(text[headSize:], new(clock))
		if err != nil {
			continue
		}
		if end != 0 && l.end() != end {
			return false
		}
		end = l.end()
	}
	return true
}

// maxData is the size of the largest event.
const maxData = 64 << 20

// compact returns a JSON value on one line.
func compact(data json.RawMessage) (json.RawMessage, error) {
	if len(data) > maxData {
		return nil, fmt.Errorf("an event has %d bytes, but at most %d are allowed", len(data), maxData)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("an event is not JSON: %w", err)
	}
	return b.Bytes(), nil
}
