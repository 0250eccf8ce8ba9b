package main

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// maxPacket is the maximum size of a client's packet, RFC 4253 section 6.1.
const maxPacket = 35000

// A link sends and reads the packets of one connection, for one goroutine.
type link struct {
	conn         net.Conn
	in           *bufio.Reader
	out          []byte // packets that flush sends in one piece
	packet       []byte // the last packet that was read
	open, seal   cipher.AEAD
	readIV, sent []byte // nonces: 4 bytes that stay and a counter of 8 (RFC 5647)
}

func newLink(c net.Conn) *link {
	// Received packets are small, and there are thousands of connections.
	return &link{conn: c, in: bufio.NewReaderSize(c, 2048)}
}

func (l *link) encryptOut(key, iv []byte) (err error) {
	l.seal, err = gcm(key)
	l.sent = iv
	return err
}

func (l *link) encryptIn(key, iv []byte) (err error) {
	l.open, err = gcm(key)
	l.readIV = iv
	return err
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// put adds a packet to the data that the next flush sends.
func (l *link) put(payload []byte) {
	block := 8
	counted := 5 // the length is included in the padding
	if l.seal != nil {
		block, counted = aes.BlockSize, 1 // unless it is not encrypted
	}
	padding := block - (counted+len(payload))%block
	if padding < 4 {
		padding += block
	}
	begin := len(l.out)
	l.out = binary.BigEndian.AppendUint32(l.out, uint32(1+len(payload)+padding))
	l.out = append(l.out, byte(padding))
	l.out = append(l.out, payload...)
	l.out = append(l.out, make([]byte, padding)...)
	if l.seal != nil {
		head, body := l.out[begin:begin+4], l.out[begin+4:]
		l.out = l.seal.Seal(l.out[:begin+4], l.sent, body, head)
		count(l.sent)
	}
}

// flush sends the added packets.
func (l *link) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	_, err := l.conn.Write(l.out)
	l.out = l.out[:0]
	return err
}

// next reads a packet's payload, which is valid until the next call. It calls
// flush before it waits for the client.
func (l *link) next() ([]byte, error) {
	if l.in.Buffered() == 0 {
		if err := l.flush(); err != nil {
			return nil, err
		}
		if len(l.packet) > keptPacket {
			l.packet = nil
		}
	}
	var head [4]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < 8 || n > maxPacket {
		return nil, fmt.Errorf("a packet of %d bytes", n)
	}
	size := n
	if l.open != nil {
		size += l.open.Overhead()
	}
	if cap(l.packet) < size {
		l.packet = make([]byte, size)
	}
	l.packet = l.packet[:size]
	if _, err := io.ReadFull(l.in, l.packet); err != nil {
		return nil, err
	}
	plain := l.packet
	if l.open != nil {
		var err error
		if plain, err = l.open.Open(l.packet[:0], l.readIV, l.packet, head[:]); err != nil {
			return nil, err
		}
		count(l.readIV)
	}
	padding := int(plain[0])
	if padding+2 > n {
		return nil, fmt.Errorf("a packet of %d bytes with %d of padding", n, padding)
	}
	return plain[1 : n-padding], nil
}

// keptPacket is the size of the packet buffer that an idle connection keeps.
const keptPacket = 512

// expect reads packets until one has the given type. Only packets that are
// allowed at any time may come before it.
func (l *link) expect(want byte) ([]byte, error) {
	for {
		p, err := l.next()
		if err != nil {
			return nil, err
		}
		switch p[0] {
		case want:
			return p, nil
		case msgIgnore, msgDebug, msgUnimplemented, msgExtInfo:
		default:
			return nil, fmt.Errorf("message %d instead of %d", p[0], want)
		}
	}
}

func count(nonce []byte) {
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])+1)
}
