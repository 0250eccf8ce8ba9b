package audit

import (
	"context"
	"errors"

	"bolt/internal/readfile"
	"bolt/puppet/check"
	"bolt/puppet/erb"
	"bolt/puppet/syntax"
)

// readTemplate returns the body of a template. epp is set for EPP.
func (r *reader) readTemplate(ctx context.Context, path, module string, epp bool) *body {
	b := &body{key: key{sortTemplate, path}, at: Place{File: path}, module: module}
	text, err := readfile.Read(ctx, path, readfile.Language)
	if err != nil {
		b.fail(b.at, readError(err))
		return b
	}
	if !epp {
		b.erb(r.engine, path, string(text), 0)
		return b
	}
	file := syntax.NewFile(path, string(text))
	p, err := syntax.ParseTemplate(file, syntax.Options{})
	if err == nil {
		err = check.Program(p, check.Options{}).Err()
	}
	if err != nil {
		b.failSyntax(err)
		return b
	}
	b.loose = true
	if len(p.Body.Exprs) > 0 {
		e, is := p.Body.Exprs[0].(*syntax.EPP)
		b.loose = !is || !e.HasParams
	}
	extract(b, file, p.Body)
	return b
}

// inline records the uses of a template in the code. Its lines are counted from the beginning of the string.
func (x *extractor) inline(n syntax.Node, text string) {
	at := x.place(n)
	x.erb(erb.New(), at.File, text, at.Line-1)
}

// erb records the uses of an ERB template that begins after some lines of a file.
func (b *body) erb(engine *erb.Engine, name, text string, before int) {
	at := func(line int) Place { return Place{name, before + line} }
	t, err := engine.Parse(name, text)
	if e, is := errors.AsType[*erb.Error](err); is {
		if what := e.Construct(); what != "" {
			b.uses = append(b.uses, use{kind: useERB, name: what, at: at(e.Line)})
		} else {
			b.fail(at(e.Line), errors.New(e.Msg))
		}
		return
	}
	if err != nil {
		b.fail(at(1), err)
		return
	}
	s := engine.Survey(t)
	for _, list := range []struct {
		kind  useKind
		parts []erb.Part
	}{{useERB, s.Refused}, {useUnknown, s.Unknown}, {useFunction, s.Functions}, {useVariable, s.Variables}} {
		for _, p := range list.parts {
			b.uses = append(b.uses, use{kind: list.kind, name: p.Name, at: at(p.Line)})
		}
	}
}

// fail records an error of the code.
func (b *body) fail(at Place, err error) {
	b.uses = append(b.uses, use{kind: useError, name: err.Error(), at: at})
}

// failSyntax records the errors of a parser or of checks, each with its position.
func (b *body) failSyntax(err error) {
	list, is := errors.AsType[syntax.Errors](err)
	if !is {
		b.fail(b.at, err)
		return
	}
	for _, e := range list {
		at := e.Position()
		b.uses = append(b.uses, use{kind: useError, name: e.Msg, at: Place{at.File, at.Line}})
	}
}
