package ansible

import (
	"errors"
	"strings"
)

// Words splits a line like Python's shlex.split: as a POSIX shell would,
// without expansions. If comments is set, everything after a # outside of
// quotes is ignored.
func Words(line string, comments bool) ([]string, error) {
	var words []string
	var b strings.Builder
	begun := false
	end := func() {
		if begun {
			words = append(words, b.String())
			b.Reset()
			begun = false
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			end()
		case c == '#' && comments:
			end()
			return words, nil
		case c == '\'':
			n := strings.IndexByte(line[i+1:], '\'')
			if n < 0 {
				return nil, errors.New("a quote is not closed")
			}
			b.WriteString(line[i+1:][:n])
			begun = true
			i += n + 1
		case c == '"':
			n, closed := double(&b, line[i+1:])
			if !closed {
				return nil, errors.New("a quote is not closed")
			}
			begun = true
			i += n
		case c == '\\':
			if i++; i == len(line) {
				return nil, errors.New("a character must follow the last backslash")
			}
			b.WriteByte(line[i])
			begun = true
		default:
			b.WriteByte(c)
			begun = true
		}
	}
	end()
	return words, nil
}

// double reads up to a closing double quote; n is the number of bytes read.
func double(b *strings.Builder, s string) (n int, closed bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return 0, false
}
