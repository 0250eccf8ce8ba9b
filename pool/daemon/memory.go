package daemon

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// restAfter is how long after its last client a daemon gives memory back:
	// longer than between the commands of a script, which would only take it
	// again.
	restAfter = 5 * time.Second
	// restWorth is how much must have been allocated since the last time: to
	// give back costs a look at all that is in use.
	restWorth = 16 << 20
)

// A rest returns to the system what a rush of requests and dials has left
// behind. The runtime would keep it for the next one: with thousands of
// connections, a quarter of all memory.
type rest struct {
	allocated atomic.Uint64 // in all, the last time
}

func (r *rest) giveBack() {
	// It stops all goroutines for some microseconds, where runtime/metrics would
	// cost every client of this binary 0.1 ms when it starts.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.TotalAlloc-r.allocated.Load() >= restWorth {
		debug.FreeOSMemory()
		r.allocated.Store(m.TotalAlloc)
	}
}
