package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"bolt/internal/peercred"
	"bolt/pool/wire"
)

const (
	// maxClients is far more than the invocations that one user runs at a time,
	// and leaves enough descriptors for the connections.
	maxClients = 1000
	// greetTimeout is how long a client may take for its Hello, which it
	// sends at once.
	greetTimeout = 10 * time.Second
	// firstPause and lastPause bound the pauses between attempts to accept when
	// the process is out of descriptors or memory.
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
	// givenUp is how many unused connections are closed when descriptors are
	// short: enough for some clients.
	givenUp = 8
)

// accept admits clients until the socket is closed.
func (s *Server) accept(ctx context.Context) error {
	pause := firstPause
	for {
		conn, err := s.socket.listener.Accept()
		switch {
		case err == nil:
			pause = firstPause
			s.admit(ctx, conn)
		case errors.Is(err, net.ErrClosed):
			return nil
		case !passing(err):
			return fmt.Errorf("accept on %s: %w", s.socket.path, err)
		default:
			closed := s.o.Pool.CloseIdle(givenUp)
			s.log.Warn("accept a client", "err", err, "closed", closed)
			if closed > 0 {
				continue
			}
			select {
			case <-time.After(pause):
				pause = min(2*pause, lastPause)
			case <-ctx.Done():
			}
		}
	}
}

// passing reports whether accept(2) may succeed later.
func passing(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit starts to serve the process that has connected, if it belongs to this
// user.
func (s *Server) admit(ctx context.Context, conn net.Conn) {
	uid, pid, err := peercred.Of(conn)
	if err != nil || uid != os.Geteuid() {
		s.log.Warn("refused a process of another user", "uid", uid, "pid", pid, "err", err)
		conn.Close()
		return
	}
	n, ok := s.life.enter(maxClients)
	if !ok {
		s.log.Warn("refused a client", "pid", pid, "clients", n)
		s.work.Go(func() { s.turnAway(ctx, conn, n) })
		return
	}
	s.work.Go(func() {
		defer s.life.leave()
		s.serve(ctx, conn, pid)
	})
}

// turnAway refuses a client without reading its greeting.
func (s *Server) turnAway(ctx context.Context, conn net.Conn, n int) {
	defer conn.Close()
	reason, leaving := fmt.Sprintf("the pool daemon (pid %d) has %d clients, which is its limit", os.Getpid(), n), false
	if s.life.pulse().ending {
		reason, leaving = s.endingReason(), true
	}
	// The refusal fits into the buffer of an empty socket, so Send cannot block.
	if wire.NewWriter(conn).Send(wire.Refused, 0, s.refusal(leaving, reason)) == nil && leaving {
		<-ctx.Done()
	}
}

func (s *Server) endingReason() string {
	return fmt.Sprintf("the pool daemon (pid %d) is ending", os.Getpid())
}

// refusal returns the body of a Refused.
func (s *Server) refusal(leaving bool, reason string) []byte {
	r := wire.Refusal{Version: wire.Version, Build: s.o.Build, Leaving: leaving, Reason: reason}
	return r.Encode()
}

// greet reads a Hello and answers it. It returns nil for a client that it
// refuses. If the daemon ends in favour of that client, the client's connection
// ends with ctx, when the socket is free.
func (s *Server) greet(ctx context.Context, frames *wire.Reader, w *wire.Writer) (*wire.Greeting, error) {
	f, err := frames.Next()
	if err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	if f.Type != wire.Hello || f.ID != 0 {
		return nil, fmt.Errorf("greeting: frame of type %d instead of a Hello", f.Type)
	}
	g, err := wire.DecodeGreeting(f.Body)
	if err != nil {
		return nil, err
	}
	reason, leaving := s.refuses(g)
	if reason == "" {
		me := wire.Greeting{Version: wire.Version, Build: s.o.Build, Made: s.o.Made, PID: os.Getpid()}
		return g, w.Send(wire.Welcome, 0, me.Encode())
	}
	s.log.Info("refused a client", "reason", reason, "client", g.Build, "protocol", g.Version)
	if err = w.Send(wire.Refused, 0, s.refusal(leaving, reason)); err == nil && leaving {
		<-ctx.Done()
	}
	return nil, err
}

// refuses decides whether to refuse a client. A newer client replaces a daemon
// that has no other work. A busy daemon serves it, if both speak the same
// version of the protocol.
func (s *Server) refuses(g *wire.Greeting) (reason string, leaving bool) {
	p := s.life.pulse()
	speaks := g.Version == wire.Version
	switch {
	case p.ending:
		return s.endingReason(), true
	case g.Made > s.o.Made && s.life.yield("a client of a newer build came: "+g.Build):
		return fmt.Sprintf("the pool daemon (pid %d) is of an older bolt (%s) and ends", os.Getpid(), s.o.Build), true
	case !speaks && g.Made > s.o.Made:
		return fmt.Sprintf("the pool daemon (pid %d) is of an older bolt (%s) and still busy; it ends when it is idle. To end it now: kill %d",
			os.Getpid(), s.o.Build, os.Getpid()), false
	case !speaks:
		return fmt.Sprintf("the pool daemon (pid %d) is of another bolt (%s); end it with the \"pool stop\" of that bolt, or use --pool off", os.Getpid(), s.o.Build), false
	case p.draining:
		return fmt.Sprintf("the pool daemon (pid %d) is draining and ends when its %d running requests have ended", os.Getpid(), p.requests), false
	}
	return "", false
}
