package value

import (
	"bolt/internal/regexp"
)

// A Regexp is a regular expression of the language, as Ruby writes them. See
// package regexp for what it can do. It may be used by many goroutines.
type Regexp struct {
	re *regexp.Regexp
}

// NewRegexp returns the regular expression src. An error is a [*regexp.Error]
// and says what is wrong with src.
func NewRegexp(src string) (*Regexp, error) {
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, err
	}
	return &Regexp{re}, nil
}

// Source returns the expression as it is written, without the slashes.
func (r *Regexp) Source() string { return r.re.Source() }

// MatchString reports whether r matches s somewhere. An error is
// [regexp.ErrLimit]: it takes too long to say.
func (r *Regexp) MatchString(s string) (bool, error) { return r.re.Match(s) }

// Match matches s: groups has the whole match at 0, and each group as a String,
// or Undef where it took no part. The error is as of MatchString.
func (r *Regexp) Match(s string) (groups []Value, ok bool, err error) {
	loc, err := r.re.FindIndex(s, 0)
	if err != nil || loc == nil {
		return nil, false, err
	}
	return Groups(s, loc), true, nil
}

// Groups returns the texts of a match in s that is given as pairs of first byte
// and byte after, as [Regexp.FindIndex] and [Regexp.All] give them.
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
