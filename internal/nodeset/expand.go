package nodeset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxNames limits the names of one word.
const maxNames = 100_000

// A Set is a word in the notation that Fold writes: text with lists of ranges in
// brackets, such as "web[01-12,20].example.com" or "rack[1-4]-node[0-63/2]",
// where "/2" takes every second number.
type Set struct {
	text []string // around the lists; one more than these
	list [][]span
	size int
	wide bool // a list has a number of two digits or more
}

// span is first, first+step, … up to last, written with at least width digits.
type span struct {
	first, last, step uint64
	width             int
}

func (s span) count() uint64 { return (s.last-s.first)/s.step + 1 }

func (s span) has(n uint64) bool {
	return s.first <= n && n <= s.last && (n-s.first)%s.step == 0
}

// Parse reads a word. ok is false if the word is not in the notation: it has no
// brackets, or its brackets contain something other than lists of ranges of
// numbers. For a word in the notation, the error is the reason why it stands for
// no names; it quotes only a range of the word.
//
// A range that begins with a zero is padded to the width of its first number, as
// in pdsh and ClusterShell.
func Parse(word string) (s *Set, ok bool, err error) {
	s = &Set{size: 1}
	rest := word
	for {
		open := strings.IndexByte(rest, '[')
		if open < 0 {
			break
		}
		end := strings.IndexByte(rest, ']')
		if end < open || !strings.ContainsAny(rest[open:end], "0123456789") || strings.Trim(rest[open+1:end], "0123456789-,/") != "" {
			return nil, false, nil
		}
		list, lerr := s.ranges(rest[open+1 : end])
		if lerr != nil && err == nil {
			err = lerr
		}
		s.text = append(s.text, rest[:open])
		s.list = append(s.list, list)
		rest = rest[end+1:]
	}
	if s.list == nil || strings.ContainsAny(rest, "]") || strings.ContainsAny(strings.Join(s.text, ""), "]") {
		return nil, false, nil
	}
	s.text = append(s.text, rest)
	return s, true, err
}

// ranges reads the text of one pair of brackets, and counts its names.
func (s *Set) ranges(text string) ([]span, error) {
	var list []span
	var count uint64
	for part := range strings.SplitSeq(text, ",") {
		r, err := parseSpan(part)
		if err != nil {
			return nil, err
		}
		s.wide = s.wide || r.width > 1 || r.last > 9
		if count += r.count(); r.count() > maxNames || count > maxNames || count*uint64(s.size) > maxNames {
			return nil, fmt.Errorf("its ranges stand for more than %d names", maxNames)
		}
		list = append(list, r)
	}
	s.size *= int(count)
	return list, nil
}

// parseSpan reads NUMBER, NUMBER-NUMBER or NUMBER-NUMBER/STEP.
func parseSpan(text string) (span, error) {
	if text == "" {
		return span{}, errors.New("one of its ranges is empty")
	}
	ends, step, stepped := strings.Cut(text, "/")
	first, last, isRange := strings.Cut(ends, "-")
	if !isRange {
		last = first
	}
	if stepped && !isRange {
		return span{}, fmt.Errorf("the range %s has a step and no end", text)
	}
	r := span{step: 1, width: 1}
	for _, n := range [...]struct {
		text string
		to   *uint64
		used bool
	}{{first, &r.first, true}, {last, &r.last, true}, {step, &r.step, stepped}} {
		if !n.used {
			continue
		}
		v, err := strconv.ParseUint(n.text, 10, 64)
		if err != nil || len(n.text) > maxDigits {
			return r, fmt.Errorf("the range %s is not a number, or two with a dash between", text)
		}
		*n.to = v
	}
	switch {
	case r.last < r.first:
		return r, fmt.Errorf("the range %s ends before it begins", text)
	case r.step == 0:
		return r, fmt.Errorf("the range %s has a step of 0", text)
	case len(last) > 1 && last[0] == '0' && len(first) != len(last):
		return r, fmt.Errorf("the numbers of the range %s are not padded alike", text)
	}
	if first[0] == '0' {
		r.width = len(first)
	}
	return r, nil
}

// Wide reports whether there is a number of two digits or more. Such a word cannot
// be a pattern, because in a pattern brackets stand for one character.
func (s *Set) Wide() bool { return s.wide }

// Names lists the names that the word stands for. The numbers of the last brackets
// change first.
func (s *Set) Names() []string {
	names := make([]string, 0, s.size)
	var fill func(done string, i int)
	fill = func(done string, i int) {
		done += s.text[i]
		if i == len(s.list) {
			names = append(names, done)
			return
		}
		for _, r := range s.list[i] {
			for n := range r.count() {
				fill(done+number{r.first + n*r.step, r.width}.String(), i+1)
			}
		}
	}
	fill("", 0)
	return names
}
