package builtin

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/erb"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// ruby returns the functions that render ERB templates.
func ruby(o Options) []*eval.Function {
	t := &templates{erb.New(), o.Files}
	if t.files == nil {
		t.files = nothing{}
	}
	return []*eval.Function{
		{Name: "template", Doc: "Returns the text of ERB templates, written as module/path or as absolute paths. The part of Ruby that modules use is evaluated.",
			Signatures: one("Any *$paths", t.run(t.find))},
		{Name: "inline_template", Doc: "Returns the text of ERB templates that are strings. The part of Ruby that modules use is evaluated.",
			Signatures: one("Any *$texts", t.run(func(_ *eval.Call, text string) (*erb.Template, error) {
				return t.engine.Parse(inlineERB, text)
			}))},
	}
}

// inlineERB is the name, in errors, of a template without a file.
const inlineERB = "inline template"

// templates are the ERB templates of an environment.
type templates struct {
	engine *erb.Engine
	files  Files
}

// find returns the template in a file.
func (t *templates) find(c *eval.Call, path string) (*erb.Template, error) {
	at, ok := t.files.Find("templates", path)
	if !ok {
		return nil, eval.Errorf("no-file", "the template %q does not exist", path)
	}
	data, err := t.files.Read(c.Context(), at)
	if err != nil {
		return nil, err
	}
	return t.engine.Parse(at, string(data))
}

// run renders each argument and returns the concatenated texts.
func (t *templates) run(get func(c *eval.Call, arg string) (*erb.Template, error)) func(c *eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		if c.Tasks() {
			return nil, eval.Errorf("catalog-only", "%s() is not available in plans: ERB templates are rendered for catalogs only. Use an EPP template", c.Name)
		}
		var b strings.Builder
		for i, a := range c.Args {
			arg, is := a.(value.String)
			if !is {
				return nil, eval.Errorf("type-mismatch", "%s", value.Mismatch(fmt.Sprintf("argument %d of %s()", i+1, c.Name), &value.StringType{}, a))
			}
			one, err := get(c, string(arg))
			if err != nil {
				return nil, erbFault(c, err)
			}
			s, err := t.engine.Render(one, t.host(c))
			if err != nil {
				return nil, erbFault(c, err)
			}
			b.WriteString(s)
			if err := c.Size(b.Len()); err != nil {
				return nil, err
			}
		}
		return value.String(b.String()), nil
	}
}

func (t *templates) host(c *eval.Call) erb.Host {
	return erb.Host{
		Variable:  c.Scope.LookupPath,
		Variables: c.Scope.All,
		Unknown: func(name string) error {
			return c.Warn("unknown-variable", "unknown variable $"+name)
		},
		Call: func(height int, name string, args []value.Value) (value.Value, error) {
			end, err := c.Climb(height)
			if err != nil {
				return nil, err
			}
			defer end()
			return c.Site.Call(name, nil, args...)
		},
		Template: func(name string) (*erb.Template, error) { return t.find(c, name) },
		Step:     c.Step,
		Made:     c.Made,
		Size:     c.Size,
		Budget:   c.Budget(),
	}
}

// erbFault returns the error of a template. Its position is in the file of the
// template. If the template is a string, the position is that of the call.
// Errors of the evaluation itself, such as limits, are not changed.
func erbFault(c *eval.Call, err error) error {
	fault, is := errors.AsType[*erb.Error](err)
	if !is {
		return err
	}
	kind, msg := fault.Kind, fault.Msg
	if inner, is := errors.AsType[*eval.Error](fault.Err); is {
		if _, told := errors.AsType[*erb.Error](inner.Err); told || inner.Pos.File != "" && inner.Pos != c.Position() {
			return inner // with the position in another template or program
		}
		kind, msg = inner.Kind, inner.Msg
	} else if fault.Err != nil {
		return fault.Err
	}
	e := c.Errorf(kind, "%s", msg)
	e.Err = fault
	if fault.Name == inlineERB {
		e.Msg += fmt.Sprintf(" (%s, line %d)", inlineERB, fault.Line)
	} else {
		e.Pos = syntax.Position{File: fault.Name, Line: fault.Line} // Ruby has no columns
	}
	return e
}
