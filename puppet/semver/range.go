package semver

import (
	"slices"
	"strings"
)

// A Range is a set of versions: ">=1.2.0 <2.0.0", "1.x || ~2.3".
type Range struct {
	spans []span
	text  string
}

// A spanKind is the notation of a span. It affects how the span is printed and
// compared.
type spanKind uint8

const (
	spanAll spanKind = iota
	spanGt
	spanGtEq
	spanLt
	spanLtEq
	spanEq
	spanMinMax
)

// A span is an interval of versions. spanMinMax has min and max; the other
// kinds have version.
type span struct {
	kind     spanKind
	version  *Version
	min, max *span
}

var (
	everything = span{kind: spanAll}
	nothing    = span{kind: spanLt, version: lowestVersion}
)

func (s *span) begin() *Version {
	switch s.kind {
	case spanGt, spanGtEq, spanEq:
		return s.version
	case spanMinMax:
		return s.min.begin()
	}
	return lowestVersion
}

func (s *span) end() *Version {
	switch s.kind {
	case spanLt, spanLtEq, spanEq:
		return s.version
	case spanMinMax:
		return s.max.end()
	}
	return highestVersion
}

func (s *span) excludeBegin() bool {
	return s.kind == spanGt || s.kind == spanMinMax && s.min.excludeBegin()
}

func (s *span) excludeEnd() bool {
	return s.kind == spanLt || s.kind == spanMinMax && s.max.excludeEnd()
}

func (s *span) lowerBound() bool {
	switch s.kind {
	case spanGt:
		return true
	case spanGtEq, spanEq:
		return !s.version.Equal(lowestVersion)
	case spanMinMax:
		return s.min.lowerBound()
	}
	return false
}

func (s *span) upperBound() bool {
	switch s.kind {
	case spanLt:
		return true
	case spanLtEq, spanEq:
		return !s.version.Equal(highestVersion)
	case spanMinMax:
		return s.max.upperBound()
	}
	return false
}

func (s *span) includes(v *Version) bool {
	switch s.kind {
	case spanGt:
		return v.Compare(s.version) > 0
	case spanGtEq:
		return v.Compare(s.version) >= 0
	case spanLt:
		return v.Compare(s.version) < 0
	case spanLtEq:
		return v.Compare(s.version) <= 0
	case spanEq:
		return v.Equal(s.version)
	case spanMinMax:
		return s.min.includes(v) && s.max.includes(v)
	}
	return true
}

// allowsPre reports whether the range includes pre-releases of the numbers of
// v. It does if it contains a pre-release with the same numbers.
func (s *span) allowsPre(v *Version) bool {
	switch s.kind {
	case spanAll:
		return true
	case spanMinMax:
		return s.min.allowsPre(v) || s.max.allowsPre(v)
	}
	o := s.version
	return !o.stable() && o.Major == v.Major && o.Minor == v.Minor && o.Patch == v.Patch
}

func (s *span) equal(o *span) bool {
	if s.kind != o.kind {
		return false
	}
	switch s.kind {
	case spanAll:
		return true
	case spanMinMax:
		return s.min.equal(o.min) && s.max.equal(o.max)
	}
	return s.version.Equal(o.version)
}

func (s *span) append(b []byte) []byte {
	switch s.kind {
	case spanAll:
		return append(b, '*')
	case spanMinMax:
		b = append(s.min.append(b), ' ')
		return s.max.append(b)
	case spanGt:
		b = append(b, '>')
	case spanGtEq:
		b = append(b, ">="...)
	case spanLt:
		if s.version.Equal(lowestVersion) {
			return append(b, "<0.0.0"...)
		}
		b = append(b, '<')
	case spanLtEq:
		b = append(b, "<="...)
	}
	return s.version.Append(b)
}

// intersect returns the versions in both spans. If there are none, ok is false.
func (s span) intersect(o span) (r span, ok bool) {
	if s.kind == spanAll {
		return o, true
	}
	c := s.begin().Compare(o.end())
	switch {
	case c > 0:
		return r, false
	case c == 0:
		return span{kind: spanEq, version: s.begin()}, !s.excludeBegin() && !o.excludeEnd()
	}
	c = o.begin().Compare(s.end())
	switch {
	case c > 0:
		return r, false
	case c == 0:
		return span{kind: spanEq, version: o.begin()}, !o.excludeBegin() && !s.excludeEnd()
	}
	lo, hi := s, s
	if c := s.begin().Compare(o.begin()); c < 0 || c == 0 && !s.excludeBegin() {
		lo = o
	}
	if c := s.end().Compare(o.end()); c > 0 || c == 0 && !s.excludeEnd() {
		hi = o
	}
	switch {
	case !hi.upperBound():
		return lo, true
	case !lo.lowerBound():
		return hi, true
	}
	return minMax(lo, hi), true
}

// minMax returns the span from the lower end of lo to the upper end of hi.
func minMax(lo, hi span) span {
	if lo.kind == spanMinMax {
		lo = *lo.min
	}
	if hi.kind == spanMinMax {
		hi = *hi.max
	}
	return span{kind: spanMinMax, min: &lo, max: &hi}
}

func fromTo(begin *Version, noBegin bool, end *Version, noEnd bool) (span, bool) {
	lo, hi := span{spanGtEq, begin, nil, nil}, span{spanLtEq, end, nil, nil}
	if noBegin {
		lo.kind = spanGt
	}
	if noEnd {
		hi.kind = spanLt
	}
	return lo.intersect(hi)
}

// union returns the versions in either span, if they overlap or touch. If the
// union is empty, gone is true.
func (s span) union(o span) (r span, ok, gone bool) {
	if s.kind == spanAll {
		return s, true, false
	}
	join := func(a, b span) (span, bool, bool) {
		r, ok := fromTo(a.begin(), a.excludeBegin(), b.end(), b.excludeEnd())
		return r, true, !ok
	}
	switch {
	case s.includes(o.begin()) || o.includes(s.begin()):
		first, last := s, s
		noBegin, noEnd := s.excludeBegin(), s.excludeEnd()
		switch c := s.begin().Compare(o.begin()); {
		case c > 0:
			first, noBegin = o, o.excludeBegin()
		case c == 0:
			noBegin = noBegin && o.excludeBegin()
		}
		switch c := s.end().Compare(o.end()); {
		case c < 0:
			last, noEnd = o, o.excludeEnd()
		case c == 0:
			noEnd = noEnd && o.excludeEnd()
		}
		r, ok := fromTo(first.begin(), noBegin, last.end(), noEnd)
		return r, true, !ok
	case s.excludeEnd() && !o.excludeBegin() && s.end().Equal(o.begin()):
		return join(s, o)
	case o.excludeEnd() && !s.excludeBegin() && o.end().Equal(s.begin()):
		return join(o, s)
	case !s.excludeEnd() && !o.excludeBegin() && s.end().next().Equal(o.begin()):
		return join(s, o)
	case !o.excludeEnd() && !s.excludeBegin() && o.end().next().Equal(s.begin()):
		return join(o, s)
	}
	return r, false, false
}

// newRange joins spans that overlap or touch. text is the original notation.
func newRange(spans []span, text string) *Range {
	for merged := true; merged && len(spans) > 1; {
		merged = false
		var result []span
		for len(spans) > 0 {
			x := spans[len(spans)-1]
			var apart []span
			for _, y := range spans[:len(spans)-1] {
				if m, ok, gone := x.union(y); ok && !gone {
					x, merged = m, true
				} else {
					apart = append(apart, y)
				}
			}
			result = append(result, x)
			spans = apart
		}
		slices.Reverse(result)
		spans = result
	}
	if len(spans) == 0 {
		spans = []span{nothing}
	}
	return &Range{spans, text}
}

// NewRange returns the range from begin to end. nil stands for the lowest and
// for the highest possible version.
func NewRange(begin, end *Version, excludeEnd bool) *Range {
	if begin == nil {
		begin = lowestVersion
	}
	if end == nil {
		end = highestVersion
	}
	var spans []span
	if s, ok := fromTo(begin, false, end, excludeEnd); ok {
		spans = append(spans, s)
	}
	// Puppet writes the ends of such ranges in the wrong order, and stores that
	// text.
	text := end.String() + " - " + begin.String()
	if excludeEnd {
		text = ">=" + end.String() + " <" + begin.String()
	}
	return newRange(spans, text)
}

// String returns the range in its original notation.
func (r *Range) String() string { return r.text }

// Canonical returns the range in a canonical notation.
func (r *Range) Canonical() string {
	var b []byte
	for i := range r.spans {
		if i > 0 {
			b = append(b, " || "...)
		}
		b = r.spans[i].append(b)
	}
	return string(b)
}

// Includes reports whether v is in the range. A pre-release is in the range
// only if the range contains a pre-release with the same numbers.
func (r *Range) Includes(v *Version) bool {
	for i := range r.spans {
		if s := &r.spans[i]; s.includes(v) && (v.stable() || s.allowsPre(v)) {
			return true
		}
	}
	return false
}

// Equal reports whether both ranges contain the same versions in the same form.
func (r *Range) Equal(o *Range) bool {
	return slices.EqualFunc(r.spans, o.spans, func(a, b span) bool { return a.equal(&b) })
}

// Begin returns the lowest version and whether it is excluded. If the range has
// several beginnings, ok is false.
func (r *Range) Begin() (v *Version, exclude, ok bool) {
	if len(r.spans) != 1 {
		return nil, false, false
	}
	return r.spans[0].begin(), r.spans[0].excludeBegin(), true
}

// End returns the highest version and whether it is excluded. If the range has
// several ends, ok is false.
func (r *Range) End() (v *Version, exclude, ok bool) {
	if len(r.spans) != 1 {
		return nil, false, false
	}
	return r.spans[0].end(), r.spans[0].excludeEnd(), true
}

// CoveredBy reports whether every version of r is in o. It compares their ends.
// If one of them has several ends, ok is false.
func (r *Range) CoveredBy(o *Range) (covered, ok bool) {
	rb, _, ok1 := r.Begin()
	ob, _, ok2 := o.Begin()
	if !ok1 || !ok2 {
		return false, false
	}
	re, rx, _ := r.End()
	oe, ox, _ := o.End()
	c := oe.Compare(re)
	return ob.Compare(rb) <= 0 && (c > 0 || c == 0 && (!ox || rx)), true
}

// Overlap returns the versions in both ranges.
func (r *Range) Overlap(o *Range) *Range {
	var spans []span
	for _, a := range r.spans {
		for _, b := range o.spans {
			if s, ok := a.intersect(b); ok && !slices.ContainsFunc(spans, func(t span) bool { return t.equal(&s) }) {
				spans = append(spans, s)
			}
		}
	}
	x := newRange(spans, "")
	x.text = x.Canonical()
	return x
}

// Join returns the range from the lower beginning to the higher end of two
// ranges. If they do not touch, or one of them has several beginnings, ok is
// false.
func (r *Range) Join(o *Range) (joined *Range, ok bool) {
	aBegin, _, ok1 := r.Begin()
	bBegin, _, ok2 := o.Begin()
	if !ok1 || !ok2 {
		return nil, false
	}
	aEnd, aOpen, _ := r.End()
	bEnd, bOpen, _ := o.End()
	switch {
	case r.Includes(bBegin) || o.Includes(aBegin):
		begin, end := aBegin, aEnd
		if bBegin.Compare(aBegin) < 0 {
			begin = bBegin
		}
		c := aEnd.Compare(bEnd)
		if c < 0 {
			end = bEnd
		}
		open := aOpen && c >= 0 && (c > 0 || bOpen) || !aOpen && bOpen && c < 0
		return NewRange(begin, end, open), true
	case aOpen && aEnd.Compare(bBegin) == 0:
		return NewRange(aBegin, bEnd, bOpen), true
	case bOpen && bEnd.Compare(aBegin) == 0:
		return NewRange(bBegin, aEnd, aOpen), true
	}
	return nil, false
}

// maxRangeText limits the length of a range, and therefore the work of joining.
const maxRangeText = 4096

// ParseRange parses a range in the notation of npm: comparisons, ~1.2, ^1.2,
// 1.x, 1.0 - 2.0, blanks for "and", || for "or". The error is an *[Error].
func ParseRange(s string) (*Range, error) {
	if len(s) > maxRangeText {
		return nil, fail(TooLong, "a range of versions may have %d bytes, not %d", maxRangeText, len(s))
	}
	parts := splitOr(tightenOperators(s))
	if len(parts) == 0 {
		return newRange([]span{everything}, "*"), nil
	}
	p := rangeParser{whole: s}
	var spans []span
	for _, part := range parts {
		x, empty := p.part(part)
		if p.err != nil {
			return nil, p.err
		}
		if !empty && !slices.ContainsFunc(spans, func(t span) bool { return t.equal(&x) }) {
			spans = append(spans, x)
		}
	}
	return newRange(spans, s), nil
}

// tightenOperators removes blanks, or blanks and a v, after an operator.
func tightenOperators(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		b = append(b, s[i])
		if strings.IndexByte("><=~^", s[i]) < 0 {
			continue
		}
		j := i + 1
		for j < len(s) && isSpace(s[j]) {
			j++
		}
		// Blanks are removed first. A v is removed only if there are none.
		if j == i+1 && j < len(s) && s[j] == 'v' {
			j++
		}
		i = j - 1
	}
	return string(b)
}

// isSpace reports whether \s matches c.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// splitOr splits at || with the blanks around it. It removes empty parts at the
// end.
func splitOr(s string) []string {
	parts := strings.Split(s, "||")
	for i := range parts {
		if i > 0 {
			parts[i] = strings.TrimLeftFunc(parts[i], func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
		}
		if i < len(parts)-1 {
			parts[i] = strings.TrimRightFunc(parts[i], func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
		}
	}
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// A rangeParser reads the parts of a range; err is the first error.
type rangeParser struct {
	whole string
	err   error
}

func (p *rangeParser) fail() {
	if p.err == nil {
		p.err = fail(Malformed, "%q is not a range of versions, such as >=1.2.0 <2.0.0", clip(p.whole))
	}
}

// part parses the text between two ||.
func (p *rangeParser) part(s string) (r span, empty bool) {
	if a, b, ok := hyphen(s); ok {
		lo, hi := p.version(a), p.version(b)
		if p.err != nil {
			return r, true
		}
		r, ok = span{kind: spanGtEq, version: lo}.intersect(span{kind: spanLtEq, version: hi})
		return r, !ok
	}
	words := splitBlanks(s)
	if len(words) == 0 {
		return r, true
	}
	for i, w := range words {
		x := p.simple(w)
		if p.err != nil {
			return r, true
		}
		if i == 0 {
			r = x
			continue
		}
		var ok bool
		if r, ok = r.intersect(x); !ok {
			// Puppet fails on an empty part here, and so does this parser.
			if i < len(words)-1 {
				p.fail()
			}
			return r, true
		}
	}
	return r, false
}

// splitBlanks splits at runs of blanks. A blank at the beginning makes an empty
// word. A blank at the end does not.
func splitBlanks(s string) []string {
	var words []string
	for start := 0; start < len(s); {
		end := start
		for end < len(s) && !isSpace(s[end]) {
			end++
		}
		words = append(words, s[start:end])
		for end < len(s) && isSpace(s[end]) {
			end++
		}
		start = end
	}
	if len(words) == 1 && words[0] == "" {
		return nil // nothing but blanks
	}
	return words
}

// hyphen splits "a - b". Both must be complete or partial versions.
func hyphen(s string) (a, b string, ok bool) {
	q, rest, ok := scanPartial(s)
	if !ok {
		return "", "", false
	}
	t := strings.TrimLeftFunc(rest, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
	if len(t) == len(rest) || !strings.HasPrefix(t, "-") {
		return "", "", false
	}
	u := strings.TrimLeftFunc(t[1:], func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
	if len(u) == len(t)-1 {
		return "", "", false
	}
	_, rest2, ok := scanPartial(u)
	_ = q
	return s[:len(s)-len(rest)], u, ok && rest2 == ""
}

// scanPartial reads 1, 1.2, 1.2.3-rc+b with x, X or * for any number.
func scanPartial(s string) (v rawVersion, rest string, ok bool) {
	for i := range v.nums {
		t := s
		if i > 0 {
			if !strings.HasPrefix(s, ".") {
				return v, s, true
			}
			t = s[1:]
		}
		n := scanNumber(t)
		if n == 0 && t != "" && strings.IndexByte("xX*", t[0]) >= 0 {
			n = 1
		}
		if n == 0 {
			return v, s, i > 0
		}
		v.nums[i], s = t[:n], t[n:]
	}
	v.pre, v.build, v.hasPre, v.hasBuild, s = scanQualifier(s)
	return v, s, true
}

// partial parses s as a partial version.
func (p *rangeParser) partial(s string) (v rawVersion) {
	v, rest, ok := scanPartial(s)
	if !ok || rest != "" {
		p.fail()
	}
	return v
}

// version parses a partial version. Missing numbers are zero.
func (p *rangeParser) version(s string) *Version {
	return p.make(p.partial(s))
}

func (p *rangeParser) make(r rawVersion) *Version {
	for i, n := range r.nums {
		if !fixed(n) {
			r.nums[i] = ""
		}
	}
	v, err := r.check()
	if err != nil && p.err == nil {
		p.err = err
	}
	if p.err != nil {
		return lowestVersion
	}
	return v
}

// fixed reports whether n is a number and not a wildcard.
func fixed(n string) bool { return n != "" && isDigit(n[0]) }

// simple parses one comparison.
func (p *rangeParser) simple(s string) span {
	op := ""
	for _, o := range []string{"<=", ">=", "~>", "~=", "<", ">", "=", "~", "^"} {
		if strings.HasPrefix(s, o) {
			op = o
			break
		}
	}
	r := p.partial(s[len(op):])
	if p.err != nil {
		return everything
	}
	switch op {
	case "~", "~>", "~=":
		return p.patches(r, true)
	case "^":
		return p.caret(r)
	case ">":
		return p.greater(r)
	case "<=":
		return p.atMost(r)
	case ">=":
		return span{kind: spanGtEq, version: p.make(r)}
	case "<":
		return span{kind: spanLt, version: p.make(r)}
	}
	return p.patches(r, false)
}

// above returns the version of the first n numbers of r, with the last one
// incremented.
func (p *rangeParser) above(r rawVersion, n int) *Version {
	v := p.make(rawVersion{nums: r.nums})
	if n == 1 {
		return &Version{Major: v.Major + 1}
	}
	return &Version{Major: v.Major, Minor: v.Minor + 1}
}

// between returns the versions from lo that begin with the first n numbers of
// r.
func (p *rangeParser) between(lo *Version, r rawVersion, n int) span {
	return minMax(span{kind: spanGtEq, version: lo}, span{kind: spanLt, version: p.above(r, n)})
}

// patches returns the span of ~r. If tilde is false, it returns the span of r.
func (p *rangeParser) patches(r rawVersion, tilde bool) span {
	switch {
	case !fixed(r.nums[0]):
		return everything
	case !fixed(r.nums[1]):
		return p.between(p.make(rawVersion{nums: [3]string{r.nums[0]}}), r, 1)
	case !fixed(r.nums[2]):
		return p.between(p.make(rawVersion{nums: [3]string{r.nums[0], r.nums[1]}}), r, 2)
	case !tilde:
		return span{kind: spanEq, version: p.make(r)}
	}
	return p.between(p.make(r), r, 2)
}

// caret returns the span of ^r.
func (p *rangeParser) caret(r rawVersion) span {
	switch {
	case r.nums[0] == "0":
		return p.patches(r, true)
	case !fixed(r.nums[0]):
		// Puppet does not accept such a range.
		p.fail()
		return everything
	case !fixed(r.nums[1]):
		return p.between(p.make(rawVersion{nums: [3]string{r.nums[0]}}), r, 1)
	case !r.hasPre || !fixed(r.nums[2]):
		return p.between(p.make(rawVersion{nums: r.nums}), r, 1)
	}
	return p.between(p.make(r), r, 1)
}

// greater returns the span of >r.
func (p *rangeParser) greater(r rawVersion) span {
	switch {
	case !fixed(r.nums[0]):
		return nothing
	case !fixed(r.nums[1]):
		return span{kind: spanGtEq, version: p.above(r, 1)}
	case !fixed(r.nums[2]):
		return span{kind: spanGtEq, version: p.above(r, 2)}
	}
	return span{kind: spanGt, version: p.make(r)}
}

// atMost returns the span of <=r.
func (p *rangeParser) atMost(r rawVersion) span {
	switch {
	case !fixed(r.nums[0]):
		p.fail()
		return everything
	case !fixed(r.nums[1]):
		return span{kind: spanLt, version: p.above(r, 1)}
	case !fixed(r.nums[2]):
		return span{kind: spanLt, version: p.above(r, 2)}
	}
	return span{kind: spanLtEq, version: p.make(r)}
}
