package executor

import (
	"context"
	"sync"
)

// branches ends the contexts of branches when the run ends: a branch can run longer than
// the block that began it, but not longer than the run.
type branches struct {
	mu    sync.Mutex
	cause error // why the run has ended; nil before
	open  map[*future]context.CancelCauseFunc
}

// add registers end, which is called when the run ends.
func (b *branches) add(one *future, end context.CancelCauseFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != nil {
		end(b.cause)
		return
	}
	if b.open == nil {
		b.open = make(map[*future]context.CancelCauseFunc)
	}
	b.open[one] = end
}

func (b *branches) remove(one *future) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, one)
}

// end ends all branches because the run has ended.
func (b *branches) end(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cause = cause
	for _, end := range b.open {
		end(cause)
	}
}

// over returns the reason why the run has ended; nil before.
func (b *branches) over() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}
