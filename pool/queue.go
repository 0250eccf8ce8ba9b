package pool

import (
	"container/list"
	"time"
)

// A waiter is a request that waits for a connection, a session or room for a dial.
type waiter struct {
	lease *lease
	since time.Time
	// begin starts a dial for this request. It must be called with Pool.mu held.
	begin  func(extra bool)
	joined bool // it waits for a dial that another request began

	ready chan struct{} // closed when link or err is set, or there is room
	link  *link
	err   error

	turn  *turn
	place *list.Element
}

func newWaiter(l *lease, now time.Time) *waiter {
	return &waiter{lease: l, since: now, ready: make(chan struct{})}
}

// A queue lets the owners of waiters take turns. The waiters of one owner stay in
// their order. The zero value is an empty queue. All methods must be called with
// Pool.mu held.
type queue struct {
	n      int
	owners map[*owner]*turn
	order  list.List // of *turn, the next owner in front
}

// A turn is the waiters of one owner.
type turn struct {
	owner   *owner
	waiting list.List // of *waiter
	place   *list.Element
}

func (q *queue) push(w *waiter) {
	t := q.owners[w.lease.owner]
	if t == nil {
		t = &turn{owner: w.lease.owner}
		t.place = q.order.PushBack(t)
		if q.owners == nil {
			q.owners = make(map[*owner]*turn)
		}
		q.owners[t.owner] = t
	}
	w.turn, w.place = t, t.insert(w)
	q.n++
}

// insert puts a waiter behind all that began to wait before it. Most waiters are new,
// and a waiter that returns is among the oldest.
func (t *turn) insert(w *waiter) *list.Element {
	if e := t.waiting.Back(); e == nil || !w.since.Before(e.Value.(*waiter).since) {
		return t.waiting.PushBack(w)
	}
	e := t.waiting.Front()
	for !w.since.Before(e.Value.(*waiter).since) {
		e = e.Next()
	}
	return t.waiting.InsertBefore(w, e)
}

// pop removes the next waiter and returns it. The queue must not be empty.
func (q *queue) pop() *waiter {
	t := q.order.Front().Value.(*turn)
	w := t.waiting.Front().Value.(*waiter)
	q.order.MoveToBack(t.place)
	q.remove(w)
	return w
}

// remove removes a waiter that is in the queue.
func (q *queue) remove(w *waiter) {
	t := w.turn
	t.waiting.Remove(w.place)
	if t.waiting.Len() == 0 {
		q.order.Remove(t.place)
		delete(q.owners, t.owner)
	}
	w.turn, w.place = nil, nil
	q.n--
}

// oldest returns the waiter that has waited longest. The queue must not be empty.
func (q *queue) oldest() *waiter {
	var first *waiter
	for e := q.order.Front(); e != nil; e = e.Next() {
		w := e.Value.(*turn).waiting.Front().Value.(*waiter)
		if first == nil || w.since.Before(first.since) {
			first = w
		}
	}
	return first
}

// failAll answers all waiters with an error.
func (q *queue) failAll(err error) {
	q.fail(err, func(*waiter) bool { return true })
}

// fail answers the waiters for which concerned is true with an error.
func (q *queue) fail(err error, concerned func(*waiter) bool) {
	for n := q.n; n > 0; n-- {
		w := q.pop()
		if concerned(w) {
			w.fail(err)
		} else {
			q.push(w)
		}
	}
}

// fail answers a removed waiter with an error. It must be called with Pool.mu held.
func (w *waiter) fail(err error) {
	w.err = err
	close(w.ready)
}

// serve answers a removed waiter with a link. It must be called with Pool.mu held.
func (w *waiter) serve(k *link) {
	w.link = k
	close(w.ready)
}

// answered reports whether a waiter was removed and answered. It must be called with
// Pool.mu held.
func (w *waiter) answered() bool { return w.turn == nil }
