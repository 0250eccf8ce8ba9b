package client

import (
	"context"
	"slices"
	"sync"

	"bolt/pool/wire"
)

// contents records the contents that the daemon has from one session. Lock
// order: forgetting, mu.
type contents struct {
	offering flights[wire.Digest, struct{}]
	places   chan struct{} // of the goroutines that send a content

	// forgetting is held for writing from the moment that a content is removed
	// from held until the Forget frames are sent. It is held for reading to
	// send an offer. So the daemon receives a new offer of a content after its
	// Forget.
	forgetting sync.RWMutex

	mu    sync.Mutex
	held  map[wire.Digest]*held
	clock uint64 // counts uses
}

// A held content is a content that the daemon has, or will have before any
// frame that is sent later.
type held struct {
	users int    // requests that need it and have not been sent
	used  uint64 // the clock's value at its last use
}

// uses are the contents that a request needs, until it has been sent.
type uses []*held

func newContents() *contents {
	return &contents{places: make(chan struct{}, wire.MaxOffers), held: make(map[wire.Digest]*held)}
}

// has reports whether a content is held. If so, it stays held until u is done.
func (c *contents) has(digest wire.Digest, u *uses) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held[digest]
	if h == nil {
		return false
	}
	c.use(h, u)
	return true
}

// add notes that a content is held, and reports whether there are too many.
func (c *contents) add(digest wire.Digest, u *uses) (tooMany bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held[digest]
	if h == nil {
		h = new(held)
		c.held[digest] = h
	}
	c.use(h, u)
	return len(c.held) > wire.MaxHeld
}

// use must be called with the lock held.
func (c *contents) use(h *held, u *uses) {
	c.clock++
	h.used = c.clock
	h.users++
	*u = append(*u, h)
}

// done releases the contents that a request needed.
func (c *contents) done(u uses) {
	if len(u) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range u {
		h.users--
	}
}

// refused notes that a content is not held after all.
func (c *contents) refused(digest wire.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, digest)
}

// takeOldest removes the least recently used half of the contents, except those
// in use.
func (c *contents) takeOldest() (old []wire.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var times []uint64
	for _, h := range c.held {
		times = append(times, h.used)
	}
	slices.Sort(times)
	for d, h := range c.held {
		if h.users == 0 && h.used < times[len(times)/2] {
			old = append(old, d)
			delete(c.held, d)
		}
	}
	return old
}

// place waits for a place among the goroutines that send a content; leave gives
// it back.
func (c *contents) place(ctx context.Context) error {
	select {
	case c.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *contents) leave() { <-c.places }

// hold records that the daemon has a content. If there are too many contents,
// it makes the daemon forget others.
func (s *session) hold(digest wire.Digest, u *uses) {
	if !s.contents.add(digest, u) {
		return
	}
	s.contents.forgetting.Lock()
	defer s.contents.forgetting.Unlock()
	for _, d := range s.contents.takeOldest() {
		if err := s.w.Queue(wire.Forget, 0, wire.EncodeForget(d)); err != nil {
			s.fail(err)
			return
		}
	}
}
