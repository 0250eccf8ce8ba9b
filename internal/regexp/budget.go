package regexp

import (
	"io"
	"unicode/utf8"
)

// A Budget bounds the steps and bytes of several matches together: all matches
// of one string, or the matches of many strings. It belongs to one goroutine.
type Budget struct {
	// Spend is called with the number of steps taken, some thousands at a time.
	// Its error ends the match: for example, the context is done, or the work is
	// too much. It may be nil.
	Spend func(steps int) error
	// Size is called before a string of this many bytes is made. Its error ends
	// the replacement. It may be nil.
	Size func(bytes int) error

	left  int
	ready bool
}

// Steps that one call may take for all its matches together: a base for any
// string, and more for each byte of it. An ordinary pattern takes less than ten
// for a byte.
const (
	callSteps        = 10 * baseSteps
	callStepsPerByte = 4 * stepsPerByte
)

// spend takes steps. The budget can be nil.
func (b *Budget) spend(steps int) error {
	if b == nil {
		return nil
	}
	if b.ready {
		if b.left -= steps; b.left < 0 {
			return ErrLimit
		}
	}
	if b.Spend == nil {
		return nil
	}
	return b.Spend(steps)
}

// written returns the error of Size for a result of this size.
func (b *Budget) written(size int) error {
	if b == nil || b.Size == nil {
		return nil
	}
	return b.Size(size)
}

// Within is a Regexp whose matches have a budget.
type Within struct {
	*Regexp
	b *Budget
}

// Within returns the Regexp with a budget. If b is nil, matches share no budget.
func (r *Regexp) Within(b *Budget) Within { return Within{r, b} }

// FindIndex is [Regexp.FindIndex] within the budget.
func (r Within) FindIndex(s string, from int) (loc []int, err error) {
	if from < 0 || from > len(s) {
		return nil, nil
	}
	q := search{re: r.Regexp, b: r.b, l: r.linearFor(s), s: s}
	return q.find(from)
}

// A search finds several matches in one string.
type search struct {
	re    *Regexp
	b     *Budget
	l     *linear // nil if the translation does not fit
	s     string
	finds int
}

// search begins a search for several matches, with its own budget of steps.
func (r Within) search(s string) *search {
	own := Budget{left: callSteps + callStepsPerByte*len(s), ready: true}
	if r.b != nil {
		own.Spend = r.b.Spend
	}
	return &search{re: r.Regexp, b: &own, l: r.linearFor(s), s: s}
}

// find returns the first match at from or later.
func (q *search) find(from int) ([]int, error) {
	q.finds++
	if q.l != nil {
		if loc, ok := q.l.find(q.s, from); ok {
			return loc, q.paid(from, loc)
		}
	}
	m := q.re.machine()
	defer q.re.release(m)
	m.b = q.b
	ok, err := m.search(q.s, from)
	if err == nil {
		err = m.spent()
	}
	if !ok || err != nil {
		return nil, err
	}
	return m.loc(), nil
}

// findSteps is the cost of an empty match by Go's regexp.
const findSteps = 8

// sampled is the interval, in matches, at which the cost of a match is measured.
const sampled = 32

// paid counts the steps of a match that Go's regexp found: at least the bytes up
// to its end. Go's regexp may have read much further, to the end of the string
// for each match, and does not report it. So now and then paid repeats a match
// in a way that shows the number of bytes read, and charges the matches before
// it at the same rate.
func (q *search) paid(from int, loc []int) error {
	end := len(q.s)
	if loc != nil {
		end = loc[1]
	}
	steps := findSteps + (end-from)/charsPerStep
	if q.finds%sampled == 0 && q.l.re != nil && len(q.s)-from > 1<<12 {
		r := counting{s: q.s[from:]}
		q.l.re.FindReaderIndex(&r)
		steps += sampled * r.at
	}
	return q.b.spend(steps)
}

// counting is a reader of a string that counts the bytes read.
type counting struct {
	s  string
	at int
}

func (c *counting) ReadRune() (rune, int, error) {
	if c.at >= len(c.s) {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRuneInString(c.s[c.at:])
	c.at += n
	return r, n, nil
}

// Backtracks reports whether a match in s uses the backtracking matcher, which
// can take long.
func (r *Regexp) Backtracks(s string) bool { return r.linearFor(s) == nil }
