package syntax

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// number makes a token of a number: 0x and hexadecimal digits, or digits with
// an optional fraction or exponent. A word character cannot follow.
func (l *lexer) number(t *token) {
	start := l.pos
	if end := scanNumber(l.src, start); end > 0 {
		text := l.src[start:end]
		if kind, msg := badNumber(text); kind != "" {
			l.pos = end
			l.fail(t, start, kind, msg)
			return
		}
		l.pos = end
		l.set(t, tNumber, start)
		t.text = text
		return
	}
	end := start
	for end < len(l.src) && class[l.src[end]]&wordByte != 0 {
		end++
	}
	at := start
	// 1.5x was split before: the error is about the whole number.
	if start > 1 && l.src[start-1] == '.' {
		for i := start - 2; i >= 0 && class[l.src[i]]&digitByte != 0; i-- {
			at = i
		}
	}
	text := l.src[at:end]
	kind, msg := badNumber(text)
	if kind == "" {
		kind, msg = "bad-number", "'"+Shortened(text)+"' is not a number"
		at++
	}
	l.pos = end
	l.fail(t, at, kind, msg)
}

// scanNumber returns the end of the number at pos, or 0 if there is none.
func scanNumber(src string, pos int) int {
	i := pos
	if i+2 < len(src) && src[i] == '0' && src[i+1]|0x20 == 'x' && class[src[i+2]]&hexByte != 0 {
		i += 3
		for i < len(src) && class[src[i]]&hexByte != 0 {
			i++
		}
		if endsWord(src, i) {
			return i
		}
		return 0
	}
	i = digits(src, i)
	whole := i
	if i+1 < len(src) && src[i] == '.' && class[src[i+1]]&digitByte != 0 {
		i = digits(src, i+1)
	}
	fraction := i
	if i < len(src) && src[i]|0x20 == 'e' {
		j := i + 1
		if j < len(src) && src[j] == '-' {
			j++
		}
		if k := digits(src, j); k > j && endsWord(src, k) {
			return k
		}
	}
	switch {
	case endsWord(src, fraction):
		return fraction
	case endsWord(src, whole):
		return whole
	}
	return 0
}

func digits(src string, i int) int {
	for i < len(src) && class[src[i]]&digitByte != 0 {
		i++
	}
	return i
}

// endsWord reports whether the character at pos is not a word character.
func endsWord(src string, pos int) bool {
	if pos >= len(src) {
		return true
	}
	c := src[pos]
	if c < utf8.RuneSelf {
		return class[c]&wordByte == 0
	}
	r, _ := utf8.DecodeRuneInString(src[pos:])
	return !unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Pc)
}

// badNumber returns the kind and the message of the error of an invalid number.
// If the number is valid, the kind is "".
func badNumber(s string) (kind, msg string) {
	bad := func(what string) (string, string) { return "bad-number", "'" + Shortened(s) + "' is not " + what }
	switch {
	case len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x':
		for i := 2; i < len(s); i++ {
			if class[s[i]]&hexByte == 0 {
				return bad("a hexadecimal number")
			}
		}
		if len(s) == 2 {
			return bad("a hexadecimal number")
		}
	case len(s) > 1 && s[0] == '0' && s[1] != '.':
		for i := 1; i < len(s); i++ {
			if s[i] < '0' || s[i] > '7' {
				return bad("an octal number, as a number that begins with 0 is")
			}
		}
	default:
		i := digits(s, 0)
		if i == len(s) {
			return "", ""
		}
		if s[i] != '.' && s[i]|0x20 != 'e' {
			return bad("a number")
		}
		if s[i] == '.' {
			j := digits(s, i+1)
			if j == i+1 {
				return bad("a decimal number")
			}
			i = j
		}
		if i < len(s) {
			if s[i]|0x20 != 'e' {
				return bad("a decimal number")
			}
			i++
			if i < len(s) && s[i] == '-' {
				i++
			}
			if j := digits(s, i); j == i || j < len(s) {
				return bad("a decimal number")
			}
		}
	}
	return "", ""
}

// numberOf makes the node of a number.
func (p *parser) numberOf(t *token) Expr {
	s := t.text
	span := Span{t.off, t.end - t.off}
	if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x' {
		return p.integer(span, s, s[2:], 16)
	}
	if !strings.ContainsAny(s, ".eE") {
		if len(s) > 1 && s[0] == '0' {
			return p.integer(span, s, s[1:], 8)
		}
		return p.integer(span, s, s, 10)
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil:
		p.report(span, "number-out-of-range", "'"+Shortened(s)+"' is more than a float can hold, 1.7976931348623157e308")
	case zeroWithExponent(s):
		// Differs from Puppet only in the message: Puppet reports an internal
		// error for 0.0e1.
		p.report(span, "number-out-of-range", "'"+Shortened(s)+"' is a zero with an exponent, which the language does not have")
	}
	n := p.floats.get()
	*n = Float{span, f}
	return n
}

// zeroWithExponent reports whether s is a number such as 0.0e1, which the
// language does not allow.
func zeroWithExponent(s string) bool {
	whole := digits(s, 0)
	if strings.Trim(s[:whole], "0") != "" {
		return false
	}
	s = strings.TrimPrefix(s[whole:], ".")
	s = strings.TrimLeft(s, "0")
	return s != "" && s[0]|0x20 == 'e'
}

// maxDigits is the length up to which a number that is too big is kept.
const maxDigits = 1000

func (p *parser) integer(span Span, text, digits string, radix uint8) Expr {
	n := p.ints.get()
	*n = Int{Span: span, Radix: radix}
	if len(digits) < 16 && radix == 10 {
		for i := 0; i < len(digits); i++ {
			n.Value = n.Value*10 + int64(digits[i]-'0')
		}
		return n
	}
	v, err := strconv.ParseInt(digits, int(radix), 64)
	if err != nil {
		if len(p.late) < maxErrors {
			p.late = append(p.late, &Error{File: p.file, Span: span, Kind: "number-out-of-range",
				Msg: Shortened(text) + " is more than an integer can hold, 9223372036854775807"})
		}
		if len(digits) < maxDigits { // parsing a longer number takes too long
			if big, ok := new(big.Int).SetString(digits, int(radix)); ok {
				n.Over = big.String()
			}
		}
	}
	n.Value = v
	return n
}
