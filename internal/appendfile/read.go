package appendfile

import (
	"bufio"
	"errors"
	"io"
)

// A Reader reads the lines of a file.
type Reader struct {
	in     *bufio.Reader
	max    int
	kept   []byte
	offset int64
}

// A Line is one line of a file.
type Line struct {
	Text   []byte // without its end; valid until the next call of Next
	Offset int64  // of its first byte
	Long   bool   // it has more bytes than the Reader's limit, and Text is only their beginning
	Open   bool   // the file ends without the end of the line
}

// NewReader returns a Reader of lines of at most max bytes; 0 is no limit.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Offset returns the offset of the next line.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next line. The error at the end of the file is io.EOF.
func (r *Reader) Next() (Line, error) {
	r.kept = r.kept[:0]
	l := Line{Offset: r.offset}
	for {
		part, err := r.in.ReadSlice('\n')
		r.offset += int64(len(part))
		l.Open = errors.Is(err, io.EOF)
		switch {
		case l.Open && r.offset == l.Offset:
			return Line{}, io.EOF
		case err != nil && !l.Open && !errors.Is(err, bufio.ErrBufferFull):
			return Line{}, err
		case err == nil:
			part = part[:len(part)-1]
		}
		if l.Long = l.Long || r.max > 0 && len(r.kept)+len(part) > r.max; !l.Long {
			r.kept = append(r.kept, part...)
		}
		if err == nil || l.Open {
			l.Text = r.kept
			return l, nil
		}
	}
}
