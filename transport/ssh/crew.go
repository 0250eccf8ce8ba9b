package ssh

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// A crew is the goroutines of one owner. After finish was called, no new
// goroutine starts. finish waits for the running ones.
type crew struct {
	// panicked, if not nil, is called with the value of a goroutine's panic. So
	// a bug ends one connection and not the process.
	panicked func(p any)

	mu   sync.Mutex
	over bool
	wg   sync.WaitGroup
}

// start runs f in a goroutine. After finish, it returns false and does nothing.
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

// run is like start, but runs f in the caller's goroutine. After finish, it
// does nothing.
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

// caught recovers from a panic. It must be deferred.
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

// stop prevents the start of further goroutines.
func (c *crew) stop() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}

// finish calls stop and waits for the goroutines.
func (c *crew) finish() {
	c.stop()
	c.wg.Wait()
}
