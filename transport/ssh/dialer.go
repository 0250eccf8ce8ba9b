// Package ssh reaches machines over SSH: it implements transport.Dialer and
// transport.Conn with golang.org/x/crypto/ssh.
//
// A Dialer reads ssh_config, known_hosts, key files and the agent once for
// all machines, limits how many handshakes one server sees at a time, retries
// those that a busy server sheds, and shares the connections to jump hosts.
// A Conn runs each command in a session of its own, stays below the server's
// MaxSessions, opens one session ahead so that a command on an open
// connection costs one round trip, and asks for a sign of life when nothing
// has come for a while.
//
// A Conn owns four goroutines and its socket, three or four goroutines more
// for each running session, and ends with Close. A Dialer owns the connection
// to the agent and those to jump hosts; Dialer.Close ends them.
//
// Specifications: RFC 4251 to 4254, 4256, 8308, 8332; OpenSSH's ssh_config(5),
// sshd_config(5), PROTOCOL, PROTOCOL.certkeys and PROTOCOL.krl.
package ssh

import (
	"context"
	"fmt"
	"log/slog"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"bolt/transport"
)

// Options are the settings of a Dialer that hold for all machines. The zero
// value is useful.
type Options struct {
	// Home is the home directory whose .ssh holds the user's files, and what ~
	// stands for; "" for the password file's.
	Home string
	// Env looks up the environment variables that ssh_config mentions; nil:
	// there are none.
	Env func(string) (string, bool)
	// UserConfig and SystemConfig are the ssh_config files, "" for
	// Home/.ssh/config and /etc/ssh/ssh_config. They are read at the first
	// Dial with LoadConfig set.
	UserConfig, SystemConfig string
	// AgentSocket is the path of the agent's socket (the value of
	// SSH_AUTH_SOCK); "" for none. ssh_config's IdentityAgent wins over it.
	AgentSocket string

	// Passphrase asks somebody for the passphrase of a key file. It is
	// called for one file at a time, and once for all machines, but again
	// (maxPassphraseTries in all) when the answer was wrong. The time it takes
	// does not count against ConnectTimeout. nil: encrypted keys are not used.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)

	// Warn is told of what is odd but no failure, with the warning's ID; the
	// same text is told once. It may be called from several goroutines at a
	// time. nil: it goes to Logger.
	Warn func(id, text string)

	// MaxSessions is how many sessions a connection has open at a time until
	// the server teaches it a lower number; 0 for DefaultMaxSessions.
	MaxSessions int

	// KeepSpare opens a new spare session whenever one has been used, for
	// connections that are kept; otherwise only the first command gets one.
	KeepSpare bool

	Logger *slog.Logger // nil discards
}

const (
	// DefaultMaxSessions stays below OpenSSH's MaxSessions of 10: a session's
	// place is only free again when the server has reaped its process.
	DefaultMaxSessions = 8

	// DefaultKeepalive is how long a connection may be silent before the peer
	// is asked for a sign of life, and defaultKeepaliveMisses how many of these
	// questions in a row may stay unanswered.
	DefaultKeepalive       = 15 * time.Second
	defaultKeepaliveMisses = 3

	// DefaultDisconnectTimeout bounds a polite Close.
	DefaultDisconnectTimeout = 5 * time.Second
)

// A Dialer is a transport.Dialer for the protocol "ssh".
type Dialer struct {
	o       Options
	log     *slog.Logger
	keys    *keyring
	agent   *agents
	known   *hostKeys
	revoked *revokedKeys
	gates   *gates

	config   func() (*configFiles, error) // read once
	noConfig func() (*configFiles, error) // what holds without files

	work crew // dials of jump hosts, handshakes

	login func() (string, error) // our own user name, looked up once

	mu         sync.Mutex
	closed     bool
	hops       map[transport.Dest]*hop
	warned     map[string]bool
	algorithms map[algorithmLists]algorithmSet
}

// NewDialer returns a Dialer. Nothing is read or opened before the first Dial.
func NewDialer(o Options) (*Dialer, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if o.Home == "" {
		u, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("home directory: %w", err)
		}
		o.Home = u.HomeDir
	}
	if o.UserConfig == "" {
		o.UserConfig = filepath.Join(o.Home, ".ssh", "config")
	}
	if o.SystemConfig == "" {
		o.SystemConfig = "/etc/ssh/ssh_config"
	}
	if o.MaxSessions < 0 {
		return nil, fmt.Errorf("MaxSessions %d: must not be negative", o.MaxSessions)
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	d := &Dialer{
		o: o, log: log,
		agent:      newAgents(),
		known:      newHostKeys(log),
		revoked:    newRevokedKeys(),
		gates:      newGates(),
		login:      sync.OnceValues(loginName),
		hops:       make(map[transport.Dest]*hop),
		warned:     make(map[string]bool),
		algorithms: make(map[algorithmLists]algorithmSet),
	}
	d.keys = newKeyring(o.Passphrase)
	facts := currentFacts(o.Home, o.Env)
	d.config = sync.OnceValues(func() (*configFiles, error) { return loadConfigFiles(facts, o.UserConfig, o.SystemConfig, log) })
	d.noConfig = sync.OnceValues(func() (*configFiles, error) { return loadConfigFiles(facts, "", "", log) })
	return d, nil
}

// Dial returns an open, authenticated connection. Its errors are
// *transport.Error with the codes CONNECT_ERROR, AUTH_ERROR and
// HOST_KEY_ERROR. A handshake that a busy server sheds is tried again for up
// to throttleBudget, with to.ConnectTimeout for each try.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	c, err := d.open(ctx, to)
	if err != nil {
		return nil, err
	}
	c.prepareSpare()
	return c, nil
}

// Close ends the connections to jump hosts and to the agent, and waits for
// what the Dialer still does, so end the contexts of running Dials first.
// Connections that Dial has returned stay open, unless they go through a jump
// host.
func (d *Dialer) Close() error {
	d.mu.Lock()
	d.closed = true
	hops := make([]*hop, 0, len(d.hops))
	for _, h := range d.hops {
		hops = append(hops, h)
	}
	clear(d.hops)
	d.mu.Unlock()
	for _, h := range hops {
		h.cancel()
		<-h.ready
		if h.conn != nil {
			h.conn.Close()
		}
	}
	d.agent.close()
	d.work.finish()
	return nil
}

// warn tells Options.Warn, or the log if there is none, once for each text.
func (d *Dialer) warn(id, text string) {
	d.mu.Lock()
	again := d.warned[text]
	d.warned[text] = true
	d.mu.Unlock()
	if again {
		return
	}
	if d.o.Warn != nil {
		d.o.Warn(id, text)
		return
	}
	d.log.Warn(text, "id", id)
}

// open reaches a destination, through jump hosts if need be.
func (d *Dialer) open(ctx context.Context, to transport.Dest) (*Conn, error) {
	if to.Protocol != "" && to.Protocol != "ssh" {
		return nil, &transport.Error{Class: transport.ClassUnsupported, Code: codeConnect,
			Msg: fmt.Sprintf("Failed to connect to %s: protocol %q is not ssh", to.Host, to.Protocol)}
	}
	e, err := d.resolve(to)
	if err != nil {
		return nil, err
	}
	if e.jump == nil {
		return d.connect(ctx, e, d.straight(e))
	}
	// Before anybody waits for anybody: a hop that waits for itself, or two
	// for each other, would do so forever.
	if err := d.checkJumps(e); err != nil {
		return nil, err
	}
	via, release, err := d.borrow(ctx, *e.jump)
	if err != nil {
		return nil, e.throughJump(err)
	}
	c, err := d.connect(ctx, e, via.reach(e))
	if err != nil {
		release()
		return nil, err
	}
	c.onClosed = release
	return c, nil
}
