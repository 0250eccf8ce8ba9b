package value

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns v as an interpolation "${v}" does. If the text is longer than 64
// MiB, the error is a *[ConversionError] of [KindLimit].
func Text(v Value) (string, error) {
	switch v := v.(type) {
	case String:
		return string(v), nil
	case Int:
		return strconv.FormatInt(int64(v), 10), nil
	}
	return TextWithin(v, nil)
}

// TextWithin is [Text], but calls fits with the size as the text grows. An
// error of fits ends it.
func TextWithin(v Value, fits func(bytes int) error) (string, error) {
	w := textWriter{fits: fits}
	w.interpolate(v)
	return w.text()
}

// ToString returns v as an interpolation "${v}" does. If [Text] returns an
// error, the text is truncated.
func ToString(v Value) string {
	s, _ := Text(v)
	return s
}

// Inspect returns v as %p formats it. Strings are in quotes, so that most
// values have the syntax of the language. Texts longer than 64 MiB are
// truncated.
func Inspect(v Value) string {
	w := textWriter{}
	w.program(v)
	return string(w.b)
}

// InspectShort is [Inspect] for messages. A text that is longer than most bytes
// is truncated and ends with "…".
func InspectShort(v Value, most int) string {
	w := textWriter{fits: func(bytes int) error {
		if bytes > most {
			return errTooLong()
		}
		return nil
	}}
	w.program(v)
	if len(w.b) <= most && w.err == nil {
		return string(w.b)
	}
	n := min(most, len(w.b))
	for n > 0 && n < len(w.b) && !utf8.RuneStart(w.b[n]) {
		n--
	}
	return string(w.b[:n]) + "…"
}

// A textWriter writes values in the default format.
type textWriter struct {
	b    []byte
	err  error
	fits func(bytes int) error // nil: up to maxText
}

// full reports whether writing must end.
func (w *textWriter) full(v Value) bool {
	if w.err == nil {
		w.err = fitting(w.fits, len(w.b))
	}
	if w.err == nil {
		w.err = checkSize(v)
	}
	return w.err != nil
}

// fitting returns an error for a text that is too long. If fits is nil, the
// limit is maxText.
func fitting(fits func(bytes int) error, bytes int) error {
	switch {
	case bytes > maxText:
		return errTooLong()
	case fits != nil:
		return fits(bytes)
	}
	return nil
}

// interpolate writes v as "${v}" does.
func (w *textWriter) interpolate(v Value) {
	if w.full(v) {
		return
	}
	switch v := v.(type) {
	case *Array:
		w.b = append(w.b, '[')
		for i, e := range v.All() {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			w.interpolate(e)
		}
		w.b = append(w.b, ']')
	case *Hash:
		w.b = append(w.b, '{')
		for i := range v.Len() {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			e := v.At(i)
			w.interpolate(e.Key)
			w.b = append(w.b, " => "...)
			w.interpolate(e.Value)
		}
		w.b = append(w.b, '}')
	case *Regexp:
		w.b = appendRegexp(w.b, v.shown("mix"))
	default:
		w.plain(v)
	}
}

// plain writes a value that is not an array or a hash, without quotes.
func (w *textWriter) plain(v Value) {
	switch v := v.(type) {
	case String:
		w.b = append(w.b, v...)
	case Int:
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	case *BigInt:
		w.b = v.n.Append(w.b, 10)
	case Float:
		w.b = appendFloat(w.b, float64(v))
	case Bool:
		w.b = strconv.AppendBool(w.b, bool(v))
	case Undef:
	case Default:
		w.b = append(w.b, "default"...)
	case Timespan:
		w.b = append(w.b, v.String()...)
	case Timestamp:
		w.b = append(w.b, v.String()...)
	case *SemVer:
		w.b = v.Append(w.b)
	case *SemVerRange:
		w.b = append(w.b, v.String()...)
	case *Sensitive:
		w.b = append(w.b, Redacted...)
	case *Binary:
		w.b = append(w.b, v.base64()...)
	case *Regexp:
		w.b = append(w.b, v.shown("imx")...)
	case *URI:
		w.b = append(w.b, v.String()...)
	case *Iterator:
		w.b = append(w.b, iteratorText(v)...)
	case *Runtime:
		w.b = append(w.b, v.Name...)
	case Type:
		w.b = append(w.b, Describe(v)...)
	case *Object:
		if text := v.typ.native.Text; text != nil {
			w.plain(String(text(v)))
			return
		}
		data, ok, err := v.Data()
		switch {
		case err != nil:
			w.err = err
			return
		case ok:
			w.data(data)
			return
		}
		l := literalWriter{w: w, indent: -1}
		l.object(v)
	}
}

// data writes the data of an object: a string as it is, other data as JSON.
func (w *textWriter) data(v Value) {
	if _, is := v.(String); is {
		w.plain(v)
		return
	}
	text, err := MarshalData(v)
	if err != nil {
		text = []byte(Inspect(v))
	}
	w.b = append(w.b, text...)
}

func iteratorText(it *Iterator) string {
	if it.Elem == nil {
		return "Iterator-Value"
	}
	return "Iterator[" + TypeString(Generalize(it.Elem)) + "]-Value"
}

// program writes v as %p does.
func (w *textWriter) program(v Value) {
	if w.full(v) {
		return
	}
	switch v := v.(type) {
	case *Array:
		w.b = append(w.b, '[')
		for i, e := range v.All() {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			w.program(e)
		}
		w.b = append(w.b, ']')
	case *Hash:
		w.b = append(w.b, '{')
		for i := range v.Len() {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			e := v.At(i)
			w.program(e.Key)
			w.b = append(w.b, " => "...)
			w.program(e.Value)
		}
		w.b = append(w.b, '}')
	case *Iterator:
		elems, err := drain(v)
		if err != nil {
			w.err = err
			return
		}
		w.program(NewArray(elems...))
	case Undef:
		w.b = append(w.b, "undef"...)
	case String:
		w.b = appendQuoted(w.b, string(v))
	case *Regexp:
		w.b = appendRegexp(w.b, v.shown("mix"))
	case *Binary:
		w.b = append(w.b, `Binary("`...)
		w.b = append(w.b, v.base64()...)
		w.b = append(w.b, `")`...)
	case *URI:
		w.b = append(w.b, "URI("...)
		w.b = appendQuoted(w.b, v.String())
		w.b = append(w.b, ')')
	case *Runtime:
		w.b = appendQuoted(w.b, v.Name)
	case *SemVerRange:
		w.b = append(w.b, v.Canonical()...)
	case *Sensitive:
		w.b = append(w.b, "#<"+Redacted+">"...)
	case Timespan:
		// Differs from Puppet, which prints a memory address here.
		w.b = append(w.b, "Timespan("...)
		w.b = appendQuoted(w.b, v.String())
		w.b = append(w.b, ')')
	case Timestamp:
		w.b = append(w.b, "Timestamp("...)
		w.b = appendQuoted(w.b, v.String())
		w.b = append(w.b, ')')
	default:
		w.plain(v)
	}
}

// usual writes v as [Format] does without formats. Strings have quotes only
// within arrays and hashes.
func (w *textWriter) usual(v Value) {
	switch v := v.(type) {
	case *Array, *Hash, *Iterator:
		w.program(v)
	case Float:
		if v != v {
			w.b = append(w.b, "NaN"...)
			return
		}
		f := printFlags{}
		w.b = f.float(w.b, 'f', float64(v))
	default:
		w.plain(v)
	}
}

// quoteString returns s in the syntax of the language, in single quotes if
// possible, otherwise in double quotes.
func quoteString(s string) string { return string(appendQuoted(nil, s)) }

func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < 0x20 {
			return appendDoubleQuoted(b, s)
		}
	}
	b = append(b, '\'')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			// As in Puppet, a backslash and the following character are
			// unchanged. At the end of the string, the result is not valid
			// syntax.
			b = append(b, c)
			if i++; i < len(s) {
				b = append(b, s[i])
			}
		case c == '\'':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '\'')
}

func appendDoubleQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '"', '$', '\\':
			b = append(b, '\\', c)
		default:
			if c < 0x20 {
				b = append(b, `\u{`...)
				b = append(b, strings.ToUpper(strconv.FormatInt(int64(c), 16))...)
				b = append(b, '}')
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// appendRegexp writes a regular expression between slashes.
func appendRegexp(b []byte, src string) []byte {
	b = append(b, '/')
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '\\' && i+1 < len(src):
			b = append(b, c, src[i+1])
			i++
		case c == '/':
			b = append(b, '\\', c)
		case c < 0x20 && !isSpace(c) || c == 0x7f:
			b = append(b, `\x`...)
			b = append(b, hexUpper[c>>4], hexUpper[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '/')
}

const hexUpper = "0123456789ABCDEF"

// A literalWriter writes values inside of the text of an object, such as
// Error({'msg' => 'x'}). indent is -1, or the depth of indentation if each
// entry has its own line.
type literalWriter struct {
	w      *textWriter
	indent int
}

func (l *literalWriter) object(o *Object) {
	l.w.b = append(l.w.b, o.Type().Name()...)
	l.w.b = append(l.w.b, '(')
	l.hash(o.init())
	l.w.b = append(l.w.b, ')')
}

func (l *literalWriter) value(v Value) {
	w := l.w
	if w.full(v) {
		return
	}
	switch v := v.(type) {
	case *Array:
		l.array(v)
	case *Hash:
		l.hash(v)
	case *Object:
		l.object(v)
	case *SemVer, *SemVerRange, Timespan, Timestamp:
		w.b = append(w.b, '\'')
		w.plain(v)
		w.b = append(w.b, '\'')
	case *Sensitive, *Binary, *Iterator, *Runtime:
		w.b = append(w.b, "Instance of "...)
		w.b = append(w.b, TypeString(Infer(v))...)
	default:
		w.program(v)
	}
}

func (l *literalWriter) newline() {
	w := l.w
	for n := len(w.b); n > 0 && (isSpace(w.b[n-1]) || w.b[n-1] == 0); n-- {
		w.b = w.b[:n-1]
	}
	w.b = append(w.b, '\n')
	w.b = appendRepeat(w.b, ' ', l.indent*2)
}

func (l *literalWriter) array(a *Array) {
	lines := l.indent >= 0 && !l.short(a)
	if lines {
		l.indent++
	}
	l.w.b = append(l.w.b, '[')
	for i, e := range a.All() {
		if i > 0 {
			l.w.b = append(l.w.b, ", "...)
		}
		if lines {
			l.newline()
		}
		l.value(e)
	}
	if lines {
		l.indent--
		l.newline()
	}
	l.w.b = append(l.w.b, ']')
}

func (l *literalWriter) hash(h *Hash) {
	l.w.b = append(l.w.b, '{')
	if l.indent >= 0 {
		l.indent++
	}
	for i := range h.Len() {
		if i > 0 {
			l.w.b = append(l.w.b, ", "...)
		}
		if l.indent >= 0 {
			l.newline()
		}
		e := h.At(i)
		l.value(e.Key)
		l.w.b = append(l.w.b, " => "...)
		l.value(e.Value)
	}
	if l.indent >= 0 {
		l.indent--
		l.newline()
	}
	l.w.b = append(l.w.b, '}')
}

// short reports whether an array fits on one line.
func (l *literalWriter) short(a *Array) bool {
	sum := 0
	for _, e := range a.All() {
		switch e := e.(type) {
		case Undef:
			sum += len("nil")
		case Default:
			sum += len(":default")
		case Bool, Int, *BigInt, Float:
			sum += len(Inspect(e))
		case Timespan, Timestamp:
			sum += 60
		case *SemVer:
			sum += len(e.String())
		case String:
			sum += 2 + utf8.RuneCountInString(string(e))
		case *Array:
			sum += 2 + 998*boolInt(e.Len() > 0)
		case *Hash:
			sum += 2 + 998*boolInt(e.Len() > 0)
		default:
			sum += 1000
		}
	}
	return a.Len() == 0 || 100-l.indent*2 > sum
}

// rubyString returns v as Ruby's to_s, which sprintf and %s use.
func rubyString(v Value, fits func(bytes int) error) (string, error) {
	switch v := v.(type) {
	case String:
		return string(v), fitting(fits, len(v))
	case *Array, *Hash:
		return rubyInspect(v, false, fits)
	case *Regexp:
		return "(?-mix:" + v.Source() + ")", fitting(fits, len(v.Source()))
	}
	w := textWriter{fits: fits}
	w.plain(v)
	return w.text()
}

// rubyInspect returns v as Ruby's inspect. If bytes is set, strings are bytes.
func rubyInspect(v Value, bytes bool, fits func(bytes int) error) (string, error) {
	w := textWriter{fits: fits}
	w.ruby(v, bytes)
	return w.text()
}

// text returns the written text.
func (w *textWriter) text() (string, error) {
	if w.err == nil {
		w.err = fitting(w.fits, len(w.b))
	}
	return string(w.b), w.err
}

func (w *textWriter) ruby(v Value, bytes bool) {
	if w.full(v) {
		return
	}
	switch v := v.(type) {
	case *Array:
		w.b = append(w.b, '[')
		for i, e := range v.All() {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			w.ruby(e, bytes)
		}
		w.b = append(w.b, ']')
	case *Hash:
		w.b = append(w.b, '{')
		for i := range v.Len() {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			e := v.At(i)
			w.ruby(e.Key, bytes)
			w.b = append(w.b, "=>"...)
			w.ruby(e.Value, bytes)
		}
		w.b = append(w.b, '}')
	case String:
		w.b = appendRubyQuoted(w.b, string(v), bytes)
	case Undef:
		w.b = append(w.b, "nil"...)
	case Default:
		w.b = append(w.b, ":default"...)
	case *Regexp:
		w.b = appendRegexp(w.b, v.Source())
	default:
		w.program(v)
	}
}

// appendRubyQuoted writes a string as Ruby's inspect does.
func appendRubyQuoted(b []byte, s string, bytes bool) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || bytes && r >= 0x80 {
			b = append(b, '\\', 'x', hexUpper[s[i]>>4], hexUpper[s[i]&15])
			i++
			continue
		}
		rest := s[i+size:]
		i += size
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '#' && rest != "" && strings.IndexByte("{$@", rest[0]) >= 0:
			b = append(b, '\\', '#')
		case strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r):
			b = append(b, '\\', "abtnvfr"[min(r, '\r')-'\a'])
			if r == 0x1b {
				b[len(b)-1] = 'e'
			}
		case (r < 0x20 || r == 0x7f) && bytes:
			b = append(b, '\\', 'x', hexUpper[r>>4], hexUpper[r&15])
		case !rubyPrintable(r):
			b = appendCodePoint(b, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

func appendCodePoint(b []byte, r rune) []byte {
	hex := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	if r > 0xffff {
		return append(append(append(b, `\u{`...), hex...), '}')
	}
	b = append(b, `\u`...)
	b = appendRepeat(b, '0', 4-len(hex))
	return append(b, hex...)
}

// Onigmo treats it as graphic
func rubyPrintable(r rune) bool {
	switch {
	case r == 0x85: // Onigmo treats it as graphic
		return true
	case r < 0x20 || 0x7f <= r && r < 0xa0 || r == 0x2028 || r == 0x2029:
		return false
	case unicode.IsPrint(r), r == 0xa0:
		return true
	}
	return unicode.In(r, unicode.Zs, unicode.Cf, unicode.Co)
}

// Upcase returns s in upper case. A character whose upper case has several
// characters becomes all of them, as in "STRASSE".
func Upcase(s string) string {
	return mapLong(s, strings.ToUpper, func(c *longCase) string { return c.upper })
}

// Downcase returns s in lower case.
func Downcase(s string) string {
	// The only character whose lower case has two characters.
	before, after, found := strings.Cut(s, "İ")
	if !found {
		return strings.ToLower(s)
	}
	return strings.ToLower(before) + "i̇" + Downcase(after)
}

// Capitalize returns s with the first letter in upper case and all others in
// lower case.
func Capitalize(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	first := mapLong(s[:size], func(s string) string { return strings.Map(unicode.ToTitle, s) },
		func(c *longCase) string { return c.title })
	return first + Downcase(s[size:])
}

// mapLong maps s with all, except for the characters that become several
// characters, which it maps with long.
func mapLong(s string, all func(string) string, long func(*longCase) string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return all(s)
	}
	var b strings.Builder
	start := 0
	for i, r := range s {
		if c := findLong(r); c != nil {
			b.WriteString(all(s[start:i]))
			b.WriteString(long(c))
			start = i + utf8.RuneLen(r)
		}
	}
	b.WriteString(all(s[start:]))
	return b.String()
}

func findLong(r rune) *longCase {
	if r < longCases[0].r {
		return nil
	}
	lo, hi := 0, len(longCases)
	for lo < hi {
		if mid := (lo + hi) / 2; longCases[mid].r < r {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(longCases) && longCases[lo].r == r {
		return &longCases[lo]
	}
	return nil
}
