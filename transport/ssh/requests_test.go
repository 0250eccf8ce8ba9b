package ssh

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

// TestAnswersKeepalivesOfServer checks that keepalives of the server are
// answered, whatever is open on the connection. sshd sends them on the first
// open channel.
func TestAnswersKeepalivesOfServer(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name, config string
		keep, warm   bool
		idle         time.Duration // before the command
		line         string
	}{
		{"idle", "ClientAliveInterval 1\nClientAliveCountMax 3\n", true, true, 13 * time.Second, "echo done"},
		{"running", "ClientAliveInterval 1\nClientAliveCountMax 3\n", true, true, 0, "sleep 13; echo done"},
		{"only a spare session", "ClientAliveInterval 1\nClientAliveCountMax 3\n", false, false, 13 * time.Second, "echo done"},
		{"without end", "ClientAliveInterval 1\nClientAliveCountMax 0\n", true, true, 40 * time.Second, "echo done"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: k.config})
			l := newLab(t, func(o *Options) { o.Keep = k.keep }, s)
			c := l.mustDial(t, dest(s))
			if k.warm {
				warmUp(t, c)
			}
			select {
			case <-c.Done():
				t.Fatalf("the idle connection has ended: %v", c.cause)
			case <-time.After(k.idle):
			}
			if got := seen(t, c, transport.Cmd{Line: k.line}); !strings.Contains(got, `stdout "done\n"`) {
				t.Error(got)
			}
			if got := seen(t, c, transport.Cmd{Line: "id -u | cat"}); !strings.Contains(got, `stdout "0\n"`) {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// asker is a server that sends requests on each session as soon as it is open,
// while it waits, and together with the end of its command. It counts the
// answers.
func asker(t *testing.T, answers *atomic.Int64) (*sshtest.Peer, string) {
	t.Helper()
	file := t.TempDir() + "/id"
	key := sshtest.WriteKey(t, file, "ed25519")
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(key)
	serve := func(ch ssh.Channel, reqs <-chan *ssh.Request) {
		ask := func() {
			if _, err := ch.SendRequest("keepalive@openssh.com", true, nil); err == nil {
				answers.Add(1)
			}
		}
		var asking sync.WaitGroup
		defer asking.Wait()
		asking.Go(func() {
			for range 20 { // more than x/crypto buffers
				ch.SendRequest("eow@openssh.com", false, nil)
			}
			for range 5 {
				ask()
			}
		})
		for r := range reqs {
			if r.Type != "exec" {
				r.Reply(false, nil)
				continue
			}
			r.Reply(true, nil)
			code := byte(len(r.Payload)) // any value
			ch.SendRequest("keepalive@openssh.com", false, nil)
			ch.SendRequest("exit-status", false, []byte{0, 0, 0, code})
			ch.Close()
		}
	}
	return sshtest.Listen(t, func(c net.Conn) {
		conn, channels, requests, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { ssh.DiscardRequests(requests) })
		for open := range channels {
			if ch, reqs, err := open.Accept(); err == nil {
				work.Go(func() { serve(ch, reqs) })
			}
		}
		conn.Close()
	}), file
}

// TestRequestsAreHandedOver checks that no request is lost or answered twice
// when a channel gets another reader.
func TestRequestsAreHandedOver(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64
	peer, file := asker(t, &answers)
	l := newLab(t, func(o *Options) { o.Keep = true })
	to := peerDest(peer)
	to.PrivateKey = file
	c := l.mustDial(t, to)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 200 {
		var work sync.WaitGroup
		for n := range 3 {
			line := strings.Repeat("x", n+1)
			work.Go(func() {
				ses, err := c.Start(ctx, line, false)
				if err != nil {
					t.Error(err)
					return
				}
				defer ses.Close()
				io.Copy(io.Discard, ses.Stdout())
				io.Copy(io.Discard, ses.Stderr())
				if st, err := ses.Wait(); err != nil || st.Code != 4+len(line) {
					t.Errorf("%+v, %v, want %d", st, err, 4+len(line))
				}
			})
		}
		work.Wait()
		if t.Failed() {
			return
		}
	}
	for end := time.Now().Add(10 * time.Second); answers.Load() < 5; time.Sleep(time.Millisecond) { // at least those of the spare session
		if time.Now().After(end) {
			t.Fatalf("%d answers", answers.Load())
		}
	}
}

// TestLostBehindProxyCommand checks that a command that may have begun is not
// sent again, even if the stream under it ends slowly.
func TestLostBehindProxyCommand(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/id"
	key := sshtest.WriteKey(t, file, "ed25519")
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(key)
	var ran atomic.Int64
	peer := sshtest.Listen(t, func(c net.Conn) {
		conn, channels, requests, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { ssh.DiscardRequests(requests) })
		for open := range channels {
			_, reqs, err := open.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				for r := range reqs {
					if r.Type == "exec" { // the command runs, and the machine loses the network
						ran.Add(1)
						conn.Close()
					}
				}
			})
		}
	})
	for _, k := range []struct{ name, config string }{
		{"straight", ""},
		// The process in the background keeps standard error open.
		{"proxy command", "ProxyCommand setsid sleep 3 >/dev/null </dev/null & exec bash -c 'exec 3<>/dev/tcp/%h/%p; cat >&3 <&0 & cat <&3; kill $!'\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			ran.Store(0)
			l := newLab(t, func(o *Options) { o.Keep = true })
			l.configure(t, k.config)
			to := peerDest(peer)
			to.PrivateKey, to.LoadConfig = file, true
			c := l.mustDial(t, to)
			_, err := c.Run(t.Context(), &transport.Cmd{Line: "rm -rf /once"})
			if transport.ClassOf(err) != transport.ClassLost {
				t.Errorf("got %v, want a lost connection, of which nobody knows what has happened", err)
			}
			if n := ran.Load(); n != 1 {
				t.Errorf("the server got the command %d times", n)
			}
		})
	}
}

// TestLostAfterSpentSession checks the same for a session that ended with the
// request in it.
func TestLostAfterSpentSession(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/id"
	key := sshtest.WriteKey(t, file, "ed25519")
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(key)
	peer := sshtest.Listen(t, func(c net.Conn) {
		conn, channels, requests, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { ssh.DiscardRequests(requests) })
		n := 0
		for open := range channels {
			if n++; n > 1 {
				conn.Close() // instead of opening a second session
				continue
			}
			ch, reqs, err := open.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				for range reqs {
					ch.Close()
				}
			})
		}
	})
	l := newLab(t, nil)
	to := peerDest(peer)
	to.PrivateKey = file
	c := l.mustDial(t, to)
	if _, err := c.Run(t.Context(), &transport.Cmd{Line: "true"}); transport.ClassOf(err) != transport.ClassLost {
		t.Errorf("got %v, want a lost connection", err)
	}
}

// TestWatchList checks the length of the list that Conn.serve reads.
func TestWatchList(t *testing.T) {
	var w watchList
	var all []*requests
	for range maxWatched {
		if w.full() {
			t.Fatal("full")
		}
		q := &requests{in: make(chan *ssh.Request)}
		all = append(all, q)
		w.replace(nil, q)
	}
	if !w.full() || w.replace(nil, &requests{}) {
		t.Error("not full")
	}
	for _, q := range all {
		if !w.replace(q, nil) || w.replace(q, nil) {
			t.Error("not taken out, or twice")
		}
	}
	for i := range w {
		if w.in(i) != nil {
			t.Error(fmt.Sprint(w))
		}
	}
}
