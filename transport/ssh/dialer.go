// Package ssh connects to machines over SSH. It implements transport.Dialer and
// transport.Conn with golang.org/x/crypto/ssh.
//
// A Dialer serves any number of callers. Each caller has its own home
// directory, environment, agent and passphrases (Caller, View). The Dialer
// reads ssh_config, known_hosts and key files once for all callers, and again
// after they have changed. It limits the number of simultaneous handshakes with
// one server, repeats handshakes that a busy server refuses, and shares the
// connections to jump hosts.
//
// A Conn runs each command in its own session and stays below the server's
// MaxSessions. It opens one session in advance, so that a command on an open
// connection costs one round trip. On a cached connection, it also starts
// shells in advance, so that a script costs one round trip, too. If nothing has
// arrived for a while, it sends a keepalive. A Route names the connection for a
// cache, and Check reports whether it can still be used.
//
// A Conn owns four goroutines and its socket, and three or four more goroutines
// for each running session. Close ends them. A Dialer owns the connections to
// agents and to jump hosts; Dialer.Close ends them.
//
// Package transport/ssh/config parses ssh_config. Package
// transport/ssh/knownhosts checks host keys. Package transport/ssh/sftp copies
// files if the machine has no tar.
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

// Options are the settings of a Dialer for all machines. The zero value can be
// used.
type Options struct {
	// Caller is the caller of Dialer.Dial. Its home directory is the default
	// for other callers. An empty Home means the one in the password file.
	Caller

	// MaxSessions is the maximum number of open sessions on a connection, until
	// the server shows that it allows fewer. 0 means the default.
	MaxSessions int

	// Keep is set for connections that are cached. Then a new spare session is
	// opened whenever one has been used, and shells are started in advance.
	// Without Keep, only the first command gets a spare session.
	Keep bool

	eager bool // for tests: start shells in advance on fast links, too

	Logger *slog.Logger // nil discards
}

const (
	// defaultMaxSessions is below OpenSSH's default MaxSessions of 10, because
	// the server frees a session only when it has reaped the session's process.
	defaultMaxSessions = 8

	// defaultKeepalive is the time without any data from the peer after which a
	// keepalive is sent. defaultKeepaliveMisses is the number of keepalives in
	// a row that may stay unanswered.
	defaultKeepalive       = 15 * time.Second
	defaultKeepaliveMisses = 3

	// defaultDisconnectTimeout limits the time of an orderly Close.
	defaultDisconnectTimeout = 5 * time.Second
)

// A Dialer is a transport.Dialer for the protocol "ssh". It serves any number
// of callers, each through a View. Its own Dial method serves the default
// caller.
type Dialer struct {
	o       Options
	log     *slog.Logger
	home    string // home directory of the default caller
	own     *View  // View of the default caller
	configs *config.Cache
	files   *keyFiles
	agent   *agents
	known   *knownhosts.Files
	revoked *knownhosts.RevokedFiles
	gates   *gates
	routes  *routeKeys

	listings *sftp.Budget

	made   time.Time
	viewed atomic.Int64 // time from made to the creation of the latest View

	work crew // dials of jump hosts, and handshakes

	login func() (string, error) // login name of this process's user, looked up once

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

// Dial calls View.Dial for the default caller.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	return d.own.Dial(ctx, to)
}

// Route calls View.Route for the default caller.
func (d *Dialer) Route(ctx context.Context, to transport.Dest) (transport.Route, error) {
	return d.own.Route(ctx, to)
}

// Close ends the connections to jump hosts and to agents, and waits for the
// running work of the Dialer. So the caller must end the contexts of running
// Dials first. Connections that Dial has returned stay open unless they go
// through a jump host.
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
