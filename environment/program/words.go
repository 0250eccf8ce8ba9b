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

// A LateError is the end of work that took longer than it may.
type LateError struct{ after time.Duration }

func (e *LateError) Error() string { return fmt.Sprintf("not finished within %v", e.after) }

// TextOf is what was said, with its place; and with its level, where a function
// has chosen that.
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
