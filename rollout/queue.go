package rollout

import "time"

// A queue has the nodes of the present wave that wait for their start. Nodes that count for the same
// limits are in one bucket, so that a full limit blocks a bucket and not each of its nodes.
type queue struct {
	buckets map[string]*bucket
	order   []*bucket // those with nodes
	rank    int       // of the last node
	waiting int
}

type bucket struct {
	limits []int32 // indexes into State.limits
	// stratum is the value of the fact strata, which all nodes in work must share.
	stratum string
	nodes   []ranked
	place   int // in queue.order, from 1; 0 if there are no nodes
}

type ranked struct{ rank, node int32 }

// push appends a node that is not in the queue.
func (q *queue) push(i int, limits []int32, stratum string) *bucket {
	if q.buckets == nil {
		q.buckets = make(map[string]*bucket)
	}
	key := make([]byte, 0, 4*len(limits)+len(stratum))
	for _, l := range limits {
		key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	key = append(key, stratum...)
	b := q.buckets[string(key)]
	if b == nil {
		b = &bucket{limits: limits, stratum: stratum}
		q.buckets[string(key)] = b
	}
	q.rank++
	b.nodes = append(b.nodes, ranked{int32(q.rank), int32(i)})
	q.waiting++
	if b.place == 0 {
		q.order = append(q.order, b)
		b.place = len(q.order)
	}
	return b
}

// drop counts out a node of a bucket that does not wait any more, and removes such nodes from the head of
// the bucket.
func (q *queue) drop(b *bucket, waits func(i int32) bool) {
	q.waiting--
	n := 0
	for n < len(b.nodes) && !waits(b.nodes[n].node) {
		n++
	}
	b.nodes = b.nodes[n:]
	if len(b.nodes) > 0 || b.place == 0 {
		return
	}
	last := q.order[len(q.order)-1]
	q.order[b.place-1], last.place = last, b.place
	q.order = q.order[:len(q.order)-1]
	b.nodes, b.place = nil, 0
}

// A timer is due at a time of the adjusted clock. It belongs to a node or to a gate.
type timer struct {
	at   int64 // nanoseconds since 1970
	node int32 // -1 for a gate
	gate *gateRun
	seq  uint32 // of the node or gate; the timer is void if that has changed
}

// timers is a binary heap, earliest first. Void timers stay until they are at the top.
type timers []timer

func (h *timers) push(t timer) {
	*h = append(*h, t)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up].at <= s[i].at {
			break
		}
		s[up], s[i] = s[i], s[up]
		i = up
	}
}

func (h *timers) pop() {
	s := *h
	last := len(s) - 1
	s[0] = s[last]
	s[last] = timer{}
	s = s[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(s) {
			break
		}
		if down+1 < len(s) && s[down+1].at < s[down].at {
			down++
		}
		if s[i].at <= s[down].at {
			break
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
	*h = s
}

// due calls visit for each timer that is due, and returns the earliest time after that; 0 if there
// is none.
func (h timers) due(now int64, valid func(timer) bool, visit func(timer)) (next int64) {
	stack := []int{0}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i >= len(h) {
			continue
		}
		t := h[i]
		switch ok := valid(t); {
		case t.at > now && ok:
			if next == 0 || t.at < next {
				next = t.at
			}
			continue // those below are later
		case ok:
			visit(t)
		case t.at > now && next != 0 && t.at >= next:
			continue
		}
		stack = append(stack, 2*i+1, 2*i+2)
	}
	return next
}

// A set is a list of indexes without order, with removal in constant time. Each index has its
// place in the list, from 1, in the caller's keeping.
type set []int32

func (s *set) add(i int, place *int32) {
	if *place == 0 {
		*s = append(*s, int32(i))
		*place = int32(len(*s))
	}
}

// remove takes out the index at a place. moved is called for the index that takes its place.
func (s *set) remove(place *int32, moved func(i int32) *int32) {
	at := *place
	if at == 0 {
		return
	}
	*place = 0
	last := (*s)[len(*s)-1]
	if int(at) < len(*s) {
		(*s)[at-1] = last
		*moved(last) = at
	}
	*s = (*s)[:len(*s)-1]
}

// earlier returns the earlier of two times, where zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
