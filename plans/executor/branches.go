package executor

import (
	"context"
	"sync"
)

// branches ends the contexts of branches with that of the run: a branch can go on longer
// than what began it, but not longer than the run.
type branches struct {
	mu    sync.Mutex
	cause error // why the run is over, nil while it goes on
	open  map[*future]context.CancelCauseFunc
}

// add has end called when the run is over.
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

// end ends all branches, as the run is over.
func (b *branches) end(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cause = cause
	for _, end := range b.open {
		end(cause)
	}
}

// over is why the run is over; nil while it goes on.
func (b *branches) over() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}
