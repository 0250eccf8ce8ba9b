package value

import (
	"errors"

	"bolt/internal/regexp"
)

// A Budget limits the work of several matches of regular expressions.
type Budget = regexp.Budget

// Within returns the expression with a budget for its work.
func (r *Regexp) Within(b *Budget) regexp.Within { return r.re.Within(b) }

// RegexpFault returns the kind of an error of a regular expression. It is
// "bad-regexp" for an invalid expression, "regexp-limit" for a match that takes
// too long, and "" for other errors.
func RegexpFault(err error) string {
	if errors.Is(err, regexp.ErrLimit) {
		return "regexp-limit"
	}
	if _, ok := errors.AsType[*regexp.Error](err); ok {
		return "bad-regexp"
	}
	return ""
}

// Backtracks reports whether a match in s can take long.
func (r *Regexp) Backtracks(s string) bool { return r.re.Backtracks(s) }
