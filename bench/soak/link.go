package main

import (
	"errors"
	"net"
	"sync"
)

// A link is a network between a client and one server: it carries TCP
// connections, and can be silent or cut them.
type link struct {
	listener net.Listener
	server   string
	work     sync.WaitGroup

	mu     sync.Mutex
	heard  *sync.Cond // silent has ended
	silent bool
	over   bool
	open   map[net.Conn]bool
}

func newLink(server string) (*link, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, server: server, open: make(map[net.Conn]bool)}
	l.heard = sync.NewCond(&l.mu)
	l.work.Go(l.accept)
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) accept() {
	for {
		c, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		l.work.Go(func() { l.carry(c) })
	}
}

// carry moves bytes both ways until one side has ended.
func (l *link) carry(client net.Conn) {
	server, err := net.Dial("tcp4", l.server)
	if err != nil {
		client.Close()
		return
	}
	if !l.keep(client, server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pump(server, client) })
	both.Go(func() { l.pump(client, server) })
	both.Wait()
}

// keep records connections so that they can be cut. If the link has ended,
// it closes them.
func (l *link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.over {
			c.Close()
		} else {
			l.open[c] = true
		}
	}
	return !l.over
}

func (l *link) drop(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(l.open, c)
	}
}

// pump moves bytes one way. While the link is silent it holds them back. For
// the peers, this is as if the bytes were lost and sent again.
func (l *link) pump(to, from net.Conn) {
	defer l.drop(to, from)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		for l.silent && !l.over {
			l.heard.Wait()
		}
		l.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// silence stops all traffic, or resumes it.
func (l *link) silence(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = on
	l.heard.Broadcast()
}

// cut resets all connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0) // a reset instead of an end
		}
		c.Close()
	}
}

// close ends the link and waits for its goroutines.
func (l *link) close() {
	l.listener.Close()
	l.mu.Lock()
	l.over = true
	for c := range l.open {
		c.Close()
	}
	l.heard.Broadcast()
	l.mu.Unlock()
	l.work.Wait()
}
