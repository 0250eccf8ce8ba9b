package plans

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/readfile"
	"bolt/plans/yamlplan"
	"bolt/puppet/check"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// written is a plan as its file contains it. The types of its parameters are
// only known as source text.
type written struct {
	Plan
	doc doc // of the comment above a plan in the Puppet language
}

// read reads the file of a plan. Errors are *fault.Error.
func read(ctx context.Context, s Summary) (*written, error) {
	data, err := s.Module.ReadFile(ctx, s.File, readfile.Language)
	if err != nil {
		return nil, fault.File(s.Path(), err, "The plan file %s cannot be read: %v", s.Path(), fault.WithoutPath(err))
	}
	w := &written{Plan: Plan{Summary: s}}
	if path.Ext(s.File) == yamlExt {
		err = w.readYAML(data)
	} else {
		err = w.readPuppet(string(data))
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (w *written) readPuppet(text string) error {
	p, err := syntax.Parse(syntax.NewFile(w.Path(), text), syntax.Options{Tasks: true})
	if err != nil {
		return w.wrong(err)
	}
	var plan *syntax.Plan
	for _, x := range p.Definitions {
		if x, is := x.(*syntax.Plan); is && x.Name == w.Name {
			plan = x
		}
	}
	if plan == nil {
		return fault.New(palError, "The file %s must define the plan %s, because the path of a file determines the name of its plan.", w.Path(), w.Name)
	}
	o := check.Options{Tasks: true, Defines: check.Defines(w.File)}
	o.Namespace, _ = check.Namespace(w.Module.Name, w.File)
	if err := check.Program(p, o).Err(); err != nil {
		return w.wrong(err)
	}
	w.program = p
	w.doc = parseDoc(commentAbove(text, p.File.Position(plan.Off).Line))
	w.Brief, w.Docstring = w.doc.summary, w.doc.text
	w.Description, w.Private, w.Documented = w.doc.description(), w.doc.private, w.doc.order
	if bad := w.doc.badPrivate; bad != nil {
		return fault.New("bolt/invalid-plan", "Value for '@private' tag in plan '%s' must be a boolean, received: %s", w.Name, *bad)
	}
	source := func(n syntax.Node) string {
		at := syntax.Extent(n)
		return text[at.Off:at.End()]
	}
	for _, x := range plan.Params {
		tag := w.doc.params[x.Name]
		p := Parameter{Name: x.Name, Description: tag.text, HasDescription: tag.text != ""}
		if x.Type == nil && len(tag.types) > 0 {
			p.TagType = tag.types[0]
		}
		if x.Type != nil {
			p.TypeText = source(x.Type)
		}
		if x.Value != nil {
			p.HasDefault, p.DefaultText = true, source(x.Value)
			if h, ok := x.Value.(*syntax.Heredoc); ok { // as Puppet Bolt prints it, with its text
				p.DefaultText = text[h.Off:max(h.End(), syntax.Extent(h.Text).End())]
			}
			p.Default = p.DefaultText
		}
		w.Parameters = append(w.Parameters, p)
	}
	return nil
}

func (w *written) readYAML(data []byte) error {
	p, err := yamlplan.Parse(w.Name, w.Path(), data)
	if err != nil {
		return err
	}
	w.YAML = p
	w.Description, w.Docstring, w.Private = p.Description, p.Description, p.Private
	for _, x := range p.Parameters {
		q := Parameter{Name: x.Name, TypeText: x.Type, Description: x.Description, HasDescription: x.HasDescription, Default: x.Default, HasDefault: x.HasDefault}
		if x.HasDefault {
			q.DefaultText = valuedata.Shown(x.Default)
			if text, is := x.Default.(string); is { // as Bolt prints it
				q.DefaultText = text
			}
		}
		w.Parameters = append(w.Parameters, q)
	}
	return nil
}

// wrong returns the error of a file that is not valid in the Puppet language:
// the first problem, and the number of other problems.
func (w *written) wrong(err error) error {
	errs, ok := errors.AsType[syntax.Errors](err)
	if !ok || len(errs) == 0 {
		return &fault.Error{Kind: palError, Msg: fmt.Sprintf("Error in the plan file %s: %v", w.Path(), err), Err: err}
	}
	at := errs[0].Position()
	e := &fault.Error{
		Kind: palError, Err: err,
		Msg:     fmt.Sprintf("Error in the plan: %s (file: %s, line: %d, column: %d)", errs[0].Msg, at.File, at.Line, at.Column),
		Details: ordered.Of("file", at.File, "line", int64(at.Line), "column", int64(at.Column)),
	}
	if n := len(errs); n > 1 {
		e.Hint = fmt.Sprintf("This is the first of %d errors in the file. Run 'bolt puppet validate %s' to show all.", n, w.Path())
	}
	return e
}

// plan makes a Plan from w: it reads types, and warns about tags without
// effect. The error means that ctx is done.
func (l *Library) plan(ctx context.Context, w *written) (*Plan, error) {
	for i := range w.Parameters {
		p := &w.Parameters[i]
		t, err := l.o.Type(ctx, p.Shown())
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil: // running the plan reports the problem
			t = &value.ReferenceType{Text: p.TypeText}
		}
		p.Type = t
		p.Sensitive = sensitive(p)
	}
	if w.doc.old {
		l.o.Warn("plan_private_tag", fmt.Sprintf("The tag '@private' above the plan %s is deprecated: write '@api private' instead, in %s.", w.Name, w.Path()))
	}
	for _, name := range w.doc.order {
		if w.Parameter(name) == nil {
			l.o.Warn("missing_plan_parameter", fmt.Sprintf("The comment above the plan %s describes a parameter '%s', which the plan does not have: %s.", w.Name, name, w.Path()))
		}
	}
	return &w.Plan, nil
}

// sensitive reports whether a parameter's values must be wrapped, because its
// type is Sensitive itself, under any name. As in Bolt, a type that only allows
// a Sensitive is not enough.
func sensitive(p *Parameter) bool {
	if strings.HasPrefix(p.TypeText, "Sensitive[") {
		return true // with any content of the brackets
	}
	t := p.Type
	for {
		a, alias := t.(*value.AliasType)
		if !alias {
			break
		}
		t = a.Resolved()
	}
	_, is := t.(*value.SensitiveType)
	return is
}
