package winrmtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	//lint:ignore SA1019 MS-NLMP hashes passwords by it
	"golang.org/x/crypto/md4"
)

// A session is the server's side of NTLM on one connection. It is written from
// MS-NLMP (sections 3.2.5 and 3.4) and does not use the client's library.
type session struct {
	user, password string
	cert           *x509.Certificate // nil without TLS
	flags          uint32            // of the challenge

	negotiate, challenge []byte
	ok                   bool
	in, out              *rc4.Cipher
	inKey, outKey        []byte
	inSeq, outSeq        uint32
}

// AllFlags are the flags in a challenge of Windows.
const AllFlags = 0xe28a8235

// token answers a token of the client. more is set if the client must send a
// further token.
func (s *session) token(token []byte) (answer []byte, more bool, err error) {
	if len(token) < 12 || string(token[:8]) != "NTLMSSP\x00" {
		return nil, false, errors.New("no message of NTLM")
	}
	switch binary.LittleEndian.Uint32(token[8:]) {
	case 1:
		s.negotiate = token
		s.challenge = s.newChallenge()
		return s.challenge, true, nil
	case 3:
		return nil, false, s.authenticate(token)
	}
	return nil, false, errors.New("an unknown message of NTLM")
}

func wide(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// newChallenge returns a CHALLENGE_MESSAGE (section 2.2.1.2).
func (s *session) newChallenge() []byte {
	name := wide("FARM")
	var info bytes.Buffer
	pair := func(id uint16, value []byte) {
		_ = binary.Write(&info, binary.LittleEndian, [2]uint16{id, uint16(len(value))})
		info.Write(value)
	}
	pair(2, name)
	pair(1, wide("WIN1"))
	// If the challenge has a time, the client must sign all three messages
	// (MIC).
	since := uint64(time.Since(time.Unix(0, 0))/100) + 116444736000000000
	pair(7, binary.LittleEndian.AppendUint64(nil, since))
	pair(0, nil)
	b := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
	field := func(n, at int) {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
	}
	field(len(name), 56)
	b = binary.LittleEndian.AppendUint32(b, s.flags)
	server := make([]byte, 8)
	_, _ = rand.Read(server)
	b = append(append(b, server...), make([]byte, 8)...)
	field(info.Len(), 56+len(name))
	b = append(b, 10, 0, 0x61, 0x4a, 0, 0, 0, 15)
	return append(append(b, name...), info.Bytes()...)
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(md5.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// authenticate checks an AUTHENTICATE_MESSAGE (section 2.2.1.3) of NTLMv2.
func (s *session) authenticate(m []byte) error {
	if len(m) < 88 || s.challenge == nil {
		return errors.New("a message of NTLM that is too short")
	}
	var failed error
	field := func(at int) []byte {
		n, off := int(binary.LittleEndian.Uint16(m[at:])), int(binary.LittleEndian.Uint32(m[at+4:]))
		if off+n > len(m) {
			failed = errors.New("a field outside of the message")
			return nil
		}
		return m[off : off+n]
	}
	nt, domain, user, sealedKey := field(20), field(28), field(36), field(52)
	if failed != nil || len(nt) < 44 {
		return fmt.Errorf("a response that is none of NTLMv2: %v", failed)
	}
	if !bytes.Equal(user, wide(s.user)) {
		return errors.New("an unknown user")
	}
	h := md4.New()
	h.Write(wide(s.password))
	key := mac(h.Sum(nil), wide(strings.ToUpper(s.user)), domain)
	proof, rest := nt[:16], nt[16:]
	if !hmac.Equal(proof, mac(key, s.challenge[24:32], rest)) {
		return errors.New("a wrong password")
	}
	exported := mac(key, proof)
	if len(sealedKey) != 16 {
		return errors.New("no key was exchanged")
	}
	c, _ := rc4.NewCipher(exported)
	exported = make([]byte, 16)
	c.XORKeyStream(exported, sealedKey)
	signed := bytes.Clone(m)
	clear(signed[72:88])
	if !hmac.Equal(m[72:88], mac(exported, s.negotiate, s.challenge, signed)) {
		return errors.New("the messages were changed on their way")
	}
	if s.cert != nil && !bytes.Contains(rest, binding(s.cert)) {
		return errors.New("the login is not bound to this connection")
	}
	s.inKey, s.in = keys(exported, "client-to-server")
	s.outKey, s.out = keys(exported, "server-to-client")
	s.inSeq, s.outSeq, s.ok = 0, 0, true
	return nil
}

// binding returns the pair MsvAvChannelBindings (section 2.2.2.1) for a
// certificate.
func binding(cert *x509.Certificate) []byte {
	sum := sha256.Sum256(cert.Raw)
	data := append([]byte("tls-server-end-point:"), sum[:]...)
	all := binary.LittleEndian.AppendUint32(make([]byte, 16), uint32(len(data)))
	hash := md5.Sum(append(all, data...))
	return append([]byte{10, 0, 16, 0}, hash[:]...)
}

func keys(exported []byte, way string) (sign []byte, seal *rc4.Cipher) {
	a := md5.Sum(append(bytes.Clone(exported), "session key to "+way+" signing key magic constant\x00"...))
	b := md5.Sum(append(bytes.Clone(exported), "session key to "+way+" sealing key magic constant\x00"...))
	seal, _ = rc4.NewCipher(b[:])
	return a[:], seal
}

// signature returns an NTLMSSP_MESSAGE_SIGNATURE (section 2.2.2.9.2).
func signature(key []byte, c *rc4.Cipher, seq uint32, message []byte) []byte {
	n := binary.LittleEndian.AppendUint32(nil, seq)
	sum := mac(key, n, message)[:8]
	c.XORKeyStream(sum, sum)
	return append(append([]byte{1, 0, 0, 0}, sum...), n...)
}

const mark = "--Encrypted Boundary"

func (s *session) open(body []byte) ([]byte, error) {
	parts := bytes.SplitN(body, []byte(mark), 3)
	if len(parts) != 3 || !bytes.HasSuffix(body, []byte(mark+"--\r\n")) {
		return nil, errors.New("two parts are not there")
	}
	_, data, ok := bytes.Cut(parts[2], []byte("Content-Type: application/octet-stream\r\n"))
	data = bytes.TrimSuffix(data, []byte(mark+"--\r\n"))
	if !ok || len(data) < 20 || binary.LittleEndian.Uint32(data) != 16 {
		return nil, errors.New("no encrypted part")
	}
	message := make([]byte, len(data)-20)
	s.in.XORKeyStream(message, data[20:])
	if !hmac.Equal(data[4:20], signature(s.inKey, s.in, s.inSeq, message)) {
		return nil, errors.New("a wrong signature")
	}
	s.inSeq++
	if !bytes.Contains(parts[1], fmt.Appendf(nil, "Length=%d\r\n", len(message))) {
		return nil, errors.New("a wrong length")
	}
	return message, nil
}

func (s *session) seal(message []byte) []byte {
	sealed := make([]byte, len(message))
	s.out.XORKeyStream(sealed, message)
	sig := signature(s.outKey, s.out, s.outSeq, message)
	s.outSeq++
	var b bytes.Buffer
	// With tabs, as Windows writes it.
	fmt.Fprintf(&b, "%s\r\n\tContent-Type: application/HTTP-SPNEGO-session-encrypted\r\n\tOriginalContent: type=application/soap+xml;charset=UTF-8;Length=%d\r\n%s\r\n\tContent-Type: application/octet-stream\r\n\x10\x00\x00\x00", mark, len(message), mark)
	b.Write(sig)
	b.Write(sealed)
	b.WriteString(mark + "--\r\n")
	return b.Bytes()
}
