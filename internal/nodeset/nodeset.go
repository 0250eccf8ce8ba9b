// Package nodeset writes many names as few words, and reads such words: "web[01-12].example.com,db1"
// for thirteen hosts, in the notation of pdsh and ClusterShell.
//
// A name is text with numbers in it. Names that differ in one number only are folded into one word
// with a list of ranges in brackets. If several numbers differ, Fold chooses the number that leaves
// the fewest words. Zero-padding is part of a number: 8 and 08 are different numbers. Numbers before
// an "@" are text, because they may be part of a password.
package nodeset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxDigits is the length up to which digits are a number; longer runs are
// text.
const maxDigits = 18

// Fold returns the set of names as words joined by commas. Words stand in the
// order of their first name, numbers in a word in ascending order. Names with
// brackets, commas or blanks in them are words as they are.
func Fold(names []string) string {
	var words []word
	seen := make(map[string]bool, len(names))
	shapes := make(map[string][]parsed)
	for i, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if strings.ContainsAny(name, "[], \t\n") {
			words = append(words, word{i, name})
			continue
		}
		p := parse(name)
		p.place = i
		shapes[p.shape()] = append(shapes[p.shape()], p)
	}
	for _, set := range shapes {
		words = append(words, foldShape(set)...)
	}
	slices.SortFunc(words, func(a, b word) int { return cmp.Compare(a.place, b.place) })
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// word is a folded word and the position of its first name.
type word struct {
	place int
	text  string
}

// number is a run of digits.
type number struct {
	value uint64
	width int // digits with leading zeros; 1 where there are none
}

func (n number) String() string { return fmt.Sprintf("%0*d", n.width, n.value) }

// parsed is a name: text[0] number[0] text[1] … text[len(numbers)].
type parsed struct {
	text    []string
	numbers []number
	place   int
}

func parse(name string) parsed {
	var p parsed
	start := 0
	for i := strings.LastIndexByte(name, '@') + 1; i < len(name); {
		if !digit(name[i]) {
			i++
			continue
		}
		end := i
		for end < len(name) && digit(name[end]) {
			end++
		}
		if digits := name[i:end]; len(digits) <= maxDigits {
			p.text = append(p.text, name[start:i])
			p.numbers = append(p.numbers, parseNumber(digits))
			start = end
		}
		i = end
	}
	p.text = append(p.text, name[start:])
	return p
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// parseNumber reads 1 to maxDigits digits.
func parseNumber(digits string) number {
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		panic("nodeset: " + err.Error()) // the caller has checked every byte
	}
	n := number{v, 1}
	if len(digits) > 1 && digits[0] == '0' {
		n.width = len(digits)
	}
	return n
}

// shape returns the name without its numbers; it is equal for names that may be
// folded together.
func (p parsed) shape() string { return strings.Join(p.text, "[") }

// around returns the name without its number d.
func (p parsed) around(d int) string {
	var b strings.Builder
	for i, n := range p.numbers {
		b.WriteString(p.text[i])
		if i == d {
			b.WriteByte('[')
		} else {
			b.WriteString(n.String())
		}
	}
	b.WriteString(p.text[len(p.numbers)])
	return b.String()
}

// foldShape folds the names of one shape along the number that leaves the fewest words. If several
// numbers do, it takes the last of them.
func foldShape(set []parsed) []word {
	var best map[string][]parsed
	for d := range set[0].numbers {
		groups := make(map[string][]parsed)
		for _, p := range set {
			key := p.around(d)
			p.numbers = []number{p.numbers[d]}
			groups[key] = append(groups[key], p)
		}
		if best == nil || len(groups) <= len(best) {
			best = groups
		}
	}
	if best == nil { // no numbers: one name
		return []word{{set[0].place, set[0].text[0]}}
	}
	var words []word
	for key, group := range best {
		before, after, _ := strings.Cut(key, "[")
		for _, set := range byWidth(group) {
			first := slices.MinFunc(set, func(a, b parsed) int { return cmp.Compare(a.place, b.place) }).place
			words = append(words, word{first, before + ranges(set) + after})
		}
	}
	return words
}

// byWidth divides names of one number into sets whose numbers can be written with one padding. A
// number without leading zeros fits every padding that is not wider than the number.
func byWidth(group []parsed) [][]parsed {
	sets := make(map[int][]parsed)
	for _, p := range group {
		if w := p.numbers[0].width; w > 1 {
			sets[w] = append(sets[w], p)
		}
	}
	padded := slices.Sorted(maps.Keys(sets))
	for _, p := range group {
		if p.numbers[0].width > 1 {
			continue
		}
		w := 1
		if len(padded) > 0 && len(p.numbers[0].String()) >= padded[0] {
			w = padded[0]
		}
		sets[w] = append(sets[w], p)
	}
	return slices.Collect(maps.Values(sets))
}

// ranges writes the numbers of a set, in brackets unless the set has only one number.
func ranges(set []parsed) string {
	if len(set) == 1 {
		return set[0].numbers[0].String()
	}
	slices.SortFunc(set, func(a, b parsed) int { return cmp.Compare(a.numbers[0].value, b.numbers[0].value) })
	width := 1
	for _, p := range set {
		width = max(width, p.numbers[0].width)
	}
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i < len(set); {
		first := set[i].numbers[0].value
		last := first
		for i++; i < len(set) && set[i].numbers[0].value == last+1; i++ {
			last++
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(number{first, width}.String())
		if last > first {
			b.WriteString("-" + number{last, width}.String())
		}
	}
	b.WriteByte(']')
	return b.String()
}
