package daemon

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// restAfter is how long after its last client a daemon returns memory to the
	// system. It is longer than the time between the commands of a script, which
	// would allocate the memory again.
	restAfter = 5 * time.Second
	// restWorth is how much memory must have been allocated since the last time:
	// returning memory costs a scan of all memory in use.
	restWorth = 16 << 20
)

// A rest returns memory to the system after a burst of requests and dials.
// Otherwise the runtime would keep it for the next burst. With thousands of
// connections, that is a quarter of all memory.
type rest struct {
	allocated atomic.Uint64 // total at the last time
}

func (r *rest) giveBack() {
	// ReadMemStats stops all goroutines for some microseconds. Package
	// runtime/metrics would cost every client of this binary 0.1 ms when it
	// starts.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.TotalAlloc-r.allocated.Load() >= restWorth {
		debug.FreeOSMemory()
		r.allocated.Store(m.TotalAlloc)
	}
}
