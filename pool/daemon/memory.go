package daemon

import (
	"runtime/debug"
	runtimemetrics "runtime/metrics"
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
	n := metric("/gc/heap/allocs:bytes")
	if n-r.allocated.Load() >= restWorth {
		debug.FreeOSMemory()
		r.allocated.Store(n)
	}
}

func metric(name string) uint64 {
	s := []runtimemetrics.Sample{{Name: name}}
	runtimemetrics.Read(s)
	return s[0].Value.Uint64()
}
