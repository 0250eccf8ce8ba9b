package ssh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bolt/transport"
	"bolt/transport/shell"
)

// A pair is a Starter for a command that needs two sessions at a time: first a
// lifeline of package shell, then the command's own session. If several
// commands each had one session and waited for a second, they would block each
// other. So only one command at a time can be between its first and its second
// session.
type pair struct {
	*Conn
	between bool // it has the first session and blocks other pairs
}

// Start starts the first session, or the second one.
func (p *pair) Start(ctx context.Context, line string, tty bool) (shell.Session, error) {
	if p.between {
		defer p.done()
		return p.second(ctx, line, tty)
	}
	select {
	case p.pairing <- struct{}{}:
	case <-ctx.Done():
		return nil, p.interrupted(ctx, "waiting for a free session")
	case <-p.ended:
		return nil, p.lostError("")
	}
	p.between = true
	s, err := p.Conn.Start(ctx, line, tty)
	if err != nil {
		p.done()
	}
	return s, err
}

// done allows the next pair to start its sessions.
func (p *pair) done() {
	if p.between {
		p.between = false
		<-p.pairing
	}
}

// errOneSession is the error if the server does not allow a second session.
var errOneSession = errors.New("the server allows one session on a connection")

// second starts a session while the first one is open. It returns an error if
// the server allows only one session, because waiting would never end.
//
// The limit of places can be lower than that of the server: when a refusal is
// read late, sessions that were open at that time have ended. So the server is
// asked once more.
func (p *pair) second(ctx context.Context, line string, tty bool) (shell.Session, error) {
	for asked := p.places.probe(); ; asked = p.places.probe() {
		s, err := p.trySecond(ctx, line, tty)
		if err != errOneSession {
			return s, err
		}
		if asked {
			return nil, &transport.Error{Class: transport.ClassUnsupported, Err: errOneSession,
				Msg:  fmt.Sprintf("%s allows one session on a connection, but a command that reads a stream needs two", p.e.to.Host),
				Hint: "Increase MaxSessions in the server's sshd_config."}
		}
	}
}

// trySecond is second, with errOneSession if places allow only one session.
func (p *pair) trySecond(ctx context.Context, line string, tty bool) (shell.Session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	look := time.NewTicker(maxSessionDelay / 4)
	defer look.Stop()
	over := make(chan struct{})
	var s shell.Session
	var err error
	if !p.work.start(func() {
		defer close(over)
		s, err = p.Conn.Start(ctx, line, tty)
	}) {
		return nil, p.lostError("")
	}
	for {
		select {
		case <-look.C:
			if p.places.single() {
				cancel(errOneSession)
			}
			continue
		case <-over:
		}
		if err != nil && p.places.single() && (context.Cause(ctx) == errOneSession || errors.Is(err, transport.ErrSessionsTaken)) {
			return nil, errOneSession
		}
		return s, err
	}
}
