package ssh

import (
	"testing"

	"golang.org/x/crypto/ssh"

	"bolt/internal/sshtest"
)

// TestKeyExchange checks the chosen key exchange: a post-quantum one if the
// server supports it, and else the best of the others.
func TestKeyExchange(t *testing.T) {
	agreed := func(c *Conn) string {
		t.Helper()
		m, ok := c.mux.(ssh.AlgorithmsConnMetadata)
		if !ok {
			t.Fatal("the connection does not tell its algorithms")
		}
		return m.Algorithms().KeyExchange
	}
	_, to := fleet(t, 1)
	if got := agreed(newLab(t, nil).mustDial(t, to[0])); got != "mlkem768x25519-sha256" {
		t.Errorf("with a server that has ML-KEM: %s", got)
	}
	plain := sshtest.Start(t, sshtest.Options{Config: "KexAlgorithms ecdh-sha2-nistp256,curve25519-sha256\n"})
	if got := agreed(newLab(t, nil, plain).mustDial(t, dest(plain))); got != "curve25519-sha256" {
		t.Errorf("with an sshd of older algorithms: %s", got)
	}
}
