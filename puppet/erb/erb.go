// Package erb renders ERB templates as Puppet's function template does: it
// evaluates the part of Ruby that templates of Puppet modules use.
//
//	engine := erb.New()
//	t, err := engine.Parse("/modules/ntp/templates/ntp.conf.erb", text)
//	text, err := engine.Render(t, host)
//
// A template sees the variables of a Puppet scope as @name, and the scope
// itself as scope['name'], scope.lookupvar, scope.call_function and
// scope.function_name. It cannot reach files, programs or the network. It sees
// only the constants of Ruby that this package lists.
//
// Parse returns an error for text that is not valid. Constructs that Ruby
// accepts, but that this package does not evaluate, are an error only when they
// are evaluated. So a template with an unknown method in a branch that is not
// evaluated renders.
//
// The Host counts the work and the size of all results; its errors end the
// rendering. Nested expressions and calls are limited. An Engine and a Template
// are safe for concurrent use.
//
// The reference is Ruby 3.1 with ERB's trim mode "-", which is the mode of
// Puppet.
package erb

import (
	"fmt"
	"iter"
	"sync"

	"bolt/internal/regexp"
	"bolt/puppet/value"
)

// A template is evaluated as follows. split converts it to one Ruby program, in
// which the lines are those of the template (split.go). A recursive descent
// parser reads the program token by token (lex.go, literal.go; parse.go and the
// files beside it) and makes nodes (ast.go), which are plain data. A rendering
// evaluates them (eval.go). The values are those of Ruby (values.go): strings,
// arrays and hashes are mutable. Methods are in tables by class, with one file
// for each class. The lexer needs to know whether a name is a local variable,
// as Ruby's does. Therefore the parser drives it.

// A Host is the part of an evaluation that a template needs. All fields must be
// set.
type Host struct {
	// Variable returns a variable of the scope. With keys, the template uses only the part
	// of the value to which the keys lead, one inside the other.
	Variable func(name string, keys ...value.Value) (v value.Value, known bool)
	// Variables returns the variables that the scope sees by an unqualified
	// name.
	Variables func() iter.Seq2[string, value.Value]
	// Unknown returns an error for an unknown variable, or nil if the settings
	// allow it.
	Unknown func(name string) error
	// Call calls a function of the Puppet language. The expressions of
	// templates around the call take as much stack as height expressions of
	// that language.
	Call func(height int, name string, args []value.Value) (value.Value, error)
	// Template returns the template with a name.
	Template func(name string) (*Template, error)
	// Step counts units of work, Made counts bytes. Size returns an error if a
	// string with this number of bytes is too large. Their errors end the
	// rendering.
	Step func(n int) error
	Made func(bytes int) error
	Size func(bytes int) error
	// Budget limits matches of regular expressions.
	Budget *regexp.Budget
}

// An Error is a fault of a template: in its text, or while it is evaluated.
type Error struct {
	// Kind is bad-template for text that is not valid, erb-subset for a
	// construct that only Ruby can evaluate, and erb for other errors.
	Kind string
	Name string // of the template
	Line int
	Msg  string
	Err  error // the error of the Host; nil for others
}

// Error returns "name:line: message".
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Msg) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Kinds of errors.
const (
	kindSyntax = "bad-template"
	kindSubset = "erb-subset"
	kindRuby   = "erb"
)

// A Template is a parsed template. It is immutable.
type Template struct {
	name string
	body node
}

const (
	// maxKept and maxKeptBytes limit the parsed templates that an Engine
	// caches. A template is often rendered for many resources.
	maxKept      = 64
	maxKeptBytes = 1 << 20
)

// An Engine caches parsed templates. It is safe for concurrent use.
type Engine struct {
	tables func() *tables

	mu    sync.Mutex // guards the fields below
	kept  map[source]*Template
	bytes int
}

type source struct{ name, text string }

// New returns an Engine.
func New() *Engine { return &Engine{tables: sync.OnceValue(newTables)} }

// Parse parses a template. The name is for errors and for __FILE__.
func (e *Engine) Parse(name, text string) (*Template, error) {
	key := source{name, text}
	e.mu.Lock()
	t := e.kept[key]
	e.mu.Unlock()
	if t != nil {
		return t, nil
	}
	body, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	t = &Template{name, body}
	e.keep(key, t)
	return t, nil
}

func (e *Engine) keep(key source, t *Template) {
	if len(key.text) > maxKeptBytes {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.kept) >= maxKept || e.bytes+len(key.text) > maxKeptBytes || e.kept == nil {
		e.kept, e.bytes = map[source]*Template{}, 0
	}
	e.kept[key] = t
	e.bytes += len(key.text)
}

// Render evaluates a template and returns its text.
func (e *Engine) Render(t *Template, h Host) (string, error) {
	r := &rendering{tables: e.tables(), host: h, shared: &shared{
		converted: map[string]any{}, methods: map[string]*defNode{},
	}}
	return r.template(t)
}
