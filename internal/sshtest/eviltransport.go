package sshtest

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// The messages that an Evil reads and sends (RFC 4250 4.1.2).
const (
	msgDisconnect      = 1
	msgDebug           = 4
	msgServiceRequest  = 5
	msgServiceAccept   = 6
	msgKexInit         = 20
	msgNewKeys         = 21
	msgKexECDHInit     = 30
	msgKexECDHReply    = 31
	msgUserauthRequest = 50
	msgUserauthFailure = 51
	msgUserauthSuccess = 52
	msgBanner          = 53
	msgUserauthInfo    = 60
	msgGlobalRequest   = 80
	msgRequestFailure  = 82
	msgChannelOpen     = 90
	msgOpenConfirmed   = 91
	msgOpenFailed      = 92
	msgWindowAdjust    = 93
	msgData            = 94
	msgExtendedData    = 95
	msgEOF             = 96
	msgClose           = 97
	msgChannelRequest  = 98
	msgChannelSuccess  = 99
)

// packet encodes a message of numbers, strings and single bytes (RFC 4251 5).
func packet(kind byte, fields ...any) []byte {
	p := []byte{kind}
	for _, f := range fields {
		switch x := f.(type) {
		case byte:
			p = append(p, x)
		case uint32:
			p = binary.BigEndian.AppendUint32(p, x)
		case string:
			p = append(binary.BigEndian.AppendUint32(p, uint32(len(x))), x...)
		default:
			panic(fmt.Sprintf("a %T in a packet", f))
		}
	}
	return p
}

// A reader reads the fields of a message. A missing field is empty.
type reader struct{ rest []byte }

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) number() uint32 {
	if len(r.rest) < 4 {
		r.rest = nil
		return 0
	}
	n := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return n
}

func (r *reader) text() string {
	n := min(int(r.number()), len(r.rest))
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// An evilTransport is the server side of the binary packet protocol (RFC 4253
// 6).
type evilTransport struct {
	in     *bufio.Reader
	reads  direction
	writes direction
}

// A direction is one direction of the transport. Without a stream it is not
// encrypted.
type direction struct {
	seq    uint32
	stream cipher.Stream
	mac    hash.Hash
}

func (d *direction) sum(plain []byte) []byte {
	d.mac.Reset()
	d.mac.Write(binary.BigEndian.AppendUint32(nil, d.seq))
	d.mac.Write(plain)
	return d.mac.Sum(nil)
}

func (t *evilTransport) write(w io.Writer, p []byte) error {
	block := 8
	if t.writes.stream != nil {
		block = aes.BlockSize
	}
	padding := block - (5+len(p))%block
	if padding < 4 {
		padding += block
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(1+len(p)+padding))
	out = append(append(append(out, byte(padding)), p...), make([]byte, padding)...)
	if t.writes.stream != nil {
		mac := t.writes.sum(out)
		t.writes.stream.XORKeyStream(out, out)
		out = append(out, mac...)
	}
	t.writes.seq++
	_, err := w.Write(out)
	return err
}

func (t *evilTransport) read() ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(t.in, head); err != nil {
		return nil, err
	}
	if t.reads.stream != nil {
		t.reads.stream.XORKeyStream(head, head)
	}
	n := binary.BigEndian.Uint32(head)
	if n < 2 || n > 1<<20 {
		return nil, fmt.Errorf("packet of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(t.in, body); err != nil {
		return nil, err
	}
	if t.reads.stream != nil {
		t.reads.stream.XORKeyStream(body, body)
		if _, err := io.ReadFull(t.in, make([]byte, sha256.Size)); err != nil { // the MAC, which is not checked
			return nil, err
		}
	}
	t.reads.seq++
	end := len(body) - int(body[0])
	if end < 2 {
		return nil, errors.New("a packet without a payload")
	}
	return body[1:end], nil
}

// exchange runs the version and key exchange (RFC 4253 8, RFC 8731). Messages
// go out by send.
func (t *evilTransport) exchange(c io.Reader, version string, send func([]byte) error) error {
	t.in = bufio.NewReader(c)
	theirs, err := t.in.ReadString('\n')
	if err != nil {
		return err
	}
	ours := []byte{msgKexInit}
	ours = append(ours, make([]byte, 16)...)
	for _, list := range []string{"curve25519-sha256", "ssh-ed25519", "aes128-ctr", "aes128-ctr", "hmac-sha2-256", "hmac-sha2-256", "none", "none", "", ""} {
		ours = append(ours, packet(0, list)[1:]...)
	}
	ours = append(ours, 0, 0, 0, 0, 0)
	if err := send(ours); err != nil {
		return err
	}
	init, err := t.read()
	if err != nil {
		return err
	}
	var asked []byte
	for len(asked) == 0 || asked[0] != msgKexECDHInit { // a wrong guess may come first
		if asked, err = t.read(); err != nil {
			return err
		}
	}
	r := reader{asked[1:]}
	far, err := ecdh.X25519().NewPublicKey([]byte(r.text()))
	if err != nil {
		return err
	}
	near, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	secret, err := near.ECDH(far)
	if err != nil {
		return err
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	host := string(packet(0, "ssh-ed25519", string(public))[1:])
	k := mpint(secret)
	h := sha256.New()
	for _, s := range []string{strings.TrimRight(theirs, "\r\n"), version, string(init), string(ours), host, string(far.Bytes()), string(near.PublicKey().Bytes())} {
		h.Write(packet(0, s)[1:])
	}
	h.Write(k)
	id := h.Sum(nil)
	signature := string(packet(0, "ssh-ed25519", string(ed25519.Sign(key, id)))[1:])
	if err := send(packet(msgKexECDHReply, host, string(near.PublicKey().Bytes()), signature)); err != nil {
		return err
	}
	if err := send([]byte{msgNewKeys}); err != nil {
		return err
	}
	derive := func(letter byte, n int) []byte {
		sum := sha256.Sum256(bytes.Join([][]byte{k, id, {letter}, id}, nil))
		return sum[:n]
	}
	if t.writes.stream, err = stream(derive('D', 16), derive('B', 16)); err != nil {
		return err
	}
	t.writes.mac = hmac.New(sha256.New, derive('F', 32))
	for len(asked) == 0 || asked[0] != msgNewKeys {
		if asked, err = t.read(); err != nil {
			return err
		}
	}
	t.reads.stream, err = stream(derive('C', 16), derive('A', 16))
	return err
}

func stream(key, iv []byte) (cipher.Stream, error) {
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewCTR(b, iv), nil
}

// mpint encodes a positive number (RFC 4251 5).
func mpint(b []byte) []byte {
	b = bytes.TrimLeft(b, "\x00")
	if len(b) > 0 && b[0] >= 0x80 {
		b = append([]byte{0}, b...)
	}
	return packet(0, string(b))[1:]
}
