package pool

import (
	"container/list"
	"time"
)

// idleness knows which links nobody uses, and when they are to be closed. Its
// methods are locked.
type idleness struct {
	first chain     // a peer's only links, the least recently used one in front
	extra chain     // a peer's further links, likewise
	ages  list.List // all kept links, the oldest in front
	armed time.Time // when the janitor wakes, zero for never
}

// A chain is a list of links, each of which is in one chain at most.
type chain struct{ front, back *link }

// A spot is where a link is in idleness.
type spot struct {
	chain      *chain // nil while it is used or retired
	prev, next *link
	age        *list.Element // nil once it is retired
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

// add takes in a link that nobody uses any more.
func (i *idleness) add(k *link) {
	if k.extra {
		i.extra.push(k)
	} else {
		i.first.push(k)
	}
}

// remove lets a link go that is being used.
func (i *idleness) remove(k *link) {
	if k.at.chain != nil {
		k.at.chain.remove(k)
	}
}

// forget lets a link go for good.
func (i *idleness) forget(k *link) {
	i.remove(k)
	if k.at.age != nil {
		i.ages.Remove(k.at.age)
		k.at.age = nil
	}
}

// oldest returns the unused link that is missed least, or nil.
func (i *idleness) oldest() *link {
	if i.extra.front != nil {
		return i.extra.front
	}
	return i.first.front
}

// next returns the link that is due first, when, and why; nil for none.
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

// arm sees to it that the janitor wakes when the next thing is due; locked.
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

// janitor closes what is due, and sleeps in between. Nothing but tidiness
// depends on it.
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

// expire closes what is due and returns when it has to be called again, if at
// all.
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
