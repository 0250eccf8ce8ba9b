// Package lazyregexp compiles patterns when they are first used: a command
// that lasts a few milliseconds needs none of most of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what gives the pattern. A wrong one panics at its first use, so
// each needs a test that uses it.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
