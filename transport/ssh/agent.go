package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"bolt/internal/filestamp"
	"bolt/internal/safetext"
)

// agentListAge is the time for which a list of the agent's keys is cached. Some
// agents (smart cards) are slow to list their keys, and a thousand dials may
// begin at once.
const agentListAge = 2 * time.Second

// agentIdle is the time for which an unused connection to an agent stays open.
// The socket of a forwarded agent disappears with its login session.
const agentIdle = 30 * time.Second

// agents holds the connections to ssh-agents: one for each socket file, opened
// when first needed. If the path later leads to another socket, that is another
// connection. The client of x/crypto pipelines the requests of all users of a
// connection. The agent answers them in order.
type agents struct {
	work sync.WaitGroup // running calls

	mu     sync.Mutex
	closed bool
	open   map[agentSocket]*agentConn
}

// An agentSocket is the path of a socket and the state of its file when bolt
// looked at it.
type agentSocket struct {
	path  string
	stamp filestamp.Stamp
}

// An agentConn is a connection to an agent.
type agentConn struct {
	socket agentSocket
	conn   *agentWire
	client agent.ExtendedAgent

	users int         // guarded by agents.mu, like idle
	idle  *time.Timer // closes it; nil until the first user has released it

	listing chan struct{} // held while the list is fetched
	listed  time.Time     // guarded by listing, like keys
	keys    []*agent.Key
}

// An agentWire records that the connection has failed. The errors of x/crypto
// do not distinguish a connection that has ended from an agent that refuses.
type agentWire struct {
	net.Conn
	failed atomic.Bool
}

func (w *agentWire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.failed.CompareAndSwap(false, err != nil)
	return n, err
}

func (w *agentWire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.failed.CompareAndSwap(false, err != nil)
	return n, err
}

func newAgents() *agents { return &agents{open: make(map[agentSocket]*agentConn)} }

// agentSocket returns the socket of the agent that an endpoint uses:
// IdentityAgent in ssh_config, else Caller.AgentSocket. It returns "" if no
// agent is configured.
func (v *View) agentSocket(e *endpoint) string {
	switch s := e.conf.IdentityAgent; {
	case s == "" || s == "SSH_AUTH_SOCK":
		return v.caller.AgentSocket
	case strings.EqualFold(s, "none"):
		return ""
	default:
		return s
	}
}

// candidates lists the keys of an agent.
func (a *agents) candidates(ctx context.Context, socket string) ([]candidate, error) {
	if socket == "" {
		return nil, nil
	}
	keys, err := a.list(ctx, socket)
	if err != nil && ctx.Err() == nil {
		// The agent may have been restarted in the meantime.
		keys, err = a.list(ctx, socket)
	}
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("agent (no socket at %s)", socket)
		}
		return nil, caused{fmt.Sprintf("agent (%s)", safetext.Message(err.Error())), err}
	}
	var out []candidate
	for _, k := range keys {
		public, err := ssh.ParsePublicKey(k.Blob)
		if err != nil {
			continue // bolt does not support this type of key
		}
		out = append(out, candidate{
			id: string(k.Blob), label: "agent: " + safetext.Message(cmp.Or(k.Comment, k.Format)), public: public,
			sign: func(ctx context.Context, data []byte, algorithm string) (*ssh.Signature, error) {
				return a.sign(ctx, socket, k, data, algorithm)
			},
		})
	}
	return out, nil
}

func (a *agents) list(ctx context.Context, socket string) ([]*agent.Key, error) {
	c, err := a.connect(ctx, socket)
	if err != nil {
		return nil, err
	}
	defer a.rest(c)
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !c.listed.IsZero() && time.Since(c.listed) < agentListAge {
		return c.keys, nil
	}
	keys, err := call(ctx, a, func() ([]*agent.Key, error) { return c.client.List() })
	if err != nil {
		a.drop(c)
		return nil, err
	}
	c.keys, c.listed = keys, time.Now()
	return keys, nil
}

// sign makes the agent sign data. If the connection has ended, sign tries a new
// one, once. It does not repeat a request that the agent refuses: the agent may
// have asked a person.
func (a *agents) sign(ctx context.Context, socket string, key *agent.Key, data []byte, algorithm string) (*ssh.Signature, error) {
	var flags agent.SignatureFlags
	switch algorithm {
	case ssh.KeyAlgoRSASHA256:
		flags = agent.SignatureFlagRsaSha256
	case ssh.KeyAlgoRSASHA512:
		flags = agent.SignatureFlagRsaSha512
	}
	for again := false; ; again = true {
		c, err := a.connect(ctx, socket)
		if err != nil {
			return nil, err
		}
		sig, err := call(ctx, a, func() (*ssh.Signature, error) { return c.client.SignWithFlags(key, data, flags) })
		a.rest(c)
		if err == nil || !c.conn.failed.Load() {
			return sig, err
		}
		a.drop(c)
		if again || ctx.Err() != nil {
			return nil, err
		}
	}
}

// connect returns the connection to a socket. The caller must release it with
// rest.
func (a *agents) connect(ctx context.Context, path string) (*agentConn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errDialerClosed
	}
	for {
		socket := agentSocket{path, filestamp.At(path)}
		if c := a.open[socket]; c != nil {
			c.users++
			return c, nil
		}
		// A Unix socket answers at once or not at all, so the lock may be held
		// meanwhile.
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		if filestamp.At(path) != socket.stamp { // the path may lead to another socket now
			conn.Close()
			continue
		}
		w := &agentWire{Conn: conn}
		c := &agentConn{socket: socket, conn: w, client: agent.NewClient(w), users: 1, listing: make(chan struct{}, 1)}
		a.open[socket] = c
		return c, nil
	}
}

// rest releases a connection. It is closed if it is unused for agentIdle.
func (a *agents) rest(c *agentConn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.users--; c.users > 0 || a.open[c.socket] != c {
		return
	}
	if c.idle != nil {
		c.idle.Reset(agentIdle)
		return
	}
	c.idle = time.AfterFunc(agentIdle, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if c.users == 0 && a.open[c.socket] == c {
			delete(a.open, c.socket)
			c.conn.Close()
		}
	})
}

// drop closes a connection that has failed and forgets it.
func (a *agents) drop(c *agentConn) {
	a.mu.Lock()
	if a.open[c.socket] == c {
		delete(a.open, c.socket)
	}
	if c.idle != nil {
		c.idle.Stop()
	}
	a.mu.Unlock()
	c.conn.Close()
}

// close ends all connections, and with them the running calls, and waits for
// the calls.
func (a *agents) close() {
	a.mu.Lock()
	a.closed = true
	for _, c := range a.open {
		if c.idle != nil {
			c.idle.Stop()
		}
		c.conn.Close()
	}
	clear(a.open)
	a.mu.Unlock()
	a.work.Wait()
}

// call runs a request to an agent. The request may take as long as a person
// needs to confirm it. If ctx ends first, the answer is discarded; close waits
// for it.
func call[T any](ctx context.Context, a *agents, f func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	var zero T
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return zero, errDialerClosed
	}
	answers := make(chan answer, 1)
	a.work.Go(func() {
		v, err := f()
		answers <- answer{v, err}
	})
	a.mu.Unlock()
	select {
	case r := <-answers:
		return r.v, r.err
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

// errDialerClosed is the error of operations that still run when a Dialer is
// closed.
var errDialerClosed = errors.New("dialer is closed")
