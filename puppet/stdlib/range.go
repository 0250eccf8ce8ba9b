package stdlib

import (
	"math"
	"strings"
	"unicode/utf8"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// maxRange is how many elements a range has at most; the original cuts there
// too.
const maxRange = 1_000_000

// ranges is range.
func ranges() []*eval.Function {
	return []*eval.Function{
		old("range", "Any $first, Any $last = '', Any $step = 1, Any *$ignored", "Returns an array of the whole numbers, or the strings in the manner of 'a01', 'a02', from one to another, or of each of a number of them. One string such as '1..5', 'a-e' or '1...5', which is without the last, is also fine.", rangeOf),
	}
}

func rangeOf(c *eval.Call, args []value.Value) (value.Value, error) {
	var first, last string
	var open bool
	step := int64(1)
	if len(args) == 1 {
		s, ok := args[0].(value.String)
		if !ok {
			return nil, wrong(c, args[0], "a string such as '1..5', or two values")
		}
		if first, last, open, ok = splitRange(string(s)); !ok {
			return nil, invalid(c, "%s is no range such as '1..5' or 'a-e'", inspect(s))
		}
	} else {
		var err error
		if first, err = builtin.Text(c, args[0]); err != nil {
			return nil, err
		}
		if last, err = builtin.Text(c, args[1]); err != nil {
			return nil, err
		}
		if v := arg(args, 2); v != nil {
			n, ok := wholeOf(v)
			if !ok || n == 0 {
				return nil, invalid(c, "the step is %s: it can be a whole number that is not 0", inspect(v))
			}
			step = max(n, -n)
		}
	}
	if digitsLine(first) {
		from, ok := wholeOf(value.String(first))
		if !ok {
			return nil, eval.Errorf("out-of-range", "range(): %s does not fit a number of 64 bits", inspect(value.String(first)))
		}
		end := value.Value(value.String(last))
		if len(args) > 1 {
			end = args[1]
		}
		switch end.(type) {
		case value.Int, value.Float, value.String:
		default:
			return nil, wrong(c, end, "a number to end at")
		}
		to, ok := wholeOf(end)
		if !ok { // farther than any range goes
			if to = math.MaxInt64; strings.HasPrefix(last, "-") {
				to = math.MinInt64
			}
		}
		return numbers(c, from, to, step, open)
	}
	return successors(c, first, last, step, open)
}

// wholeOf is what Ruby's to_i makes of numbers and texts.
func wholeOf(v value.Value) (int64, bool) {
	switch v := v.(type) {
	case value.Int:
		return int64(v), true
	case value.Float:
		if v >= -1<<62 && v < 1<<62 {
			return int64(v), true
		}
	case value.String:
		if n := leadingDigits(string(v)); n.IsInt64() {
			return n.Int64(), true
		}
	}
	return 0, false
}

// splitRange reads "a..b", "a-b", or "a...b", which is open.
func splitRange(s string) (first, last string, open, ok bool) {
	for line := range strings.SplitSeq(s, "\n") {
		first = line[:wordLen(line)]
		rest := line[len(first):]
		last = strings.TrimLeft(rest, "-.")
		sign := rest[:len(rest)-len(last)]
		if first != "" && last != "" && wordLen(last) == len(last) && (sign == "-" || sign == ".." || sign == "...") {
			return first, last, sign == "...", true
		}
	}
	return "", "", false, false
}

// wordLen is how many letters, digits and underscores a text begins with.
func wordLen(s string) int {
	for i, r := range s {
		if !isWord(r) {
			return i
		}
	}
	return len(s)
}

func numbers(c *eval.Call, from, to, step int64, open bool) (value.Value, error) {
	var out []value.Value
	for n := from; n <= to && !(open && n == to) && len(out) < maxRange; n += step {
		if len(out)%1024 == 0 {
			if err := c.Step(1); err != nil {
				return nil, err
			}
		}
		out = append(out, value.Int(n))
		if n > to-step { // also where n + step does not fit
			break
		}
	}
	return value.NewArray(out...), c.Elements(len(out))
}

// successors is each step-th of the texts from one to another, as Ruby's
// String#upto has them: it ends when they get longer than the last, or are
// what would be after it.
func successors(c *eval.Call, first, last string, step int64, open bool) (value.Value, error) {
	next := successor
	if len(first) == 1 && len(last) == 1 && first[0] < utf8.RuneSelf && last[0] < utf8.RuneSelf {
		next = func(s string) string { return string(rune(s[0] + 1)) }
	}
	var out []value.Value
	bytes, end := 0, next(last)
	if first > last || open && first == last {
		return value.NewArray(), nil
	}
	for i, s := int64(0), first; s != end; i++ {
		if i%step == 0 {
			out = append(out, value.String(s))
			if bytes += len(s); bytes > 1<<20 {
				if err := c.Size(bytes); err != nil {
					return nil, err
				}
			}
		}
		if !open && s == last || len(out) == maxRange {
			break
		}
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if s = next(s); open && s == last || len(s) > len(last) || s == "" {
			break
		}
	}
	return value.NewArray(out...), c.Elements(len(out))
}

// successor is the text after another as of Ruby's String#succ: the last
// letter or digit is raised, with a carry to the one before it; without
// letters and digits, the last character is.
func successor(s string) string {
	chars := []rune(s)
	last := -1   // the letter or digit that was raised
	gap := false // what is behind is neither
	for i := len(chars) - 1; i >= 0; i-- {
		r := chars[i]
		if !isAlnum(r) {
			gap = true
			continue
		}
		// There is no carry from letters to digits, or back, over something
		// that is neither: 1.z is followed by 1.aa.
		if gap && last >= 0 && isNumeral(r) != isNumeral(chars[last]) {
			break
		}
		last, gap = i, false
		switch r {
		case 'z':
			chars[i] = 'a'
		case 'Z':
			chars[i] = 'A'
		case '9':
			chars[i] = '0'
		default:
			chars[i]++
			return string(chars)
		}
	}
	if last >= 0 {
		more := chars[last]
		if more == '0' {
			more = '1'
		}
		return string(chars[:last]) + string(more) + string(chars[last:])
	}
	for i := len(chars) - 1; i >= 0; i-- {
		switch {
		case chars[i] == utf8.MaxRune:
			chars[i] = 1
		case chars[i] == 0xd7ff:
			chars[i] = 0xe000
			return string(chars)
		default:
			chars[i]++
			return string(chars)
		}
	}
	if len(chars) == 0 {
		return ""
	}
	return "\x01" + string(chars)
}

func isNumeral(r rune) bool { return '0' <= r && r <= '9' }

func isAlnum(r rune) bool { return isWord(r) && r != '_' }
