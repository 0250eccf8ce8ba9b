package ansible

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"bolt/internal/safetext"
)

// hosts parses a host pattern: a name with an optional port, and with ranges in
// brackets ([01:10], [a:f], [0:20:5]), which it expands to names.
func hosts(pattern string) (names []string, port int64, err error) {
	name := pattern
	if host, p, ok := cutPort(pattern); ok && validHost(host) {
		name, port = host, p
	}
	if name == "" {
		return nil, 0, errors.New("a host has no name")
	}
	e := expansion{}
	if err := e.add(name); err != nil {
		return nil, 0, fmt.Errorf("the host pattern '%s': %w", told(pattern), err)
	}
	return e.names, port, nil
}

// cutPort splits host:port. A host in brackets can contain any characters.
func cutPort(s string) (host string, port int64, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i == len(s)-1 || strings.Trim(s[i+1:], "0123456789") != "" {
		return "", 0, false
	}
	port, err := strconv.ParseInt(s[i+1:], 10, 64)
	if err != nil {
		return "", 0, false
	}
	host = s[:i]
	if inner, in := strings.CutPrefix(host, "["); in && strings.HasSuffix(inner, "]") {
		if inner = inner[:len(inner)-1]; validHost(inner) {
			return inner, port, true
		}
	}
	outside, opened := 0, false // colons outside of ranges
	for _, r := range host {
		switch {
		case r == '[':
			opened = true
		case r == ']':
			opened = false
		case r == ':' && !opened:
			outside++
		}
	}
	return host, port, outside == 0 && !opened
}

// validHost reports whether s is an address or a host name, with ranges in it.
func validHost(s string) bool {
	plain, ok := withoutRanges(s)
	if !ok || plain == "" {
		return false
	}
	if _, err := netip.ParseAddr(plain); err == nil {
		return true
	}
	if strings.Count(plain, ":") > 1 {
		return strings.Trim(strings.ToLower(plain), "0123456789abcdef:.") == ""
	}
	for label := range strings.SplitSeq(plain, ".") {
		if label == "" || label[0] == '-' || strings.HasSuffix(label, "-") || strings.HasSuffix(label, "_") {
			return false
		}
		for _, r := range label {
			if r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return false
			}
		}
	}
	return true
}

// withoutRanges replaces each range by a 0.
func withoutRanges(s string) (plain string, ok bool) {
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(s, "[")
		b.WriteString(head)
		if !found {
			return b.String(), !strings.Contains(head, "]")
		}
		within, tail, closed := strings.Cut(rest, "]")
		if !closed || !strings.Contains(within, ":") {
			return "", false
		}
		b.WriteByte('0')
		s = tail
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// An expansion is the list of names of a pattern with ranges.
type expansion struct {
	names []string
	steps int // in all ranges: some ranges contribute no name
}

func (e *expansion) add(pattern string) error {
	if e.steps++; e.steps > 2*MaxHosts {
		return errTooMany
	}
	head, rest, ranged := strings.Cut(pattern, "[")
	if !ranged {
		if len(e.names) == MaxHosts {
			return errTooMany
		}
		e.names = append(e.names, pattern)
		return nil
	}
	within, tail, closed := strings.Cut(rest, "]")
	if !closed {
		return errors.New("a bracket is not closed")
	}
	part, err := rangeOf(within)
	if err != nil {
		return err
	}
	for i := range part.count {
		if err := e.add(head + part.name(i) + tail); err != nil {
			return err
		}
	}
	return nil
}

var errTooMany = fmt.Errorf("it expands to more than %d names", MaxHosts)

// A span is the list of names of a range.
type span struct {
	count int
	name  func(i int) string
}

func rangeOf(s string) (span, error) {
	bounds := strings.Split(s, ":")
	if len(bounds) != 2 && len(bounds) != 3 {
		return span{}, errors.New("a range in brackets is [first:last] or [first:last:step]")
	}
	step := 1
	if len(bounds) == 3 {
		var err error
		if step, err = strconv.Atoi(bounds[2]); err != nil || step < 1 {
			return span{}, errors.New("the step of a range is not a whole number above 0")
		}
	}
	first, last := bounds[0], bounds[1]
	if first == "" {
		first = "0"
	}
	if last == "" {
		return span{}, errors.New("a range has no end")
	}
	width := 0
	if first[0] == '0' && len(first) > 1 {
		if width = len(first); width != len(last) {
			return span{}, errors.New("the beginning of a range has a leading zero, but not the same length as the end")
		}
	}
	if a, b := strings.Index(letters, first), strings.Index(letters, last); len(first) == 1 && len(last) == 1 && a >= 0 && b >= 0 {
		if a > b {
			return span{}, errors.New("the beginning of a range is after its end")
		}
		return span{(b-a)/step + 1, func(i int) string { return letters[a+i*step:][:1] }}, nil
	}
	a, errA := strconv.ParseInt(first, 10, 32)
	b, errB := strconv.ParseInt(last, 10, 32)
	if errA != nil || errB != nil || a < 0 || b < 0 {
		return span{}, errors.New("a range must consist of numbers or of single letters")
	}
	count := 0
	if b >= a {
		count = (int(b)-int(a))/step + 1
	}
	if count > MaxHosts {
		return span{}, errTooMany
	}
	return span{count, func(i int) string { return fmt.Sprintf("%0*d", width, int(a)+i*step) }}, nil
}

// told makes a string from a file safe for a message.
func told(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "…"
	}
	return safetext.TerminalString(safetext.String(s))
}
