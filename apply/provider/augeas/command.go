package augeas

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of arguments of commands.
const (
	path       = 'p' // an expression, to which the context is added if it is relative
	word       = 's' // a word, or a string in quotes
	comparator = 'c'
	number     = 'n'
	rest       = 'r' // all that follows
)

// commands are the arguments of each command, as Puppet's type augeas reads them. They are the changes, the
// commands of onlyif, and the conditions after match and values.
var commands = map[string]string{
	"set": "ps", "setm": "pss", "rm": "p", "remove": "p", "clear": "p", "clearm": "ps", "touch": "p", "mv": "pp", "move": "pp",
	"rename": "ps", "insert": "ssp", "ins": "ssp", "defvar": "sp", "defnode": "sps",
	"get": "pcs", "values": "pr", "match": "pr",
	"size": "cn", "include": "s", "not_include": "s", "==": "r", "!=": "r",
}

// augtoolNames are the names of changes for augtool, where they differ.
var augtoolNames = map[string]string{"remove": "rm", "move": "mv", "insert": "ins"}

// conditions are the commands that are not changes.
const conditions = " get values match size include not_include == != "

// A command is a line of a parameter: a name and its arguments.
type command struct {
	name string
	args []string
}

// parse reads a line.
func parse(line, context string) (command, error) {
	s := scanner{text: strings.TrimSpace(line)}
	name := s.name()
	kinds, known := commands[name]
	if !known {
		return command{}, fmt.Errorf("has the unknown command %q", name)
	}
	c := command{name: name}
	for _, kind := range kinds {
		s.blanks()
		var arg string
		var err error
		switch kind {
		case path:
			arg, err = s.path()
			if err == nil && arg != "" && arg[0] != '$' && arg[0] != '/' {
				arg = context + arg
			}
		case word:
			arg, err = s.word()
		case comparator:
			arg, err = s.comparator()
		case number:
			arg = s.while(func(b byte) bool { return b >= '0' && b <= '9' })
		case rest:
			arg = s.text[s.at:]
			s.at = len(s.text)
		}
		if err != nil {
			return c, fmt.Errorf("has the command %s: %w", name, err)
		}
		if arg == "" && kind != word {
			return c, fmt.Errorf("has the command %s, which needs %d arguments", name, len(kinds))
		}
		c.args = append(c.args, arg)
	}
	return c, nil
}

// A scanner reads the parts of a line.
type scanner struct {
	text string
	at   int
}

func (s *scanner) while(in func(b byte) bool) string {
	from := s.at
	for s.at < len(s.text) && in(s.text[s.at]) {
		s.at++
	}
	return s.text[from:s.at]
}

func isBlank(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

func (s *scanner) blanks() { s.while(isBlank) }

func (s *scanner) name() string {
	if w := s.while(func(b byte) bool {
		return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
	}); w != "" {
		return w
	}
	for _, op := range []string{"==", "!="} {
		if strings.HasPrefix(s.text[s.at:], op) {
			s.at += len(op)
			return op
		}
	}
	return ""
}

// path reads an expression. It ends at a blank that is not in brackets or quotes.
func (s *scanner) path() (string, error) {
	from, depth := s.at, 0
	var quote byte
	for ; s.at < len(s.text); s.at++ {
		switch b := s.text[s.at]; {
		case b == '\\':
			s.at++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '\'' || b == '"':
			quote = b
		case b == '[':
			depth++
		case b == ']':
			if depth--; depth < 0 {
				return "", errors.New("a bracket ] has no [")
			}
		case isBlank(b) && depth == 0:
			return trim(s.text[from:s.at]), nil
		}
	}
	s.at = min(s.at, len(s.text))
	if quote != 0 || depth > 0 {
		return "", errors.New("a bracket or quote is not closed")
	}
	return trim(s.text[from:]), nil
}

// trim removes quotes around an expression, and a slash at its end.
func trim(path string) string {
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	return strings.TrimSuffix(path, "/")
}

// word reads a word, or a string in quotes. In a string, only its own quote is escaped: other backslashes are for augeas.
func (s *scanner) word() (string, error) {
	if s.at == len(s.text) {
		return "", errors.New("an argument is missing")
	}
	quote := s.text[s.at]
	if quote != '\'' && quote != '"' {
		return s.while(func(b byte) bool { return !isBlank(b) }), nil
	}
	from := s.at + 1
	for s.at = from; s.at < len(s.text) && s.text[s.at] != quote; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	if s.at >= len(s.text) {
		return "", errors.New("a quote is not closed")
	}
	text := s.text[from:s.at]
	s.at++
	return strings.ReplaceAll(text, `\`+string(quote), string(quote)), nil
}

func (s *scanner) comparator() (string, error) {
	for _, op := range []string{"==", "!=", "=~", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(s.text[s.at:], op) {
			s.at += len(op)
			return op, nil
		}
	}
	return "", errors.New("a comparator must be ==, !=, =~, <=, >=, < or >")
}

// array reads a list of strings in Ruby's form, such as ['a', "b"].
func array(text string) (list []string, err error) {
	text = strings.TrimSpace(text)
	bad := fmt.Errorf("%q is not a list of strings, such as ['a', 'b']", text)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, bad
	}
	s := scanner{text: text[1 : len(text)-1]}
	for s.blanks(); s.at < len(s.text); s.blanks() {
		if len(list) > 0 {
			if s.text[s.at] != ',' {
				return nil, bad
			}
			s.at++
			s.blanks()
		}
		if s.at == len(s.text) {
			break
		}
		quote := s.text[s.at]
		if quote != '\'' && quote != '"' {
			return nil, bad
		}
		var b strings.Builder
		for s.at++; s.at < len(s.text) && s.text[s.at] != quote; s.at++ {
			c := s.text[s.at]
			if c == '\\' && s.at+1 < len(s.text) {
				s.at++
				c = unescape(quote, s.text[s.at], &b)
			}
			b.WriteByte(c)
		}
		if s.at >= len(s.text) {
			return nil, bad
		}
		s.at++
		list = append(list, b.String())
	}
	return list, nil
}

// unescape returns the character of an escape sequence.
func unescape(quote, c byte, b *strings.Builder) byte {
	if quote == '"' {
		if at := strings.IndexByte("ntrsabefv", c); at >= 0 {
			return "\n\t\r \a\b\x1b\f\v"[at]
		}
	}
	if c != quote && c != '\\' {
		b.WriteByte('\\')
	}
	return c
}
