package pool

import (
	"context"
	"errors"
	"time"
)

// room counts the connections for MaxConnections. Its fields are guarded by
// Pool.mu.
type room struct {
	open    int   // connections, and dials that have room
	leaving int   // connections that are being closed; open includes them
	waiting queue // dials
}

// errNoRoom ends an extra dial if the room is full.
var errNoRoom = errors.New("no room for another connection")

// enter gets room for a dial. If there is none, it closes the least recently
// used idle connection. If all connections are busy, the dial waits, unless it
// is extra.
func (p *Pool) enter(ctx context.Context, l *lease, extra bool) error {
	p.mu.Lock()
	if p.room.open < p.o.MaxConnections && p.room.waiting.n == 0 {
		p.room.open++
		p.mu.Unlock()
		return nil
	}
	if extra {
		p.mu.Unlock()
		return errNoRoom
	}
	w := newWaiter(l, time.Now())
	p.room.waiting.push(w)
	p.makeRoom()
	p.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.answered() {
		p.exit()
	} else {
		p.room.waiting.remove(w)
	}
	return dialEnded(ctx, l.host, "waiting for room for another connection")
}

// makeRoom closes as many idle connections as dials wait for room. It must be
// called with Pool.mu held.
func (p *Pool) makeRoom() {
	for p.room.waiting.n > p.room.leaving {
		k := p.idle.oldest()
		if k == nil {
			return
		}
		p.retire(k, "room is needed")
	}
}

// exit gives room back. It must be called with Pool.mu held.
func (p *Pool) exit() {
	p.room.open--
	for p.room.waiting.n > 0 && p.room.open < p.o.MaxConnections {
		p.room.open++
		p.room.waiting.pop().serve(nil)
	}
}
