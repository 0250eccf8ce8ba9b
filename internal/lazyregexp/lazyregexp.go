// Package lazyregexp compiles patterns at their first use. A command that
// lasts a few milliseconds does not need most of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled pattern. An invalid
// pattern panics at its first use, so each pattern needs a test that uses it.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
