package syntax

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A heredocSpec is the content of @(…).
type heredocSpec struct {
	tag      string
	syntax   string
	interpol bool
	escapes  escapes
}

// maxNestedText limits the total length of nested heredocs, in addition to a
// multiple of the length of the file. Each text is read again, and possibly
// copied, for each heredoc that contains it.
const maxNestedText = 1 << 20

// heredocStart makes the token of @(…) and enters the text of the heredoc. The
// text begins on the next line, or after the text of the previous heredoc on
// the same line.
func (l *lexer) heredocStart(t *token) {
	start := l.pos
	i := strings.IndexByte(l.src[start:], ')')
	if i < 0 {
		l.endsIn(t, start, "unclosed-heredoc-tag", "the heredoc that begins here with @( has no )")
		return
	}
	after := start + i + 1
	spec, kind, msg := parseHeredocSpec(l.src[start:after])
	if kind != "" {
		l.pos = after
		l.fail(t, after, kind, msg)
		return
	}
	if len(l.frames) >= maxStrings {
		l.endsIn(t, start, "too-deep", "heredocs are nested too deep")
		l.err.Incomplete = false
		return
	}
	text := l.jump
	if text < after {
		i := strings.IndexByte(l.src[after:], '\n')
		if i < 0 {
			l.endsIn(t, after, "heredoc-without-text", "no line follows with the heredoc's text")
			return
		}
		text = after + i + 1
	}

	l.pos = after
	l.set(t, tHeredoc, start)
	t.text = spec.syntax

	// Find the line with the tag.
	for pos := text; pos < len(l.src); {
		next := len(l.src)
		if i := strings.IndexByte(l.src[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		leading, hasMargin, trim, ok := endsHeredoc(l.src[pos:next], spec.tag)
		if !ok {
			pos = next
			continue
		}
		if !hasMargin {
			leading = ""
		}
		if len(l.frames) > 0 {
			l.nested += pos - text
			if l.nested > maxNestedText+4*len(l.file.Src) {
				l.endsIn(t, start, "too-deep", "heredocs are nested too deep")
				l.err.Incomplete = false
				return
			}
		}
		f := l.heredocFrame(text, pos, leading, hasMargin)
		if trim {
			f.src = strings.TrimSuffix(f.src, "\n")
			if len(f.src) < f.untrimmed {
				f.src = strings.TrimSuffix(f.src, "\r")
			}
		}
		f.frame.interpol, f.frame.escapes = spec.interpol, spec.escapes
		f.frame.heredoc, f.frame.segment = true, true
		f.frame.strs = len(l.strs)
		l.jump = next
		l.frames = append(l.frames, l.frame)
		l.frame = f.frame
		return
	}
	l.endsIn(t, text, "unclosed-heredoc", "the heredoc whose text begins here has no line with its end tag '"+Shortened(spec.tag)+"'")
}

// leave returns to the text that contains the heredoc.
func (l *lexer) leave() {
	l.frame = l.frames[len(l.frames)-1]
	l.frames = l.frames[:len(l.frames)-1]
}

type heredocText struct {
	frame
	untrimmed int
}

// heredocFrame returns the lines of a heredoc without their margin.
func (l *lexer) heredocFrame(begin, end int, leading string, hasMargin bool) heredocText {
	text := l.src[begin:end]
	f := heredocText{untrimmed: len(text)}
	f.src = text
	f.base = l.base + uint32(begin)
	stripped := false
	if leading != "" {
		for pos := 0; pos < len(text) && !stripped; {
			stripped = strings.HasPrefix(text[pos:], leading)
			i := strings.IndexByte(text[pos:], '\n')
			if i < 0 {
				break
			}
			pos += i + 1
		}
	}
	if !stripped && l.margin == nil {
		return f
	}
	n := strings.Count(text, "\n") + 1
	m := &margin{parent: l.margin, base: l.base, lead: begin, lines: make([]uint32, 0, n), cut: make([]uint32, 1, n+1)}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		m.lines = append(m.lines, uint32(b.Len()))
		cut := m.cut[len(m.cut)-1]
		if leading != "" && strings.HasPrefix(line, leading) {
			cut += uint32(len(leading))
			line = line[len(leading):]
		}
		m.cut = append(m.cut, cut)
		b.WriteString(line)
	}
	f.src = b.String()
	f.margin = m
	f.untrimmed = len(f.src)
	return f
}

// A margin maps positions in the text of a heredoc, whose lines have no margin,
// to offsets in the file.
type margin struct {
	parent *margin  // of the text that contains the heredoc
	base   uint32   // of that text, if it does not have a margin
	lead   int      // the beginning of the text of the heredoc in that text
	lines  []uint32 // the beginnings of lines
	cut    []uint32 // bytes cut up to line n, counted from 1; 0 before the first
}

func (m *margin) at(pos int) uint32 {
	out := m.lead
	// As in Puppet, position 0 is the beginning of the line, before its margin.
	if pos > 0 {
		line := sort.Search(len(m.lines), func(i int) bool { return int(m.lines[i]) > pos })
		out += pos + int(m.cut[line])
	}
	if m.parent != nil {
		return m.parent.at(out)
	}
	return m.base + uint32(out)
}

// endsHeredoc reports whether a line ends a heredoc. It consists of blanks, |
// for a margin, - to omit the last line end, and the tag. Only the tag is
// required. As in Puppet, other text before these on the line is ignored.
func endsHeredoc(line, tag string) (leading string, hasMargin, trim, ok bool) {
	line = strings.TrimSuffix(line, "\n")
	line = strings.TrimSuffix(line, "\r")
	line = trimBlanksRight(line)
	if !strings.HasSuffix(line, tag) {
		return "", false, false, false
	}
	line = line[:len(line)-len(tag)]
	if s := trimBlanksRight(line); strings.HasSuffix(s, "-") {
		trim = true
		line = s[:len(s)-1]
	}
	if s := trimBlanksRight(line); strings.HasSuffix(s, "|") {
		hasMargin = true
		line = s[:len(s)-1]
	}
	return line[len(trimBlanksRight(line)):], hasMargin, trim, true
}

func trimBlanksRight(s string) string {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if r != ' ' && r != '\t' && !unicode.Is(unicode.Zs, r) {
			break
		}
		s = s[:len(s)-n]
	}
	return s
}

func trimBlanksLeft(s string) string {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r != ' ' && r != '\t' && !unicode.Is(unicode.Zs, r) {
			break
		}
		s = s[n:]
	}
	return s
}

// parseHeredocSpec parses @(tag), @("tag"), @(tag:syntax), @(tag/escapes).
func parseHeredocSpec(s string) (spec heredocSpec, kind, msg string) {
	const shape = "a heredoc begins with @(TAG), @(\"TAG\"), @(TAG:syntax), @(TAG/escapes)"
	tag, syntax, flags, hasFlags, ok := splitHeredocSpec(s)
	if !ok {
		return spec, "bad-heredoc-tag", shape
	}
	const space = " \t\n\v\f\r\x00"
	tag = strings.Trim(tag, space)
	if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		spec.interpol = true
		tag = strings.Trim(tag[1:len(tag)-1], space)
	}
	if tag == "" {
		return spec, "empty-heredoc-tag", "the tag of the heredoc is empty"
	}
	spec.tag, spec.syntax = tag, syntax
	if !hasFlags {
		return spec, "", ""
	}
	if flags == "" {
		flags = "trnsuL$"
	}
	spec.escapes = escBackslash
	for i := 0; i < len(flags); i++ {
		if strings.IndexByte(flags[:i], flags[i]) >= 0 {
			return spec, "bad-heredoc-escape", "the escape '" + flags[i:i+1] + "' is given twice"
		}
	}
	for i := 0; i < len(flags); i++ {
		switch flags[i] {
		case 't':
			spec.escapes |= escT
		case 'r':
			spec.escapes |= escR
		case 'n':
			spec.escapes |= escN
		case 's':
			spec.escapes |= escS
		case 'u':
			spec.escapes |= escU
		case '$':
			spec.escapes |= escDollar
		case 'L':
			spec.escapes |= escLine
		default:
			return spec, "bad-heredoc-escape", "'" + flags[i:i+1] + "' is not an escape of a heredoc: it can be t, r, n, s, u, L or $"
		}
	}
	return spec, "", ""
}

// splitHeredocSpec splits @(tag:syntax/flags). If parsing fails after one @(,
// it fails after each other @( before the same end of a tag.
func splitHeredocSpec(s string) (tag, syntax, flags string, hasFlags, ok bool) {
	for {
		i := strings.Index(s, "@(")
		if i < 0 {
			return "", "", "", false, false
		}
		s = s[i+2:]
		end := strings.IndexAny(s, ":/\r\n)")
		if end <= 0 {
			continue
		}
		tag = s[:end]
		s = s[end:]
		rest := s
		syntax, flags, hasFlags = "", "", false
		if rest[0] == ':' {
			rest = trimBlanksLeft(rest[1:])
			n := 0
			for n < len(rest) && (class[rest[n]]&wordByte != 0 || rest[n] == '+') {
				n++
			}
			if n < 2 || rest[0] < 'a' || rest[0] > 'z' {
				continue
			}
			syntax = rest[:n]
			rest = trimBlanksLeft(rest[n:])
		}
		if rest != "" && rest[0] == '/' {
			n := 1
			for n < len(rest) && (class[rest[n]]&wordByte != 0 || rest[n] == '$') {
				n++
			}
			flags, hasFlags = rest[1:n], true
			rest = trimBlanksLeft(rest[n:])
		}
		if rest == ")" {
			return tag, syntax, flags, hasFlags, true
		}
	}
}
