package pool

import (
	"container/list"
	"time"
)

// idleness records the unused links and when they must be closed. Its methods
// must be called with Pool.mu held.
type idleness struct {
	first chain     // each peer's only link, the least recently used in front
	extra chain     // further links of peers, the least recently used in front
	ages  list.List // all kept links, the oldest in front
	armed time.Time // when the janitor wakes; zero for never
}

// A chain is a list of links, each of which is in one chain at most.
type chain struct{ front, back *link }

// A spot is a link's position in idleness.
type spot struct {
	chain      *chain // nil while the link is in use or retired
	prev, next *link
	age        *list.Element // nil after the link is retired
}

func (c *chain) push(k *link) {
	k.at.chain, k.at.prev, k.at.next = c, c.back, nil
	if c.back != nil {
		c.back.at.next = k
	} else {
		c.front = k
	}
	c.back = k
}

func (c *chain) remove(k *link) {
	prev, next := k.at.prev, k.at.next
	if prev != nil {
		prev.at.next = next
	} else {
		c.front = next
	}
	if next != nil {
		next.at.prev = prev
	} else {
		c.back = prev
	}
	k.at.chain, k.at.prev, k.at.next = nil, nil, nil
}

// add adds a link that has become unused.
func (i *idleness) add(k *link) {
	if k.extra {
		i.extra.push(k)
	} else {
		i.first.push(k)
	}
}

// remove removes a link that is in use again.
func (i *idleness) remove(k *link) {
	if k.at.chain != nil {
		k.at.chain.remove(k)
	}
}

// forget removes a link permanently.
func (i *idleness) forget(k *link) {
	i.remove(k)
	if k.at.age != nil {
		i.ages.Remove(k.at.age)
		k.at.age = nil
	}
}

// oldest returns the unused link to close first, or nil.
func (i *idleness) oldest() *link {
	if i.extra.front != nil {
		return i.extra.front
	}
	return i.first.front
}

// next returns the link that must be closed first, the time and the reason; nil
// if there is none.
func (i *idleness) next(o Options) (k *link, due time.Time, why string) {
	earlier := func(c *link, at time.Time, reason string) {
		if k == nil || at.Before(due) {
			k, due, why = c, at, reason
		}
	}
	if c := i.first.front; c != nil {
		earlier(c, c.used.Add(o.IdleTimeout), "idle")
	}
	if c := i.extra.front; c != nil {
		earlier(c, c.used.Add(min(extraIdleTimeout, o.IdleTimeout)), "idle and not the only one")
	}
	if e := i.ages.Front(); e != nil && o.MaxAge > 0 {
		c := e.Value.(*link)
		earlier(c, c.born.Add(o.MaxAge), "old")
	}
	return k, due, why
}

// arm makes the janitor wake when the next link must be closed. It must be
// called with Pool.mu held.
func (p *Pool) arm() {
	k, due, _ := p.idle.next(p.o)
	if k == nil || !p.idle.armed.IsZero() && !due.Before(p.idle.armed) {
		return
	}
	p.idle.armed = due
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// janitor closes the links whose time has come, and sleeps in between.
// Correctness does not depend on it.
func (p *Pool) janitor() {
	t := time.NewTimer(0)
	t.Stop()
	defer t.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		case <-t.C:
		}
		if in, any := p.expire(); any {
			t.Reset(in)
		}
	}
}

// expire closes the links whose time has come. It returns when it must be
// called again, if at all.
func (p *Pool) expire() (in time.Duration, any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for {
		k, due, why := p.idle.next(p.o)
		if k == nil {
			p.idle.armed = time.Time{}
			return 0, false
		}
		if due.After(now) {
			p.idle.armed = due
			return due.Sub(now), true
		}
		p.retire(k, why)
	}
}
