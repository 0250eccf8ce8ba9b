// Package glob matches names with patterns as Ruby's File.fnmatch does, with
// braces. The patterns select targets, or the tasks and plans that a project
// lists.
package glob

import (
	"fmt"
	"strings"
)

// maxAlternatives limits the alternatives that the braces of one pattern expand
// to. Each alternative is compared with every name.
const maxAlternatives = 4096

// Glob is a compiled pattern: "*", "?", "[a-z]", "[^a-z]", "\x", and "{a,b}".
// It follows fnmatch(3) without FNM_PATHNAME and with FNM_PERIOD, ignoring
// the case of ASCII letters: "*" crosses slashes, but a dot at the start of a
// name must be written out.
type Glob []string

// Chars are the characters that make a string a pattern.
const Chars = "*?[]{}"

// Compile compiles a pattern, which ignores the case of letters. Its error does
// not quote it.
func Compile(pattern string) (Glob, error) {
	var g Glob
	if err := g.expand(strings.ToLower(pattern)); err != nil {
		return nil, err
	}
	return g, nil
}

// WithoutBraces compiles a pattern in which braces are ordinary characters.
func WithoutBraces(pattern string) Glob { return Glob{strings.ToLower(pattern)} }

// expand adds the alternatives of p. Braces without a partner are ordinary.
func (g *Glob) expand(p string) error {
	open, end := -1, -1
	depth := 0
scan:
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open = i
			}
			depth++
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				end = i
				break scan
			}
		}
	}
	if end < 0 {
		if len(*g) == maxAlternatives {
			return fmt.Errorf("its braces stand for more than %d alternatives", maxAlternatives)
		}
		*g = append(*g, p)
		return nil
	}
	start := open + 1
	for i := start; i <= end; i++ {
		switch {
		case p[i] == '\\' && i+1 < end:
			i++
		case p[i] == '{':
			depth++
		case p[i] == '}' && i < end:
			depth--
		case i == end, p[i] == ',' && depth == 0:
			if err := g.expand(p[:open] + p[start:i] + p[end+1:]); err != nil {
				return err
			}
			start = i + 1
		}
	}
	return nil
}

// Match reports whether a name fits the pattern.
func (g Glob) Match(name string) bool {
	name = strings.ToLower(name)
	for _, p := range g {
		if fnmatch(p, name) {
			return true
		}
	}
	return false
}

// fnmatch only remembers the last star: a retry of an earlier star cannot match
// more than a retry of a later one.
func fnmatch(p, s string) bool {
	if s != "" && s[0] == '.' && (p == "" || strings.IndexByte("*?[", p[0]) >= 0) {
		return false
	}
	star, resume := -1, 0
	pi, si := 0, 0
	for si < len(s) {
		if pi < len(p) {
			if p[pi] == '*' {
				star, resume = pi, si
				pi++
				continue
			}
			if ok, n := matchByte(p[pi:], s[si]); ok {
				pi += n
				si++
				continue
			}
		}
		if star < 0 {
			return false
		}
		resume++
		pi, si = star+1, resume
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// matchByte compares c with the element that p starts with, n bytes long.
func matchByte(p string, c byte) (ok bool, n int) {
	switch p[0] {
	case '?':
		return true, 1
	case '\\':
		if len(p) > 1 {
			return p[1] == c, 2
		}
	case '[':
		if ok, n := matchClass(p, c); n > 0 {
			return ok, n
		}
	}
	return p[0] == c, 1
}

// matchClass compares c with a class such as "[a-z0]" or "[^x]". n is 0 if the
// bracket is never closed.
func matchClass(p string, c byte) (ok bool, n int) {
	i := 1
	negate := i < len(p) && (p[i] == '^' || p[i] == '!')
	if negate {
		i++
	}
	char := func() byte {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		b := p[i]
		i++
		return b
	}
	found := false
	for first := i; i < len(p); {
		if p[i] == ']' && i > first {
			return found != negate, i + 1
		}
		lo := char()
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			hi = char()
		}
		if lo <= c && c <= hi {
			found = true
		}
	}
	return false, 0
}
