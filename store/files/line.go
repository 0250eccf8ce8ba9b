package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"bolt/store"
)

// A line is an event as it stands in a log:
//
//	{"sum":"…","revision":1,"time":"…","fence":0,"more":0,"data":…}
//
// Always in this order and without blanks, so that a line is read without a JSON parser.
type line struct {
	store.Event
	sum  string
	more uint64 // lines of the same Append that follow
}

// The parts of a line between its values.
const (
	partSum      = `{"sum":"`
	partRevision = `"revision":`
	partTime     = `,"time":"`
	partFence    = `","fence":`
	partMore     = `,"more":`
	partData     = `,"data":`
	sumDigits    = 2 * sha256.Size
)

// chain returns the sum of a line: prev is the sum of the line before, and rest is the line
// behind its own sum.
func chain(prev string, rest []byte) string {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(rest)
	return hex.EncodeToString(h.Sum(nil))
}

// appendTo writes the line and its end, and returns its sum.
func (l *line) appendTo(b *bytes.Buffer, prev string) string {
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
	sum := chain(prev, rest)
	b.WriteString(partSum)
	b.WriteString(sum)
	b.WriteString(`",`)
	b.Write(rest)
	b.WriteByte('\n')
	return sum
}

// The reasons why a line is damaged.
var (
	errNotEvent = errors.New("the line is not an event")
	errSum      = errors.New("the line, or the one before it, is not as it was written")
)

// parseLine reads a line without its end. Its sum must fit prev. The Data of the event is a part
// of text.
func parseLine(text []byte, prev string) (line, error) {
	var l line
	rest, is := bytes.CutPrefix(text, []byte(partSum))
	if !is || len(rest) < sumDigits+2 || string(rest[sumDigits:sumDigits+2]) != `",` {
		return l, errNotEvent
	}
	l.sum, rest = string(rest[:sumDigits]), rest[sumDigits+2:]
	if chain(prev, rest) != l.sum {
		return l, errSum
	}
	rest, is = bytes.CutPrefix(rest, []byte(partRevision))
	cut := func(part string) string {
		before, after, found := bytes.Cut(rest, []byte(part))
		is = is && found
		rest = after
		return string(before)
	}
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		is = is && err == nil
		return n
	}
	l.Revision = store.Revision(number(cut(partTime)))
	at, err := time.Parse(time.RFC3339Nano, cut(partFence))
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

// maxData is the size of the largest event.
const maxData = 64 << 20

// compact returns a JSON value on one line.
func compact(data json.RawMessage) (json.RawMessage, error) {
	if len(data) > maxData {
		return nil, fmt.Errorf("an event has %d bytes, and at most %d are allowed", len(data), maxData)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("an event is not JSON: %w", err)
	}
	return b.Bytes(), nil
}
