// Package daemon serves a pool of connections to the command lines of one
// user, over a unix socket.
//
// A Server owns its socket (and the lock beside it), a goroutine that accepts
// clients, one goroutine for each client that reads its frames, one goroutine
// for each request in progress, and the contents that clients have offered. All
// of them have ended when Run returns. The Server opens no connection itself. A
// request to dial goes to the pool, with the client's own router; all other
// requests go to the leased connection.
//
// If a client ends, all work that it has begun ends. If a client is merely
// stopped (^Z), its connections are kept, as they would be without a daemon.
// The memory that a stopped client can occupy is bounded by wire.Window for
// each request, the queue of one wire.Writer, and the data that the transport
// reads before it makes a machine wait. Only the client's own requests wait.
//
// Package wire defines the protocol; docs/pool-protocol.md describes it.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"bolt/pool"
	"bolt/pool/wire"
	"bolt/transport"
)

// DefaultIdleTimeout is how long a daemon runs without work.
const DefaultIdleTimeout = 15 * time.Minute

// A RouterFunc makes the router of one client. c identifies the client. answer
// returns the passphrases that the client has sent so far; ok is false if there
// is none for path. warn receives the router's warnings. Both functions may be
// called at any time and return at once.
type RouterFunc func(c wire.Caller, answer func(path string) (secret transport.Secret, ok bool), warn func(id, text string)) transport.Router

// Options configure a Server. Socket (or Listener), Pool and Router are
// required.
type Options struct {
	// Socket is the path of the socket. Its directory is made if it is missing.
	// The directory must belong to this user, and no other user may have access
	// to it.
	Socket string
	// Listener is a listener that listens already (socket activation). The
	// Server does not touch its file and takes no lock.
	Listener net.Listener

	Pool   *pool.Pool // Run closes it
	Router RouterFunc

	// IdleTimeout is how long the daemon runs when it has no clients and no
	// connection is in use; 0 means DefaultIdleTimeout.
	IdleTimeout time.Duration

	Build string // version of the program, and
	Made  int64  // when it was made, see wire.Greeting
	Log   string // path of the log file, for the status
	// Limits are the limits of the pool, for the status; 0 means its default.
	Limits wire.Limits

	// ContentDir is the directory of large contents, which are files without a
	// name. "" means the system's temporary directory.
	ContentDir string
	// MaxContents bounds the bytes of unused contents; 0 means
	// DefaultMaxContents.
	MaxContents int64

	Logger *slog.Logger // nil discards
}

// A Server is the daemon.
type Server struct {
	o        Options
	log      *slog.Logger
	socket   *socket
	contents *store
	life     *life
	started  time.Time
	work     sync.WaitGroup // accepting, and the clients
	stopped  chan struct{}  // closed when everything but last has ended
	last     sync.WaitGroup // of the answers to "stop"
}

// New takes the lock and listens. If another daemon has the lock, ErrRunning is
// in the chain of the error. Callers must call Run, which serves clients.
func New(o Options) (*Server, error) {
	if o.Pool == nil || o.Router == nil {
		return nil, errors.New("pool daemon: no pool or no router")
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.MaxContents == 0 {
		o.MaxContents = DefaultMaxContents
	}
	if o.Limits.MaxConnections == 0 {
		o.Limits.MaxConnections = pool.DefaultMaxConnections
	}
	if o.Limits.IdleTimeout == 0 {
		o.Limits.IdleTimeout = pool.DefaultIdleTimeout
	}
	s := &Server{o: o, log: o.Logger, started: time.Now(), stopped: make(chan struct{}), contents: newStore(o.ContentDir, o.MaxContents)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.life = newLife(o.IdleTimeout, o.Pool.Busy)
	if o.Listener != nil {
		s.socket = &socket{listener: o.Listener, path: o.Listener.Addr().String()}
		return s, nil
	}
	var err error
	if s.socket, err = listen(o.Socket); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr returns the path of the socket.
func (s *Server) Addr() string { return s.socket.path }

// errEnding is the cause if requests end because the daemon ends.
var errEnding = errors.New("the pool daemon ends")

// Run serves clients until the daemon is idle, stopped or drained, or ctx ends.
// The end of ctx stops the daemon: running requests are cancelled. Run releases
// the socket and the lock first, so that the next daemon need not wait. When it
// returns, everything is closed and all goroutines have ended.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.log.Info("pool daemon starts", "socket", s.socket.path, "version", s.o.Build)
	s.life.start()
	broken := make(chan error, 1)
	s.work.Go(func() {
		if err := s.accept(ctx); err != nil {
			broken <- err
		}
	})
	var err error
	select {
	case <-ctx.Done():
		s.life.end("context ended")
	case <-s.life.over:
	case err = <-broken:
		s.life.end("its socket failed")
	}
	s.log.Info("pool daemon ends", "reason", s.life.reason())
	if closing := s.socket.close(); closing != nil {
		s.log.Warn("close the socket", "err", closing)
	}
	cancel(errEnding)
	s.work.Wait()
	s.contents.close()
	if closing := s.o.Pool.Close(); closing != nil && err == nil {
		err = fmt.Errorf("close the pool: %w", closing)
	}
	close(s.stopped)
	s.last.Wait()
	s.log.Info("pool daemon has ended", "after", time.Since(s.started).Round(time.Second))
	return err
}
