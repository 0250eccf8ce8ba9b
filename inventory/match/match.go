// Package match is the language in which people say which targets they mean:
//
//	facts.os.family == "Debian" and not (facts.role in ["db", "mail"])
//
// The grammar, where [ ] is what may be left out and { } what may come again:
//
//	expression = all { "or" all }
//	all        = one { "and" one }
//	one        = "not" one | "(" expression ")" | comparison
//	comparison = operand [ operator operand ]
//	operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "=~" | "!~" | [ "not" ] "in"
//	operand    = text | number | "true" | "false" | "null" | list | path
//	list       = "[" [ literal { "," literal } ] "]"
//	path       = name { "." word | "." text | "[" text "]" | "[" number "]" }
//
// The names are those of Names. Texts stand in double or single quotes; a
// backslash makes the quote and the backslash ordinary and is itself ordinary
// before everything else, so patterns can be written as they are. There are no
// functions and there is no arithmetic.
//
// What is not there is null. What machines tell comes as text and as numbers
// alike ("9", "9.10", 8), so a text equals a number, true or false that is
// written so. Texts are ordered as versions are: runs of digits by their number,
// so "9.9" is before "9.10"; and a text is compared with a number as it is
// written. Null is neither before nor after anything, matches no pattern and is
// in no list. A list or a map is neither equal nor unequal to a text, a number,
// true or false, nor can it be in a list of texts that is written down, or a key of
// a map: that is a TypeError, as groups != "web" would be true of all.
//
// Of a target something may be unknown, say because its facts were never
// collected. Then the answer is Unknown where it depends on that, as in SQL:
// Unknown or Yes is Yes, Unknown and No is No, not Unknown is Unknown.
//
// An expression has at most 16 KiB, and parentheses and "not" stand at most 100
// deep in each other. Patterns are those of package regexp, whose matching takes
// time that is linear in the text.
package match

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"bolt/format/ordered"
)

// Names lists the names that an expression can begin a path with, in the order
// in which people are told of them. Only facts and vars have members.
func Names() []string {
	return []string{"name", "uri", "host", "alias", "transport", "groups", "features", "facts", "vars"}
}

// A Subject is what an expression is about.
type Subject interface {
	// Value gives what one of Names stands for, as one of the types that an
	// ordered.Map holds. known is false if that is not all: nothing is known then
	// of what is not in the value, which is something else than there being
	// nothing. The value is not changed.
	Value(ctx context.Context, name string) (v any, known bool, err error)
}

// An Answer says whether a subject matches.
type Answer uint8

// The answers.
const (
	No Answer = iota
	Yes
	Unknown
)

func answer(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// An Expr is a parsed expression. It is not changed, so it is safe for
// concurrent use.
type Expr struct {
	root  condition
	paths [][]any
}

// Uses reports whether the expression has a path that begins with name.
func (e *Expr) Uses(name string) bool {
	return slices.ContainsFunc(e.paths, func(p []any) bool { return p[0] == name })
}

// Members lists the members of name, such as facts, that the expression has paths
// to, each once; ok is false if it uses all of it.
func (e *Expr) Members(name string) (members []string, ok bool) {
	for _, p := range e.paths {
		if p[0] != name {
			continue
		}
		if len(p) == 1 {
			return nil, false
		}
		if m, ok := p[1].(string); ok && !slices.Contains(members, m) {
			members = append(members, m)
		}
	}
	return members, true
}

// Match asks the expression about a subject. An error is a subject's, or a
// *TypeError.
func (e *Expr) Match(ctx context.Context, s Subject) (Answer, error) { return e.root.eval(ctx, s) }

// A TypeError says that a value cannot be asked what the expression asks of it:
// whether a text is true, or whether a list is a text or greater than something.
type TypeError struct {
	Path string // of the value
	Msg  string // what it is, and what to do
}

func (e *TypeError) Error() string { return e.Path + " " + e.Msg }

// condition is a part of an expression that has an answer.
type condition interface {
	eval(ctx context.Context, s Subject) (Answer, error)
	write(w *printer, within int)
}

type (
	or  struct{ a, b condition }
	and struct{ a, b condition }
	not struct{ a condition }
	// truth is an operand that stands alone.
	truth struct{ a operand }
	// comparison has an operator of the grammar; pattern is b's for =~ and !~.
	comparison struct {
		op      string
		a, b    operand
		pattern *regexp.Regexp
	}
)

// operand is a literal, a list of them, or a path.
type operand struct {
	path  []any // of texts and ints; the first is the name; nil for a literal
	value any   // of a literal: nil, bool, string, number or []any of these
}

// number is a number as it is written in the expression.
type number struct {
	text  string
	value any // int64 or float64
}

func (o or) eval(ctx context.Context, s Subject) (Answer, error) {
	a, err := o.a.eval(ctx, s)
	if err != nil || a == Yes {
		return a, err
	}
	b, err := o.b.eval(ctx, s)
	if err != nil || b == Yes {
		return b, err
	}
	return max(a, b), nil
}

func (o and) eval(ctx context.Context, s Subject) (Answer, error) {
	a, err := o.a.eval(ctx, s)
	if err != nil || a == No {
		return a, err
	}
	b, err := o.b.eval(ctx, s)
	if err != nil || b == No {
		return b, err
	}
	return max(a, b), nil
}

func (o not) eval(ctx context.Context, s Subject) (Answer, error) {
	a, err := o.a.eval(ctx, s)
	switch a {
	case No:
		a = Yes
	case Yes:
		a = No
	}
	return a, err
}

func (o truth) eval(ctx context.Context, s Subject) (Answer, error) {
	v, known, err := o.a.get(ctx, s)
	if err != nil || !known {
		return Unknown, err
	}
	switch v {
	case nil, false, "false":
		return No, nil
	case true, "true":
		return Yes, nil
	}
	return No, &TypeError{o.a.String(), fmt.Sprintf("is %s, which is neither true nor false: compare it with something, or with null", describe(v))}
}

func (o comparison) eval(ctx context.Context, s Subject) (Answer, error) {
	a, known, err := o.a.get(ctx, s)
	if err != nil || !known {
		return Unknown, err
	}
	b, known, err := o.b.get(ctx, s)
	if err != nil || !known {
		return Unknown, err
	}
	switch o.op {
	case "==", "!=":
		if err := o.comparable(a, b); err != nil {
			return No, err
		}
		return answer(equal(a, b) == (o.op == "==")), nil
	case "=~", "!~":
		yes, err := o.matches(a)
		return answer(yes == (o.op == "=~")), err
	case "in", "not in":
		yes, err := o.in(a, b)
		return answer(yes == (o.op == "in")), err
	}
	if a == nil || b == nil {
		return No, nil
	}
	c, ok := compare(a, b)
	if !ok {
		odd := o.a
		if orderable(a) {
			odd, a = o.b, b
		}
		return No, &TypeError{odd.String(), fmt.Sprintf("is %s, which is neither before nor after anything", describe(a))}
	}
	switch o.op {
	case "<":
		return answer(c < 0), nil
	case "<=":
		return answer(c <= 0), nil
	case ">":
		return answer(c > 0), nil
	}
	return answer(c >= 0), nil
}

// comparable is the error of a list or map that is compared with what is none:
// the answer would always be the same, and people mean another question.
func (o comparison) comparable(a, b any) error {
	if a == nil || b == nil || composite(a) == composite(b) {
		return nil
	}
	odd, v, other := o.a, a, o.b
	if composite(b) {
		odd, v, other = o.b, b, o.a
	}
	what := describe(v) + ": "
	if _, list := v.([]any); list {
		in := other.String() + " in " + odd.String()
		return &TypeError{odd.String(), "is " + what + "write " + in + ", or not (" + in + ")"}
	}
	return &TypeError{odd.String(), "is " + what + "name a member of it, as in " + odd.String() + ".MEMBER " + o.op + " " + other.String()}
}

func (o comparison) matches(v any) (bool, error) {
	if v == nil {
		return false, nil
	}
	text, ok := textOf(v)
	if !ok {
		return false, &TypeError{o.a.String(), fmt.Sprintf("is %s, and only a text can match a pattern", describe(v))}
	}
	return o.pattern.MatchString(text), nil
}

func (o comparison) in(v, set any) (bool, error) {
	switch set := set.(type) {
	case nil:
		return false, nil
	case []any:
		if v == nil {
			return false, nil
		}
		if o.b.path == nil && composite(v) { // which has literals in it alone
			return false, o.never(v)
		}
		for _, e := range set {
			if equal(v, e) {
				return true, nil
			}
		}
		return false, nil
	case *ordered.Map:
		if composite(v) {
			return false, o.never(v)
		}
		text, ok := textOf(v)
		if !ok {
			return false, nil
		}
		_, has := set.Get(text)
		return has, nil
	}
	return false, &TypeError{o.b.String(), fmt.Sprintf("is %s, and nothing is in it: use == or =~", describe(set))}
}

// never is the error of a list or map that is asked for in what has none in it.
func (o comparison) never(v any) error {
	msg := fmt.Sprintf("is %s, which is never in %s", describe(v), o.b)
	if _, list := v.([]any); list {
		msg += `: write "x" in ` + o.a.String() + " for each"
	}
	return &TypeError{o.a.String(), msg}
}

// get gives an operand's value.
func (o operand) get(ctx context.Context, s Subject) (v any, known bool, err error) {
	if o.path == nil {
		return o.value, true, nil
	}
	v, known, err = s.Value(ctx, o.path[0].(string))
	if err != nil {
		return nil, false, err
	}
	for _, step := range o.path[1:] {
		v = member(v, step)
	}
	if !known {
		// A map may have more in it than is known, all else is as it is.
		_, more := v.(*ordered.Map)
		known = v != nil && !more
	}
	return v, known, nil
}

// member is what a step of a path leads to, nil if there is nothing.
func member(v, step any) any {
	switch at := v.(type) {
	case *ordered.Map:
		if key, ok := step.(string); ok {
			return at.Value(key)
		}
	case []any:
		if i, ok := step.(int); ok && i < len(at) {
			return at[i]
		}
	}
	return nil
}
