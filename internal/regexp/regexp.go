// Package regexp has the regular expressions of the Puppet language, which are
// Ruby's (Onigmo, as Ruby 3 has it, on UTF-8): ^ and $ at every line, \h, \R, \K,
// look-around, atomic groups and possessive quantifiers, named groups, \k and \g,
// conditionals, set operations in classes, options.
//
// [Compile] parses a pattern to a small tree. At the first match, a tree that means
// the same to Go's regexp is translated for it, which takes linear time;
// leftmost-first is the order of backtracking too. Some patterns mean the same only
// for subjects of a certain kind, such as \b for ASCII; they use Go's regexp for
// these subjects only. All others run on a backtracking matcher of this package,
// which counts its steps and ends with [ErrLimit]. The matcher never reads a clock,
// so that a match has the same result every time, and starts no goroutine. If the
// outcome only depends on the position in pattern and subject (no back-references,
// no calls), the matcher remembers positions that failed. Most patterns that would
// take exponential time then take linear time.
//
// A Regexp may be used by many goroutines.
//
// Offsets are bytes. A byte of a subject that is not UTF-8 is one character, which
// classes treat as U+FFFD; Ruby raises an error for the whole subject.
//
// Differs from Puppet: the absent operator, references to a level of recursion,
// \M-x and the character properties for age, blocks, emoji and short names of
// scripts are rejected with an *[Error]. Without case, a character such as ß stands
// for several in literals (as in Ruby), but is one character in classes (Ruby is
// not consistent there).
package regexp

// This package does not use github.com/dlclark/regexp2, the only maintained Go
// library that backtracks, because its language is .NET's. It has no \g, \h, \K,
// \R, \X, no && in classes, and no possessive quantifiers. It has other rules for
// ^, $, \w, \b, for groups in loops and for numbers of named groups. A translation
// would need this package's parser and tree, and could still not express the calls.
// regexp2 turns each subject into runes (offsets of invalid UTF-8 are lost). Its
// only limit is a timeout, which depends on a goroutine that outlives the match.

import (
	"errors"
	"iter"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// ErrLimit ends a match that takes too many steps or too much memory.
var ErrLimit = errors.New("the regular expression takes too long on this text")

// An Error describes an error in a pattern.
type Error struct {
	Pos int // byte of the pattern
	Msg string
}

func (e *Error) Error() string {
	return "invalid regular expression, at character " + strconv.Itoa(e.Pos+1) + ": " + e.Msg
}

// A Regexp is a compiled pattern. Use [Compile].
type Regexp struct {
	src string
	pat *pattern

	linearOnce sync.Once
	linear     *linear // nil: Go's regexp cannot do it

	programOnce sync.Once
	program     *program
	idle        atomic.Pointer[machine] // kept for the next match
}

// Compile reads a pattern. The error is an *[Error].
func Compile(src string) (*Regexp, error) {
	pat, err := parse(src)
	if err != nil {
		return nil, err
	}
	return &Regexp{src: src, pat: pat}, nil
}

// Source returns the pattern as it was compiled.
func (r *Regexp) Source() string { return r.src }

// Names returns the names of groups, each once, in the order of the pattern.
func (r *Regexp) Names() []string {
	if len(r.pat.names) == 0 {
		return nil
	}
	names := make([]string, len(r.pat.names))
	for i, n := range r.pat.names {
		names[i] = n.name
	}
	return names
}

// Match reports whether s has a match. The error is [ErrLimit].
func (r *Regexp) Match(s string) (bool, error) {
	if l := r.linearFor(s); l != nil {
		return l.re.MatchString(s), nil
	}
	m := r.machine()
	ok, err := m.search(s, 0)
	r.release(m)
	return ok, err
}

// FindIndex returns the first match that begins at byte from or later, or nil if
// there is none. A match is pairs of first byte and byte after, for the whole and
// for each group, with -1 for a group that took no part. The text before from
// matters for ^, \b and look-behind. FindIndex may read all of s; [Regexp.All]
// reads it once for all matches. The error is [ErrLimit].
func (r *Regexp) FindIndex(s string, from int) (loc []int, err error) {
	return r.Within(nil).FindIndex(s, from)
}

// All returns the matches of s from left to right, each as FindIndex returns it.
// After an empty match the search continues one character later, so that an empty
// match can follow one that is not empty. If an error occurs, it is the last
// element. All matches together may take no more steps than a [Budget] has.
func (r *Regexp) All(s string) iter.Seq2[[]int, error] { return r.Within(nil).All(s) }

// All is [Regexp.All] within the budget.
func (r Within) All(s string) iter.Seq2[[]int, error] {
	return func(yield func([]int, error) bool) {
		q := r.search(s)
		for from := 0; from <= len(s); {
			loc, err := q.find(from)
			if err != nil {
				yield(nil, err)
				return
			}
			if loc == nil || !yield(loc, nil) {
				return
			}
			from = after(s, loc, from)
		}
	}
}

// after returns the position where the search continues. It always advances,
// although a match that begins with \K can end at from without being empty.
func after(s string, loc []int, from int) int {
	end := loc[1]
	if loc[0] == end || end == from {
		end += charLen(s, end)
	}
	return end
}

// charLen returns the length of the character at i, 1 at the end of s.
func charLen(s string, i int) int {
	if i >= len(s) {
		return 1
	}
	_, w := utf8.DecodeRuneInString(s[i:])
	return w
}

// linearFor returns the translation for s, nil if it has none.
func (r *Regexp) linearFor(s string) *linear {
	r.linearOnce.Do(func() { r.linear = translate(r.pat) })
	if r.linear == nil || !r.linear.fits(s) {
		return nil
	}
	return r.linear
}

func (r *Regexp) machine() *machine {
	r.programOnce.Do(func() { r.program = compile(r.pat) })
	if m := r.idle.Swap(nil); m != nil {
		return m
	}
	return newMachine(r.program)
}

// Limits of the memory that a Regexp keeps between matches.
const (
	maxIdleFrames    = 1 << 12
	maxIdleRegisters = 1 << 14
)

func (r *Regexp) release(m *machine) {
	if m.reset(); cap(m.stack) <= maxIdleFrames && cap(m.regs) <= maxIdleRegisters {
		r.idle.Store(m)
	}
}
