package match

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/internal/spelling"
)

const (
	// maxSize is the maximum length of an expression. Users type single lines; expressions
	// that programs write contain long lists of names.
	maxSize = 16 << 10
	// maxDepth is the maximum nesting of parentheses and "not".
	maxDepth = 100
	// maxDigits is the maximum length of a number. Such a number has one meaning as an int64
	// or float64.
	maxDigits = 18
)

// Parse parses an expression about a target. Its error is an *Error.
func Parse(input string) (*Expr, error) { return parse(input, nil) }

// ParseOf parses an expression about a subject that is not a target. Its paths begin with one
// of names, and each can have parts. The error is an *Error.
func ParseOf(input string, names ...string) (*Expr, error) { return parse(input, names) }

func parse(input string, names []string) (*Expr, error) {
	p := parser{input: input, names: names}
	if names == nil {
		p.names, p.whole = Names(), true
	}
	if len(input) > maxSize {
		return nil, p.fail(0, "the expression is longer than %d bytes", maxSize)
	}
	for i, r := range input {
		if r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0x7f {
			return nil, p.fail(i, "a character that cannot be printed")
		}
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	root, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != end {
		return nil, p.unexpected("and, or, or the end")
	}
	return &Expr{root: root, paths: p.paths}, nil
}

// parser parses with one token of lookahead.
type parser struct {
	input string
	names []string // names that a path can begin with
	whole bool     // only facts and vars have parts
	tok   token
	paths [][]any
}

func (p *parser) next() error {
	var err error
	p.tok, err = p.scan(p.tok.at + len(p.tok.text))
	return err
}

// is reports whether the token is the sign or keyword s.
func (p *parser) is(s string) bool {
	return (p.tok.kind == sign || p.tok.kind == word) && p.tok.text == s
}

// take consumes the token if it is the sign or keyword s.
func (p *parser) take(s string) (bool, error) {
	if !p.is(s) {
		return false, nil
	}
	return true, p.next()
}

// expect is take for a required token.
func (p *parser) expect(s, what string) error {
	ok, err := p.take(s)
	if err == nil && !ok {
		err = p.unexpected(what)
	}
	return err
}

func (p *parser) unexpected(want string) error {
	if p.tok.kind == word && keyword(strings.ToLower(p.tok.text)) && !keyword(p.tok.text) {
		return p.fail(p.tok.at, "expected %s, found %s: it must be in lower case", want, p.tok)
	}
	return p.fail(p.tok.at, "expected %s, found %s", want, p.tok)
}

func keyword(s string) bool {
	switch s {
	case "and", "or", "not", "in", "true", "false", "null":
		return true
	}
	return false
}

// expression = all { "or" all }
func (p *parser) expression(depth int) (condition, error) {
	a, err := p.all(depth)
	for err == nil {
		ok, terr := p.take("or")
		if terr != nil || !ok {
			return a, terr
		}
		var b condition
		b, err = p.all(depth)
		a = or{a, b}
	}
	return nil, err
}

// all = one { "and" one }
func (p *parser) all(depth int) (condition, error) {
	a, err := p.one(depth)
	for err == nil {
		ok, terr := p.take("and")
		if terr != nil || !ok {
			return a, terr
		}
		var b condition
		b, err = p.one(depth)
		a = and{a, b}
	}
	return nil, err
}

// one = "not" one | "(" expression ")" | comparison
func (p *parser) one(depth int) (condition, error) {
	if depth > maxDepth {
		return nil, p.fail(p.tok.at, "parentheses and \"not\" are nested deeper than %d", maxDepth)
	}
	start := p.tok.at
	if ok, err := p.take("not"); err != nil || ok {
		if err != nil {
			return nil, err
		}
		a, err := p.one(depth + 1)
		return not{a}, err
	}
	if ok, err := p.take("("); err != nil || ok {
		if err != nil {
			return nil, err
		}
		a, err := p.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := p.expect(")", "and, or, or the ) that closes column "+strconv.Itoa(p.column(start))); err != nil {
			return nil, err
		}
		if p.operator() != "" {
			return nil, p.fail(p.tok.at, "an expression in parentheses is true or false and cannot be compared")
		}
		return a, nil
	}
	return p.comparison()
}

func (p *parser) column(at int) int { return p.fail(at, "").(*Error).Column }

// operator returns the operator that the token is or, with "not", begins; "" if there is
// none.
func (p *parser) operator() string {
	switch {
	case p.is("not"):
		return "not in"
	case p.is("in"):
		return "in"
	case p.tok.kind == sign && strings.IndexByte("=!<>", p.tok.text[0]) >= 0:
		return p.tok.text
	}
	return ""
}

// comparison = operand [ operator operand ]
func (p *parser) comparison() (condition, error) {
	at := p.tok.at
	a, err := p.operand()
	if err != nil {
		return nil, err
	}
	op := p.operator()
	if op == "" {
		if what := a.never(); what != "" {
			return nil, p.fail(at, "%s alone is neither true nor false: compare it with a value", what)
		}
		return truth{a}, nil
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if op == "not in" {
		if err := p.expect("in", "in"); err != nil {
			return nil, err
		}
	}
	at = p.tok.at
	b, err := p.operand()
	if err != nil {
		return nil, err
	}
	c := comparison{op: op, a: a, b: b}
	switch op {
	case "=~", "!~":
		if c.pattern, err = p.pattern(b, at); err != nil {
			return nil, err
		}
	case "in", "not in":
		if _, list := b.value.([]any); b.path == nil && !list || b.isText() {
			return nil, p.fail(at, "expected a list after %s, such as [\"a\", \"b\"], groups or a fact", op)
		}
	}
	if p.operator() != "" {
		return nil, p.fail(p.tok.at, "the result of a comparison cannot be compared: put \"and\" between two of them")
	}
	return c, nil
}

func (p *parser) pattern(o operand, at int) (*regexp.Regexp, error) {
	s, ok := o.value.(string)
	if o.path != nil || !ok {
		return nil, p.fail(at, "expected a pattern in quotes, such as \"^web\"")
	}
	re, err := regexp.Compile(s)
	if e, ok := err.(*syntax.Error); ok {
		return nil, p.fail(at, "the pattern is invalid: %s", e.Code)
	}
	return re, err
}

// never describes an operand that can never be true or false; it returns "" for all others.
func (o operand) never() string {
	if o.path == nil {
		if _, ok := o.value.(bool); ok {
			return ""
		}
		if n, ok := o.value.(number); ok {
			return "the number " + n.text
		}
		return describe(o.value)
	}
	if len(o.path) == 1 {
		return o.path[0].(string)
	}
	return ""
}

// isText reports whether an operand is a path whose value is always a string.
func (o operand) isText() bool {
	return len(o.path) == 1 && slices.Contains([]string{"name", "uri", "host", "transport"}, o.path[0].(string))
}

// operand = literal | list | path
func (p *parser) operand() (operand, error) {
	if p.is("[") {
		return p.list()
	}
	if p.tok.kind == word && !keyword(p.tok.text) {
		return p.path()
	}
	v, err := p.literal("a name, a string, a number or a list")
	return operand{value: v}, err
}

// literal = string | number | "true" | "false" | "null"
func (p *parser) literal(want string) (any, error) {
	var v any
	switch {
	case p.tok.kind == text:
		v = p.tok.value
	case p.tok.kind == digitsOf:
		n, err := p.number()
		if err != nil {
			return nil, err
		}
		v = n
	case p.is("true"):
		v = true
	case p.is("false"):
		v = false
	case !p.is("null"):
		return nil, p.unexpected(want)
	}
	return v, p.next()
}

func (p *parser) number() (number, error) {
	n := number{text: p.tok.text}
	if len(n.text) > maxDigits {
		return n, p.fail(p.tok.at, "a number has at most %d digits; put quotes around a string", maxDigits)
	}
	var err error
	if strings.Contains(n.text, ".") {
		n.value, err = strconv.ParseFloat(n.text, 64)
	} else {
		n.value, err = strconv.ParseInt(n.text, 10, 64)
	}
	after := p.tok.at + len(n.text)
	if after < len(p.input) && (letter(p.input[after]) || p.input[after] == '.') {
		return n, p.fail(p.tok.at, "a value that begins with a digit and is not a number must be in quotes: \"9.4.2\"")
	}
	return n, err
}

// list = "[" [ literal { "," literal } ] "]"
func (p *parser) list() (operand, error) {
	list := []any{}
	err := p.next()
	for err == nil && !p.is("]") {
		if len(list) > 0 {
			if err := p.expect(",", ", or ]"); err != nil {
				return operand{}, err
			}
		}
		var v any
		v, err = p.literal("a string, a number or ]")
		list = append(list, v)
	}
	if err == nil {
		err = p.next()
	}
	return operand{value: list}, err
}

// path = name { "." word | "." string | "[" string "]" | "[" number "]" }
func (p *parser) path() (operand, error) {
	name := p.tok
	if !slices.Contains(p.names, name.text) {
		return operand{}, p.unknown(name)
	}
	o := operand{path: []any{name.text}}
	if err := p.next(); err != nil {
		return o, err
	}
	for p.is(".") || p.is("[") {
		if p.whole && name.text != "facts" && name.text != "vars" {
			return o, p.fail(p.tok.at, "%s has no parts; only facts and vars have parts", name.text)
		}
		step, err := p.step()
		if err != nil {
			return o, err
		}
		o.path = append(o.path, step)
	}
	p.paths = append(p.paths, o.path)
	return o, nil
}

// step parses one step of a path.
func (p *parser) step() (any, error) {
	bracket := p.is("[")
	if err := p.next(); err != nil {
		return nil, err
	}
	var step any
	switch {
	case p.tok.kind == text:
		step = p.tok.value
	case p.tok.kind == word && !bracket:
		step = p.tok.text
	case p.tok.kind == digitsOf && bracket:
		i, err := strconv.Atoi(p.tok.text)
		if err != nil || i < 0 {
			return nil, p.fail(p.tok.at, "a position in a list must be an integer, at least 0")
		}
		step = i
	case bracket:
		return nil, p.unexpected("a string or a number in brackets")
	case p.tok.kind == digitsOf:
		return nil, p.fail(p.tok.at, "expected a member's name, found '%s': write a position in a list as [%s]", p.tok.text, p.tok.text)
	default:
		return nil, p.unexpected("a member's name, in quotes if it is not a plain word")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if bracket {
		return step, p.expect("]", "]")
	}
	return step, nil
}

// unknown returns the error for a word that is not a name.
func (p *parser) unknown(t token) error {
	if keyword(strings.ToLower(t.text)) {
		return p.unexpected("a name, a string, a number or a list")
	}
	hint := "put strings in quotes"
	if p.whole {
		hint += ", and write a fact as facts." + t.text
	}
	if near := spelling.Near(t.text, p.names); near != "" {
		hint = "did you mean " + near + "? Put strings in quotes"
	}
	return p.fail(t.at, "unknown name '%s': %s. The names are %s", t.text, hint, strings.Join(p.names, ", "))
}
