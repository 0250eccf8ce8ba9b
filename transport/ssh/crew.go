package ssh

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// A crew is the goroutines that somebody owns: none is started after finish
// was called, and finish waits for the rest.
type crew struct {
	// panicked, if not nil, is called with the value of a goroutine's panic, so that
	// a bug ends one connection and not the process.
	panicked func(p any)

	mu   sync.Mutex
	over bool
	wg   sync.WaitGroup
}

// start runs f in a goroutine, or returns false after finish.
func (c *crew) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.wg.Go(func() {
		defer c.caught()
		f()
	})
	return true
}

// run is start in the caller's own goroutine; after finish it does nothing.
func (c *crew) run(f func()) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.wg.Add(1)
	c.mu.Unlock()
	defer c.wg.Done()
	defer c.caught()
	f()
}

// caught is deferred to recover from a panic.
func (c *crew) caught() {
	if c.panicked == nil {
		return
	}
	if p := recover(); p != nil {
		c.panicked(p)
	}
}

// panicError logs a panic and returns it as an error.
func panicError(log *slog.Logger, host string, p any) error {
	log.Error("internal error", "target", host, "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("internal error: %v", p)
}

// stop lets no more goroutines start.
func (c *crew) stop() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}

// finish stops and waits.
func (c *crew) finish() {
	c.stop()
	c.wg.Wait()
}
