package value

import (
	"errors"

	"bolt/internal/regexp"
)

// A Budget bounds what several matches of regular expressions may take.
type Budget = regexp.Budget

// Within returns the expression with a budget for what it does.
func (r *Regexp) Within(b *Budget) regexp.Within { return r.re.Within(b) }

// RegexpFault returns what kind of error of a regular expression err is:
// "bad-regexp" when it is none, "regexp-limit" when a match takes too long, ""
// of all else.
func RegexpFault(err error) string {
	if errors.Is(err, regexp.ErrLimit) {
		return "regexp-limit"
	}
	if _, ok := errors.AsType[*regexp.Error](err); ok {
		return "bad-regexp"
	}
	return ""
}

// Backtracks reports whether a match in s may take long.
func (r *Regexp) Backtracks(s string) bool { return r.re.Backtracks(s) }
