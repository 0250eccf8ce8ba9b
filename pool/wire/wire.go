// Package wire is the protocol between bolt and the pool daemon: frames on a stream
// socket, and the messages in them.
//
// docs/pool-protocol.md describes which side sends which frame, and when. Fixed-size
// integers are big-endian. Other integers are varints of encoding/binary in their
// shortest form; integers that may be negative are zig-zag encoded. Strings and bytes
// are a varint length and then their bytes.
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

// Version is the version of the protocol. If the versions of the peers differ, they
// disconnect after the greeting, whose own form never changes.
const Version = 4

const (
	// MaxFrame bounds the body of a frame.
	MaxFrame = 1 << 20
	// MaxPiece is the most bytes of a stream in one frame, so that streams share a
	// socket fairly.
	MaxPiece = 64 << 10
	// Window is how many bytes of a request's output may be sent before the client
	// acknowledges them (Credit).
	Window = 256 << 10
	// InputWindow is how many bytes of a command's input may be in flight. The daemon
	// allows them with its first Taken, and more as the command's machine accepts
	// them. The daemon may hold as many bytes for each command whose input is
	// streamed.
	InputWindow = 128 << 10
	// MaxPushed is the largest content that a client sends without waiting for Wanted:
	// sending it costs less than a round trip.
	MaxPushed = 64 << 10
	// MaxHeld is how many contents the daemon may hold for a client at a time.
	// MaxOffers is how many contents a client may be sending at a time.
	MaxHeld   = 4096
	MaxOffers = 100
	// MaxReply bounds the answer to a Control: 10,000 connections in JSON take
	// a few MiB.
	MaxReply = 64 << 20

	headerSize = 9

	// firstBuffer is the initial size of a Reader's buffer, enough for requests and
	// answers. streamBuffer is its size for streams: it has room for some pieces, so
	// that reading costs little more than copying.
	firstBuffer  = 16 << 10
	streamBuffer = 256 << 10
)

// A Type is the kind of a frame.
type Type uint8

// These are the frames from the client to the daemon. The ID of a frame is the ID of
// the request that it opens or belongs to. The client chooses the ID; it is never 0
// and never used twice on one connection.
const (
	Hello    Type = iota + 1 // ID 0. Greeting
	Dial                     // a Dest. Opens a lease: answered by Dialed or Failed
	Release                  // gives up a lease, or a Dial that has no answer yet. No answer
	Run                      // RunRequest. Output frames, then Exited or Failed
	Put                      // PutRequest. Finished or Failed
	Get                      // GetRequest. Output frames (a tar stream), then Finished or Failed
	Cancel                   // CancelRequest: ends the work of the ID, which is still answered
	Credit                   // varint: the client has read that many bytes of the ID's output
	Offer                    // OfferRequest. Unless Pushed: answered by Wanted or Had
	Piece                    // bytes of an offered content, MaxPiece at most
	End                      // no more pieces: answered by Finished or Failed
	Answer                   // ID 0. AnswerRequest: a passphrase for the dials that follow
	Forget                   // ID 0. A digest: the content is not needed until it is offered again
	Control                  // text: "status", "metrics", "drain", "stop", "ping". Reply or Failed
	Input                    // bytes of the input of a Run that has one, MaxPiece at most
	InputEnd                 // empty body: the end of that input
)

// These are the frames from the daemon to the client.
const (
	Welcome  Type = iota + 65 // ID 0. Greeting: the answer to Hello
	Refused                   // ID 0. Refusal: the answer to Hello; the daemon then closes
	Dialed                    // empty body
	Stdout                    // bytes
	Stderr                    // bytes
	Exited                    // a Status
	Finished                  // empty body
	Failed                    // a transport.Error
	Wanted                    // the client must send the content
	Had                       // the daemon has the content already
	Reply                     // bytes of the answer to a Control; an empty piece ends it
	Warned                    // ID 0. Warning
	Taken                     // varint: that many more bytes of the ID's Input may be sent
)

// A Frame is one message. Body is valid until the next frame is read.
type Frame struct {
	Type Type
	ID   uint32
	Body []byte
}

// A Reader reads frames. Only one goroutine may use it, and it must not be used after
// an error.
type Reader struct {
	r    io.Reader
	buf  []byte
	a, b int  // bounds of the bytes that were read and not returned yet
	full bool // the last read filled the buffer
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

// fill reads until the buffer has at least n bytes.
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
