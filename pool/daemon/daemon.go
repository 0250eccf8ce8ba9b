// Package daemon serves a pool of connections to the command lines of one
// user, over a unix socket.
//
// A Server owns its socket (and the lock beside it), a goroutine that accepts
// clients, one for each client that reads its frames, one for each request
// that is being worked on, and the contents that clients have offered. All of
// them have ended when Run returns. It opens no connection itself: a request
// to dial goes to the pool, with the client's own view of how to reach
// machines, and everything else to the connection that was leased.
//
// A client that dies takes with it all that it had begun. One that is merely
// stopped (^Z) is kept, as its connections would be without a daemon: what it
// can make us hold is bounded by wire.Window for each request, the queue of one
// wire.Writer, and what the transport takes before it makes a machine wait; and
// only its own requests wait.
//
// The protocol is package wire's; docs/pool-protocol.md describes it.
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

// DefaultIdleTimeout is how long a daemon stays without anything to do.
const DefaultIdleTimeout = 15 * time.Minute

// A RouterFunc makes the view of one client: who it is, the passphrases that
// it has answered so far (ok is false where nobody was asked yet), and where
// its warnings go. Both functions may be called at any time, and return at once.
type RouterFunc func(c wire.Caller, answer func(path string) (secret transport.Secret, ok bool), warn func(id, text string)) transport.Router

// Options shape a Server. Socket (or Listener), Pool and Router are needed.
type Options struct {
	// Socket is the path of the socket. Its directory is made if missing; it
	// has to be ours, and closed to everybody else.
	Socket string
	// Listener listens already (socket activation). Its file is not touched,
	// and no lock is taken.
	Listener net.Listener

	Pool   *pool.Pool // Run closes it
	Router RouterFunc

	// IdleTimeout is how long the daemon stays when it has no clients and no
	// connection is in use; 0: DefaultIdleTimeout.
	IdleTimeout time.Duration

	Build string // version of the program, and
	Made  int64  // when it was made: see wire.Greeting
	Log   string // path of the log file, for the status
	// Limits are the pool's, for the status; zero ones are its defaults.
	Limits wire.Limits

	// ContentDir is where large contents are kept, in files without a name;
	// "" for the system's temporary directory.
	ContentDir string
	// MaxContents bounds the bytes of contents that nobody uses any more;
	// 0: DefaultMaxContents.
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
	last     sync.WaitGroup // telling so
}

// New takes the lock and listens. ErrRunning is in the chain of the error if
// another daemon has the lock. Clients are served when Run is called, which
// has to be.
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

// Addr is the path of the socket.
func (s *Server) Addr() string { return s.socket.path }

// errEnding is why requests end when the daemon does.
var errEnding = errors.New("the pool daemon ends")

// Run serves clients until the daemon is idle, stopped or drained, or ctx
// ends, which is as being stopped: what runs is cancelled. Before it ends
// anything it gives the socket and the lock up, so that the next daemon need
// not wait. When it returns, everything is closed and all goroutines have ended.
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
		s.life.end("told to end")
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
