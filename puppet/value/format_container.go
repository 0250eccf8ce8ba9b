package value

import (
	"strings"
	"unicode/utf8"
)

// isContainer reports whether v uses the formats of the container that holds
// it.
func isContainer(v Value) bool {
	switch v.(type) {
	case *Array, *Hash, *Object:
		return true
	}
	return false
}

// hasLines reports whether v can begin on a new line.
func hasLines(v Value) bool {
	switch v.(type) {
	case *Array, *Hash:
		return true
	}
	return false
}

// inside returns the formats of the elements of a container.
func (f *formatSpec) inside() formatMap {
	if f.inner != nil {
		return f.inner
	}
	return formatMap{{AnyType{}, programFormat()}}
}

// delimiters returns the delimiters of the container.
func (f *formatSpec) delimiters(left, right string) (string, string) {
	switch f.delim {
	case '[':
		return "[", "]"
	case '{':
		return "{", "}"
	case '(':
		return "(", ")"
	case '<':
		return "<", ">"
	case '|':
		return "|", "|"
	}
	if f.space {
		return "", ""
	}
	return left, right
}

func separator(s *string, usual string) string {
	if s != nil {
		return *s
	}
	return usual
}

// array writes an array.
func (c *converter) array(a *Array, m formatMap, n indentation) ([]byte, error) {
	f := m.find(a)
	if strings.IndexByte("asp", f.verb) < 0 {
		return nil, badVerb(f, "an Array", "asp")
	}
	sep := separator(f.sep, ", ")
	inner := f.inside()
	left, right := f.delimiters("[", "]")
	n = n.active2(f.alt || n.active)

	var b []byte
	if n.breaks() {
		b = append(b, '\n')
		b = appendRepeat(b, ' ', 2*n.level)
	}
	b = append(b, left...)
	elems := a.Elems()
	texts := make([][]byte, len(elems))
	below := n.deeper(f.alt)
	below.first = false
	for i, e := range elems {
		formats := inner
		if isContainer(e) {
			formats = m
		}
		var err error
		if texts[i], err = c.convert(e, formats, below); err != nil {
			return nil, err
		}
	}
	wide := f.alt && f.width >= 0 && widest(elems, texts) > f.width
	for i, e := range elems {
		if i == 0 {
			if wide && !hasLines(e) {
				b = append(b, ' ')
			}
		} else {
			b = append(b, sep...)
			if !hasLines(e) && (wide || f.alt && hasLines(elems[i-1])) {
				if b[len(b)-1] != '\n' {
					b = trimRight(b)
				}
				b = append(b, '\n')
				b = appendRepeat(b, ' ', 2*below.level)
			}
		}
		if len(b) > 0 && b[len(b)-1] == ' ' && len(texts[i]) > 0 && texts[i][0] == '\n' {
			b = trimRight(b)
		}
		if c.budget -= len(texts[i]) + len(sep); c.budget < 0 {
			return nil, errTooLong()
		}
		b = append(b, texts[i]...)
	}
	return append(b, right...), nil
}

// trimRight removes trailing blanks.
func trimRight(b []byte) []byte {
	n := len(b)
	for n > 0 && (isSpace(b[n-1]) || b[n-1] == 0) {
		n--
	}
	return b[:n]
}

// widest returns the length of the longest run of elements that are not arrays
// or hashes.
func widest(elems []Value, texts [][]byte) int {
	most, run := 0, 0
	for i, e := range elems {
		if hasLines(e) {
			run = 0
			continue
		}
		run += utf8.RuneCount(texts[i])
		most = max(most, run)
	}
	return most
}

// hash writes a hash.
func (c *converter) hash(h *Hash, m formatMap, n indentation) ([]byte, error) {
	f := m.find(h)
	switch f.verb {
	case 'a':
		return c.array(pairsOf(h), m, n)
	case 'h', 's', 'p':
	default:
		return nil, badVerb(f, "a Hash", "hasp")
	}
	sep := separator(f.sep, ", ")
	assoc := separator(f.sep2, " => ")
	inner := f.inside()
	left, right := f.delimiters("{", "}")
	if f.alt {
		if !strings.HasSuffix(sep, "\n") {
			sep = strings.TrimRight(sep, " \t\n\v\f\r\x00")
		}
		sep += "\n"
	}
	n = n.active2(f.alt || n.active)
	var b []byte
	if n.breaks() {
		b = append(b, '\n')
		b = appendRepeat(b, ' ', 2*n.level)
	}
	below := n.deeper(false)
	b = append(b, left...)
	if f.alt {
		b = append(b, '\n')
	}
	for i := range h.Len() {
		if i > 0 {
			b = append(b, sep...)
		}
		if f.alt {
			b = appendRepeat(b, ' ', 2*below.level)
		}
		e := h.At(i)
		for j, v := range [...]Value{e.Key, e.Value} {
			formats := inner
			if isContainer(v) {
				formats = m
			}
			text, err := c.convert(v, formats, below)
			if err != nil {
				return nil, err
			}
			if c.budget -= len(text) + len(sep) + len(assoc); c.budget < 0 {
				return nil, errTooLong()
			}
			b = append(b, text...)
			if j == 0 {
				b = append(b, assoc...)
			}
		}
	}
	if f.alt {
		b = append(b, '\n')
		b = appendRepeat(b, ' ', 2*n.level)
	}
	return append(b, right...), nil
}

// pairsOf returns a hash as an array of its entries.
func pairsOf(h *Hash) *Array {
	pairs := make([]Value, h.Len())
	for i := range pairs {
		e := h.At(i)
		pairs[i] = NewArray(e.Key, e.Value)
	}
	return NewArray(pairs...)
}
