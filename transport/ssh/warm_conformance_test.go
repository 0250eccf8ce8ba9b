package ssh

import (
	"context"
	"sync"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

// TestWarmConformance runs the suite on warm connections, which all cases
// share.
func TestWarmConformance(t *testing.T) { warmConformance(t, false) }

// TestReadyConformance runs the suite with ready shells, as on a slow link.
func TestReadyConformance(t *testing.T) { warmConformance(t, true) }

func warmConformance(t *testing.T, eager bool) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep, o.eager = true, eager }, s)
	shared := &sharedDialer{t: t, lab: l, conns: make(map[transport.Dest]*Conn)}
	transporttest.TestDialer(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		return shared, dest(s), transporttest.Env{
			StartsHome: true,
			Shared:     true,
			As: func(_ *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
				to := dest(s)
				to.User = u.Name
				return shared, to
			},
		}
	})
	for to, c := range shared.conns {
		c.warm.mu.Lock()
		if w := &c.warm.ready; w.shell == nil && w.failures > 0 {
			t.Errorf("a shell for %s failed: %+v", to.User, *w)
		}
		c.warm.mu.Unlock()
	}
}

// A sharedDialer returns one warm connection for each destination.
type sharedDialer struct {
	t   *testing.T // of all cases
	lab *lab

	mu    sync.Mutex
	conns map[transport.Dest]*Conn
}

func (d *sharedDialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.conns[to]
	if c == nil {
		c = d.lab.mustDial(d.t, to)
		d.conns[to] = c
	}
	for _, cmd := range []transport.Cmd{{Line: "true"}, {Argv: []string{"true"}, Stdin: []byte("x")}} {
		if _, err := c.Run(ctx, &cmd); err != nil {
			return nil, err
		}
	}
	warmed(d.t, c)
	return lent{c}, nil
}

type lent struct{ *Conn }

func (lent) Close() error { return nil }
