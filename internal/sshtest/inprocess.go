package sshtest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A Call is one exec on an in-process server, or the start of a subsystem.
type Call struct {
	User      string
	Addr      string // the address of the server that accepted the connection
	Line      string
	Subsystem string // "" for an exec
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
}

// An Exec handles a call and returns its exit status. ctx ends with the
// channel.
type Exec func(ctx context.Context, c Call) int

// A Fleet is a set of SSH servers in the test's own process, one for each
// address. They share a host key and accept one user key.
type Fleet struct {
	Addrs   []string
	KeyFile string
	HostKey ssh.PublicKey

	work sync.WaitGroup
	mu   sync.Mutex
	over bool
	open map[net.Conn]bool
}

// NewFleet starts n servers on ports of 127.0.0.1. change, if not nil, may
// alter how they authenticate.
func NewFleet(t testing.TB, n int, exec Exec, change func(*ssh.ServerConfig)) *Fleet {
	t.Helper()
	host := signer(t)
	f := &Fleet{KeyFile: filepath.Join(t.TempDir(), "id"), HostKey: host.PublicKey(), open: make(map[net.Conn]bool)}
	user := WriteKey(t, f.KeyFile, "ed25519")
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(user.PublicKey().Marshal()) {
				return nil, os.ErrPermission
			}
			return nil, nil
		},
	}
	config.AddHostKey(host)
	if change != nil {
		change(config)
	}
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		f.Addrs = append(f.Addrs, l.Addr().String())
		f.work.Go(func() { f.accept(l, config, exec) })
	}
	t.Cleanup(func() {
		for _, l := range listeners {
			l.Close()
		}
		f.mu.Lock()
		f.over = true
		for c := range f.open {
			c.Close()
		}
		f.mu.Unlock()
		f.work.Wait()
	})
	return f
}

func signer(t testing.TB) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.ParsePrivateKey(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *Fleet) accept(l net.Listener, config *ssh.ServerConfig, exec Exec) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		if f.over {
			f.mu.Unlock()
			c.Close()
			return
		}
		f.open[c] = true
		f.mu.Unlock()
		f.work.Go(func() {
			f.serve(c, config, exec)
			c.Close()
			f.mu.Lock()
			delete(f.open, c)
			f.mu.Unlock()
		})
	}
}

func (f *Fleet) serve(c net.Conn, config *ssh.ServerConfig, exec Exec) {
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	defer conn.Close()
	work.Go(func() { ssh.DiscardRequests(requests) })
	for open := range channels {
		if open.ChannelType() != "session" {
			open.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		ch, reqs, err := open.Accept()
		if err != nil {
			return
		}
		work.Go(func() { session(conn, ch, reqs, exec) })
	}
}

// proof matches the beginning of a line that proves that a shell runs it. It
// is removed before an Exec gets the line.
var proof = regexp.MustCompile(`^command printf '%s!\\n' (bolt%[0-9a-f]+) >&2; `)

// session handles the first exec of a channel.
func session(conn *ssh.ServerConn, ch ssh.Channel, reqs <-chan *ssh.Request, exec Exec) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for r := range reqs {
		var line struct{ Line string }
		if r.Type != "exec" && r.Type != "subsystem" || ssh.Unmarshal(r.Payload, &line) != nil {
			r.Reply(r.Type == "pty-req", nil)
			continue
		}
		r.Reply(true, nil)
		running.Go(func() {
			if m := proof.FindStringSubmatch(line.Line); m != nil {
				io.WriteString(ch.Stderr(), m[1]+"!\n")
			}
			call := Call{User: conn.User(), Addr: conn.LocalAddr().String(), Line: line.Line, Stdin: ch, Stdout: ch, Stderr: ch.Stderr()}
			if r.Type == "subsystem" {
				call.Line, call.Subsystem = "", line.Line
			}
			status := exec(ctx, call)
			ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, uint32(status)))
			ch.Close()
		})
	}
}
