package ssh

import (
	"context"
	"errors"

	"golang.org/x/crypto/ssh"
)

// prepareSpare opens a session ahead, in the background, if there is none and
// a place is free.
func (c *Conn) prepareSpare() {
	w := &c.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spare != nil || !c.places.try() {
		return
	}
	spare := make(chan opened, 1)
	if !c.work.start(func() {
		ch, reqs, err := c.mux.OpenChannel("session", nil)
		spare <- opened{ch, reqs, err}
	}) {
		c.places.release()
		return
	}
	w.spare = spare
}

// session returns a channel for one session, whose place is taken: the spare
// one, or a new one.
func (c *Conn) session(ctx context.Context) (o opened, spare bool, err error) {
	w := &c.warm
	w.mu.Lock()
	ahead := w.spare
	w.spare = nil
	w.mu.Unlock()
	if ahead != nil {
		select {
		case o := <-ahead:
			if o.err == nil {
				c.places.used()
				return o, true, nil
			}
			if _, refused := errors.AsType[*ssh.OpenChannelError](o.err); refused {
				c.places.refused()
			} else {
				c.places.release()
			}
		case <-ctx.Done():
			w.mu.Lock()
			if w.spare == nil {
				w.spare = ahead
				w.mu.Unlock()
			} else {
				w.mu.Unlock()
				c.work.start(func() {
					defer c.places.release()
					if o := <-ahead; o.err == nil {
						o.ch.Close()
						ssh.DiscardRequests(o.reqs)
					}
				})
			}
			return opened{}, false, c.interrupted(ctx, "opening a session")
		}
	}
	o, err = c.newSession(ctx)
	return o, false, err
}
