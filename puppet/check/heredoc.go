package check

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"bolt/puppet/syntax"
)

// Heredoc returns an error if a text does not have the syntax of its heredoc,
// such as @(END:json). It is for texts that are made when a program runs;
// Program checks the others. tasks are the rules of plans.
func Heredoc(name, text string, tasks bool) error {
	c := &checker{o: Options{Tasks: tasks}}
	return c.text(name, text, 0)
}

// heredoc checks the text of a heredoc with a syntax.
func (c *checker) heredoc(n *syntax.Heredoc) {
	s, ok := n.Text.(*syntax.Str)
	if !ok || n.Syntax == "" {
		return
	}
	if err := c.text(n.Syntax, s.Value, c.linesBefore(s)); err != nil {
		c.errorf(s, "bad-heredoc", "the text is not valid %s: %v", n.Syntax, err)
	}
}

// linesBefore returns the number of lines of the file before the text of a
// heredoc. If the lines of the text differ from those of the file by more than
// a margin, it returns 0, because an escape can join or split lines.
func (c *checker) linesBefore(s *syntax.Str) int {
	written := c.file.Src[s.Off:]
	for text := range strings.Lines(s.Value) {
		var line string
		line, written, _ = strings.Cut(written, "\n")
		if !strings.HasSuffix(line, strings.TrimSuffix(text, "\n")) {
			return 0
		}
	}
	return c.file.Position(s.Off).Line - 1
}

// maxHeredocs is the largest depth of nested heredocs with code. The text of
// the innermost one is parsed once for each.
const maxHeredocs = 10

// text checks a text by the name of its syntax. If the syntax application+json
// is unknown, the text is checked as json. A text of an unknown syntax is not
// checked. before is the number of lines of the file before the text, or 0 if
// it is unknown.
func (c *checker) text(name, text string, before int) error {
	parse := syntax.Parse
	name = strings.TrimRight(name, "+")
	switch name[strings.LastIndexByte(name, '+')+1:] {
	case "json":
		var v any
		return json.Unmarshal([]byte(text), &v)
	case "base64":
		_, err := base64.StdEncoding.Strict().DecodeString(strings.Map(inBase64, text))
		return err
	case "pp":
	case "epp":
		parse = syntax.ParseTemplate
	default:
		return nil
	}
	if c.inside >= maxHeredocs {
		return errors.New("heredocs are nested too deep")
	}
	f := syntax.NewFile("", text)
	f.Before = before
	p, err := parse(f, syntax.Options{Tasks: c.o.Tasks})
	if err == nil {
		in := &checker{file: f, o: Options{Tasks: c.o.Tasks, Keys: c.o.Keys}, inside: c.inside + 1}
		err = in.program(p).Err()
	}
	errs, ok := errors.AsType[syntax.Errors](err)
	switch {
	case !ok:
		return err
	case before == 0:
		return fmt.Errorf("%s, in line %d of the text", errs[0].Msg, errs[0].Position().Line)
	}
	return fmt.Errorf("%s, in line %d", errs[0].Msg, errs[0].Position().Line)
}

// inBase64 removes characters that are ignored in base64. As in Puppet, these
// include the question mark.
func inBase64(r rune) rune {
	if strings.ContainsRune("\t\r\n?", r) || unicode.Is(unicode.Zs, r) {
		return -1
	}
	return r
}
