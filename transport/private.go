package transport

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// PrivateDir returns the path of the private directory that a Cmd with these
// fields gets on the machine: name (its ScriptDir) below tmpDir (its TmpDir).
// An empty tmpDir means /tmp. An empty name means a new random name.
//
// A caller that must know the path before the command runs sets ScriptDir to a
// NewPrivateName. No other field is needed: the directory is created and
// removed in the same way with a given name.
func PrivateDir(tmpDir, name string) string {
	if tmpDir == "" {
		tmpDir = "/tmp"
	}
	if name == "" {
		name = NewPrivateName()
	}
	return strings.TrimRight(tmpDir, "/") + "/" + name
}

// NewPrivateName returns a name for a private directory that cannot be guessed:
// a UUID (RFC 9562 version 4).
func NewPrivateName() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
