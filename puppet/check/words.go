package check

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"bolt/puppet/syntax"
)

func (c *checker) errorf(n syntax.Node, kind, format string, args ...any) {
	c.problem(Error, n, kind, format, args...)
}

func (c *checker) problem(s Severity, n syntax.Node, kind, format string, args ...any) {
	if s == Ignore {
		return
	}
	c.found = append(c.found, Problem{&syntax.Error{File: c.file, Span: n.At(), Kind: kind, Msg: fmt.Sprintf(format, args...)}, s})
}

// article names a kind of node in messages, with its article.
func article(n syntax.Node) string {
	switch n := n.(type) {
	case nil:
		return "nothing"
	case *syntax.Undef:
		return "undef"
	case *syntax.Default:
		return "default"
	case *syntax.Bool, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Concat, *syntax.Heredoc, *syntax.Regexp:
		return "a literal value"
	case *syntax.Name:
		return "the word " + n.Value
	case *syntax.TypeName:
		return "the type " + n.Value
	case *syntax.Var:
		return "the variable $" + n.Name
	case *syntax.List:
		return "an array"
	case *syntax.Hash:
		return "a hash"
	case *syntax.Not, *syntax.Neg, *syntax.Splat, *syntax.Paren:
		return "an expression"
	case *syntax.Binary:
		return "an expression with " + n.Op.String()
	case *syntax.Assign:
		return "an assignment"
	case *syntax.Relation:
		return "a relation (" + n.Op.String() + ")"
	case *syntax.Index:
		return "an access with []"
	case *syntax.Call, *syntax.Method:
		return "a call"
	case *syntax.Lambda:
		return "a block"
	case *syntax.If, *syntax.Unless, *syntax.Case:
		return "a condition"
	case *syntax.Selector:
		return "a selector"
	case *syntax.Resource:
		return "a resource"
	case *syntax.Defaults:
		return "a set of defaults for resources"
	case *syntax.Override:
		return "a change of resources"
	case *syntax.Collect:
		return "a collector"
	case *syntax.Class:
		return "a class"
	case *syntax.Define:
		return "a define"
	case *syntax.NodeDef:
		return "a node"
	case *syntax.Function:
		return "a function"
	case *syntax.Plan:
		return "a plan"
	case *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
		return "a type"
	case *syntax.Apply:
		return "an apply block"
	}
	return "an expression"
}

// printed is an expression as it could be written.
func printed(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Str:
		return "'" + x.Value + "'"
	case *syntax.Name:
		return x.Value
	case *syntax.Int:
		return strconv.FormatInt(x.Value, 10)
	}
	return article(x)
}

// literal returns a text that is the same for equal literals; ok is false for
// what is computed.
func literal(x syntax.Expr) (sign string, ok bool) {
	switch x := x.(type) {
	case *syntax.Undef:
		return "undef", true
	case *syntax.Default:
		return "default", true
	case *syntax.Bool:
		return strconv.FormatBool(x.Value), true
	case *syntax.Int:
		return "i" + strconv.FormatInt(x.Value, 10), true
	case *syntax.Float:
		return "f" + strconv.FormatFloat(x.Value, 'g', -1, 64), true
	case *syntax.Str:
		return strconv.Quote(x.Value), true
	case *syntax.Name:
		return strconv.Quote(x.Value), true
	case *syntax.TypeName:
		return strconv.Quote(strings.ToLower(x.Value)), true
	case *syntax.Regexp:
		return "/" + strconv.Quote(x.Source), true
	case *syntax.Neg:
		s, ok := literal(x.X)
		return "-" + s, ok
	case *syntax.Concat:
		if len(x.Parts) == 1 {
			return literal(x.Parts[0])
		}
	case *syntax.List:
		return literals("[", x.Items)
	case *syntax.Index:
		if len(x.Keys) == 1 {
			if _, list := x.Keys[0].(*syntax.List); list {
				return "", false
			}
		}
		return literals("[", x.Keys)
	case *syntax.Hash:
		var all []syntax.Expr
		for i := range x.Entries {
			all = append(all, x.Entries[i].Key, x.Entries[i].Value)
		}
		return literals("{", all)
	}
	return "", false
}

func literals(sign string, list []syntax.Expr) (string, bool) {
	for _, x := range list {
		s, ok := literal(x)
		if !ok {
			return "", false
		}
		sign += s + ","
	}
	return sign + ")", true
}

// idle reports whether evaluating an expression does nothing but give a value.
func idle(x syntax.Expr) bool {
	switch x := x.(type) {
	case nil, *syntax.Nop, *syntax.Undef, *syntax.Default, *syntax.Bool, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Regexp,
		*syntax.Name, *syntax.TypeName, *syntax.Reserved, *syntax.Var, *syntax.List, *syntax.Hash, *syntax.Index, *syntax.Not, *syntax.Neg, *syntax.Splat,
		*syntax.Text, *syntax.Concat, *syntax.Heredoc, *syntax.Selector:
		return true
	case *syntax.Paren:
		return idle(x.X)
	case *syntax.Binary:
		return x.Op != syntax.Match && x.Op != syntax.NoMatch // these set $0 and so on
	case *syntax.Block:
		for _, e := range x.Exprs {
			if !idle(e) {
				return false
			}
		}
		return true
	case *syntax.If:
		return idle(x.Cond) && idle(x.Then) && (x.Else == nil || idle(x.Else))
	case *syntax.Unless:
		return idle(x.Cond) && idle(x.Then) && (x.Else == nil || idle(x.Else))
	case *syntax.Case:
		if !idle(x.X) {
			return false
		}
		for _, o := range x.Options {
			for _, v := range o.Values {
				if !idle(v) {
					return false
				}
			}
			if !idle(o.Then) {
				return false
			}
		}
		return true
	}
	return false
}

// heredoc checks the text of a heredoc that says what it is.
func (c *checker) heredoc(n *syntax.Heredoc) {
	s, ok := n.Text.(*syntax.Str)
	if !ok {
		return
	}
	var err error
	switch strings.ToLower(n.Syntax) {
	case "json":
		if !json.Valid([]byte(s.Value)) {
			var v any
			err = json.Unmarshal([]byte(s.Value), &v)
		}
	case "base64":
		_, err = base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n", r) {
				return -1
			}
			return r
		}, s.Value))
	case "pp":
		_, err = syntax.Parse(syntax.NewFile(c.file.Name, s.Value), syntax.Options{Tasks: c.o.Tasks})
	case "epp":
		_, err = syntax.ParseTemplate(syntax.NewFile(c.file.Name, s.Value), syntax.Options{Tasks: c.o.Tasks})
	}
	if err != nil {
		c.errorf(s, "illegal-heredoc", "the text is no valid %s: %v", n.Syntax, err)
	}
}

// isWord reports whether a character is a letter, a digit or _, as Ruby's \w
// has it.
func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func word(s string, first func(c byte) bool) bool {
	if s == "" || !first(s[0]) {
		return false
	}
	for _, r := range s {
		if !isWord(r) {
			return false
		}
	}
	return true
}

func isSmall(c byte) bool   { return 'a' <= c && c <= 'z' }
func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }
func isParam(s string) bool { return word(s, func(c byte) bool { return isSmall(c) || c == '_' }) }

// isDefinition: names of definitions are words joined by ::.
func isDefinition(s string) bool {
	for part := range strings.SplitSeq(s, "::") {
		if !word(part, isSmall) {
			return false
		}
	}
	return true
}

// isTypeName: the parts of a type's name begin with capitals. absolute allows
// :: before them.
func isTypeName(s string, absolute bool) bool {
	if absolute {
		s = strings.TrimPrefix(s, "::")
	}
	for part := range strings.SplitSeq(s, "::") {
		if !word(part, isCapital) {
			return false
		}
	}
	return true
}

func isQualified(s string) bool { return strings.Contains(s, "::") }

// isVariable: qualified names begin with small letters, and end with a
// parameter's name.
func isVariable(s string) bool {
	s = strings.TrimPrefix(s, "::")
	if i := strings.LastIndex(s, "::"); i >= 0 {
		return isDefinition(s[:i]) && isParam(s[i+2:])
	}
	return isParam(s)
}

// isNumber: digits without a zero before them.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || s != "" && s[0] != '0'
}

func isHexOrDecimal(s string) bool {
	s = strings.TrimPrefix(s, "0x")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
