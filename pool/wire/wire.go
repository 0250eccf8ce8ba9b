// Package wire is the protocol between the command line and the pool daemon:
// frames on a stream socket, and the messages in them.
//
// docs/pool-protocol.md describes who sends what and when. Fixed integers are
// big-endian; the others are varints as encoding/binary has them, in their
// shortest form, those that may be negative zig-zag; texts and bytes are a
// varint length and then their bytes.
//
// A decoder accepts everything that its encoder can make of any value. For other
// bytes, it returns an error, because bytes from a socket are not trusted. Data from a
// target (statuses, signals, errors, warnings) always fits in a frame, because strings
// are cut to MaxPiece. The package owns no goroutine and no descriptor.
package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Version is the version of the protocol. Peers that do not speak the same
// one part after the greeting, whose own form never changes.
const Version = 4

const (
	// MaxFrame bounds the body of a frame.
	MaxFrame = 1 << 20
	// MaxPiece is the most that one frame of a stream of bytes carries, so
	// that streams share a socket fairly.
	MaxPiece = 64 << 10
	// Window is how many bytes of a request's output may be under way before
	// the client has said that it has taken them (Credit).
	Window = 256 << 10
	// InputWindow is how many bytes of a command's input may be under way. The daemon
	// allows them with its first Taken, and more as the command's machine takes them. It
	// may hold as much for each command whose input is streamed.
	InputWindow = 128 << 10
	// MaxPushed is the largest content that a client sends without asking
	// whether it is wanted: less than a round trip costs.
	MaxPushed = 64 << 10
	// MaxHeld is how many contents a client may have the daemon hold at a time,
	// and MaxOffers how many it may be sending.
	MaxHeld   = 4096
	MaxOffers = 100
	// MaxReply bounds the answer to a Control: 10,000 connections in JSON take
	// a few MiB.
	MaxReply = 64 << 20

	headerSize = 9

	// firstBuffer is a Reader's, which has room for requests and answers, and
	// streamBuffer what it grows to under a stream: some pieces at a time, so
	// that reading costs little more than the copying.
	firstBuffer  = 16 << 10
	streamBuffer = 256 << 10
)

// A Type is the kind of a frame.
type Type uint8

// Frames from the client to the daemon. The ID of a frame is that of the
// request it opens or belongs to, chosen by the client, never used twice on
// one connection, and never 0.
const (
	Hello    Type = iota + 1 // ID 0. Greeting
	Dial                     // a Dest. Opens a lease: answered by Dialed or Failed
	Release                  // gives a lease up, or a Dial that has no answer yet. No answer
	Run                      // RunRequest. Output frames, then Exited or Failed
	Put                      // PutRequest. Finished or Failed
	Get                      // GetRequest. Output frames (a tar stream), then Finished or Failed
	Cancel                   // CancelRequest: ends what the ID is doing; it is still answered
	Credit                   // varint: that many bytes of the ID's output were taken
	Offer                    // OfferRequest. Unless Pushed: answered by Wanted or Had
	Piece                    // bytes of an offered content, MaxPiece at most
	End                      // no more pieces: answered by Finished or Failed
	Answer                   // ID 0. AnswerRequest: a passphrase for the dials that follow
	Forget                   // ID 0. A digest: a content that nothing needs until it is offered again
	Control                  // text: "status", "metrics", "drain", "stop", "ping". Reply or Failed
	Input                    // bytes of the input of a Run that has one, MaxPiece at most
	InputEnd                 // nothing in it: the end of that input
)

// Frames from the daemon to the client.
const (
	Welcome  Type = iota + 65 // ID 0. Greeting: the answer to Hello
	Refused                   // ID 0. Refusal: the answer to Hello; the daemon then closes
	Dialed                    // nothing in it
	Stdout                    // bytes
	Stderr                    // bytes
	Exited                    // a Status
	Finished                  // nothing in it
	Failed                    // a transport.Error
	Wanted                    // the content is to be sent
	Had                       // the content is here already
	Reply                     // bytes, as the Control asked for; pieces end with an empty one
	Warned                    // ID 0. Warning
	Taken                     // varint: that many more bytes of the ID's Input may be sent
)

// A Frame is one message. Body is valid until the next one is read.
type Frame struct {
	Type Type
	ID   uint32
	Body []byte
}

// A Reader reads frames. It is used by one goroutine, and done with after an
// error.
type Reader struct {
	r    io.Reader
	buf  []byte
	a, b int  // what is read and not yet handed out
	full bool // the last read would have brought more
}

// NewReader returns a Reader with a buffer of its own.
func NewReader(r io.Reader) *Reader { return &Reader{r: r, buf: make([]byte, firstBuffer)} }

// Next returns the next frame. At the end of the stream between two frames
// the error is io.EOF, within a frame io.ErrUnexpectedEOF.
func (r *Reader) Next() (Frame, error) {
	if err := r.fill(headerSize); err != nil {
		return Frame{}, err
	}
	head := r.buf[r.a:]
	size := binary.BigEndian.Uint32(head)
	if size > MaxFrame {
		return Frame{}, fmt.Errorf("frame of %d bytes: larger than %d", size, MaxFrame)
	}
	f := Frame{Type: Type(head[4]), ID: binary.BigEndian.Uint32(head[5:])}
	if err := r.fill(headerSize + int(size)); err != nil {
		return Frame{}, err
	}
	f.Body = r.buf[r.a+headerSize : r.a+headerSize+int(size)]
	r.a += headerSize + int(size)
	return f, nil
}

// Wipe overwrites the buffer, which can contain passwords. The Reader must not be used
// afterwards.
func (r *Reader) Wipe() { clear(r.buf) }

// fill has at least n bytes in the buffer.
func (r *Reader) fill(n int) error {
	if r.b-r.a >= n {
		return nil
	}
	if r.a > 0 {
		r.b = copy(r.buf, r.buf[r.a:r.b])
		r.a = 0
	}
	if n > len(r.buf) || r.full && len(r.buf) < streamBuffer {
		bigger := make([]byte, max(n, min(2*len(r.buf), streamBuffer)))
		copy(bigger, r.buf[:r.b])
		r.Wipe()
		r.buf = bigger
	}
	for r.b < n {
		got, err := r.r.Read(r.buf[r.b:])
		r.b += got
		r.full = r.b == len(r.buf)
		if err != nil && r.b < n {
			if err == io.EOF && r.b > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
