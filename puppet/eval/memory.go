package eval

import (
	"runtime"
	"runtime/metrics"
	"sync"

	"bolt/puppet/value"
)

// Why the live heap, and not what was allocated: a loop may make garbage as
// long as it likes, and what is kept cannot be seen from here. The heap is the
// whole process's, and the last collection's; so what is above the limit is
// collected and looked at again before it ends an evaluation, which spares
// those that began after one that has just been ended. The heap grows to about
// one and a half times the limit before that.

const (
	// looksBetween is how many looks at the context are made between two at the
	// heap, which take some hundred nanoseconds each.
	looksBetween = 16
	// madeBetween is how many bytes are made between two looks at the heap.
	madeBetween = 8 << 20
	// noted is the size of a value in bytes from which on it is counted as made.
	noted = 1 << 10
)

// What values take, about: an element of an array, with what it refers to; an
// entry of a hash has two, and its part of the index.
const elementBytes = 32

// judging is held by whoever is above a limit: one at a time collects and
// judges.
var judging sync.Mutex

// heapNames are what is read: what was live at the end of the last collection,
// and what is there now, which is more.
var heapNames = [2]string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes"}

// made counts bytes that were made, so that the heap is looked at in time.
func (t *thread) made(at pos, bytes int) error {
	if t.fresh += bytes; t.fresh < madeBetween {
		return nil
	}
	return t.weigh(at)
}

// given is made for a value that a function has given.
func (t *thread) given(at pos, v value.Value) error {
	switch v := v.(type) {
	case value.String:
		if len(v) >= noted {
			return t.made(at, len(v))
		}
	case *value.Array, *value.Hash, *value.Object:
		if _, nodes := value.Measure(v); nodes >= noted/elementBytes {
			return t.made(at, min(nodes, madeBetween)*elementBytes)
		}
	}
	return nil
}

// weigh ends the evaluation when too much is live.
func (t *thread) weigh(at pos) error {
	t.looks, t.fresh = 0, 0
	if t.most < 0 || t.light() {
		return nil
	}
	judging.Lock()
	defer judging.Unlock()
	if t.light() { // another has collected meanwhile
		return nil
	}
	runtime.GC()
	if t.light() {
		return nil
	}
	return t.fail(at, "too-large", "the evaluation needs more than %d MiB of memory: what it keeps in arrays, hashes and strings has to be less", t.most>>20)
}

// light tells whether what is live is within the limit, or can be.
func (t *thread) light() bool {
	if t.heap[0].Name == "" {
		t.heap[0].Name, t.heap[1].Name = heapNames[0], heapNames[1]
	}
	metrics.Read(t.heap[:])
	live, now := t.heap[0].Value.Uint64(), t.heap[1].Value.Uint64()
	most := uint64(t.most)
	return live <= most && now <= most+most/2
}
