package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
	"bolt/transport"
)

// A hop is the connection to a jump host. All routes through the same jump host
// with the same key share it, also for different callers.
type hop struct {
	cancel context.CancelFunc // of the dial
	ready  chan struct{}      // closed when conn or err is set
	conn   *Conn
	err    error

	users int // guarded by Dialer.mu
}

// borrow returns the connection to a jump host, and dials it if it is not open
// yet. If a caller gives up, the dial continues for the other callers that wait
// for it. The connection ends when the last user has called release.
func (d *Dialer) borrow(ctx context.Context, via *route) (*Conn, func(), error) {
	key, host := via.key(), via.e.to.Host
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, nil, connectError(transport.ClassCancelled, host, errDialerClosed, "")
	}
	h := d.hops[key]
	if h == nil {
		dial, cancel := context.WithCancel(context.WithoutCancel(ctx))
		h = &hop{cancel: cancel, ready: make(chan struct{})}
		d.hops[key] = h
		d.work.start(func() { d.dialHop(dial, h, via, key) })
	}
	shared := h.users > 0
	h.users++
	d.mu.Unlock()

	release := sync.OnceFunc(func() { d.release(h, key) })
	select {
	case <-h.ready:
		if h.err != nil {
			release()
			return nil, nil, h.err
		}
		if shared && h.conn.Check(ctx) != nil && ctx.Err() == nil {
			d.forget(h, key) // its users will notice
			release()
			return d.borrow(ctx, via)
		}
		return h.conn, release, nil
	case <-ctx.Done():
		release()
		class := transport.ClassCancelled
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			class = transport.ClassTimeout
		}
		return nil, nil, connectError(class, host, context.Cause(ctx), "")
	}
}

// forget prevents further use of a hop by others.
func (d *Dialer) forget(h *hop, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hops[key] == h {
		delete(d.hops, key)
	}
}

func (d *Dialer) dialHop(ctx context.Context, h *hop, via *route, key string) {
	defer h.cancel()
	conn, err := via.open(ctx)
	d.mu.Lock()
	h.conn, h.err = conn, err
	abandoned := h.users == 0 || d.closed
	if (err != nil || abandoned) && d.hops[key] == h {
		delete(d.hops, key)
	}
	close(h.ready)
	d.mu.Unlock()
	if abandoned && conn != nil {
		conn.Close()
	}
}

func (d *Dialer) release(h *hop, key string) {
	d.mu.Lock()
	h.users--
	last := h.users == 0
	if last && d.hops[key] == h {
		delete(d.hops, key)
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
	default: // dialHop sees that it has no users
	}
}

// directTCPIP is the request to connect from a server to another address (RFC
// 4254 7.2).
type directTCPIP struct {
	Host       string
	Port       uint32
	OriginHost string
	OriginPort uint32
}

// reach returns the function that connects from this machine to an endpoint.
func (c *Conn) reach(e *endpoint) dialFunc {
	return func(ctx context.Context) (stream, error) {
		o, err := c.openChannel(ctx, "direct-tcpip", ssh.Marshal(&directTCPIP{e.host, uint32(e.port), "127.0.0.1", 0}))
		if err != nil {
			return nil, c.reachRefused(e, err)
		}
		if !c.work.start(o.reqs.drain) {
			return nil, c.lostError("")
		}
		return &tunnel{Channel: o.ch, host: e.host, port: e.port}, nil
	}
}

// reachRefused returns the error if a jump host did not connect.
func (c *Conn) reachRefused(e *endpoint, err error) error {
	open, ok := errors.AsType[*ssh.OpenChannelError](err)
	if !ok {
		return err
	}
	cause := fmt.Errorf("the jump host %s: dial %s: %s", c.e.to.Host, e.address(), cmp.Or(safetext.Message(open.Message), open.Reason.String()))
	switch open.Reason {
	case ssh.Prohibited:
		return connectError(transport.ClassConnect, e.to.Host, cause, "The jump host's sshd_config forbids it: see AllowTcpForwarding, PermitOpen and DisableForwarding.")
	case ssh.ResourceShortage:
		return connectError(transport.ClassThrottled, e.to.Host, cause, "")
	}
	return connectError(transport.ClassConnect, e.to.Host, cause, "")
}

// A tunnel is a channel through a jump host as a net.Conn. It has no deadlines;
// the time limit of the handshake closes it.
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

// tunnelAddr is the address of the far end of a tunnel. Only the jump host has
// resolved its name.
type tunnelAddr struct {
	host string
	port int
}

func (tunnelAddr) Network() string  { return "tcp" }
func (a tunnelAddr) String() string { return net.JoinHostPort(a.host, fmt.Sprint(a.port)) }
