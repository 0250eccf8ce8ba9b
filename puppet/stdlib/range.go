package stdlib

import (
	"math"
	"strings"
	"unicode/utf8"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// maxRange is the largest number of elements of a range. Puppet has the same
// limit.
const maxRange = 1_000_000

// ranges returns the function range.
func ranges() []*eval.Function {
	return []*eval.Function{
		old("range", "Any $first, Any $last = '', Any $step = 1, Any *$ignored", "Returns an array of the whole numbers, or the strings in the manner of 'a01', 'a02', from one to another, or every n-th of them. The argument can also be one string such as '1..5', 'a-e' or '1...5', which excludes the last.", rangeOf),
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
			return nil, invalid(c, "%s is not a range such as '1..5' or 'a-e'", inspect(s))
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
		if !ok { // beyond the end of any range
			if to = math.MaxInt64; strings.HasPrefix(last, "-") {
				to = math.MinInt64
			}
		}
		return numbers(c, from, to, step, open)
	}
	return successors(c, first, last, step, open)
}

// wholeOf converts numbers and strings as Ruby's to_i does.
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

// splitRange parses "a..b", "a-b", or "a...b", which is open.
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

// wordLen returns the number of letters, digits and underscores at the
// beginning of s.
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
		if n > to-step { // also if n + step would overflow
			break
		}
	}
	return value.NewArray(out...), c.Elements(len(out))
}

// successors returns every step-th string from first to last, as Ruby's
// String#upto does. It ends when the strings are longer than last, or when it
// reaches the successor of last.
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

// successor returns the string after s, as Ruby's String#succ does. It
// increments the last letter or digit, with a carry to the one before it.
// Without letters and digits, it increments the last character.
func successor(s string) string {
	chars := []rune(s)
	last := -1   // the last letter or digit that was incremented
	gap := false // the character after it is neither
	for i := len(chars) - 1; i >= 0; i-- {
		r := chars[i]
		if !isAlnum(r) {
			gap = true
			continue
		}
		// A carry between letters and digits does not cross a character that is
		// neither: 1.z is followed by 1.aa.
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
