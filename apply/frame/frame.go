// Package frame defines the messages between bolt and its helper on a machine, and their
// form on the wire.
//
// A frame is a length (4 bytes, big endian), a type (1 byte) and a body of that length.
// Bodies are JSON, except for the raw bodies of Catalog and Content. The output of the
// helper begins with a line (Greeting); everything before it was printed by start-up files
// of a shell. A Hello follows, then either a Need, or any number of Events and Logs and a
// Done. The answer to a query is a Fate, Facts or a State instead.
//
// The input of the helper is empty, or a gzip stream of frames: an Offer, a Catalog, and
// Contents. Each part can be missing.
//
// The input of a watch is a stream of frames that stays open. Each Pack has an input as above. An Alive is a keepalive of
// the controller. A Newer announces a catalog, which follows after the check. The helper answers Needs, Events and Logs, and a Round
// after each check; a Done is the end.
//
// A Reader reads what another machine sent. It refuses a frame that is longer than the
// limit of its type before it allocates memory for it.
package frame

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Protocol is the version of the protocol. The controller sends its own helper, so both
// sides always have the same one.
const Protocol = 1

// A Type is the type of a frame.
type Type byte

// The types of frames.
const (
	TypeHello   Type = 'H'
	TypeNeed    Type = 'N'
	TypeEvent   Type = 'E'
	TypeLog     Type = 'L'
	TypeDone    Type = 'D'
	TypeFate    Type = 'F'
	TypeFacts   Type = 'A'
	TypeState   Type = 'S'
	TypeOffer   Type = 'O'
	TypeCatalog Type = 'C'
	TypeContent Type = 'B'
	// The types of a watch.
	TypeRound Type = 'R'
	TypePack  Type = 'P'
	TypeAlive Type = 'K'
	TypeNewer Type = 'W'
)

// MaxContent is the size up to which a content travels in a frame. Larger contents are
// copied as files, because input is held in memory.
const MaxContent = 4 << 20

// maxPack is the length that the compressed input of a helper can have in a watch.
const maxPack = 320 << 20

// limit returns the length that a body can have, 0 for an unknown type.
func (t Type) limit() int {
	switch t {
	case TypeHello, TypeDone, TypeRound:
		return 1 << 20
	case TypePack:
		return maxPack
	case TypeLog:
		return 1 << 20
	case TypeEvent:
		return 8 << 20
	case TypeFacts:
		return 16 << 20
	case TypeState:
		return 64 << 20
	case TypeNeed, TypeFate, TypeOffer:
		return 32 << 20
	case TypeCatalog:
		return 256 << 20
	case TypeContent:
		return sumSize + MaxContent
	case TypeAlive, TypeNewer:
		return 1 // it is empty
	}
	return 0
}

func (t Type) String() string { return fmt.Sprintf("%q", byte(t)) }

// Greeting returns the line in front of the frames of a run. It cannot be in the output of a
// start-up file by chance, because the ID of a run is random.
func Greeting(run string) string { return "bolt-frames " + run + "\n" }

// maxNoise is the length of output that can stand in front of the greeting.
const maxNoise = 256 << 10

const headerSize = 5

// A Writer writes frames. It is not safe for concurrent use.
type Writer struct{ w io.Writer }

// NewWriter returns a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{w} }

// Greet writes the greeting.
func (w *Writer) Greet(run string) error {
	_, err := io.WriteString(w.w, "\n"+Greeting(run))
	return err
}

// Message writes a frame with a JSON body.
func (w *Writer) Message(t Type, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Raw(t, body)
}

// ErrLong is the error of a frame that is longer than the limit of its type.
var ErrLong = errors.New("it is longer than the limit of its type")

// Raw writes a frame. The parts of its body are written one after the other.
func (w *Writer) Raw(t Type, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > t.limit() {
		return fmt.Errorf("frame %v of %d bytes: %w", t, size, ErrLong)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, headerSize+min(size, 64<<10)), uint32(size))
	b = append(b, byte(t))
	for _, p := range parts {
		if len(b)+len(p) <= 64<<10 {
			b = append(b, p...)
			continue
		}
		if _, err := w.w.Write(b); err != nil {
			return err
		}
		b = p
	}
	_, err := w.w.Write(b)
	return err
}

// A Reader reads frames. It is not safe for concurrent use.
type Reader struct {
	in     *bufio.Reader
	body   []byte
	number int
}

// NewReader returns a Reader.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 32<<10)} }

var (
	// ErrNoGreeting is the error of Skip if the output has no greeting.
	ErrNoGreeting = errors.New("the output has no greeting of the helper")
	// ErrNoise is the error of Skip if too much stands in front of the greeting.
	ErrNoise = fmt.Errorf("more than %d KiB of output came before the greeting of the helper", maxNoise>>10)
)

// Skip reads up to the end of the greeting. before is the output before the greeting: all of it
// if the error is ErrNoGreeting.
func (r *Reader) Skip(run string) (before []byte, err error) {
	want := []byte(Greeting(run))
	for len(before) < maxNoise {
		line, err := r.in.ReadSlice('\n')
		if bytes.HasSuffix(line, want) {
			return append(before, line[:len(line)-len(want)]...), nil
		}
		before = append(before, line...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = ErrNoGreeting
			}
			return before, err
		}
	}
	return before, ErrNoise
}

// Next returns the next frame. The body is valid until the following call. The error at
// the end is io.EOF; it is io.ErrUnexpectedEOF in the middle of a frame.
func (r *Reader) Next() (Type, []byte, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r.in, h[:]); err != nil {
		return 0, nil, err
	}
	r.number++
	t, size := Type(h[4]), binary.BigEndian.Uint32(h[:4])
	switch limit := t.limit(); {
	case limit == 0:
		return 0, nil, fmt.Errorf("frame %d has the unknown type %v", r.number, t)
	case int64(size) > int64(limit):
		return 0, nil, fmt.Errorf("frame %d of type %v has %d bytes: %w", r.number, t, size, ErrLong)
	}
	body, err := r.read(int(size))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t, body, err
}

// step bounds the memory that is allocated for bytes that have not come yet.
const step = 1 << 20

func (r *Reader) read(size int) ([]byte, error) {
	if cap(r.body) > 4*step {
		r.body = nil // one large body does not stay
	}
	r.body = r.body[:0]
	for len(r.body) < size {
		n := min(step, size-len(r.body))
		at := len(r.body)
		r.body = append(r.body, make([]byte, n)...)
		if _, err := io.ReadFull(r.in, r.body[at:]); err != nil {
			return nil, err
		}
	}
	return r.body, nil
}

// Decode reads the JSON of a body. Keys that it does not know are an error.
func Decode(t Type, body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		return fmt.Errorf("body of frame %v: %s", t, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
