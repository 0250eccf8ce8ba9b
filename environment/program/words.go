package program

import (
	"context"
	"fmt"
	"time"

	"bolt/puppet/eval"
)

// Limited returns a context that ends after d with a *LateError; 0 is no limit.
func Limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, &LateError{d})
}

// A LateError is the error of work that exceeded its time limit.
type LateError struct{ after time.Duration }

func (e *LateError) Error() string { return fmt.Sprintf("not finished within %v", e.after) }

// TextOf returns a log message with its position, and with its level if a
// function has set the level.
func TextOf(l eval.Log) string {
	text := l.Msg
	if l.Kind == "" {
		text = l.Level.String() + ": " + text
	}
	if l.Pos.File != "" {
		text = l.Pos.String() + ": " + text
	}
	return text
}
