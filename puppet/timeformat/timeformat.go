// Package timeformat formats and parses timestamps and timespans as Puppet
// does. The formats of timestamps are those of Ruby's strftime and strptime.
// The formats of timespans are those of the type Timespan.
package timeformat

import (
	"fmt"
	"unicode/utf8"
)

// A Reason is the kind of an [Error].
type Reason uint8

const (
	Malformed  Reason = iota // the text does not match the format
	BadFormat                // the format is invalid
	TooLong                  // the text or the format is too long
	OutOfRange               // the time is too far away or too long
)

// An Error is the error of parsing or formatting a time.
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

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isSpace reports whether \s matches c.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
