package sshtest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A Peer is a listener that is not a correct SSH server.
type Peer struct {
	Addr string
	Host string
	Port int
	seen atomic.Int64
}

// Connections returns the number of connections so far.
func (p *Peer) Connections() int { return int(p.seen.Load()) }

// Silent accepts connections and never sends anything.
func Silent(t testing.TB) *Peer {
	return Listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
}

// Slammer closes each connection immediately.
func Slammer(t testing.TB) *Peer {
	return Listen(t, func(net.Conn) {})
}

// Speaker sends text and then waits until the client closes the connection.
func Speaker(t testing.TB, text string) *Peer {
	return Listen(t, func(c net.Conn) {
		io.WriteString(c, text)
		io.Copy(io.Discard, c)
	})
}

// Chatter sends text and then connects the client to the server at addr.
func Chatter(t testing.TB, text, addr string) *Peer {
	return Listen(t, func(c net.Conn) {
		io.WriteString(c, text)
		far, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer far.Close()
		var back sync.WaitGroup
		back.Go(func() {
			io.Copy(c, far)
			c.Close()
		})
		io.Copy(far, c)
		far.Close()
		back.Wait()
	})
}

// Listen passes each connection to serve and closes it afterwards.
func Listen(t testing.TB, serve func(net.Conn)) *Peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr)
	p := &Peer{Addr: at.String(), Host: at.IP.String(), Port: at.Port}
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		open = make(map[net.Conn]bool)
		over bool
	)
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.seen.Add(1)
			mu.Lock()
			if over {
				mu.Unlock()
				c.Close()
				return
			}
			open[c] = true
			mu.Unlock()
			work.Go(func() {
				serve(c)
				c.Close()
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		over = true
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return p
}

// Shedder sends text and closes each connection, as a busy server does.
func Shedder(t testing.TB, text string) *Peer {
	return Listen(t, func(c net.Conn) { io.WriteString(c, text) })
}
