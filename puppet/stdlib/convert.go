package stdlib

import (
	"encoding/base64"
	"math"
	"math/big"
	"strconv"
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// conversions returns the functions that convert values to other types.
func conversions() []*eval.Function {
	return []*eval.Function{
		old("any2array", "Any *$values", "Returns the arguments as an array; one array as it is, a hash as its keys and values in turn, and no element for the empty string.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				if len(args) != 1 {
					return value.NewArray(args...), nil
				}
				switch v := args[0].(type) {
				case *value.Array:
					return v, nil
				case value.String:
					if v == "" {
						return value.NewArray(), nil
					}
				case *value.Hash:
					out := make([]value.Value, 0, 2*v.Len())
					for k, e := range v.All() {
						out = append(out, k, e)
					}
					return value.NewArray(out...), nil
				}
				return value.NewArray(args...), nil
			}),
		old("any2bool", "Any $value, Any *$ignored", "Returns a boolean for any value: numbers above 0 and words like yes are true, other numbers, words like no, undef and '' are false, all values that are not strings or numbers are true.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				switch v := args[0].(type) {
				case value.Bool:
					return v, nil
				case value.Int, *value.BigInt, value.Float:
					return num2bool(c, v)
				case value.String:
					if _, ok := rubyFloat(string(v)); ok {
						return num2bool(c, v)
					}
					return str2bool(c, v)
				}
				return value.Bool(true), nil
			}),
		old("bool2num", "Any $value, Any *$ignored", "Returns 1 for true and 0 for false; a string is converted as by str2bool().",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				v, err := str2bool(c, args[0])
				if v == value.Bool(true) {
					return value.Int(1), err
				}
				return value.Int(0), err
			}),
		old("bool2str", "Any $value, Any $true = 'true', Any $false = 'false'", "Returns the first string for true and the second for false: 'true' and 'false' unless both are given.", bool2str),
		old("num2bool", "Any $number", "Returns whether a number, or a numeric string, is 1 or more.",
			func(c *eval.Call, args []value.Value) (value.Value, error) { return num2bool(c, args[0]) }),
		old("str2bool", "Any $text, Any *$ignored", "Returns true for the strings 1, t, y, true and yes, and false for 0, f, n, false, no, undef, undefined and the empty one, in any case.",
			func(c *eval.Call, args []value.Value) (value.Value, error) { return str2bool(c, args[0]) }),
		old("convert_base", "Any $number, Any $base", "Returns an integer, or a string with an integer, as a string in a base from 2 to 36.", convertBase),
		old("to_bytes", "Any $size", "Returns a size such as '4 kB' as a number of bytes; a k is 1024.", toBytes),
		old("clamp", "Any *$values", "Returns the middle one of three integers, in any order: a value, its minimum and its maximum.", clamp),
		old("base64", "Any $action, Any $text, Any $method = 'default', Any *$ignored", "Returns a string in base 64 (action 'encode'), or decoded ('decode'): in lines of 60 characters ('default'), without line ends ('strict'), or with - and _ for + and / ('urlsafe').", base64Of),
	}
}

func bool2str(c *eval.Call, args []value.Value) (value.Value, error) {
	if len(args) == 2 {
		return nil, eval.Errorf("argument-count", "bool2str() takes a boolean, and no texts or two, got one")
	}
	b, ok := args[0].(value.Bool)
	if !ok {
		return nil, wrong(c, args[0], "a boolean")
	}
	texts := [2]value.Value{value.String("true"), value.String("false")}
	for i := range texts {
		if v := arg(args, 1+i); v != nil && value.Truthy(v) {
			texts[i] = v
		}
		if _, ok := texts[i].(value.String); !ok {
			return nil, wrong(c, texts[i], "strings to convert to")
		}
	}
	if b {
		return texts[0], nil
	}
	return texts[1], nil
}

func num2bool(c *eval.Call, v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case value.Int:
		return value.Bool(v > 0), nil
	case *value.BigInt:
		return value.Bool(v.Big().Sign() > 0), nil
	case value.Float:
		return wholeAbove0(c, float64(v))
	case value.String:
		x, ok := rubyFloat(string(v))
		if !ok {
			return nil, invalid(c, "%s is not a number", inspect(v))
		}
		return wholeAbove0(c, x)
	}
	text, err := builtin.Text(c, v)
	return value.Bool(leadingDigits(text).Sign() > 0), err
}

func wholeAbove0(c *eval.Call, x float64) (value.Value, error) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil, eval.Errorf("out-of-range", "%s(): %v is not a whole number", bare(c), x)
	}
	return value.Bool(x >= 1), nil
}

func str2bool(c *eval.Call, v value.Value) (value.Value, error) {
	if b, ok := v.(value.Bool); ok {
		return b, nil
	}
	s, ok := v.(value.String)
	if !ok {
		return nil, wrong(c, v, "a string or a boolean")
	}
	// Each line can be the word. Words that mean false are searched before the
	// others if they are empty, otherwise after them.
	lines := strings.Split(string(s), "\n")
	if len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1] // the text after a final line end is not a line
	}
	for _, words := range []string{"||", "|1|t|y|true|yes|", "|0|f|n|false|no|"} {
		for _, l := range lines {
			if strings.Contains(words, "|"+value.Downcase(l)+"|") && !strings.Contains(l, "|") {
				return value.Bool(words == "|1|t|y|true|yes|"), nil
			}
		}
	}
	for _, l := range lines {
		if l == "undef" || l == "undefined" {
			return value.Bool(false), nil
		}
	}
	return nil, invalid(c, "%s is neither yes nor no", inspect(v))
}

// rubyFloat parses a string as Ruby's Float() does. It accepts white space
// around it, underscores between digits, and hexadecimal numbers. Digits are
// required after a point, but not before it.
func rubyFloat(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	t := strings.TrimLeft(s, "+-")
	if len(s)-len(t) > 1 || t == "" {
		return 0, false
	}
	neg := s[0] == '-'
	hex := len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x'
	digit := func(i int) bool {
		return i >= 0 && i < len(t) && (isDigit(t[i]) || hex && isHex(t[i]))
	}
	var b strings.Builder
	for i := range len(t) {
		switch ch := t[i]; {
		case ch == '_':
			if !digit(i-1) || !digit(i+1) {
				return 0, false
			}
			continue
		case ch == '.':
			if !digit(i+1) || hex && i == 2 {
				return 0, false
			}
		case isDigit(ch), hex && (i == 1 || isHex(ch) || ch|0x20 == 'p'), ch|0x20 == 'e', (ch == '+' || ch == '-') && i > 0 && (t[i-1]|0x20 == 'e' || t[i-1]|0x20 == 'p'):
		default:
			return 0, false
		}
		b.WriteByte(t[i])
	}
	text := b.String()
	if hex && !strings.ContainsAny(text, "pP") {
		if strings.Contains(text, ".") {
			return 0, false
		}
		text += "p0"
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	if neg {
		x = -x
	}
	return x, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// maxDigits is the largest number of digits of an integer. Numbers of 64 bits
// and sizes have fewer.
const maxDigits = 4096

// leadingDigits returns the integer at the beginning of s, as Ruby's to_i does.
func leadingDigits(s string) *big.Int {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	var b strings.Builder
	i := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		b.WriteByte(s[0])
		i++
	}
	for ; i < len(s) && b.Len() < maxDigits; i++ {
		switch {
		case isDigit(s[i]):
			b.WriteByte(s[i])
			continue
		case s[i] == '_' && i > 0 && isDigit(s[i-1]):
			continue
		}
		break
	}
	n, ok := new(big.Int).SetString(strings.TrimPrefix(b.String(), "+"), 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// digitsLine reports whether a line of s consists of digits. These functions
// require this before they read the number at the beginning of s.
func digitsLine(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" && strings.Trim(line, "0123456789") == "" {
			return true
		}
	}
	return false
}

func convertBase(c *eval.Call, args []value.Value) (value.Value, error) {
	var numbers [2]*big.Int
	for i, v := range args {
		switch v := v.(type) {
		case value.Int:
			numbers[i] = big.NewInt(int64(v))
		case value.String:
			if !digitsLine(string(v)) {
				return nil, invalid(c, "%s is not a whole number", inspect(v))
			}
			if len(v) > maxDigits {
				return nil, invalid(c, "a number of %d digits is too long", len(v))
			}
			numbers[i] = leadingDigits(string(v))
		default:
			return nil, wrong(c, v, "whole numbers and strings that are one")
		}
	}
	if base := numbers[1]; !base.IsInt64() || base.Int64() < 2 || base.Int64() > 36 {
		return nil, invalid(c, "the base is %s: it can be 2 to 36", base)
	}
	return value.String(numbers[0].Text(int(numbers[1].Int64()))), nil
}

func toBytes(c *eval.Call, args []value.Value) (value.Value, error) {
	switch args[0].(type) {
	case value.Int, *value.BigInt, value.Float:
		return args[0], nil
	}
	s, ok := args[0].(value.String)
	if !ok {
		return nil, wrong(c, args[0], "a number or a string")
	}
	x, ok := sizeOf(string(s))
	if !ok {
		return nil, invalid(c, "the size %s has an unknown unit: there are k, M, G, T, P and E", inspect(s))
	}
	// Differs from Puppet: the size is an error if it does not fit in 64 bits.
	if x = math.Trunc(x); x >= 1<<63 || x < -1<<63 || x != x {
		return nil, eval.Errorf("out-of-range", "to_bytes(): %s does not fit a number of 64 bits", inspect(s))
	}
	return value.Int(x), nil
}

// sizeOf parses "4.5 kB". If the unit is unknown, ok is false.
func sizeOf(s string) (x float64, ok bool) {
	rest := strings.TrimLeft(s, "0123456789.e+-")
	x = leadingFloat(s[:len(s)-len(rest)])
	rest = strings.TrimLeft(rest, " \t\n\v\f\r")
	if rest == "" || rest[0]|0x20 == 'b' {
		return x, true
	}
	i := strings.IndexByte("kMGTPE", rest[0])
	if i < 0 {
		return 0, false
	}
	return math.Ldexp(x, 10*(i+1)), true
}

// leadingFloat returns the number at the beginning of s, as Ruby's to_f does.
func leadingFloat(s string) float64 {
	digits := func(i int) int {
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i
	}
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	from := i
	i = digits(i)
	whole := i > from
	if i < len(s) && s[i] == '.' && digits(i+1) > i+1 {
		i = digits(i + 1)
	} else if !whole {
		return 0
	}
	if i < len(s) && s[i] == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if k := digits(j); k > j {
			i = k
		}
	}
	x, _ := strconv.ParseFloat(s[:i], 64) // a number that is too large is infinite
	return x
}

func clamp(c *eval.Call, args []value.Value) (value.Value, error) {
	list := value.Flatten(args)
	if len(list) != 3 {
		return nil, eval.Errorf("argument-count", "clamp() takes three numbers, got %d", len(list))
	}
	numbers := make([]*big.Int, 3)
	for i, v := range list {
		switch v := v.(type) {
		case value.Int:
			numbers[i] = big.NewInt(int64(v))
		case value.Float:
			n, _ := big.NewFloat(float64(v)).Int(nil)
			numbers[i] = n
		case value.Undef:
			numbers[i] = new(big.Int)
		case value.String:
			if !digitsLine(string(v)) {
				return nil, invalid(c, "%s is not a whole number", inspect(v))
			}
			numbers[i] = leadingDigits(string(v))
		default:
			return nil, wrong(c, v, "numbers and strings of digits")
		}
	}
	a, b, m := numbers[0], numbers[1], numbers[2]
	if a.Cmp(b) > 0 {
		a, b = b, a
	}
	switch {
	case m.Cmp(a) < 0:
		m = a
	case m.Cmp(b) > 0:
		m = b
	}
	if !m.IsInt64() {
		return nil, eval.Errorf("out-of-range", "clamp(): %s does not fit a number of 64 bits", inspect(value.String(m.String())))
	}
	return value.Int(m.Int64()), nil
}

func base64Of(c *eval.Call, args []value.Value) (value.Value, error) {
	action, method := args[0], value.Value(value.String("default"))
	if len(args) > 2 {
		method = args[2]
	}
	text, ok := args[1].(value.String)
	switch {
	case action != value.String("encode") && action != value.String("decode"):
		return nil, invalid(c, "the action is %s: it can be 'encode' or 'decode'", inspect(action))
	case !ok:
		return nil, wrong(c, args[1], "a string as its second argument")
	case method != value.String("default") && method != value.String("strict") && method != value.String("urlsafe"):
		return nil, invalid(c, "the method is %s: it can be 'default', 'strict' or 'urlsafe'", inspect(method))
	}
	s := string(text)
	if action == value.String("encode") {
		switch method {
		case value.String("strict"):
			s = base64.StdEncoding.EncodeToString([]byte(s))
		case value.String("urlsafe"):
			s = base64.URLEncoding.EncodeToString([]byte(s))
		default:
			s = inLines(base64.StdEncoding.EncodeToString([]byte(s)))
		}
		return value.String(s), c.Size(len(s))
	}
	switch method {
	case value.String("urlsafe"):
		s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
		if !strings.HasSuffix(s, "=") { // the padding can be omitted
			s += "==="[:(4-len(s)%4)%4]
		}
	case value.String("default"):
		return value.String(laxBase64(s)), nil
	}
	// The standard decoder ignores line ends.
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, invalid(c, "the text is not in base 64")
	}
	return value.String(data), nil
}

func inLines(s string) string {
	const width = 60 // length of a line in Ruby's output
	var b strings.Builder
	for s != "" {
		n := min(width, len(s))
		b.WriteString(s[:n])
		b.WriteByte('\n')
		s = s[n:]
	}
	return b.String()
}

// laxBase64 decodes as much as possible. It ignores other characters and ends
// at a =.
func laxBase64(s string) string {
	var digits []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '=' && len(digits)%4 > 1 {
			break
		}
		if isWord(rune(s[i])) && s[i] != '_' || s[i] == '+' || s[i] == '/' {
			digits = append(digits, s[i])
		}
	}
	if len(digits)%4 == 1 {
		digits = digits[:len(digits)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(digits)))
	n, err := base64.RawStdEncoding.Decode(out, digits)
	if err != nil {
		return "" // not reached, because there are only digits
	}
	return string(out[:n])
}
