package sshtest

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"
)

// An Evil is a server that speaks SSH correctly up to some step and then sends invalid
// data: flipped, cut, repeated and oversized messages, messages of other steps, forged
// marks of bolt's scripts, hostile statuses, signals and SFTP responses. Its seed and
// the number of the connection determine its actions. It accepts any user and key.
//
// It has a transport of its own (curve25519-sha256, ssh-ed25519, aes128-ctr,
// hmac-sha2-256), because golang.org/x/crypto/ssh does not send malformed messages.
type Evil struct{ *Peer }

// NewEvil starts a server.
func NewEvil(t testing.TB, seed uint64) *Evil {
	t.Helper()
	var mu sync.Mutex
	n := uint64(0)
	return &Evil{Listen(t, func(c net.Conn) {
		mu.Lock()
		n++
		mine := n
		mu.Unlock()
		e := &evilConn{c: c, rng: rand.New(rand.NewPCG(seed, mine)), channels: make(map[uint32]*evilChannel)}
		e.serve()
	})}
}

// evilLasts is the longest time of one connection. A client that waits forever exceeds
// the limit of its test first.
const evilLasts = 20 * time.Second

// An evilConn is one connection of an Evil.
type evilConn struct {
	c     net.Conn
	rng   *rand.Rand
	crypt evilTransport

	calm     int // valid steps at the beginning
	rage     int // after these, one of this many steps is changed
	steps    int
	next     uint32 // number of the server's next channel
	channels map[uint32]*evilChannel
}

// An evilChannel is one of the client's sessions.
type evilChannel struct {
	theirs uint32
	sftp   bool
	in     []byte // of SFTP, not yet read
	listed int    // answers to READDIR
}

// errCalledOff ends a connection on purpose.
var errCalledOff = io.ErrClosedPipe

func (e *evilConn) serve() {
	_ = e.c.SetDeadline(time.Now().Add(evilLasts)) // the next read returns the error
	e.calm, e.rage = e.rng.IntN(30), 1+e.rng.IntN(6)
	if e.greet() != nil {
		return
	}
	for {
		p, err := e.crypt.read()
		if err != nil || e.treat(p) != nil {
			break
		}
	}
	if e.rng.IntN(2) == 0 {
		_, _ = io.Copy(io.Discard, e.c) // the connection stays open and silent
	}
}

// evil reports whether this step is to be changed.
func (e *evilConn) evil() bool {
	e.steps++
	return e.steps > e.calm && e.rng.IntN(e.rage) == 0
}

// greet sends the version line and exchanges keys.
func (e *evilConn) greet() error {
	line := "SSH-2.0-evil"
	if e.evil() {
		switch e.rng.IntN(5) {
		case 0:
			return errCalledOff
		case 1:
			line = string(e.noise(300))
		case 2:
			line = "SSH-1.0-old"
		case 3:
			if _, err := e.c.Write(append(e.noise(4000), '\r', '\n')); err != nil {
				return err
			}
		case 4:
			if _, err := io.WriteString(e.c, line+"\r\n"); err != nil {
				return err
			}
			return errCalledOff
		}
	}
	if _, err := io.WriteString(e.c, line+"\r\n"); err != nil {
		return err
	}
	return e.crypt.exchange(e.c, line, e.send)
}

// oddNumbers replace lengths, windows, IDs and statuses.
var oddNumbers = []uint32{0, 1, 127, 255, 256, 1 << 15, 1<<15 + 1, 1<<24 - 1, 1<<31 - 1, 1 << 31, 0xc0000005, 1<<32 - 2, 1<<32 - 1}

func (e *evilConn) number() uint32 { return oddNumbers[e.rng.IntN(len(oddNumbers))] }

// noise returns up to n random bytes.
func (e *evilConn) noise(n int) []byte {
	b := make([]byte, e.rng.IntN(n+1))
	for i := range b {
		b[i] = byte(e.rng.Uint32())
	}
	return b
}

// text returns a string that ordinary programs do not print.
func (e *evilConn) text() string {
	return []string{"", "\x00", "a\nb\r\n", "\xff\xfe\xfd", "\x1b]0;x\a\x1b[2J", "\u202e", "SIG\x00KILL", "../../x", "TERM",
		string(bytes.Repeat([]byte("é\n"), 40<<10)), string(e.noise(64))}[e.rng.IntN(11)]
}

// send sends a message, or a damaged form of it.
func (e *evilConn) send(p []byte) error {
	if !e.evil() {
		return e.crypt.write(e.c, p)
	}
	q := bytes.Clone(p)
	switch e.rng.IntN(12) {
	case 0, 1:
		for range 1 + e.rng.IntN(8) {
			if len(q) > 1 {
				q[1+e.rng.IntN(len(q)-1)] ^= byte(1 + e.rng.IntN(255))
			}
		}
	case 2:
		q = q[:e.rng.IntN(len(q)+1)]
	case 3:
		q = append(q, e.noise(2000)...)
	case 4, 5:
		if len(q) >= 5 {
			binary.BigEndian.PutUint32(q[1+e.rng.IntN(len(q)-4):], e.number())
		}
	case 6:
		q = append([]byte{byte(e.rng.IntN(110))}, e.noise(500)...)
	case 7:
		if err := e.crypt.write(e.c, q); err != nil {
			return err
		}
	case 8:
		return nil // it is lost
	case 9:
		for range 1 + e.rng.IntN(40) {
			if err := e.crypt.write(e.c, e.stray()); err != nil {
				return err
			}
		}
	case 10:
		switch e.rng.IntN(3) {
		case 0:
			q = append(q, make([]byte, 300<<10)...)
		case 1:
			_, _ = e.c.Write(e.noise(100)) // not a packet
		case 2:
			return errCalledOff
		}
	case 11:
		if err := e.crypt.write(e.c, e.stray()); err != nil {
			return err
		}
	}
	return e.crypt.write(e.c, q)
}

// stray returns a well-formed message that is not expected here.
func (e *evilConn) stray() []byte {
	to := e.rng.Uint32N(4)
	if e.rng.IntN(4) == 0 {
		to = e.number()
	}
	reply := byte(e.rng.IntN(2))
	switch e.rng.IntN(16) {
	case 0:
		return e.status(to)
	case 1:
		return e.signal(to)
	case 2, 3:
		return packet(msgWindowAdjust, to, e.number())
	case 4:
		return packet(msgData, to, e.text())
	case 5:
		return packet(msgExtendedData, to, e.number(), e.text())
	case 6:
		return packet(msgGlobalRequest, "keepalive@openssh.com", reply)
	case 7:
		return packet(msgGlobalRequest, "hostkeys-00@openssh.com", reply, e.text())
	case 8:
		return packet(msgChannelOpen, "forwarded-tcpip", e.number(), e.number(), e.number(), e.text(), e.number(), e.text(), e.number())
	case 9:
		return packet(msgChannelRequest, to, "keepalive@openssh.com", reply)
	case 10:
		return packet(msgChannelSuccess, to)
	case 11:
		return packet(msgOpenFailed, to, e.number(), e.text(), e.text())
	case 12:
		return packet(msgOpenConfirmed, to, e.number(), e.number(), e.number())
	case 13:
		return packet(msgDebug, reply, e.text(), "en")
	case 14:
		return packet(msgClose, to)
	}
	return packet(msgDisconnect, e.number(), e.text(), "")
}

func (e *evilConn) status(to uint32) []byte {
	p := packet(msgChannelRequest, to, "exit-status", byte(0), e.number())
	if e.rng.IntN(6) == 0 {
		p = p[:len(p)-e.rng.IntN(5)]
	}
	return p
}

func (e *evilConn) signal(to uint32) []byte {
	return packet(msgChannelRequest, to, "exit-signal", byte(0), e.text(), byte(e.rng.IntN(256)), e.text(), e.text())
}

// treat responds to a message of the client.
func (e *evilConn) treat(p []byte) error {
	r := reader{p[1:]}
	switch p[0] {
	case msgServiceRequest:
		return e.send(packet(msgServiceAccept, r.text()))
	case msgUserauthRequest:
		return e.login(&r)
	case msgGlobalRequest:
		if r.text(); r.byte() != 0 {
			return e.send(packet(msgRequestFailure))
		}
	case msgChannelOpen:
		r.text()
		e.next++
		ch := &evilChannel{theirs: r.number()}
		e.channels[e.next] = ch
		return e.send(packet(msgOpenConfirmed, ch.theirs, e.next, uint32(1<<21), uint32(1<<15)))
	case msgChannelRequest:
		if ch := e.channels[r.number()]; ch != nil {
			return e.request(ch, &r)
		}
	case msgData:
		ch := e.channels[r.number()]
		if ch == nil {
			return nil
		}
		data := r.text()
		if err := e.send(packet(msgWindowAdjust, ch.theirs, uint32(len(data)))); err != nil || !ch.sftp {
			return err
		}
		ch.in = append(ch.in, data...)
		return e.files(ch)
	case msgClose:
		n := r.number()
		if ch := e.channels[n]; ch != nil {
			delete(e.channels, n)
			return e.send(packet(msgClose, ch.theirs))
		}
	}
	return nil
}

func (e *evilConn) login(r *reader) error {
	r.text()
	r.text()
	if e.evil() {
		switch e.rng.IntN(3) {
		case 0:
			if err := e.send(packet(msgBanner, e.text(), "")); err != nil {
				return err
			}
		case 1:
			return e.send(packet(msgUserauthFailure, e.text()+",publickey,password,keyboard-interactive,gssapi-with-mic", byte(e.rng.IntN(2))))
		case 2:
			return e.send(packet(msgUserauthInfo, e.text(), e.text(), "", e.number(), e.text()))
		}
	}
	if r.text() == "publickey" && r.byte() == 0 {
		return e.send(packet(msgUserauthInfo, r.text(), r.text())) // the number is the same as of PK_OK
	}
	return e.send(packet(msgUserauthSuccess))
}

// token matches the beginning of the marks of bolt's scripts.
var token = regexp.MustCompile(`bolt%[0-9a-f]+`)

// noTarStep is the step in which a script reports that the machine has no tar.
var noTarStep = regexp.MustCompile(`tar >/dev/null 2>&1 \|\| [fg] ([0-9a-z-]+)`)

// request responds to a request on a channel and performs it.
func (e *evilConn) request(ch *evilChannel, r *reader) error {
	what, reply := r.text(), r.byte()
	if reply != 0 {
		if err := e.send(packet(msgChannelSuccess, ch.theirs)); err != nil {
			return err
		}
	}
	line := r.text()
	switch {
	case what == "subsystem":
		ch.sftp = true
		return nil
	case what != "exec" && what != "shell":
		return nil
	}
	mark := token.FindString(line)
	noTar := noTarStep.FindStringSubmatch(line)
	if err := e.send(packet(msgExtendedData, ch.theirs, uint32(1), mark+"!\n")); err != nil {
		return err
	}
	if noTar != nil {
		if err := e.send(packet(msgExtendedData, ch.theirs, uint32(1), mark+"#"+noTar[1]+" "+mark+".\n")); err != nil {
			return err
		}
	}
	for range e.rng.IntN(5) {
		out := e.text()
		if e.evil() {
			out = mark + string("?+!#=.\x00"[e.rng.IntN(7)]) + out
		}
		if len(out) > 30<<10 {
			out = out[:30<<10]
		}
		if err := e.send(packet(msgData, ch.theirs, out)); err != nil {
			return err
		}
	}
	end := e.status(ch.theirs)
	if e.rng.IntN(3) == 0 {
		end = e.signal(ch.theirs)
	}
	for _, p := range [][]byte{end, packet(msgEOF, ch.theirs), packet(msgClose, ch.theirs)} {
		if err := e.send(p); err != nil {
			return err
		}
	}
	return nil
}
