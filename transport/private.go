package transport

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// PrivateDir is the path of the private directory that a Cmd with these fields
// gets on the machine: name (its ScriptDir) below tmpDir (its TmpDir), or below
// /tmp if that is "". A name of "" stands for a new one.
//
// Who must know the path before the command runs sets ScriptDir to a
// NewPrivateName. No mark is needed beside it: a directory is made anew,
// and removed, in the same way whoever has named it.
func PrivateDir(tmpDir, name string) string {
	if tmpDir == "" {
		tmpDir = "/tmp"
	}
	if name == "" {
		name = NewPrivateName()
	}
	return strings.TrimRight(tmpDir, "/") + "/" + name
}

// NewPrivateName is a name for a private directory that nobody can guess: a
// UUID (RFC 9562 version 4).
func NewPrivateName() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
