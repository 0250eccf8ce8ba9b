package ssh

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

// TestOpenAsConnectionEnds checks that channels are refused while the
// connection ends. x/crypto forgets a channel that is opened after it has
// closed all others, and would wait for its answer forever.
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
		case <-time.After(time.Minute):
			t.Fatalf("connection %d: somebody waits for a channel of a connection that has ended", i)
		}
	}
}

// TestPanicEndsOneConnection checks that a panic on a goroutine of one connection ends
// only that connection, with an internal error.
func TestPanicEndsOneConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	broken, good := l.mustDial(t, dest(s)), l.mustDial(t, dest(s))
	running := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		_, err := broken.Run(t.Context(), &transport.Cmd{Line: "echo begun; sleep 100", Stdout: writerFunc(func(p []byte) (int, error) {
			close(begun)
			return len(p), nil
		})})
		running <- err
	}()
	<-begun
	broken.work.start(func() { panic("oh no") })
	if err := <-running; transport.ClassOf(err) != transport.ClassLost || !strings.Contains(err.Error(), "internal error: oh no") {
		t.Errorf("its command: %v", err)
	}
	<-broken.Done()
	say(t, good, "true")
}

// TestPanicInTheWire checks a panic in the reader, which runs on a goroutine of
// x/crypto that does not recover.
func TestPanicInTheWire(t *testing.T) {
	w := newWire(panicky{})
	if n, err := w.Read(make([]byte, 10)); n != 0 || err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

type panicky struct{ net.Conn }

func (panicky) Read([]byte) (int, error) { panic("oh no") }

// TestProtocolBreachEndsTheConnection checks that the connection ends, and that Close
// does not wait, if a server violates the protocol and continues to send. The
// goroutines of x/crypto then wait for each other.
func TestProtocolBreachEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	// The multiplexer is then stuck: its Wait does not return.
	stuck := &stuckMux{Conn: c.mux, ended: make(chan struct{})}
	t.Cleanup(func() { close(stuck.ended) })
	broken := newConn(l.Dialer, c.e, secured{stuck, closedChannels(), closedRequests(), newWire(panicky{c.wire.Conn}), c.trust})
	select {
	case <-broken.Done():
	case <-time.After(time.Minute):
		t.Fatal("the connection does not end")
	}
	began := time.Now()
	broken.Close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Close took %v", took)
	}
	if _, err := broken.Run(t.Context(), &transport.Cmd{Line: "true"}); transport.ClassOf(err) != transport.ClassConnect || !strings.Contains(err.Error(), "broke the protocol") {
		t.Errorf("a command afterwards: %v", err)
	}
}

// A stuckMux does not end, and does not answer requests to open a channel.
type stuckMux struct {
	ssh.Conn
	ended chan struct{}
}

func (m *stuckMux) Wait() error {
	<-m.ended
	return nil
}

func (m *stuckMux) OpenChannel(string, []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	<-m.ended
	return nil, nil, net.ErrClosed
}

func closedChannels() <-chan ssh.NewChannel {
	c := make(chan ssh.NewChannel)
	close(c)
	return c
}

func closedRequests() <-chan *ssh.Request {
	c := make(chan *ssh.Request)
	close(c)
	return c
}
