package regexp

import (
	"io"
	"unicode/utf8"
)

// A Budget bounds what several matches may take together: those of one text
// that all are looked for, or of many texts. It belongs to one goroutine.
type Budget struct {
	// Spend is told of steps that were taken, some thousands at a time, and ends
	// the match with its error: of a context that is done, of work that is too
	// much. nil: nobody is told.
	Spend func(steps int) error
	// Size is asked whether a text of so many bytes may be made, and ends a
	// replacement with its error. nil: any may.
	Size func(bytes int) error

	left  int
	ready bool
}

// Steps that one call may take for all its matches together: for any text, and
// for each byte of it. An honest pattern takes less than ten for a byte.
const (
	callSteps        = 10 * baseSteps
	callStepsPerByte = 4 * stepsPerByte
)

// spend takes steps; there may be no budget.
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

// written ends what has become too long.
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

// Within returns the Regexp with a budget; nil: without one that others share.
func (r *Regexp) Within(b *Budget) Within { return Within{r, b} }

// FindIndex is [Regexp.FindIndex] within the budget.
func (r Within) FindIndex(s string, from int) (loc []int, err error) {
	if from < 0 || from > len(s) {
		return nil, nil
	}
	q := search{re: r.Regexp, b: r.b, l: r.linearFor(s), s: s}
	return q.find(from)
}

// A search looks for several matches in one text.
type search struct {
	re    *Regexp
	b     *Budget
	l     *linear // nil: it does not fit
	s     string
	finds int
}

// search begins a search for several matches, with a budget of its own steps.
func (r Within) search(s string) *search {
	own := Budget{left: callSteps + callStepsPerByte*len(s), ready: true}
	if r.b != nil {
		own.Spend = r.b.Spend
	}
	return &search{re: r.Regexp, b: &own, l: r.linearFor(s), s: s}
}

// find gives the first match from there on.
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

// findSteps is what Go's regexp takes for a match of nothing.
const findSteps = 8

// sampled says which of many matches are looked at more closely.
const sampled = 32

// paid counts what a match that Go's regexp found took: at least the text up to
// its end. It may have looked much further, to the end of the text for each
// match, and does not tell; so now and then one is looked for again, in a way
// that shows it, and stands for those before.
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

// counting is a reader of text that knows how much was read.
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

// Backtracks reports whether a match in s is looked for in a way that may take
// long.
func (r *Regexp) Backtracks(s string) bool { return r.linearFor(s) == nil }
