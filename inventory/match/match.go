// Package match implements the expression language that selects targets:
//
//	facts.os.family == "Debian" and not (facts.role in ["db", "mail"])
//
// The grammar, where [ ] marks optional parts and { } repeated parts:
//
//	expression = all { "or" all }
//	all        = one { "and" one }
//	one        = "not" one | "(" expression ")" | comparison
//	comparison = operand [ operator operand ]
//	operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "=~" | "!~" | [ "not" ] "in"
//	operand    = string | number | "true" | "false" | "null" | list | path
//	list       = "[" [ literal { "," literal } ] "]"
//	path       = name { "." word | "." string | "[" string "]" | "[" number "]" }
//
// The names are listed by Names. Strings are in double or single quotes. A backslash
// escapes the quote and the backslash; before any other character it is an ordinary
// character, so patterns need no extra backslashes. Expressions cannot
// call functions or calculate.
//
// A missing value is null. Machines report values as strings and as numbers alike
// ("9", "9.10", 8), so a string equals a number, true or false that is written the
// same. Strings are ordered like versions: runs of digits by their number, so "9.9"
// is before "9.10". A string is compared with a number as the number is written.
// Null is neither before nor after anything, matches no pattern and is in no list. A
// list or a map cannot be compared for equality with a string, a number, true or
// false. It can neither be in a literal list of strings nor be a key of a map. Such
// a comparison is a TypeError, because groups != "web" would otherwise be true for
// all targets.
//
// Values of a target can be unknown, for example because its facts were never
// collected. If the result depends on such a value, the answer is Unknown, as in
// SQL: Unknown or Yes is Yes, Unknown and No is No, not Unknown is Unknown.
//
// An expression has at most 16 KiB, and parentheses and "not" are nested at most 100
// deep. Patterns use the syntax of package regexp, which matches in time linear in
// the length of the string.
package match

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"bolt/format/ordered"
)

// Names lists the names that a path can begin with, in the order in which messages
// list them. Only facts and vars have members.
func Names() []string {
	return []string{"name", "uri", "host", "alias", "transport", "groups", "features", "facts", "vars"}
}

// A Subject supplies the values that an expression is evaluated on.
type Subject interface {
	// Value returns the value of one of Names, as one of the types that an
	// ordered.Map holds. known is false if the value is incomplete; values that it
	// does not contain are then unknown, not null. The caller does not change the
	// value.
	Value(ctx context.Context, name string) (v any, known bool, err error)
}

// An Answer is the result of matching a subject.
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

// An Expr is a parsed expression. It never changes, so it is safe for concurrent
// use.
type Expr struct {
	root  condition
	paths [][]any
}

// Uses reports whether the expression has a path that begins with name.
func (e *Expr) Uses(name string) bool {
	return slices.ContainsFunc(e.paths, func(p []any) bool { return p[0] == name })
}

// Members lists the members of name, such as facts, that the expression has paths
// to, each once; ok is false if the expression uses name as a whole.
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

// Match evaluates the expression for a subject. An error is an error of the subject,
// or a *TypeError.
func (e *Expr) Match(ctx context.Context, s Subject) (Answer, error) { return e.root.eval(ctx, s) }

// A TypeError reports that an operation cannot be applied to the type of a value.
// Examples are a string that is used as a condition, and a list that is compared
// with a string.
type TypeError struct {
	Path string // of the value
	Msg  string // the type of the value, and the remedy
}

func (e *TypeError) Error() string { return e.Path + " " + e.Msg }

// condition is a part of an expression that has an Answer.
type condition interface {
	eval(ctx context.Context, s Subject) (Answer, error)
	write(w *printer, within int)
}

type (
	or  struct{ a, b condition }
	and struct{ a, b condition }
	not struct{ a condition }
	// truth is an operand without an operator.
	truth struct{ a operand }
	// comparison has an operator of the grammar; pattern is the compiled b for =~
	// and !~.
	comparison struct {
		op      string
		a, b    operand
		pattern *regexp.Regexp
	}
)

// operand is a literal, a list of literals, or a path.
type operand struct {
	path  []any // strings and ints; the first is the name; nil for a literal
	value any   // of a literal: nil, bool, string, number or []any of these
}

// number is a number and its notation in the expression.
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
	return No, &TypeError{o.a.String(), fmt.Sprintf("is %s, which is neither true nor false: compare it with a value or with null", describe(v))}
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

// comparable returns an error if only one of a and b is a list or map: the answer
// would always be the same, and the user probably meant another comparison.
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
		return false, &TypeError{o.a.String(), fmt.Sprintf("is %s, and only a string can match a pattern", describe(v))}
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
		if o.b.path == nil && composite(v) { // such a list contains only literals
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
	return false, &TypeError{o.b.String(), fmt.Sprintf("is %s, which has no elements: use == or =~", describe(set))}
}

// never returns the error for a list or map before "in", if the right side cannot
// contain lists or maps.
func (o comparison) never(v any) error {
	msg := fmt.Sprintf("is %s, which is never in %s", describe(v), o.b)
	if _, list := v.([]any); list {
		msg += `: write "x" in ` + o.a.String() + " for each"
	}
	return &TypeError{o.a.String(), msg}
}

// get returns an operand's value.
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
		// Only a map can have unknown members; all other values are complete.
		_, more := v.(*ordered.Map)
		known = v != nil && !more
	}
	return v, known, nil
}

// member returns the member of v that one step of a path selects, nil if there is
// none.
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
