package ssh

import (
	"net"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"golang.org/x/crypto/ssh"
)

// Channels that are asked for while the connection ends are refused: x/crypto
// forgets one that comes after it has closed all others, and would wait for the
// answer for ever.
func TestOpenAsConnectionEnds(t *testing.T) {
	t.Parallel()
	far := make(chan net.Conn, 1)
	file := t.TempDir() + "/id"
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(sshtest.WriteKey(t, file, "ed25519"))
	peer := sshtest.Listen(t, func(c net.Conn) {
		_, channels, requests, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		far <- c
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { ssh.DiscardRequests(requests) })
		for open := range channels {
			ch, reqs, err := open.Accept()
			if err != nil {
				return
			}
			work.Go(func() { ssh.DiscardRequests(reqs) })
			ch.Close()
		}
	})
	l := newLab(t, nil)
	to := peerDest(peer)
	to.PrivateKey = file
	for i := range 300 {
		c := l.mustDial(t, to)
		var openers sync.WaitGroup
		for range 8 {
			openers.Go(func() {
				for {
					o, err := c.openChannel(t.Context(), "session", nil)
					if err != nil {
						return
					}
					c.abandon(o)
				}
			})
		}
		time.Sleep(time.Duration(i%10) * 100 * time.Microsecond)
		(<-far).Close()
		done := make(chan struct{})
		go func() {
			openers.Wait()
			c.Close()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("connection %d: somebody waits for a channel of a connection that has ended", i)
		}
	}
}
