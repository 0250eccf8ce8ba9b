package apply

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"bolt/apply/resource"
)

// Automatic grouping. Relations are the only order of the resources of a graph. The resources are read and changed together if their
// type can do that: 400 packages are one query and one transaction, wherever they are in the graph. Resources that depend on each other are
// never in one group. If a member of a group waits for a step, all members wait for it.
//
// A resource has a depth: the number of resources of its type before it, on the longest path. Resources of one type with the same depth
// are a group. A path from one member to another would give them different depths. So groups of one type cannot wait for each other in a
// cycle. The next type is grouped in the graph that has the groups of the first type.

// A group is applied together. Its gate is behind all that one of the members waits for, and before the members.
type group struct{ gate *step }

// A groupKey has the properties that all members of a group share.
type groupKey struct {
	typ     string
	timeout time.Duration
}

// groupable reports whether a step can be applied together with others.
func (s *step) groupable() bool {
	if !s.free || s.item == nil || s.parallel || s.meta.NoGroup || s.meta.Hidden {
		return false
	}
	_, reads := s.typ.(resource.Reader)
	_, does := s.typ.(resource.Doer)
	// Without a Doer, resources are changed one after the other, so a group cannot have one timeout.
	return reads && (does || s.meta.Timeout == 0)
}

// group makes the groups.
func (r *Run) group() {
	numbers := make(map[groupKey]int)
	for _, st := range r.steps {
		if st.groupable() {
			numbers[groupKey{st.ref.Type, st.meta.Timeout}]++
		}
	}
	maps.DeleteFunc(numbers, func(_ groupKey, n int) bool { return n < 2 })
	keys := slices.SortedFunc(maps.Keys(numbers), func(a, b groupKey) int {
		return cmp.Or(strings.Compare(a.typ, b.typ), cmp.Compare(a.timeout, b.timeout))
	})
	for _, key := range keys {
		r.join(key)
	}
}

// join makes the groups of the steps with a key, and sorts the steps again.
func (r *Run) join(key groupKey) {
	depth := make(map[*step]int, len(r.steps))
	levels := make(map[int][]*step)
	for _, st := range r.steps {
		d := depth[st]
		if st.groupable() && (groupKey{st.ref.Type, st.meta.Timeout}) == key {
			levels[d] = append(levels[d], st)
			d++
		}
		for _, l := range st.after {
			depth[l.to] = max(depth[l.to], d)
		}
	}
	made := make(map[*group]bool)
	place := make(map[*step]int, len(r.steps))
	for i, st := range r.steps {
		place[st] = i
	}
	for _, members := range levels {
		if len(members) < 2 {
			continue
		}
		gate := &step{ref: members[0].ref, index: -1, gate: true}
		g := &group{gate}
		made[g], place[gate] = true, place[members[0]]
		for _, m := range members {
			m.group = g
			gate.after = append(gate.after, link{m, false})
			m.waits++
		}
	}
	if len(made) == 0 {
		return
	}
	for _, st := range r.steps {
		behind := make(map[*group]bool)
		for _, l := range st.after {
			if g := l.to.group; made[g] && !behind[g] {
				behind[g] = true
				st.after = append(st.after, link{g.gate, false})
				g.gate.waits++
			}
		}
	}
	for g := range made {
		r.steps = append(r.steps, g.gate)
	}
	r.sort(place)
}

// sort puts each step behind the steps that it waits for. Otherwise, place gives the order.
func (r *Run) sort(place map[*step]int) {
	waits := make(map[*step]int, len(r.steps))
	var ready queue
	for _, st := range r.steps {
		st.index = place[st]
		if waits[st] = st.waits; st.waits == 0 {
			heap.Push(&ready, st)
		}
	}
	sorted := make([]*step, 0, len(r.steps))
	for ready.Len() > 0 {
		st := heap.Pop(&ready).(*step)
		sorted = append(sorted, st)
		for _, l := range st.after {
			if waits[l.to]--; waits[l.to] == 0 {
				heap.Push(&ready, l.to)
			}
		}
	}
	for _, st := range sorted {
		st.index = -1
	}
	r.steps = sorted
}

// gather adds the rest of a group to a batch. A member stays in the queue if it is not applied now or if its
// semaphores are not free. It also stays there if no item can be made from the values that it receives.
func (s *scheduler) gather(ctx context.Context, batch []*attempt) []*attempt {
	first := batch[0]
	var members []*step
	for _, st := range s.queue {
		if st.group == first.s.group && st.item != nil {
			members = append(members, st)
		}
	}
	slices.SortFunc(members, func(a, b *step) int { return a.index - b.index })
	taken := make(map[*step]bool, len(members))
	for _, st := range members {
		if s.wanted(st) && s.skip(ctx, st) == "" && s.receive(st) == nil && s.lacking(st, first.held) == nil {
			first.held = s.take(st, first.held)
			batch = append(batch, s.begin(st))
			taken[st] = true
		}
	}
	s.queue = slices.DeleteFunc(s.queue, func(st *step) bool { return taken[st] })
	heap.Init(&s.queue)
	return batch
}
