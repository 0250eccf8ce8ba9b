package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

// A hop is the connection to a jump host, shared by all who go through it
// with the same settings.
type hop struct {
	cancel context.CancelFunc // of the dial
	ready  chan struct{}      // closed when conn or err is set
	conn   *Conn
	err    error

	users int // under Dialer.mu
}

// borrow returns the connection to a jump host, dialling it if nobody has. A
// caller that gives up does not end a dial that others wait for. The
// connection ends when the last has called release.
func (d *Dialer) borrow(ctx context.Context, to transport.Dest) (*Conn, func(), error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, nil, connectError(transport.ClassCancelled, to.Host, errDialerClosed, "")
	}
	h := d.hops[to]
	if h != nil && h.dead() {
		delete(d.hops, to) // its users will find out
		h = nil
	}
	if h == nil {
		dial, cancel := context.WithCancel(context.WithoutCancel(ctx))
		h = &hop{cancel: cancel, ready: make(chan struct{})}
		d.hops[to] = h
		d.work.start(func() { d.dialHop(dial, h, to) })
	}
	h.users++
	d.mu.Unlock()

	release := sync.OnceFunc(func() { d.release(h, to) })
	select {
	case <-h.ready:
		if h.err != nil {
			release()
			return nil, nil, h.err
		}
		return h.conn, release, nil
	case <-ctx.Done():
		release()
		class := transport.ClassCancelled
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			class = transport.ClassTimeout
		}
		return nil, nil, connectError(class, to.Host, context.Cause(ctx), "")
	}
}

// dead reports whether the hop's connection has ended.
func (h *hop) dead() bool {
	select {
	case <-h.ready:
	default:
		return false
	}
	if h.err != nil {
		return true
	}
	select {
	case <-h.conn.ended:
		return true
	default:
		return false
	}
}

func (d *Dialer) dialHop(ctx context.Context, h *hop, to transport.Dest) {
	defer h.cancel()
	conn, err := d.open(ctx, to)
	d.mu.Lock()
	h.conn, h.err = conn, err
	abandoned := h.users == 0 || d.closed
	if (err != nil || abandoned) && d.hops[to] == h {
		delete(d.hops, to)
	}
	close(h.ready)
	d.mu.Unlock()
	if abandoned && conn != nil {
		conn.Close()
	}
}

func (d *Dialer) release(h *hop, to transport.Dest) {
	d.mu.Lock()
	h.users--
	last := h.users == 0
	if last && d.hops[to] == h {
		delete(d.hops, to)
	}
	d.mu.Unlock()
	if !last {
		return
	}
	h.cancel()
	select {
	case <-h.ready:
		if h.conn != nil {
			h.conn.Close()
		}
	default: // dialHop sees that there is nobody left
	}
}

// directTCPIP is the request for a connection beyond a server (RFC 4254 7.2).
type directTCPIP struct {
	Host       string
	Port       uint32
	OriginHost string
	OriginPort uint32
}

// reach opens a connection from this machine to an endpoint.
func (c *Conn) reach(e *endpoint) dialFunc {
	return func(ctx context.Context) (stream, error) {
		o, err := c.openChannel(ctx, "direct-tcpip", ssh.Marshal(&directTCPIP{e.host, uint32(e.port), "127.0.0.1", 0}))
		if err != nil {
			return nil, c.reachRefused(e, err)
		}
		if !c.work.start(func() { ssh.DiscardRequests(o.reqs) }) {
			return nil, c.lostError("")
		}
		return &tunnel{Channel: o.ch, host: e.host, port: e.port}, nil
	}
}

// reachRefused says why a jump host did not connect us.
func (c *Conn) reachRefused(e *endpoint, err error) error {
	open, ok := errors.AsType[*ssh.OpenChannelError](err)
	if !ok {
		return err
	}
	cause := fmt.Errorf("the jump host %s: dial %s: %s", c.e.to.Host, e.address(), cmp.Or(farText(open.Message), open.Reason.String()))
	switch open.Reason {
	case ssh.Prohibited:
		return connectError(transport.ClassConnect, e.to.Host, cause, "Its sshd_config forbids it: see AllowTcpForwarding, PermitOpen and DisableForwarding.")
	case ssh.ResourceShortage:
		return connectError(transport.ClassThrottled, e.to.Host, cause, "")
	}
	return connectError(transport.ClassConnect, e.to.Host, cause, "")
}

// A tunnel is a channel through a jump host as a net.Conn without deadlines;
// the handshake's time limit closes it.
type tunnel struct {
	ssh.Channel
	host string
	port int
}

func (t *tunnel) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4zero} }
func (t *tunnel) RemoteAddr() net.Addr { return tunnelAddr{t.host, t.port} }

func (t *tunnel) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (t *tunnel) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (t *tunnel) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

// tunnelAddr is the far end of a tunnel, whose name only the jump host has
// resolved.
type tunnelAddr struct {
	host string
	port int
}

func (tunnelAddr) Network() string  { return "tcp" }
func (a tunnelAddr) String() string { return net.JoinHostPort(a.host, fmt.Sprint(a.port)) }
