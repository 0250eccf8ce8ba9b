package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// newServer runs a server on a loopback address until the test ends, and
// returns its address and the client's configuration.
func newServer(t *testing.T, output string) (address string, config *ssh.ClientConfig) {
	t.Helper()
	host, err := newKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	user, err := newKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	address = listen(t, &server{host: host, accepted: user.PublicKey().Marshal(), output: []byte(output)})
	return address, &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(user)},
		HostKeyCallback: ssh.FixedHostKey(host.PublicKey()), Timeout: 10 * time.Second}
}

// listen runs a server until the test ends.
func listen(t *testing.T, s *server) (address string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.greet(c)
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, address string, config *ssh.ClientConfig) *ssh.Client {
	t.Helper()
	c, err := ssh.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestExec(t *testing.T) {
	for _, output := range []string{"", "text\n", strings.Repeat("x", maxOutput)} {
		c := connected(t, output)
		var work sync.WaitGroup
		for range 20 { // at once on one connection
			work.Go(func() {
				s, err := c.NewSession()
				if err != nil {
					t.Error(err)
					return
				}
				got, err := s.CombinedOutput("anything at all")
				if err != nil || string(got) != output {
					t.Errorf("got %d bytes, %v; want %d", len(got), err, len(output))
				}
			})
		}
		work.Wait()
	}
}

func connected(t *testing.T, output string) *ssh.Client {
	t.Helper()
	address, config := newServer(t, output)
	return dial(t, address, config)
}

// TestWindow checks that a client can send any amount, in packets of any
// size.
func TestWindow(t *testing.T) {
	c := connected(t, "")
	ch, requests, err := c.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	if _, err := ch.Write(bytes.Repeat([]byte("x"), 3*window+1)); err != nil {
		t.Fatal(err)
	}
	if err := ch.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession() // and the server still answers
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run("true"); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	address, config := newServer(t, "")
	c := dial(t, address, config)
	if ok, _, err := c.SendRequest("keepalive@openssh.com", true, nil); ok || err != nil {
		t.Errorf("a keepalive: %v, %v; want an answer that says no", ok, err)
	}
	if _, _, err := c.OpenChannel("direct-tcpip", nil); err == nil {
		t.Error("a channel that is no session was opened")
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestSubsystem("sftp"); err == nil {
		t.Error("there is a subsystem")
	}
	other, err := newKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	config.Auth = []ssh.AuthMethod{ssh.PublicKeys(other)}
	if c, err := ssh.Dial("tcp", address, config); err == nil {
		c.Close()
		t.Error("another key logged in")
	}
}

// TestRubbish checks that data that is not SSH ends the connection, and
// only that.
func TestRubbish(t *testing.T) {
	address, config := newServer(t, "")
	for name, text := range map[string]string{
		"no version":   "GET / HTTP/1.0\r\n\r\n",
		"long line":    strings.Repeat("x", 10000),
		"no packet":    "SSH-2.0-x\r\n\xff\xff\xff\xff",
		"short packet": "SSH-2.0-x\r\n\x00\x00\x00\x01\x00",
		"padding":      "SSH-2.0-x\r\n\x00\x00\x00\x08\xff1234567",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c); isTimeout(err) {
				t.Errorf("the connection was not closed: %v", err)
			}
		})
	}
	dial(t, address, config)
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
