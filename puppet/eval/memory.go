package eval

import (
	"runtime"
	"runtime/metrics"
	"sync"

	"bolt/puppet/value"
)

// The limit is on the live heap and not on allocations, because a loop may
// allocate any amount of garbage, and the evaluator cannot see the retained
// values. The heap is the heap of the whole process, as of the last collection.
// If it is above the limit, it is collected and measured again before an
// evaluation ends. This spares the evaluations that began after another one was
// ended. Until then, the heap grows to about one and a half times the limit.

const (
	// looksBetween is the number of checks of the context between two checks of
	// the heap, which take some hundred nanoseconds each.
	looksBetween = 16
	// madeBetween is the number of bytes that are made between two checks of
	// the heap.
	madeBetween = 8 << 20
	// noted is the smallest size in bytes of a value that is counted as made.
	noted = 1 << 10
)

// elementBytes is the approximate size of an element of an array and the value
// that it refers to. An entry of a hash has two of these, and its part of the
// index.
const elementBytes = 32

// judging is held by a thread that is above a limit, so that only one thread at
// a time collects and measures again.
var judging sync.Mutex

// heapNames are the metrics that are read: the bytes that were live at the end
// of the last collection, and the bytes in the heap now, which are more.
var heapNames = [2]string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes"}

// made counts bytes that were made, and checks the heap when they are many.
func (t *thread) made(at pos, bytes int) error {
	if t.fresh += bytes; t.fresh < madeBetween {
		return nil
	}
	return t.weigh(at)
}

// given counts the size of a value that a function returned.
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

// weigh ends the evaluation if too many bytes are live.
func (t *thread) weigh(at pos) error {
	t.looks, t.fresh = 0, 0
	if t.most < 0 || t.light() {
		return nil
	}
	judging.Lock()
	defer judging.Unlock()
	if t.light() { // another thread has collected meanwhile
		return nil
	}
	runtime.GC()
	if t.light() {
		return nil
	}
	return t.fail(at, "too-large", "the evaluation needs more than %d MiB of memory: keep less data in arrays, hashes and strings", t.most>>20)
}

// light reports whether the live bytes are within the limit, as far as is known
// without a collection.
func (t *thread) light() bool {
	if t.heap[0].Name == "" {
		t.heap[0].Name, t.heap[1].Name = heapNames[0], heapNames[1]
	}
	metrics.Read(t.heap[:])
	live, now := t.heap[0].Value.Uint64(), t.heap[1].Value.Uint64()
	most := uint64(t.most)
	return live <= most && now <= most+most/2
}
