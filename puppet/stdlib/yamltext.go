package stdlib

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bolt/puppet/value"
)

// A yamlStyle is a style of a scalar.
type yamlStyle uint8

const (
	yamlPlain yamlStyle = iota
	yamlSingle
	yamlDouble
	yamlLiteral
	yamlFolded
)

// yamlRules recognize strings that would be parsed as other values.
type yamlRules struct {
	mark, octal                                    *value.Regexp // strings that Psych always quotes
	word, maybe, null, yes, no                     *value.Regexp
	time, date, inf, minusInf, nan, symbol         *value.Regexp
	sexagesimal, sexagesimalFloat, float, sign, in *value.Regexp
}

// newYAMLRules returns a function that makes the rules when they are first
// needed. The patterns are those with which Psych 4 parses scalars.
func newYAMLRules() func() *yamlRules {
	return sync.OnceValue(func() *yamlRules {
		re := func(src string) *value.Regexp {
			r, err := value.NewRegexp(src)
			if err != nil {
				panic(err) // all patterns are below
			}
			return r
		}
		return &yamlRules{
			mark:             re(`^[^[:word:]][^"]*$`),
			octal:            re(`\A0[0-7]*[89]`),
			word:             re(`^[^\d.:-]?[[:alpha:]_\s!@#$%\^&*(){}<>|/\\~;=]+|\n`),
			maybe:            re(`(?i)^[^ytonf~]`),
			null:             re(`(?i)^null$`),
			yes:              re(`(?i)^(?:yes|true|on)$`),
			no:               re(`(?i)^(?:no|false|off)$`),
			time:             re(`^-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?$`),
			date:             re(`^\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)$`),
			inf:              re(`(?i)^\+?\.inf$`),
			minusInf:         re(`(?i)^-\.inf$`),
			nan:              re(`(?i)^\.nan$`),
			symbol:           re(`^:.`),
			sexagesimal:      re(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}$`),
			sexagesimalFloat: re(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}\.[0-9_]*$`),
			float:            re(`^[-+]?(?:[0-9][0-9_,]*)?\.[0-9]*(?:[eE][-+][0-9]+)?$`),
			sign:             re(`\A[-+]?\.\Z`),
			in:               re(`^(?:[-+]?0b[01_,]+|[-+]?0[0-7_,]+|[-+]?(?:0|[1-9](?:[0-9]|,[0-9]|_[0-9])*)|[-+]?0x[0-9a-fA-F_,]+)$`),
		}
	})
}

// is reports whether a pattern matches. A match that takes too long is treated
// as no match.
func is(re *value.Regexp, s string) bool {
	ok, err := re.MatchString(s)
	return ok && err == nil
}

// style returns the style that Psych requests from its emitter for a string.
func (r *yamlRules) style(s string) yamlStyle {
	if i := strings.IndexByte(s, '\n'); i >= 0 && strings.TrimSuffix(s[i+1:], "\n") != "" {
		return yamlLiteral
	}
	switch {
	case s == "<<":
		return yamlSingle
	case s == "y" || s == "n" || is(r.mark, s):
		return yamlDouble
	case !r.isText(s) || is(r.octal, s):
		return yamlSingle
	}
	return yamlPlain
}

// isText reports whether a plain scalar is parsed as a string.
func (r *yamlRules) isText(s string) bool {
	switch {
	case s == "":
		return false
	case is(r.word, s):
		return utf8.RuneCountInString(s) > 5 || is(r.maybe, s) || s != "~" && !is(r.null, s) && !is(r.yes, s) && !is(r.no, s)
	case is(r.time, s):
		return !validTime(s)
	case is(r.date, s):
		_, err := time.Parse("2006-1-2", s)
		return err != nil
	case is(r.inf, s), is(r.minusInf, s), is(r.nan, s), is(r.symbol, s), is(r.sexagesimal, s), is(r.sexagesimalFloat, s):
		return false
	case is(r.float, s):
		return is(r.sign, s)
	}
	return !is(r.in, s)
}

// validTime reports whether Ruby converts a string that looks like a time to a
// Time. Days up to 31 are valid in any month.
func validTime(s string) bool {
	var year, month, day, hour, minute, second int
	s = strings.TrimPrefix(s, "-")
	at := strings.IndexAny(s, "Tt \t\n\v\f\r")
	if n, _ := fmt.Sscanf(s[:at], "%d-%d-%d", &year, &month, &day); n != 3 {
		return false
	}
	if n, _ := fmt.Sscanf(strings.TrimLeft(s[at:], "Tt \t\n\v\f\r"), "%d:%d:%d", &hour, &minute, &second); n != 3 {
		return false
	}
	return 1 <= month && month <= 12 && 1 <= day && day <= 31 && minute < 60 && second <= 60 && (hour < 24 || hour == 24 && minute == 0 && second == 0)
}

// A yamlForm describes the content of a text.
type yamlForm struct {
	lines                bool // more than one line
	plain, single, block bool // it can be written in this style
}

func isYAMLBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// isYAMLPrintable reports whether libyaml writes a character without an escape.
// It escapes tabs and characters of four bytes.
func isYAMLPrintable(r rune) bool {
	return r == '\n' || 0x20 <= r && r <= 0x7e || 0xa0 <= r && r <= 0xd7ff || 0xe000 <= r && r <= 0xfffd && r != 0xfeff
}

func formOf(s string) yamlForm {
	if s == "" {
		return yamlForm{plain: true, single: true}
	}
	var special, breakSpace, spaceBreak, wasSpace, wasBreak bool
	indicators := strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...")
	f := yamlForm{}
	before := true // white space or the beginning precedes the character
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		rest := s[i+size:]
		next, _ := utf8.DecodeRuneInString(rest)
		after := rest == "" || next == ' ' || next == '\t' || isYAMLBreak(next)
		switch {
		case i == 0 && strings.ContainsRune("#,[]{}&*!|>'\"%@`", r):
			indicators = true
		case i == 0 && strings.ContainsRune("?:-", r), r == ':':
			indicators = indicators || after
		case r == '#':
			indicators = indicators || before
		}
		special = special || !isYAMLPrintable(r)
		switch {
		case r == ' ':
			breakSpace = breakSpace || wasBreak
			wasSpace, wasBreak = true, false
		case isYAMLBreak(r):
			f.lines = true
			spaceBreak = spaceBreak || wasSpace
			wasSpace, wasBreak = false, true
		default:
			wasSpace, wasBreak = false, false
		}
		before = r == ' ' || r == '\t' || isYAMLBreak(r)
	}
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	edge := first == ' ' || last == ' ' || isYAMLBreak(first) || isYAMLBreak(last)
	bad := spaceBreak || special
	f.plain = !edge && !breakSpace && !bad && !f.lines && !indicators
	f.single = !breakSpace && !bad
	f.block = last != ' ' && !bad
	return f
}

// flowing writes the text of a plain or single-quoted scalar. Its lines can be
// folded at spaces.
func (w *yamlWriter) flowing(s string, fold, single bool) {
	spaces, breaks := false, false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == ' ':
			inner := !single || i > 0 && i < len(s)-1
			if fold && !spaces && w.column > w.width && inner && (i+1 == len(s) || s[i+1] != ' ') {
				w.newLine()
			} else {
				w.put(" ")
			}
			spaces = true
		case isYAMLBreak(r):
			if !breaks && r == '\n' {
				w.endLine()
			}
			w.breakLine(r)
			w.line = true
			breaks = true
		default:
			if breaks {
				w.newLine()
			}
			if single && r == '\'' {
				w.put("'")
			}
			w.put(s[i : i+n])
			w.line = false
			spaces, breaks = false, false
		}
		i += n
	}
	if breaks {
		w.newLine()
	}
}

// breakLine writes a line end unchanged.
func (w *yamlWriter) breakLine(r rune) {
	if r == '\n' {
		w.endLine()
		return
	}
	w.b = utf8.AppendRune(w.b, r)
	w.column = 0
}

// quoted writes a text in double quotes.
func (w *yamlWriter) quoted(s string, fold bool) {
	w.indicator(`"`, true, false, false)
	spaces := false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !isYAMLPrintable(r) || isYAMLBreak(r) || r == '"' || r == '\\':
			w.put(yamlEscape(r))
			spaces = false
		case r == ' ':
			if fold && !spaces && w.column > w.width && i > 0 && i < len(s)-1 {
				w.newLine()
				if s[i+1] == ' ' {
					w.put(`\`)
				}
			} else {
				w.put(" ")
			}
			spaces = true
		default:
			w.put(s[i : i+n])
			spaces = false
		}
		i += n
	}
	w.indicator(`"`, false, false, false)
}

func yamlEscape(r rune) string {
	const names, letters = "\x00\a\b\t\n\v\f\r\x1b\"\\\u0085\u00a0\u2028\u2029", `0abtnvfre"\N_LP`
	i := 0
	for _, c := range names {
		if c == r {
			return `\` + letters[i:i+1]
		}
		i++
	}
	switch {
	case r <= 0xff:
		return fmt.Sprintf(`\x%02X`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\U%08X`, r)
}

// hints writes the digits and signs after | and >.
func (w *yamlWriter) hints(s string) {
	first, _ := utf8.DecodeRuneInString(s)
	if first == ' ' || isYAMLBreak(first) {
		w.indicator(fmt.Sprint(w.best), false, false, false)
	}
	w.open = false
	last, n := utf8.DecodeLastRuneInString(s)
	other, _ := utf8.DecodeLastRuneInString(s[:len(s)-n])
	switch {
	case !isYAMLBreak(last):
		w.indicator("-", false, false, false)
	case n == len(s) || isYAMLBreak(other):
		w.indicator("+", false, false, false)
		w.open = true
	}
	w.endLine()
	w.blank, w.line = true, true
}

// literal writes a text as a literal block.
func (w *yamlWriter) literal(s string) {
	w.indicator("|", true, false, false)
	w.hints(s)
	breaks := true
	for i, r := range s {
		if isYAMLBreak(r) {
			w.breakLine(r)
			w.line, breaks = true, true
			continue
		}
		if breaks {
			w.newLine()
		}
		w.put(s[i : i+utf8.RuneLen(r)])
		w.line, breaks = false, false
	}
}

// folded writes a text as a folded block.
func (w *yamlWriter) folded(s string) {
	w.indicator(">", true, false, false)
	w.hints(s)
	breaks, leading := true, true
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		if isYAMLBreak(r) {
			if !breaks && !leading && r == '\n' {
				next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s[i:], isYAMLBreak))
				if next != ' ' && next != '\t' && strings.TrimLeftFunc(s[i:], isYAMLBreak) != "" {
					w.endLine()
				}
			}
			w.breakLine(r)
			w.line, breaks = true, true
			continue
		}
		if breaks {
			w.newLine()
			leading = r == ' ' || r == '\t'
		}
		if !breaks && r == ' ' && !strings.HasPrefix(rest, " ") && w.column > w.width {
			w.newLine()
		} else {
			w.put(s[i : i+utf8.RuneLen(r)])
		}
		w.line, breaks = false, false
	}
}
