package yaml

import (
	"encoding"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

// lineWidth is the column from which libyaml breaks a line at the next space.
const lineWidth = 80

// Marshal returns v in the form of Ruby's to_yaml, without the line "---", and with a
// newline at the end. v has the types that Decode returns, and can also contain int,
// []string and encoding.TextMarshaler. A secret implements TextMarshaler to hide its
// value.
func Marshal(v any) []byte {
	var e emitter
	e.node(v, position{top: true})
	return []byte(e.b.String())
}

// position is the context of a node in the output.
type position struct {
	indent int  // the indentation of its collection; a child mapping has two more
	top    bool // whether the node is the document
	inSeq  bool // whether the node directly follows "- "
}

type emitter struct {
	b   strings.Builder
	col int
}

func (e *emitter) put(s string) {
	e.b.WriteString(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		e.col = utf8.RuneCountInString(s[i+1:])
		return
	}
	e.col += utf8.RuneCountInString(s)
}

func (e *emitter) newline(indent int) { e.put("\n" + strings.Repeat(" ", indent)) }

func (e *emitter) node(v any, at position) {
	switch v := v.(type) {
	case *ordered.Map:
		e.mapping(v, at)
	case []any:
		e.sequence(v, at)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		e.sequence(list, at)
	default:
		e.scalar(v, at)
	}
}

func (e *emitter) mapping(m *ordered.Map, at position) {
	if m.Len() == 0 {
		e.inline("{}", at)
		return
	}
	indent := at.indent + 2
	if at.top {
		indent = 0
	}
	first := at.top || at.inSeq
	if at.inSeq {
		e.put(" ")
	}
	for k, v := range m.All() {
		if !first {
			e.newline(indent)
		}
		first = false
		e.put(render(k, style(k, true)))
		e.put(":")
		e.node(v, position{indent: indent})
	}
	if at.top {
		e.put("\n")
	}
}

// sequence writes a list. If the list is the value of a key, its dashes have the
// indentation of the key.
func (e *emitter) sequence(list []any, at position) {
	if len(list) == 0 {
		e.inline("[]", at)
		return
	}
	indent := at.indent
	if at.top {
		indent = 0
	} else if at.inSeq {
		indent += 2
	}
	first := at.top || at.inSeq
	if at.inSeq {
		e.put(" ")
	}
	for _, v := range list {
		if !first {
			e.newline(indent)
		}
		first = false
		e.put("-")
		e.node(v, position{indent: indent, inSeq: true})
	}
	if at.top {
		e.put("\n")
	}
}

// inline writes a value in the line of its key or dash.
func (e *emitter) inline(text string, at position) {
	if !at.top && text != "" {
		e.put(" ")
	}
	e.put(text)
	if at.top {
		e.put("\n")
	}
}

func (e *emitter) scalar(v any, at position) {
	switch v := v.(type) {
	case nil:
		e.inline("", at)
	case string:
		e.text(v, at)
	case *big.Int:
		e.inline(v.String(), at)
	case encoding.TextMarshaler:
		b, err := v.MarshalText()
		if err != nil {
			b = fmt.Appendf(nil, "(%v)", err)
		}
		e.text(string(b), at)
	case bool:
		e.inline(strconv.FormatBool(v), at)
	case int:
		e.inline(strconv.Itoa(v), at)
	case int64:
		e.inline(strconv.FormatInt(v, 10), at)
	case float64:
		switch {
		case math.IsNaN(v):
			e.inline(".nan", at)
		case math.IsInf(v, 1):
			e.inline(".inf", at)
		case math.IsInf(v, -1):
			e.inline("-.inf", at)
		default:
			e.inline(floatText(v), at)
		}
	default:
		e.text(fmt.Sprint(v), at)
	}
}

func (e *emitter) text(s string, at position) {
	indent := at.indent + 2
	if at.top {
		indent = 0
	}
	switch st := style(s, false); st {
	case literal:
		if !at.top {
			e.put(" ")
		}
		e.block(s, max(indent, 2))
		if at.top {
			e.put("\n")
		}
	default:
		if !at.top {
			e.put(" ")
		}
		e.folded(render(s, st), indent, st)
		if at.top {
			e.put("\n")
		}
	}
}

// block writes s as a literal block. It leaves out the last newline of s, because the
// next node begins with a newline.
func (e *emitter) block(s string, indent int) {
	e.put("|")
	if s[0] == ' ' || s[0] == '\n' {
		e.put("2")
	}
	body := strings.TrimRight(s, "\n")
	switch tail := len(s) - len(body); {
	case tail == 0:
		e.put("-")
	case tail > 1 || body == "":
		e.put("+")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line == "" {
			e.put("\n")
			continue
		}
		e.newline(indent)
		e.put(line)
	}
}

// folded writes a text without newlines. Like libyaml, it breaks a long line at single
// spaces. A reader joins the lines again.
func (e *emitter) folded(text string, indent int, st scalarStyle) {
	runes := []rune(text)
	start := 1 // a break cannot directly follow the quote
	if st == plain {
		start = 0
	}
	for i, r := range runes {
		if r != ' ' || e.col <= lineWidth || i <= start || i+1 >= len(runes)-start ||
			runes[i-1] == ' ' || runes[i-1] == '\n' || runes[i+1] == ' ' {
			if r == '\n' {
				e.put("\n")
				if i+1 < len(runes) && runes[i+1] != '\n' {
					e.put(strings.Repeat(" ", indent))
				}
				continue
			}
			e.put(string(r))
			continue
		}
		e.newline(indent)
	}
}

type scalarStyle uint8

const (
	plain scalarStyle = iota
	single
	double
	literal
)

// notWordFirst is Psych's test for text that it writes in double quotes.
var notWordFirst = lazyregexp.New(`(?m)^[^\pL\pM\pN\p{Pc}][^"]*$`)

// zeroFloat matches text that other readers could parse as a number.
var zeroFloat = lazyregexp.New(`^0[0-7]*\.[0-9]`)

// style chooses the style of a scalar like Psych's visitor and then libyaml's emitter.
func style(s string, key bool) scalarStyle {
	a := analyze(s)
	want := plain
	switch {
	case strings.Contains(strings.TrimSuffix(s, "\n"), "\n"):
		want = literal
	case s == "y" || s == "Y" || s == "n" || s == "N":
		want = double
	case s == "<<":
		want = single
	case notWordFirst().MatchString(s):
		want = double
	default:
		v, refused := resolve(s)
		if _, text := v.(string); !text || refused != "" || zeroFloat().MatchString(s) {
			want = single
		}
	}
	if want == plain && (!a.plain || key && a.breaks) {
		want = single
	}
	if want == single && (!a.single || key && a.breaks) {
		want = double
	}
	if want == literal && (!a.block || key) {
		want = double
	}
	return want
}

// traits are the properties of a scalar that libyaml determines before it writes it.
type traits struct {
	plain, single, block bool // the styles that can represent it
	breaks               bool // whether it has line breaks
}

func analyze(s string) traits {
	t := traits{plain: true, single: true, block: true}
	if s == "" {
		return traits{plain: true, single: true}
	}
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		t.plain = false
	}
	blank := func(r rune) bool { return r == ' ' || r == '\t' || isBreak(r) }
	runes := []rune(s)
	after := func(i int) bool { return i+1 >= len(runes) || blank(runes[i+1]) }
	special := !utf8.ValidString(s)
	for i, r := range runes {
		if i == 0 {
			switch r {
			case '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
				t.plain = false
			case '?', ':', '-':
				t.plain = t.plain && !after(i)
			}
		} else if r == ':' && after(i) || r == '#' && blank(runes[i-1]) {
			t.plain = false
		}
		switch {
		case isBreak(r):
			t.breaks = true
			t.plain = false
			if i > 0 && runes[i-1] == ' ' {
				special = true
			}
			if i+1 < len(runes) && runes[i+1] == ' ' {
				t.single = false
			}
		case r == '\t', !printable(r):
			special = true
		}
	}
	if runes[0] == ' ' || runes[len(runes)-1] == ' ' {
		t.plain = false
	}
	if runes[len(runes)-1] == ' ' {
		t.block = false
	}
	if special {
		t.plain, t.single, t.block = false, false, false
	}
	return t
}

func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

func printable(r rune) bool {
	return r == '\n' || r >= 0x20 && r <= 0x7e || r == 0x85 || r >= 0xa0 && r != 0xfeff && r != utf8.RuneError && !unicode.Is(unicode.Cs, r)
}

// render writes s in a style other than literal, before folding.
func render(s string, st scalarStyle) string {
	switch st {
	case single:
		// A line break inside single quotes is a blank line.
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), "\n", "\n\n") + "'"
	case double:
		return doubleQuoted(s)
	}
	return s
}

var escapes = map[rune]string{
	0: `\0`, 7: `\a`, 8: `\b`, '\t': `\t`, '\n': `\n`, 0x0b: `\v`, 0x0c: `\f`, '\r': `\r`, 0x1b: `\e`,
	'"': `\"`, '\\': `\\`, 0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`,
}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				fmt.Fprintf(&b, `\x%02X`, s[i])
				continue
			}
		}
		esc, known := escapes[r]
		switch {
		case known && r != 0xa0:
			b.WriteString(esc)
		case printable(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
