package ssh

import (
	"context"
	"errors"

	"golang.org/x/crypto/ssh"
)

// prepareSpare opens a session in advance, in the background, if there is none
// and a place is free.
func (c *Conn) prepareSpare() {
	w := &c.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spare != nil || !c.places.try() {
		return
	}
	spare := make(chan opened, 1)
	if !c.work.start(func() {
		o := c.openWatched()
		if o.err != nil {
			c.noneAhead(o.err) // now, because a refusal sets the limit to the sessions that are open at this time
		}
		spare <- o
	}) {
		c.places.release()
		return
	}
	w.spare = spare
}

// session returns a channel for one session, whose place is taken. It is the
// spare session or a new one.
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
				c.places.claim()
				c.places.used()
				return o, true, nil
			}
		case <-ctx.Done():
			w.mu.Lock()
			if w.spare == nil {
				w.spare = ahead
				w.mu.Unlock()
			} else {
				w.mu.Unlock()
				c.giveUpSpare(ahead)
			}
			if c.places.short() {
				c.yieldSpare()
			}
			return opened{}, false, c.interrupted(ctx, "opening a session")
		}
	}
	o, err = c.newSession(ctx)
	return o, false, err
}

// yieldSpare closes the spare session, because a request needs its place.
func (c *Conn) yieldSpare() {
	w := &c.warm
	w.mu.Lock()
	ahead := w.spare
	w.spare = nil
	w.mu.Unlock()
	if ahead != nil {
		c.giveUpSpare(ahead)
	}
}

// giveUpSpare closes a spare session. Its place is released when the server has
// closed it, too.
func (c *Conn) giveUpSpare(ahead <-chan opened) {
	c.work.start(func() {
		o := <-ahead
		if o.err != nil {
			return
		}
		c.abandon(o)
		c.vacate(nil)
	})
}

// noneAhead releases the place of a spare session or shell that did not open.
func (c *Conn) noneAhead(err error) {
	if _, refused := errors.AsType[*ssh.OpenChannelError](err); refused {
		c.places.refused()
	} else {
		c.places.release()
	}
}
