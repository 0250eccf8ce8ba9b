package main

import (
	"bufio"
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// The server implements the part of SSH that its clients need, with one
// algorithm of each kind, and has one goroutine and no timer for a connection.
// A server of the SSH library takes six goroutines and five times the memory
// and the time.

// Message numbers, RFC 4250 section 4.1.2.
const (
	msgDisconnect     = 1
	msgIgnore         = 2
	msgUnimplemented  = 3
	msgDebug          = 4
	msgServiceRequest = 5
	msgServiceAccept  = 6
	msgExtInfo        = 7
	msgKexInit        = 20
	msgNewKeys        = 21
	msgKexECDHInit    = 30
	msgKexECDHReply   = 31
	msgAuthRequest    = 50
	msgAuthFailure    = 51
	msgAuthSuccess    = 52
	msgAuthKeyOK      = 60
)

const (
	kexName    = "curve25519-sha256" // RFC 8731
	cipherName = "aes128-gcm@openssh.com"
	version    = "SSH-2.0-farmd"
	// loginTime bounds a handshake with login, as sshd's LoginGraceTime.
	loginTime = 2 * time.Minute
)

// A server holds the data that all connections share.
type server struct {
	host     ssh.Signer
	accepted []byte // the public key that may log in
	output   []byte // the output of every command
}

// login brings a new connection to the state in which channels may be opened.
func (s *server) login(c net.Conn) (*link, error) {
	if err := c.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return nil, err
	}
	l := newLink(c)
	session, err := s.exchangeKeys(l)
	if err != nil {
		return nil, err
	}
	if err := s.authenticate(l, session); err != nil {
		return nil, err
	}
	return l, c.SetDeadline(time.Time{})
}

// exchangeKeys does the version exchange and the only key exchange of a
// connection. It returns the session identifier.
func (s *server) exchangeKeys(l *link) (session []byte, err error) {
	mine := ssh.Marshal(struct {
		Cookie                       [16]byte `sshtype:"20"`
		Kex, HostKey, CipherC, CiphS string
		MACC, MACS, ZipC, ZipS       string
		LangC, LangS                 string
		Follows                      bool
		Reserved                     uint32
	}{
		Cookie: [16]byte(random(16)), Kex: kexName, HostKey: ssh.KeyAlgoED25519, CipherC: cipherName, CiphS: cipherName,
		MACC: "hmac-sha2-256", MACS: "hmac-sha2-256", ZipC: "none", ZipS: "none", // the cipher needs no MAC
	})
	if _, err := io.WriteString(l.conn, version+"\r\n"); err != nil {
		return nil, err
	}
	l.put(mine)
	if err := l.flush(); err != nil {
		return nil, err
	}
	theirs, err := l.line()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(theirs, "SSH-2.0-") {
		return nil, fmt.Errorf("the client is %q", theirs)
	}
	init, err := l.expect(msgKexInit)
	if err != nil {
		return nil, err
	}
	init = bytes.Clone(init)
	if !bytes.Contains(init, []byte(kexName)) || !bytes.Contains(init, []byte(cipherName)) {
		return nil, errors.New("the client has no algorithm in common")
	}
	packet, err := l.expect(msgKexECDHInit)
	if err != nil {
		return nil, err
	}
	var hello struct {
		Public []byte `sshtype:"30"`
	}
	if err := ssh.Unmarshal(packet, &hello); err != nil {
		return nil, err
	}
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := ecdh.X25519().NewPublicKey(hello.Public)
	if err != nil {
		return nil, err
	}
	shared, err := private.ECDH(public)
	if err != nil {
		return nil, err
	}
	// RFC 5656 section 4: a hash of everything that both sides have sent.
	secret, hostKey, answer := mpint(shared), s.host.PublicKey().Marshal(), private.PublicKey().Bytes()
	h := sha256.New()
	for _, part := range [][]byte{[]byte(theirs), []byte(version), init, mine, hostKey, hello.Public, answer} {
		h.Write(text(part))
	}
	h.Write(secret)
	session = h.Sum(nil)
	signature, err := s.host.Sign(rand.Reader, session)
	if err != nil {
		return nil, err
	}
	l.put(ssh.Marshal(struct {
		HostKey, Public, Signature []byte `sshtype:"31"`
	}{hostKey, answer, ssh.Marshal(signature)}))
	l.put([]byte{msgNewKeys})
	if err := l.flush(); err != nil {
		return nil, err
	}
	if err := l.encryptOut(derive(secret, session, 'D', 16), derive(secret, session, 'B', 12)); err != nil {
		return nil, err
	}
	if _, err := l.expect(msgNewKeys); err != nil {
		return nil, err
	}
	return session, l.encryptIn(derive(secret, session, 'C', 16), derive(secret, session, 'A', 12))
}

// authenticate answers until the accepted key has signed, RFC 4252 section 7.
func (s *server) authenticate(l *link, session []byte) error {
	packet, err := l.expect(msgServiceRequest)
	if err != nil {
		return err
	}
	l.put(append([]byte{msgServiceAccept}, packet[1:]...))
	const tries = 20
	for range tries {
		if err := l.flush(); err != nil {
			return err
		}
		packet, err := l.expect(msgAuthRequest)
		if err != nil {
			return err
		}
		var ask struct {
			User, Service, Method string `sshtype:"50"`
			Rest                  []byte `ssh:"rest"`
		}
		if err := ssh.Unmarshal(packet, &ask); err != nil {
			return err
		}
		var key struct {
			Signed    bool
			Algorithm string
			Key       []byte
			Signature []byte `ssh:"rest"`
		}
		if ask.Method != "publickey" || ssh.Unmarshal(ask.Rest, &key) != nil || !bytes.Equal(key.Key, s.accepted) {
			l.put(append(append([]byte{msgAuthFailure}, text([]byte("publickey"))...), 0))
			continue
		}
		if !key.Signed {
			l.put(append(append([]byte{msgAuthKeyOK}, text([]byte(key.Algorithm))...), text(key.Key)...))
			continue
		}
		if err := verify(packet, session, key.Key, key.Signature); err != nil {
			return err
		}
		l.put([]byte{msgAuthSuccess})
		return l.flush()
	}
	return errors.New("too many tries to log in")
}

// verify checks a signature at the end of a packet, over all data before it.
func verify(packet, session, key, signature []byte) error {
	public, err := ssh.ParsePublicKey(key)
	if err != nil {
		return err
	}
	var blob struct{ Text []byte }
	var parsed ssh.Signature
	if err := ssh.Unmarshal(signature, &blob); err != nil {
		return err
	}
	if err := ssh.Unmarshal(blob.Text, &parsed); err != nil {
		return err
	}
	return public.Verify(append(text(session), packet[:len(packet)-len(signature)]...), &parsed)
}

// derive makes a key of at most 32 bytes, RFC 4253 section 7.2.
func derive(secret, session []byte, letter byte, size int) []byte {
	h := sha256.New()
	h.Write(secret)
	h.Write(session)
	h.Write([]byte{letter})
	h.Write(session)
	return h.Sum(nil)[:size]
}

// text encodes a string, RFC 4251 section 5.
func text(b []byte) []byte { return ssh.Marshal(struct{ Text []byte }{b}) }

// mpint encodes a positive number.
func mpint(b []byte) []byte {
	b = bytes.TrimLeft(b, "\x00")
	if len(b) > 0 && b[0] >= 0x80 {
		b = append([]byte{0}, b...)
	}
	return text(b)
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// line reads the client's version.
func (l *link) line() (string, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = errors.New("the client's first line is too long")
	}
	return strings.TrimRight(string(line), "\r\n"), err
}
