// Package ssh reaches machines over SSH: it implements transport.Dialer and
// transport.Conn with golang.org/x/crypto/ssh.
//
// A Dialer serves any number of callers, each with a home directory,
// environment, agent and passphrases of its own (Caller, View). It reads
// ssh_config, known_hosts and key files once for all of them, and again when
// they have changed; it limits how many handshakes one server sees at a time,
// retries those that a busy server sheds, and shares the connections to jump
// hosts. A Conn runs each command in a session of its own, stays below the
// server's MaxSessions, opens one session ahead so that a command on an open
// connection costs one round trip, starts shells ahead on a connection that is
// kept so that a script costs one, too, and asks for a sign of life when nothing
// has come for a while. It can be kept: its Route names it, and Check tells
// whether it may still be used.
//
// A Conn owns four goroutines and its socket, three or four goroutines more
// for each running session, and ends with Close. A Dialer owns the
// connections to agents and to jump hosts; Dialer.Close ends them.
//
// transport/ssh/config reads ssh_config, transport/ssh/knownhosts judges host keys,
// transport/ssh/sftp copies files where there is no tar.
//
// Specifications: RFC 4251 to 4254, 4256, 4462, 8308, 8332; OpenSSH's
// sshd_config(5) and PROTOCOL.
package ssh

import (
	"context"
	"fmt"
	"log/slog"
	"os/user"
	"sync"
	"sync/atomic"
	"time"

	"bolt/transport"
	"bolt/transport/ssh/config"
	"bolt/transport/ssh/knownhosts"
	"bolt/transport/ssh/sftp"
)

// Options are the settings of a Dialer that hold for all machines. The zero
// value is useful.
type Options struct {
	// Caller is on whose behalf Dialer.Dial acts, and the default home
	// directory of other callers; an empty Home is the password file's.
	Caller

	// MaxSessions is how many sessions a connection has open at a time until
	// the server teaches it a lower number; 0 for the default.
	MaxSessions int

	// Keep is for connections that are kept: a new spare session is opened
	// whenever one has been used, and shells are started ahead. Otherwise
	// only the first command gets a spare session.
	Keep bool

	eager bool // tests want ready shells on short links

	Logger *slog.Logger // nil discards
}

const (
	// defaultMaxSessions stays below OpenSSH's MaxSessions of 10: a session's
	// place is only free again when the server has reaped its process.
	defaultMaxSessions = 8

	// defaultKeepalive is how long a connection may be silent before the peer
	// is asked for a sign of life, and defaultKeepaliveMisses how many of these
	// questions in a row may stay unanswered.
	defaultKeepalive       = 15 * time.Second
	defaultKeepaliveMisses = 3

	// defaultDisconnectTimeout bounds a polite Close.
	defaultDisconnectTimeout = 5 * time.Second
)

// A Dialer is a transport.Dialer for the protocol "ssh". It serves any number
// of callers, each through a View; Dial is the default caller's.
type Dialer struct {
	o       Options
	log     *slog.Logger
	home    string // the default
	own     *View  // of the default caller
	configs *config.Cache
	files   *keyFiles
	agent   *agents
	known   *knownhosts.Files
	revoked *knownhosts.RevokedFiles
	gates   *gates
	routes  *routeKeys

	listings *sftp.Budget

	made   time.Time
	viewed atomic.Int64 // how long after made the latest caller came

	work crew // dials of jump hosts, handshakes

	login func() (string, error) // our own user name, looked up once

	mu         sync.Mutex
	closed     bool
	hops       map[string]*hop // by route key
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
	if o.MaxSessions < 0 {
		return nil, fmt.Errorf("MaxSessions %d: must not be negative", o.MaxSessions)
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = defaultMaxSessions
	}
	d := &Dialer{
		o: o, log: log, home: o.Home, made: time.Now(),
		configs:    config.NewCache(log),
		files:      newKeyFiles(),
		agent:      newAgents(),
		known:      knownhosts.NewFiles(log),
		revoked:    knownhosts.NewRevokedFiles(),
		gates:      newGates(),
		routes:     newRouteKeys(),
		listings:   &sftp.Budget{Limits: sftp.DefaultLimits()},
		login:      sync.OnceValues(loginName),
		hops:       make(map[string]*hop),
		algorithms: make(map[algorithmLists]algorithmSet),
	}
	d.own = d.As(o.Caller)
	return d, nil
}

// Dial is View.Dial for the default caller.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	return d.own.Dial(ctx, to)
}

// Route is View.Route for the default caller.
func (d *Dialer) Route(ctx context.Context, to transport.Dest) (transport.Route, error) {
	return d.own.Route(ctx, to)
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
