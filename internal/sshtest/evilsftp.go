package sshtest

import (
	"bytes"
	"encoding/binary"
)

// files responds to the SFTP requests that have arrived.
func (e *evilConn) files(ch *evilChannel) error {
	for len(ch.in) >= 4 {
		n := binary.BigEndian.Uint32(ch.in)
		if n == 0 || n > 1<<20 {
			return errCalledOff
		}
		if uint32(len(ch.in)-4) < n {
			return nil
		}
		p := ch.in[4 : 4+n]
		ch.in = ch.in[4+n:]
		out := e.file(ch, p)
		if e.evil() {
			out = e.spoil(out)
		}
		framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...)
		if e.evil() && e.rng.IntN(3) == 0 {
			binary.BigEndian.PutUint32(framed, e.number())
		}
		if len(framed) > 30<<10 {
			framed = framed[:30<<10]
		}
		if err := e.send(packet(msgData, ch.theirs, string(framed))); err != nil {
			return err
		}
	}
	return nil
}

// spoil changes a response.
func (e *evilConn) spoil(p []byte) []byte {
	q := bytes.Clone(p)
	switch e.rng.IntN(5) {
	case 0:
		return q[:e.rng.IntN(len(q)+1)]
	case 1:
		q[e.rng.IntN(len(q))] ^= byte(1 + e.rng.IntN(255))
	case 2:
		if len(q) > 5 {
			binary.BigEndian.PutUint32(q[1+e.rng.IntN(len(q)-4):], e.number())
		}
	case 3:
		q[0] = byte(sftpStatus + e.rng.IntN(6)) // the response to another request
	case 4:
		return append(q, e.noise(2000)...)
	}
	return q
}

// file returns the response to one request.
func (e *evilConn) file(ch *evilChannel, p []byte) []byte {
	if p[0] == sftpInit || len(p) < 5 {
		return packet(sftpVersion, uint32(3), "posix-rename@openssh.com", "1")
	}
	id := binary.BigEndian.Uint32(p[1:])
	dir := []any{uint32(sftpHasPermissions), uint32(sftpDirectory)}
	file := []any{uint32(sftpHasSize | sftpHasPermissions), uint32(0), uint32(100), uint32(0o100644)}
	status := func(code uint32) []byte { return packet(sftpStatus, id, code, e.text(), "") }
	switch p[0] {
	case sftpStat, sftpLstat, sftpFstat:
		attrs := dir
		if ch.listed > 1 || e.rng.IntN(3) == 0 {
			attrs = file
		}
		return packet(sftpAttrs, append([]any{id}, attrs...)...)
	case sftpOpen, sftpOpendir:
		return packet(sftpHandle, id, "h")
	case sftpReaddir:
		if ch.listed++; ch.listed > 2 {
			return status(sftpEOF)
		}
		n := 1 + e.rng.IntN(5)
		fields := []any{id, uint32(n)}
		for range n {
			fields = append(append(fields, e.name(), e.text()), file...)
		}
		return packet(sftpName, fields...)
	case sftpRead:
		if e.rng.IntN(3) == 0 {
			return status(sftpEOF)
		}
		return packet(sftpData, id, string(e.noise(2000)))
	case sftpRealpath:
		return packet(sftpName, append([]any{id, uint32(1), e.name(), ""}, dir...)...)
	}
	return status([]uint32{0, 0, 0, 2, 4, e.number()}[e.rng.IntN(6)])
}

// name returns a file name, or an invalid file name.
func (e *evilConn) name() string {
	if e.rng.IntN(3) > 0 {
		return "file" + string(rune('a'+e.rng.IntN(26)))
	}
	return e.text()
}
