// Package classifier assigns classes, variables and environments to nodes, as an external
// node classifier of Puppet does: a program that is called with a certname and prints a
// document, or a YAML file with the documents of nodes.
//
// A document has the keys of Puppet's node terminus exec: classes (a name, a list of names,
// or a map of names and parameters), parameters (variables of the top scope) and
// environment. Other keys are ignored, as in Puppet.
package classifier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/format/yaml"
	"bolt/inventory/plugin/program"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A Classifier is a program or a file. It is safe for concurrent use.
type Classifier struct {
	name  string // as the user wrote it
	path  string
	nodes *ordered.Map // of a file; nil for a program
	slow  atomic.Pointer[fault.Error]
}

// others is the key for the nodes that a file does not name.
const others = "default"

// New returns the classifier at a path: a data file if the name ends in .yaml or .yml, which
// is read now; else a program. The error is a *fault.Error.
func New(ctx context.Context, path string) (*Classifier, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.File(path, err, "The classifier '%s' could not be found: %v", path, err)
	}
	c := &Classifier{name: path, path: abs}
	switch filepath.Ext(path) {
	case ".yaml", ".yml":
		text, err := yaml.Read(ctx, path, "classifier")
		if err != nil {
			return nil, err
		}
		v, err := yaml.DecodeData(text, path)
		if err != nil {
			return nil, yaml.FileError(err, path, "classifier")
		}
		nodes, is := v.(*ordered.Map)
		if !is && v != nil {
			return nil, fault.File(path, nil, "The classifier file %s must be a map of nodes and their documents.", path)
		}
		c.nodes = nodes
		if nodes == nil {
			c.nodes = &ordered.Map{}
		}
	default:
		if err := runnable(abs); err != nil {
			e := fault.File(path, err, "The classifier '%s' cannot be run: %v", path, fault.WithoutPath(err))
			e.Hint = "A classifier is an executable program, or a data file whose name ends in .yaml or .yml."
			return nil, e
		}
	}
	return c, nil
}

// runnable returns the reason why a file is not a program.
func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&0o111 == 0:
		return errors.New("it is not executable (chmod +x)")
	}
	return nil
}

// Before returns a compiler that classifies a node, then passes it to another compiler. If
// environment is not "", it overrides the environments of the classifier.
func (c *Classifier) Before(next site.Compiler, environment string) site.Compiler {
	return classified{c, next, environment}
}

type classified struct {
	by          *Classifier
	next        site.Compiler
	environment string
}

// Compile classifies a node and compiles its catalog.
func (c classified) Compile(ctx context.Context, n site.Node) (*compile.Result, error) {
	given := len(n.Classes)
	if err := c.by.classify(ctx, &n); err != nil {
		return nil, err
	}
	assigned := n.Environment
	if c.environment != "" {
		n.Environment = c.environment
	}
	made, err := c.next.Compile(ctx, n)
	if err == nil || ctx.Err() != nil {
		return made, err
	}
	if errors.Is(err, site.ErrNoEnvironment) && c.environment == "" && assigned != "" {
		return nil, c.by.blamed(fmt.Sprintf("the environment '%s'", assigned), err)
	}
	// An error in code has a position. Without a position, the error is about a class of the classifier.
	if e, is := errors.AsType[*eval.Error](err); is && e.Pos.Line == 0 && len(n.Declared)+len(n.Classes) > given {
		return nil, c.by.blamed("classes", err)
	}
	return nil, err
}

// blamed returns the error of a compilation that the node's document has caused.
func (c *Classifier) blamed(what string, err error) error {
	e := &fault.Error{Kind: site.Kind, Err: err, Msg: fmt.Sprintf("The classifier '%s' assigns %s: %v", c.name, what, err)}
	if f, is := errors.AsType[*fault.Error](err); is {
		e.Hint = f.Hint
	}
	return e
}

// classify sets the classes, variables and environment of a node from its document.
func (c *Classifier) classify(ctx context.Context, n *site.Node) error {
	document, err := c.document(ctx, n)
	if err != nil {
		return err
	}
	if document == nil {
		return nil
	}
	m, is := document.(*ordered.Map)
	if !is {
		return c.wrong("the document must be a map")
	}
	if err := c.classes(n, m.Value("classes")); err != nil {
		return err
	}
	if v := m.Value("parameters"); v != nil {
		h, err := hash(v)
		if err != nil {
			return c.wrong("parameters: %v", err)
		}
		// These are not variables that a classifier can set.
		for _, name := range []string{"environment", "facts", "trusted", "server_facts"} {
			h = h.Without(value.String(name))
		}
		if n.Variables != nil {
			h = n.Variables.Merge(h)
		}
		n.Variables = h
	}
	switch v := m.Value("environment").(type) {
	case nil:
	case string:
		n.Environment = v
	default:
		return c.wrong("environment must be a string")
	}
	return nil
}

// document returns the document of a node; nil if there is none.
func (c *Classifier) document(ctx context.Context, n *site.Node) (any, error) {
	if c.nodes != nil {
		if v, is := c.nodes.Get(n.Name); is {
			return v, nil
		}
		return c.nodes.Value(others), nil
	}
	if slow := c.slow.Load(); slow != nil {
		return nil, slow
	}
	running, stop := context.WithTimeoutCause(ctx, program.DefaultTimeout, fmt.Errorf("the program did not finish within %v", program.DefaultTimeout))
	defer stop()
	out, err := program.Run(running, program.Command{
		Argv: []string{c.path, n.Name},
		Log: func(line string) {
			if n.Log != nil {
				n.Log(eval.Log{Level: eval.Info, Msg: line, Scope: "classifier"})
			}
		},
	})
	switch {
	case errors.Is(running.Err(), context.DeadlineExceeded):
		// A program that hangs would otherwise take this time for each node.
		slow := c.wrong("%v", context.Cause(running))
		c.slow.Store(slow)
		return nil, slow
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, c.wrong("%v", err)
	}
	v, err := yaml.DecodeData(out, "")
	if err != nil {
		return nil, c.wrong("the output is not YAML: %v", err)
	}
	return v, nil
}

// classes reads classes: classes with parameters are declared, and the others are included.
func (c *Classifier) classes(n *site.Node, v any) error {
	var included []string
	switch v := v.(type) {
	case nil:
	case string:
		included = append(included, v)
	case []any:
		for _, name := range v {
			text, is := name.(string)
			if !is {
				return c.wrong("classes: the elements of the list must be strings")
			}
			included = append(included, text)
		}
	case *ordered.Map:
		for name, given := range v.All() {
			h, err := hash(given)
			switch {
			case err != nil:
				return c.wrong("classes: %s: %v", name, err)
			case h.Len() > 0:
				n.Declared = append(n.Declared, compile.Class{Name: className(name), Params: h})
			default:
				included = append(included, name)
			}
		}
	default:
		return c.wrong("classes must be a list of names, or a map of names and parameters")
	}
	all := make([]string, 0, len(included)+len(n.Classes))
	for _, name := range included {
		all = append(all, className(name))
	}
	n.Classes = append(all, n.Classes...)
	return nil
}

func className(name string) string { return strings.ToLower(strings.TrimPrefix(name, "::")) }

// wrong returns an error about a document. It does not name the node, so that bolt prints nodes with the same
// error together.
func (c *Classifier) wrong(format string, args ...any) *fault.Error {
	return fault.New(site.Kind, "The classifier '%s' failed: %s", c.name, fmt.Sprintf(format, args...))
}

// hash returns a map as a hash; null becomes an empty hash.
func hash(v any) (*value.Hash, error) {
	made, err := valuedata.Of(v)
	if err != nil {
		return nil, err
	}
	switch h := made.(type) {
	case value.Undef:
		return value.NewHash(), nil
	case *value.Hash:
		for k := range h.All() {
			if _, is := k.(value.String); !is {
				return nil, fault.New(site.Kind, "the key %s must be a string", value.Inspect(k))
			}
		}
		return h, nil
	}
	return nil, fault.New(site.Kind, "expected a map")
}
