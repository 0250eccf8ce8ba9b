package frame

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// A Packer makes the input of the helper.
type Packer struct {
	*Writer
	b bytes.Buffer
	z *gzip.Writer
}

// NewPacker returns a Packer.
func NewPacker() *Packer {
	p := new(Packer)
	p.z = gzip.NewWriter(&p.b)
	p.Writer = NewWriter(p.z)
	return p
}

// Size returns the number of bytes so far, some of which may not be compressed yet.
func (p *Packer) Size() int { return p.b.Len() }

// Pack returns the input. The Packer cannot be used after it.
func (p *Packer) Pack() ([]byte, error) {
	err := p.z.Close()
	return p.b.Bytes(), err
}

// Unpack returns a Reader of the input of the helper; nil if that is empty.
func Unpack(in io.Reader) (*Reader, error) {
	b := bufio.NewReader(in)
	if _, err := b.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	return NewReader(z), nil
}
