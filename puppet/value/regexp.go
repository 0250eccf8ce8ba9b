package value

import (
	"bolt/internal/regexp"
)

// A Regexp is a regular expression of the language, in Ruby's syntax. Package
// regexp describes the supported features. It is safe for concurrent use.
type Regexp struct {
	re *regexp.Regexp
}

// NewRegexp compiles the regular expression src. An error is a [*regexp.Error]
// that describes the fault in src.
func NewRegexp(src string) (*Regexp, error) {
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, err
	}
	return &Regexp{re}, nil
}

// Source returns the source of the expression, without the slashes.
func (r *Regexp) Source() string { return r.re.Source() }

// MatchString reports whether r matches a part of s. If the match takes too
// long, the error is [regexp.ErrLimit].
func (r *Regexp) MatchString(s string) (bool, error) { return r.re.Match(s) }

// Match matches s. groups has the whole match at index 0, and each group as a
// String. A group that did not take part in the match is Undef. The error is as
// for MatchString.
func (r *Regexp) Match(s string) (groups []Value, ok bool, err error) {
	loc, err := r.re.FindIndex(s, 0)
	if err != nil || loc == nil {
		return nil, false, err
	}
	return Groups(s, loc), true, nil
}

// Groups returns the strings of a match in s. loc has pairs of the first byte
// and the byte after the last, as [Regexp.FindIndex] and [Regexp.All] return
// them.
func Groups(s string, loc []int) []Value {
	groups := make([]Value, len(loc)/2)
	for i := range groups {
		if from, to := loc[2*i], loc[2*i+1]; from >= 0 {
			groups[i] = String(s[from:to])
		} else {
			groups[i] = Undef{}
		}
	}
	return groups
}
