package regexp

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A set is a set of characters: sorted, disjoint ranges, with a bit map in
// front for ASCII.
type set struct {
	ascii  [2]uint64
	ranges []rune // pairs: first, last
}

func newSet(ranges []rune) *set {
	s := &set{ranges: ranges}
	for i := 0; i < len(ranges) && ranges[i] < utf8.RuneSelf; i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], utf8.RuneSelf-1); r++ {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

// maxRanges limits the ranges of all sets of a pattern: two thousand times the
// ranges of the letters.
const maxRanges = 1 << 20

// set makes a set of ranges. It makes only one set for the same slice.
func (p *parser) set(start int, ranges []rune) *set {
	if len(ranges) == 0 {
		return newSet(ranges)
	}
	if s := p.made[&ranges[0]]; s != nil && len(s.ranges) == len(ranges) {
		return s
	}
	if p.wide += len(ranges) / 2; p.wide > maxRanges {
		p.fail(start, "the character classes have too many ranges")
	}
	if p.made == nil {
		p.made = make(map[*rune]*set)
	}
	s := newSet(ranges)
	p.made[&ranges[0]] = s
	return s
}

// other returns all characters that are not in ranges, and caches the result.
func (p *parser) other(ranges []rune) []rune {
	if len(ranges) == 0 {
		return complement(ranges)
	}
	out, known := p.others[&ranges[0]]
	if !known {
		out = complement(ranges)
		if p.others == nil {
			p.others = make(map[*rune][]rune)
		}
		p.others[&ranges[0]] = out
	}
	return out
}

func (s *set) has(r rune) bool {
	if r < utf8.RuneSelf {
		return s.ascii[r>>6]&(1<<(r&63)) != 0
	}
	return inRanges(s.ranges, r)
}

func inRanges(ranges []rune, r rune) bool {
	lo, hi := 0, len(ranges)/2
	for lo < hi {
		m := (lo + hi) / 2
		switch {
		case r < ranges[2*m]:
			hi = m
		case r > ranges[2*m+1]:
			lo = m + 1
		default:
			return true
		}
	}
	return false
}

// canonical sorts ranges and joins adjacent ranges. It may change its argument.
func canonical(ranges []rune) []rune {
	if len(ranges) <= 2 {
		return ranges
	}
	if inOrder(ranges) {
		return ranges
	}
	pairs := make([][2]rune, len(ranges)/2)
	for i := range pairs {
		pairs[i] = [2]rune{ranges[2*i], ranges[2*i+1]}
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := ranges[:0]
	for _, p := range pairs {
		if k := len(out); k > 0 && p[0] <= out[k-1]+1 {
			out[k-1] = max(out[k-1], p[1])
		} else {
			out = append(out, p[0], p[1])
		}
	}
	return out
}

// inOrder reports whether ranges are canonical.
func inOrder(ranges []rune) bool {
	for i := 2; i < len(ranges); i += 2 {
		if ranges[i] <= ranges[i-1]+1 {
			return false
		}
	}
	return true
}

// complement returns all characters that are not in ranges, which must be
// canonical.
func complement(ranges []rune) []rune {
	out := make([]rune, 0, len(ranges)+2)
	next := rune(0)
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] > next {
			out = append(out, next, ranges[i]-1)
		}
		next = ranges[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

// intersect returns the characters in both a and b, which must be canonical.
func intersect(a, b []rune) []rune {
	var out []rune
	for i, j := 0, 0; i < len(a) && j < len(b); {
		lo, hi := max(a[i], b[j]), min(a[i+1], b[j+1])
		if lo <= hi {
			out = append(out, lo, hi)
		}
		if a[i+1] < b[j+1] {
			i += 2
		} else {
			j += 2
		}
	}
	return out
}

// foldClosure adds to ranges every character that differs only by case from one
// of them. An ASCII character adds a character outside of ASCII (k: U+212A), and
// the other way round, only if it is in strict: \w and the ASCII brackets are
// limited to ASCII.
func foldClosure(ranges, strict []rune) []rune {
	count := 0
	for i := 0; i < len(ranges); i += 2 {
		count += int(ranges[i+1]-ranges[i]) + 1
	}
	out := slices.Clone(ranges)
	add := func(r rune) {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if utf8.RuneSelf <= f && f <= 0xff {
				continue // Onigmo treats these as bytes, and they get lost
			}
			if (f < utf8.RuneSelf) == (r < utf8.RuneSelf) || inRanges(strict, r) {
				out = append(out, f, f)
			}
		}
	}
	if count < 2000 {
		for i := 0; i < len(ranges); i += 2 {
			for r := ranges[i]; r <= ranges[i+1]; r++ {
				add(r)
			}
		}
		return canonical(out)
	}
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			if inRanges(ranges, r) {
				add(r)
			}
		}
	}
	return canonical(out)
}

// fromTable returns the ranges of a Unicode table.
func fromTable(t *unicode.RangeTable) []rune {
	var out []rune
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, lo, hi)
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, r, r)
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return canonical(out)
}

func union(tables ...*unicode.RangeTable) []rune {
	var out []rune
	for _, t := range tables {
		out = append(out, fromTable(t)...)
	}
	return canonical(out)
}
