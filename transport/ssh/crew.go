package ssh

import "sync"

// A crew is the goroutines that somebody owns: none is started after finish
// was called, and finish waits for the rest.
type crew struct {
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
	c.wg.Go(f)
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
	f()
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
