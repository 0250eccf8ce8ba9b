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
	// maxClients is far more command lines than one person has at work, and
	// few enough for the descriptors that are left beside the connections.
	maxClients = 1000
	// greetTimeout is how long a client may take for its Hello, which it
	// sends at once.
	greetTimeout = 10 * time.Second
	// firstPause and lastPause bound the waits between attempts to accept
	// when the process is out of descriptors or memory.
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
	// givenUp is how many unused connections go when descriptors are short:
	// some clients' worth.
	givenUp = 8
)

// accept lets clients in until the socket is closed.
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

// admit starts to serve whoever has connected, if it is one of us.
func (s *Server) admit(ctx context.Context, conn net.Conn) {
	uid, pid, err := peercred.Of(conn)
	if err != nil || uid != os.Geteuid() {
		s.log.Warn("turned a stranger away", "uid", uid, "pid", pid, "err", err)
		conn.Close()
		return
	}
	n, ok := s.life.enter(maxClients)
	if !ok {
		s.log.Warn("turned a client away", "pid", pid, "clients", n)
		s.work.Go(func() { s.turnAway(ctx, conn, n) })
		return
	}
	s.work.Go(func() {
		defer s.life.leave()
		s.serve(ctx, conn, pid)
	})
}

// turnAway refuses a client without hearing it.
func (s *Server) turnAway(ctx context.Context, conn net.Conn, n int) {
	defer conn.Close()
	reason, leaving := fmt.Sprintf("the pool daemon (pid %d) has %d clients and serves no more", os.Getpid(), n), false
	if s.life.pulse().ending {
		reason, leaving = s.endingReason(), true
	}
	// It fits into an empty socket, so nothing can block.
	if wire.NewWriter(conn).Send(wire.Refused, 0, s.refusal(leaving, reason)) == nil && leaving {
		<-ctx.Done()
	}
}

func (s *Server) endingReason() string {
	return fmt.Sprintf("the pool daemon (pid %d) is ending", os.Getpid())
}

// refusal is the body of a Refused.
func (s *Server) refusal(leaving bool, reason string) []byte {
	r := wire.Refusal{Version: wire.Version, Build: s.o.Build, Leaving: leaving, Reason: reason}
	return r.Encode()
}

// greet reads a Hello and answers it. Nil is whom we do not serve. A client
// that we make room for sees its connection end when the place is free, at
// the end of ctx.
func (s *Server) greet(ctx context.Context, frames *wire.Reader, w *wire.Writer) (*wire.Greeting, error) {
	f, err := frames.Next()
	if err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	if f.Type != wire.Hello || f.ID != 0 {
		return nil, fmt.Errorf("greeting: frame of type %d instead of one", f.Type)
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

// refuses decides about a client: a newer one replaces a daemon that has
// nothing to lose, and is served by one that has, if they understand each other.
func (s *Server) refuses(g *wire.Greeting) (reason string, leaving bool) {
	p := s.life.pulse()
	speaks := g.Version == wire.Version
	switch {
	case p.ending:
		return s.endingReason(), true
	case g.Made > s.o.Made && s.life.yield("a client of a newer build came: "+g.Build):
		return fmt.Sprintf("the pool daemon (pid %d) is of an older bolt (%s) and makes room", os.Getpid(), s.o.Build), true
	case !speaks && g.Made > s.o.Made:
		return fmt.Sprintf("the pool daemon (pid %d) is of an older bolt (%s) and still at work; it makes room when it has nothing to do, or end it: kill %d",
			os.Getpid(), s.o.Build, os.Getpid()), false
	case !speaks:
		return fmt.Sprintf("the pool daemon (pid %d) is of another bolt (%s); end it with that one's \"pool stop\", or go without: --pool off", os.Getpid(), s.o.Build), false
	case p.draining:
		return fmt.Sprintf("the pool daemon (pid %d) is draining and ends with what it does now (%d requests)", os.Getpid(), p.requests), false
	}
	return "", false
}
