package hocon

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

type parser struct {
	tokens []token
	i      int
	depth  int
	lists  int      // lists around the value
	path   []string // of the field whose value is read
}

func parse(s string) (*object, error) {
	tokens, err := scan(s)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: trim(tokens)}
	p.skip()
	if p.peek().is("[") {
		return nil, fail(p.peek(), "the root is a list, where an object is needed")
	}
	braces := p.peek().is("{")
	if braces {
		p.i++
	}
	root, err := p.object(braces)
	if err != nil {
		return nil, err
	}
	p.skip()
	if t := p.peek(); t.kind != tokEnd {
		return nil, fail(t, "%v follows the end of the document", t)
	}
	return root, nil
}

// trim marks white space that the scanner treated as part of a value as plain
// white space, if no simple value follows.
func trim(tokens []token) []token {
	for i, t := range tokens {
		if t.blank() && (i+1 == len(tokens) || !tokens[i+1].simple()) {
			tokens[i].kind = tokSpace
		}
	}
	return tokens
}

func fail(t token, format string, args ...any) error {
	return &Error{Line: t.line, Problem: fmt.Sprintf(format, args...)}
}

func (p *parser) peek() token { return p.tokens[p.i] }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != tokEnd {
		p.i++
	}
	return t
}

// skip passes white space and line ends.
func (p *parser) skip() {
	for t := p.peek(); t.kind == tokNewline || t.blank(); t = p.peek() {
		p.i++
	}
}

// separator passes a comma or line ends and reports whether there was one.
func (p *parser) separator() (comma, found bool) {
	for {
		t := p.peek()
		switch {
		case t.kind == tokSpace:
		case t.kind == tokNewline:
			found = true
		case t.is(","):
			p.i++
			return true, true
		default:
			return false, found
		}
		p.i++
	}
}

// object reads fields up to the closing brace, or to the end of the text.
func (p *parser) object(braces bool) (*object, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fail(p.peek(), "values are nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	o := fields{newObject(p.peek().line), map[string][]node{}}
	for {
		p.skip()
		t := p.peek()
		switch {
		case t.is("}") && braces:
			p.i++
			return o.object(), nil
		case t.is("}"):
			return nil, fail(t, "a } closes nothing")
		case t.kind == tokEnd && !braces:
			return o.object(), nil
		case t.kind == tokText && t.text == "include":
			if err := p.include(); err != nil {
				return nil, err
			}
		default:
			if err := p.field(o); err != nil {
				return nil, err
			}
		}
		if _, found := p.separator(); found {
			continue
		}
		t = p.peek()
		switch {
		case t.is("}") && braces, t.kind == tokEnd && !braces:
		case braces:
			return nil, fail(t, "expected a } or a comma, got %v", t)
		default:
			return nil, fail(t, "expected a comma or the end of the line, got %v", t)
		}
	}
}

// fields collects the fields of an object.
type fields struct {
	o     *object
	given map[string][]node // values of keys, the oldest first
}

// give adds a value to a key.
func (f fields) give(key string, v node) {
	values := f.given[key]
	if values == nil {
		f.o.keys = append(f.o.keys, key)
	}
	if closed(v) {
		values = values[:0]
	}
	f.given[key] = append(values, v)
}

func (f fields) object() *object {
	for k, values := range f.given {
		slices.Reverse(values)
		f.o.fields[k] = over(values)
	}
	return f.o
}

// field = path ( ":" | "=" | "+=" ) value | path object
func (p *parser) field(o fields) error {
	first := p.peek()
	from := p.i
	for k := p.peek().kind; k == tokText || k == tokString || k == tokValue; k = p.peek().kind {
		p.i++
	}
	if from == p.i {
		return fail(first, "expected the name of a field, got %v", first)
	}
	path, err := parsePath(p.tokens[from:p.i], first.line)
	if err != nil {
		return err
	}
	if len(path)+p.depth > maxDepth {
		return fail(first, "values are nested deeper than %d", maxDepth)
	}
	p.skip()
	t := p.peek()
	appends := t.is("+=")
	switch {
	case t.is(":"), t.is("="):
		p.i++
	case appends && p.lists > 0:
		return fail(t, "+= cannot be used inside a list")
	case appends:
		p.i++
		p.lists++
	case !t.is("{"):
		return fail(t, "the field %s must be followed by a : or =, got %v", strings.Join(path, "."), t)
	}
	outer := p.path
	p.path = append(append([]string(nil), outer...), path...)
	var v node
	if t.is("{") { // without a separator, an object is not joined with the value before it
		p.i++
		v, err = p.object(true)
	} else {
		v, err = p.value()
	}
	if appends {
		p.lists--
		if err == nil {
			v = join([]node{&ref{line: t.line, path: p.path, optional: true}, &list{t.line, []node{v}}})
		}
	}
	p.path = outer
	if err != nil {
		return err
	}
	for i := len(path) - 1; i > 0; i-- {
		under := newObject(first.line)
		under.set(path[i], v)
		v = under
	}
	o.give(path[0], v)
	return nil
}

// value = piece { piece }
func (p *parser) value() (node, error) {
	p.skip()
	var pieces []node
	for {
		t := p.peek()
		switch {
		case t.kind == tokSpace:
			p.i++
			continue
		case t.is("{"):
			p.i++
			n, err := p.object(true)
			if err != nil {
				return nil, err
			}
			n.line = t.line
			pieces = append(pieces, n)
			continue
		case t.is("["):
			p.i++
			n, err := p.list(t.line)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, n)
			continue
		case t.simple():
			p.i++
			pieces = append(pieces, simpleNode(t))
			continue
		}
		switch len(pieces) {
		case 0:
			return nil, fail(t, "expected a value, got %v", t)
		case 1:
			return pieces[0], nil
		}
		n, err := consolidate(pieces)
		if err != nil {
			return nil, err
		}
		return join(n), nil
	}
}

func simpleNode(t token) node {
	switch t.kind {
	case tokRef:
		return &ref{t.line, t.path, t.optional}
	case tokValue:
		return &scalar{line: t.line, v: t.v, text: t.text}
	}
	return &scalar{line: t.line, v: t.text, text: t.text, bare: t.kind == tokText}
}

// list reads elements up to the closing bracket.
func (p *parser) list(line int) (*list, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fail(p.peek(), "values are nested deeper than %d", maxDepth)
	}
	p.lists++
	defer func() { p.depth--; p.lists-- }()
	l := &list{line: line}
	for {
		p.skip()
		if p.peek().is("]") {
			p.i++
			return l, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		l.elems = append(l.elems, v)
		if _, found := p.separator(); !found && !p.peek().is("]") {
			return nil, fail(p.peek(), "expected a ] or a comma, got %v", p.peek())
		}
	}
}

// include finds nothing for a plain name. The original does not find anything
// either, because it gets a document as text and not as a file.
//
// Differs from Puppet: in Puppet, include file("…") reads a file, relative to
// the working directory of the program. Here data files are self-contained,
// and include file("…") is an error, because data would be missing.
func (p *parser) include() error {
	p.i++
	p.skip()
	t := p.next()
	if t.kind == tokString {
		return nil
	}
	if t.kind == tokText && (t.text == "url(" || t.text == "file(" || t.text == "classpath(") {
		p.skip()
		if s := p.next(); s.kind != tokString {
			return fail(s, "include %s must be followed by a name in quotes, got %v", t.text, s)
		}
		p.skip()
		if c := p.next(); c.kind != tokText || c.text != ")" {
			return fail(c, "include %s must be closed with a ), got %v", t.text, c)
		}
		return fail(t, "include %s…) is refused: a document stands alone here. Files of data that belong together are levels of the hierarchy", t.text)
	}
	return fail(t, "include must be followed by a name in quotes, got %v", t)
}

// parsePath reads the elements of a path, which are separated by periods
// outside quotes.
func parsePath(tokens []token, line int) ([]string, error) {
	bad := func(problem string) ([]string, error) { return nil, &Error{Line: line, Problem: problem} }
	if len(tokens) == 0 {
		return bad("expected a path, got nothing")
	}
	// White space after the last token is not part of the name.
	for len(tokens) > 0 {
		if !tokens[len(tokens)-1].blank() {
			break
		}
		tokens = tokens[:len(tokens)-1]
	}
	var path []string
	var element strings.Builder
	quoted := false // the element may be empty: a quoted "" is in it
	misplaced := false
	end := func() {
		misplaced = misplaced || element.Len() == 0 && !quoted
		path = append(path, element.String())
		element.Reset()
		quoted = false
	}
	for _, t := range tokens {
		switch t.kind {
		case tokSpace:
		case tokString:
			element.WriteString(t.text)
			quoted = true
		case tokText, tokValue:
			for i, part := range strings.Split(t.text, ".") {
				if i > 0 {
					end()
				}
				element.WriteString(part)
			}
		default:
			return bad(fmt.Sprintf("%v is not allowed in a path; put it in quotes", t))
		}
	}
	if end(); misplaced {
		return bad("a path begins or ends with a period, or has two in a row; write \"\" for an empty element")
	}
	return path, nil
}

// consolidate joins neighbours that can be joined before substitutions are
// resolved. No piece is a concat.
func consolidate(pieces []node) ([]node, error) {
	var out []node
	for len(pieces) > 0 {
		if open(pieces[0]) {
			out, pieces = append(out, pieces[0]), pieces[1:]
			continue
		}
		n := 1
		for n < len(pieces) && !open(pieces[n]) {
			n++
		}
		joined, err := joinAll(pieces[:n])
		if err != nil {
			return nil, err
		}
		out, pieces = append(out, joined), pieces[n:]
	}
	return out, nil
}

func isCollection(n node) bool {
	switch n.(type) {
	case *object, *list:
		return true
	}
	return false
}

// joinAll joins objects, lists or simple values. Unquoted text after objects
// and lists is dropped.
func joinAll(pieces []node) (node, error) {
	first := pieces[0]
	same := []node{first}
	for _, p := range pieces[1:] {
		s, simple := p.(*scalar)
		if simple && s.bare && isCollection(first) {
			continue
		}
		if reflect.TypeOf(p) != reflect.TypeOf(first) {
			return nil, &Error{Line: p.at(), Problem: fmt.Sprintf("%s cannot be joined with %s", describe(same[len(same)-1]), describe(p))}
		}
		same = append(same, p)
	}
	if len(same) == 1 {
		return first, nil
	}
	switch first := first.(type) {
	case *object:
		slices.Reverse(same)
		return overObjects(same, over), nil
	case *list:
		l := &list{line: first.line}
		for _, n := range same {
			l.elems = append(l.elems, n.(*list).elems...)
		}
		return l, nil
	}
	var text strings.Builder
	for _, n := range same {
		text.WriteString(n.(*scalar).text)
	}
	return &scalar{line: first.at(), v: text.String(), text: text.String()}, nil
}

// describe names a value for messages.
func describe(n node) string {
	switch n := n.(type) {
	case *object:
		return "an object"
	case *list:
		return "a list"
	case *scalar:
		if n.v == nil {
			return "null"
		}
		return fmt.Sprintf("%q", n.text)
	}
	return "a substitution"
}

func join(pieces []node) node {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return &concat{pieces[0].at(), pieces}
}
