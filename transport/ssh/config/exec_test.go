package config

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
)

// TestMatchExecOutlivesItsFirstCaller checks that a command of Match exec that
// ended with its first caller's context runs again for the other callers,
// whatever the cause was.
func TestMatchExecOutlivesItsFirstCaller(t *testing.T) {
	m := &Execs{dir: t.TempDir()}
	const command = "[ -e again ] || { mkfifo again; exec cat again; }" // the first run does not end
	cause := errors.New("nobody wants it any more")
	first, giveUp := context.WithCancelCause(t.Context())
	defer giveUp(cause)
	var work sync.WaitGroup
	work.Go(func() {
		if _, err := m.holds(first, command, matchTakes); err != cause {
			t.Errorf("the first caller: %v", err)
		}
	})
	for {
		if _, err := os.Stat(m.dir + "/again"); err == nil {
			break
		}
		runtime.Gosched()
	}
	second := &joinContext{Context: t.Context(), asked: giveUp, cause: cause}
	if ok, err := m.holds(second, command, matchTakes); !ok || err != nil {
		t.Errorf("the second caller: %v, %v", ok, err)
	}
	work.Wait()
}

// A joinContext ends another context when a goroutine starts to wait for it.
type joinContext struct {
	context.Context
	asked context.CancelCauseFunc
	cause error
}

func (c *joinContext) Done() <-chan struct{} {
	c.asked(c.cause)
	return c.Context.Done()
}
