// Package regexp has the regular expressions of the Puppet language, which
// are Ruby's (Onigmo, as Ruby 3 has it, on UTF-8): ^ and $ at every line, \h,
// \R, \K, look-around, atomic groups and possessive quantifiers, named groups,
// \k and \g, conditionals, set operations in classes, options.
//
// [Compile] parses a pattern to a small tree. At the first match, a tree that
// means the same to Go's regexp is translated for it, which takes linear time;
// leftmost-first is the order of backtracking too. Some patterns mean the same
// only for subjects of a certain kind, such as \b for ASCII, and go both ways.
// What is left runs on a backtracking matcher of this package, which counts
// its steps and ends with [ErrLimit]. It never asks a clock, so that a match
// has the same result every time, and starts no goroutine. Where the outcome
// depends on the place in pattern and subject only (no back-references, no
// calls), it remembers places that led nowhere, and most patterns that would
// take exponential time take linear time instead.
//
// A Regexp may be used by many goroutines.
//
// Offsets are bytes. A byte of a subject that is not UTF-8 is one character,
// which classes take for U+FFFD; Ruby raises an error for the whole subject.
//
// Differs from Puppet: the absent operator, references to a level of
// recursion, \M-x and the character properties for age, blocks, emoji and
// short names of scripts are refused with an *[Error]; without case, a
// character such as ß stands for several in literals (as in Ruby), but is one
// character in classes (Ruby does not agree with itself there).
package regexp

// Why not github.com/dlclark/regexp2, the one kept Go library that backtracks:
// its language is .NET's. It has no \g, \h, \K, \R, \X, no && in classes, no
// possessive quantifiers, other rules for ^, $, \w, \b, for groups in loops and for
// numbers of named groups, so a translation would need this package's parser
// and tree, and could still not express the calls. It turns each subject into
// runes (offsets of invalid UTF-8 are lost), and it has no limit but a
// time-out, which is told by a goroutine that outlives the match.

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

// An Error says what is wrong with a pattern.
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

// Source gives the pattern as it was compiled.
func (r *Regexp) Source() string { return r.src }

// Names gives the names of groups, each once, in the order of the pattern.
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

// FindIndex gives the first match that begins at byte from or later, nil if
// there is none: pairs of first byte and byte after, of the whole and of each
// group, -1 for a group that took no part. What is before from counts for ^,
// \b and look-behind. It may look at all of s; [Regexp.All] does so once for
// all matches. The error is [ErrLimit].
func (r *Regexp) FindIndex(s string, from int) (loc []int, err error) {
	return r.Within(nil).FindIndex(s, from)
}

// All gives the matches of s from left to right, as FindIndex gives each.
// After an empty match the search goes on one character later, so that an
// empty match may follow one that is not. An error is the last thing given: all
// matches together may take no more steps than a [Budget] has.
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

// after gives the place where the search goes on: further on in any case,
// though a match that begins with \K may end at from without being empty.
func after(s string, loc []int, from int) int {
	end := loc[1]
	if loc[0] == end || end == from {
		end += charLen(s, end)
	}
	return end
}

// charLen gives the length of the character at i, 1 at the end of s.
func charLen(s string, i int) int {
	if i >= len(s) {
		return 1
	}
	_, w := utf8.DecodeRuneInString(s[i:])
	return w
}

// linearFor gives the translation for s, nil if it has none.
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

// Bounds of the memory that a Regexp keeps between matches.
const (
	maxIdleFrames    = 1 << 12
	maxIdleRegisters = 1 << 14
)

func (r *Regexp) release(m *machine) {
	if m.reset(); cap(m.stack) <= maxIdleFrames && cap(m.regs) <= maxIdleRegisters {
		r.idle.Store(m)
	}
}
