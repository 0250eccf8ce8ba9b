package sshtest

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Link is a TCP proxy to a server with a fixed delay each way. It can
// silently stop carrying data, and can be cut.
type Link struct {
	Addr string // connect here
	Host string
	Port int

	delay   time.Duration
	silent  atomic.Bool
	carried [2]atomic.Int64 // bytes to and from the server

	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	over  bool
	conns []net.Conn
}

// Delay starts a link to addr that delays each byte by oneWay in each
// direction.
func Delay(t testing.TB, addr string, oneWay time.Duration) *Link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr)
	k := &Link{Addr: at.String(), Host: at.IP.String(), Port: at.Port, delay: oneWay, listener: l}
	k.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.work.Go(func() { k.carry(c, addr) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		k.mu.Lock()
		k.over = true
		k.mu.Unlock()
		k.Cut()
		k.work.Wait()
	})
	return k
}

// BlackHole stops (or resumes) carrying data: bytes are lost, connections
// stay open.
func (k *Link) BlackHole(on bool) { k.silent.Store(on) }

// Cut resets all connections.
func (k *Link) Cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.conns {
		if t, ok := c.(*net.TCPConn); ok {
			t.SetLinger(0)
		}
		c.Close()
	}
	k.conns = nil
}

// Carried returns the number of bytes sent to the server and received from
// it.
func (k *Link) Carried() (to, from int64) { return k.carried[0].Load(), k.carried[1].Load() }

func (k *Link) carry(near net.Conn, addr string) {
	defer near.Close()
	far, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer far.Close()
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return
	}
	k.conns = append(k.conns, near, far)
	k.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { k.pipe(far, near, 0) })
	both.Go(func() { k.pipe(near, far, 1) })
	both.Wait()
	k.mu.Lock()
	k.conns = slices.DeleteFunc(k.conns, func(c net.Conn) bool { return c == near || c == far })
	k.mu.Unlock()
}

// pipe carries one direction. Pieces wait in a queue with the time at which
// they are due, so that the delay does not narrow the link.
func (k *Link) pipe(to, from net.Conn, way int) {
	type piece struct {
		due  time.Time
		data []byte
	}
	queue := make(chan piece, 4096)
	var writer sync.WaitGroup
	writer.Go(func() {
		for p := range queue {
			time.Sleep(time.Until(p.due))
			if k.silent.Load() {
				continue
			}
			k.carried[way].Add(int64(len(p.data)))
			if _, err := to.Write(p.data); err != nil {
				from.Close()
			}
		}
		if t, ok := to.(*net.TCPConn); ok {
			t.CloseWrite()
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			queue <- piece{time.Now().Add(k.delay), slices.Clone(buf[:n])}
		}
		if err != nil {
			break
		}
	}
	close(queue)
	writer.Wait()
	to.Close()
}
