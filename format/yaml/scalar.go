package yaml

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
)

// The patterns are those of Psych's scalar scanner, in the order in which it
// tries them. See https://yaml.org/type/ for the YAML 1.1 types that they
// approximate.
var (
	wordLike  = lazyregexp.New(`^[^0-9.:-]?[A-Za-z_\s!@#$%^&*(){}<>|/\\~;=]+`)
	timeLike  = lazyregexp.New(`^-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?$`)
	dateLike  = lazyregexp.New(`^\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)$`)
	base60    = lazyregexp.New(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}$`)
	base60Dot = lazyregexp.New(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}\.[0-9_]*$`)
	floatLike = lazyregexp.New(`^[-+]?(?:[0-9][0-9_,]*)?\.[0-9]*(?:[eE][+-][0-9]+)?$`)
	binary    = lazyregexp.New(`^[-+]?0b[_,]*[01][01_,]*$`)
	octal     = lazyregexp.New(`^[-+]?0[_,]*[0-7][0-7_,]*$`)
	decimal   = lazyregexp.New(`^[-+]?(?:0|[1-9](?:[0-9]|,[0-9]|_[0-9])*)$`)
	hex       = lazyregexp.New(`^[-+]?0x[_,]*[0-9a-fA-F][0-9a-fA-F_,]*$`)
)

// maxDigits limits the length of whole numbers, because the conversion of longer ones
// takes too long.
const maxDigits = 4096

// resolve returns the value of a plain scalar. If the safe loader does not accept the
// value, refused is the name of its type. A whole number beyond int64 is a *big.Int.
func resolve(s string) (v any, refused string) {
	if s == "" {
		return nil, ""
	}
	if c := s[0] | 0x20; c >= 'a' && c <= 'z' { // a fast test for most scalars, which wordLike would match
		return word(s), ""
	}
	// The eleven patterns below are slow. None matches an address or a version number,
	// and only decimal matches a port, so these are tested first.
	if strings.Count(s, ".") > 1 && !strings.Contains(s, ":") {
		return s, ""
	}
	if s[0] != '0' && strings.Trim(s, "0123456789") == "" {
		return integer(s, "", 10)
	}
	if wordLike().MatchString(s) || strings.Contains(s, "\n") {
		return word(s), ""
	}
	switch {
	case timeLike().MatchString(s):
		return nil, "time"
	case dateLike().MatchString(s):
		return nil, "date"
	}
	switch strings.ToLower(s) {
	case ".inf", "+.inf":
		return math.Inf(1), ""
	case "-.inf":
		return math.Inf(-1), ""
	case ".nan":
		return math.NaN(), ""
	}
	switch {
	case s[0] == ':' && len(s) > 1:
		return nil, "symbol"
	case base60().MatchString(s):
		return sexagesimal(s)
	case base60Dot().MatchString(s):
		return sexagesimalFloat(s), ""
	case floatLike().MatchString(s):
		return float(s), ""
	case binary().MatchString(s):
		return integer(s, "0b", 2)
	case octal().MatchString(s):
		return integer(s, "0", 8)
	case decimal().MatchString(s):
		return integer(s, "", 10)
	case hex().MatchString(s):
		return integer(s, "0x", 16)
	}
	return s, ""
}

func word(s string) any {
	switch strings.ToLower(s) {
	case "~", "null":
		return nil
	case "yes", "true", "on":
		return true
	case "no", "false", "off":
		return false
	}
	return s
}

var separators = strings.NewReplacer(",", "", "_", "")

const tooLong = "number of too many digits"

// integer converts text that one of the integer patterns has matched.
func integer(s, prefix string, base int) (v any, refused string) {
	digits := separators.Replace(s)
	sign := ""
	if digits[0] == '-' || digits[0] == '+' {
		sign, digits = digits[:1], digits[1:]
	}
	if trimmed := strings.TrimPrefix(digits, prefix); trimmed != "" {
		digits = trimmed
	}
	if n, err := strconv.ParseInt(sign+digits, base, 64); err == nil {
		return n, ""
	}
	if digits = strings.TrimLeft(digits, "0"); len(digits) > maxDigits {
		return nil, tooLong
	}
	n, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		return s, ""
	}
	return n, ""
}

// float converts text that floatLike has matched. A single dot is a string.
func float(s string) any {
	digits := separators.Replace(s)
	if digits == "." || digits == "-." || digits == "+." {
		return s
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) {
		return s // ".e+5"
	}
	return f
}

// sexagesimal converts a number such as 12:30. Like Psych, it takes the first of two or
// three parts as hours.
func sexagesimal(s string) (v any, refused string) {
	total := new(big.Int)
	weights := [...]int64{3600, 60, 1}
	for i, part := range strings.Split(s, ":") {
		digits := strings.ReplaceAll(part, "_", "")
		if len(digits) > maxDigits {
			return nil, tooLong
		}
		n, ok := new(big.Int).SetString(digits, 10)
		if !ok {
			return s, ""
		}
		total.Add(total, n.Mul(n, big.NewInt(weights[i])))
	}
	if total.IsInt64() {
		return total.Int64(), ""
	}
	return total, ""
}

func sexagesimalFloat(s string) float64 {
	total := 0.0
	weights := [...]float64{3600, 60, 1}
	for i, part := range strings.Split(s, ":") {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(part, "_", ""), 64)
		total += f * weights[i]
	}
	return total
}

// floatText returns a float in the form of Ruby: 1.5, 100.0, 1.0e+20, 1.0e-05.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + "e" + exponent
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
