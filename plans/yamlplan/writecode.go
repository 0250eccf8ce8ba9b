package yamlplan

import (
	"strings"

	"bolt/format/yaml"
	"bolt/puppet/syntax"
)

// eval writes a step that only has a value. In the language, an expression
// whose value is not used must have an effect. A value that may have none is
// wrapped in a scope.
func (w *writer) eval(s *step) {
	w.assign(s)
	n := s.values["eval"]
	switch {
	case s.name == "" && isCode(n):
		w.statement(n)
	case s.name == "":
		w.write("with() || { ")
		w.value(n)
		w.write(" }")
	default:
		w.value(n)
	}
}

// code writes code whose value is used.
func (w *writer) code(n *yaml.Node) {
	s, err := code(n.Text)
	switch {
	case err != nil:
		w.write(n.Text) // Parse has rejected it
	case len(s.body) == 0:
		w.write("undef")
	case s.isValue() && !strings.Contains(strings.TrimRight(n.Text, " \n"), "\n"):
		w.lines(n, s)
	default:
		w.scope(n, s)
	}
}

// statement writes code whose value is not used.
func (w *writer) statement(n *yaml.Node) {
	s, err := code(n.Text)
	if err != nil {
		w.write(n.Text)
		return
	}
	if s.isValue() {
		switch s.body[0].(type) {
		case *syntax.Call, *syntax.Method:
			w.lines(n, s)
			return
		}
	}
	w.scope(n, s)
}

// scope writes code in a scope of its own.
func (w *writer) scope(n *yaml.Node, s *snippet) {
	w.write("with() || {")
	w.level++
	if len(s.body) > 0 {
		w.newline()
		w.lines(n, s)
	}
	w.level--
	w.newline()
	w.write("}")
}

// lines writes code unchanged except for indentation. Lines that begin inside a
// string are not indented.
func (w *writer) lines(n *yaml.Node, s *snippet) {
	text := strings.TrimRight(s.text, " \t\n")
	if s.heredoc {
		text = strings.TrimSuffix(s.text, "\n")
	}
	starts := w.plan.starts(n)
	off, verbatim := w.plan.verbatim(n)
	begin := 0
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			w.write("\n")
			if line != "" && !s.within(begin) {
				w.write(strings.Repeat("  ", w.level))
			}
		}
		switch {
		case n.Style == yaml.Literal:
			w.from(starts[i], len(line))
		case verbatim:
			w.from(off, len(line))
		}
		w.write(line)
		begin += len(line) + 1
	}
}

// isValue reports whether the code is one expression that can be used within
// any other expression. It must not change the enclosing scope and must not
// combine with the code that follows.
func (s *snippet) isValue() bool {
	if len(s.body) != 1 || s.heredoc || strings.Contains(s.text, "#") {
		return false
	}
	switch x := s.body[0].(type) {
	case *syntax.Call:
		if x.Bare {
			return false
		}
	case *syntax.Var, *syntax.Index, *syntax.Method, *syntax.Binary, *syntax.Not, *syntax.Neg, *syntax.Paren,
		*syntax.Undef, *syntax.Bool, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Concat, *syntax.Name, *syntax.TypeName, *syntax.List:
	default:
		return false
	}
	pure := true
	syntax.Walk(s.body[0], func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign, *syntax.Case, *syntax.Selector: // the latter two set $0, $1, …
			pure = false
		case *syntax.Binary:
			pure = pure && n.Op != syntax.Match && n.Op != syntax.NoMatch
		}
		return pure
	})
	return pure
}

// apply writes a step that declares resources.
func (w *writer) apply(s *step) {
	w.targets(s, func(targets func()) {
		w.write("apply_prep(")
		targets()
		w.write(")")
		w.newline()
		w.assignUnless(s)
		w.write("apply(")
		targets()
		if options := s.optionEntries(); len(options) > 0 {
			w.write(", ")
			w.hash(options)
		}
		w.write(") {")
		w.level++
		for i, r := range s.resources {
			if i > 0 {
				w.newline()
				w.write("->")
			}
			w.newline()
			w.resource(r)
		}
		w.level--
		w.newline()
		w.write("}")
	})
}

// targets calls f with a function that writes the step's targets. The targets
// are written twice, but must not be evaluated twice if their evaluation could
// have an effect.
func (w *writer) targets(s *step, f func(targets func())) {
	n := s.values["targets"]
	if isSimple(n) {
		f(func() { w.value(n) })
		return
	}
	name := "on"
	for strings.Contains(w.plan.src, name) {
		name += "_"
	}
	w.assign(s)
	w.write("with(")
	w.value(n)
	w.write(") |$", name, "| {")
	w.level++
	w.newline()
	f(func() { w.write("$", name) })
	w.level--
	w.newline()
	w.write("}")
}

// assignUnless writes the assignment, unless targets has written it.
func (w *writer) assignUnless(s *step) {
	if isSimple(s.values["targets"]) {
		w.assign(s)
	}
}

// isSimple reports whether the evaluation of a value has no effect.
func isSimple(n *yaml.Node) bool {
	for _, item := range n.Items {
		if !isSimple(item) {
			return false
		}
	}
	return len(n.Pairs) == 0 && !isInterpolated(n) && (!isCode(n) || n.Style == yaml.Plain && varName().MatchString(n.Text[1:]))
}

func (w *writer) resource(r resource) {
	w.at(r.node)
	if name := r.bare(); name != "" {
		w.write(name)
	} else {
		w.write("Resource[")
		w.value(r.kind)
		w.write("]")
	}
	w.write(" { ")
	w.value(r.title)
	w.write(":")
	if r.attributes == nil || len(r.attributes.Pairs) == 0 {
		w.write(" }")
		return
	}
	w.level++
	attributes := lastOf(r.attributes)
	for _, e := range attributes {
		if !bareword().MatchString(e.key.Text) || e.key.Value != e.key.Text {
			w.newline()
			w.write("* => ")
			w.hash(attributes)
			w.write(",")
			attributes = nil
			break
		}
	}
	for _, e := range attributes {
		w.newline()
		w.at(e.key)
		w.write(e.key.Text, " => ")
		w.value(e.value)
		w.write(",")
	}
	w.level--
	w.newline()
	w.write("}")
}
