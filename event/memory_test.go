package event

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"bolt/event/capture"
)

// heapWriter records the largest heap size during its writes.
type heapWriter struct {
	n    int64
	next int64
	peak uint64
}

func (h *heapWriter) Write(p []byte) (int, error) {
	h.n += int64(len(p))
	if h.n >= h.next {
		h.next += 4 << 20
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.peak = max(h.peak, m.HeapAlloc)
	}
	return len(p), nil
}

// TestRenderingUsesBoundedMemory captures 100 MB and writes it as JSON, which contains it
// three times.
func TestRenderingUsesBoundedMemory(t *testing.T) {
	const size = 32 << 20
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)

	seen := &heapWriter{}
	c := printed(t, capture.Options{Dir: t.TempDir()})
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 2048)
	w := io.MultiWriter(c.Stream(capture.Stdout), seen)
	for range size / len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	r := &Result{Target: target("web1"), Action: "command", Object: "yes", Output: c}
	seen.n, seen.next = 0, 0
	if err := r.WriteJSON(seen); err != nil {
		t.Fatal(err)
	}
	if seen.n < 2*size {
		t.Fatalf("%d bytes of JSON, want more than %d", seen.n, 2*size)
	}
	const limit = 4 << 20 // the heap grows to twice the memory in use before a collection
	if grown := int64(seen.peak) - int64(before.HeapAlloc); grown > limit {
		t.Errorf("the heap grew by %d bytes, limit %d", grown, limit)
	} else {
		t.Logf("the heap grew by %d bytes at most", grown)
	}
}
