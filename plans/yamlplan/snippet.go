package yamlplan

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
	"bolt/puppet/check"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// isCode reports whether the whole text of a scalar is code.
func isCode(n *yaml.Node) bool {
	if n.Style == yaml.Literal {
		return true
	}
	text, ok := n.Value.(string)
	return ok && n.Style == yaml.Plain && strings.HasPrefix(text, "$")
}

// isInterpolated reports whether variables in a scalar are interpolated.
func isInterpolated(n *yaml.Node) bool { return n.Style == yaml.DoubleQuoted }

// A snippet is the code of a scalar.
type snippet struct {
	text    string // the text of the scalar
	source  string // the text that was parsed
	body    []syntax.Expr
	heredoc bool          // the code contains a heredoc
	strings []syntax.Span // the positions of quoted strings and regular expressions
}

var language = syntax.Options{Tasks: true}

// code parses text as code.
func code(text string) (*snippet, error) {
	p, err := parsed(text)
	if err != nil {
		return nil, err
	}
	s := &snippet{text: text, source: text, body: p.Body.Exprs}
	syntax.Walk(p.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Heredoc:
			s.heredoc = true
		case *syntax.Str, *syntax.Concat, *syntax.Regexp:
			s.strings = append(s.strings, n.At())
		}
		return true
	})
	return s, nil
}

// within reports whether a line that begins at an offset begins inside a string. If the
// code contains a heredoc, within always returns true.
func (s *snippet) within(off int) bool {
	if s.heredoc {
		return true
	}
	return slices.ContainsFunc(s.strings, func(at syntax.Span) bool {
		return int(at.Off) < off && off < int(at.End())
	})
}

// interpolated parses text as the content of a double-quoted string. It puts the text
// into a heredoc, because no character of a heredoc must be escaped. The text begins on
// the second line of the heredoc.
func interpolated(text string) (*snippet, error) {
	tag := "END"
	for strings.Contains(text, tag) {
		tag += "D"
	}
	source := "@(\"" + tag + "\")\n" + text + "\n|- " + tag
	p, err := parsed(source)
	if err != nil {
		return nil, err
	}
	// Text that ends within an interpolation is valid in a heredoc, but not in quotes. To
	// detect it, parse the text with a control character at its end: within an
	// interpolation, this character is a syntax error.
	if _, err := parsed("@(\"" + tag + "\")\n" + text + "\x01\n|- " + tag); err != nil {
		return nil, errors.New("the text ends within an interpolation: } is missing after ${")
	}
	h, ok := p.Body.Exprs[0].(*syntax.Heredoc)
	if !ok {
		return nil, errors.New("the text is not valid in double quotation marks")
	}
	return &snippet{text: text, source: source, body: []syntax.Expr{h.Text}}, nil
}

// parsed parses and checks code.
func parsed(text string) (*syntax.Program, error) {
	p, err := syntax.Parse(syntax.NewFile("", text), language)
	if err == nil {
		err = check.Program(p, check.Options{Tasks: true}).Err()
	}
	return p, err
}

// badCode returns the problems of the code in the value of a key.
func (p *Plan) badCode(key string, n *yaml.Node) []problem {
	var list []problem
	switch n.Style {
	case yaml.List:
		for _, item := range n.Items {
			list = append(list, p.badCode(key, item)...)
		}
		return list
	case yaml.Mapping:
		for _, pair := range n.Pairs {
			list = append(list, p.badCode(pair.Key.Text, pair.Value)...)
		}
		return list
	}
	if bad := badNumber(key, n); bad != nil {
		return []problem{*bad}
	}
	var err error
	skip, hint := 0, ""
	switch {
	case isCode(n):
		_, err = code(n.Text)
	case isInterpolated(n):
		_, err = interpolated(n.Text)
		skip = 1
	case n.Style == yaml.Plain:
		if text, ok := n.Value.(string); ok {
			_, err = interpolated(text)
			skip, hint = 1, "put the text in single quotation marks to use it literally"
		}
	}
	if err == nil {
		return nil
	}
	bad := problem{kind: kindInvalid, line: n.Line, hint: hint, msg: fmt.Sprintf("Error parsing %q: %v", key, err)}
	if e, ok := first(err); ok {
		bad.msg = fmt.Sprintf("Error parsing %q: %s", key, e.Msg)
		bad.line = p.lineOf(n, e.Position().Line-skip)
	}
	return []problem{bad}
}

// first returns the first syntax error in err.
func first(err error) (*syntax.Error, bool) {
	if l, ok := errors.AsType[syntax.Errors](err); ok && len(l) > 0 {
		return l[0], true
	}
	return nil, false
}

// badNumber returns a problem if a value contains a number that the language cannot
// represent.
func badNumber(key string, n *yaml.Node) *problem {
	for _, item := range n.Items {
		if bad := badNumber(key, item); bad != nil {
			return bad
		}
	}
	for _, pair := range n.Pairs {
		for _, side := range []*yaml.Node{pair.Key, pair.Value} {
			if bad := badNumber(pair.Key.Text, side); bad != nil {
				return bad
			}
		}
	}
	switch v := n.Value.(type) {
	case *big.Int:
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return nil
		}
	default:
		return nil
	}
	return &problem{kind: kindInvalid, line: n.Line, msg: fmt.Sprintf("Error parsing %q: %s is a number that plans cannot represent", key, shortened(n.Text)),
		hint: "put it in quotation marks to make it a string"}
}

func shortened(s string) string { return syntax.Shortened(s) }

// typeOf returns the type of a parameter in the form in which the language prints types.
func typeOf(param string, n *yaml.Node) (string, *problem) {
	wrong := func(hint, format string, args ...any) (string, *problem) {
		return "", &problem{kind: kindLanguage, line: n.Line, msg: fmt.Sprintf(format, args...), hint: hint}
	}
	const write = "a type is written as in the Puppet language: Integer[1, 5], Optional[String]"
	if _, ok := n.Value.(string); !ok {
		return wrong(write, "The type of plan parameter %q is not written as a string", param)
	}
	p, err := syntax.Parse(syntax.NewFile("", n.Text), language)
	if err != nil {
		e, ok := first(err)
		switch {
		case !ok:
			return wrong(write, "The type of plan parameter %q: %v", param, err)
		case e.Incomplete:
			// Programs recognize the error by this message.
			return wrong(fmt.Sprintf("the type of parameter %q is incomplete; %s", param, write), "Syntax error at end of input")
		}
		return wrong(write, "The type %s of plan parameter %q: %s", shortened(n.Text), param, e.Msg)
	}
	if len(p.Body.Exprs) != 1 {
		return wrong(write, "The type %s of plan parameter %q is not one type", shortened(n.Text), param)
	}
	t, err := value.ParseType(n.Text)
	if err != nil {
		return wrong(write, "The type %s of plan parameter %q: %v", shortened(n.Text), param, err)
	}
	// The types of modules are only known when a plan runs, so typeOf prints their names
	// as they are.
	printed := reference().ReplaceAllString(value.TypeString(t), "$1")
	if again, err := value.ParseType(printed); err != nil || value.TypeString(again) != value.TypeString(t) {
		printed = strings.TrimSpace(n.Text)
	}
	return printed, nil
}

var reference = lazyregexp.New(`TypeReference\['([\w:]+)'\]`)
