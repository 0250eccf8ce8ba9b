package semver

import (
	"fmt"
	"unicode/utf8"
)

// A Reason is the kind of an [Error].
type Reason uint8

const (
	Malformed Reason = iota // the string has another form
	TooLarge                // a number does not fit in 64 bits
	TooLong                 // the string is longer than a range may be
)

// An Error is the error for a string that is not a version or a range.
type Error struct {
	Reason Reason
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

func fail(r Reason, format string, args ...any) *Error {
	return &Error{r, fmt.Sprintf(format, args...)}
}

// clip shortens a string for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
