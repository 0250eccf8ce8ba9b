package environment

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"bolt/format/fault"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Type parses a type as it is written in metadata: Optional[Integer[1,10]], or a type that
// a module defines. It cannot contain variables, calls or operators. Errors are
// syntax.Errors, *eval.Error, or report that the text is not a type.
func (e *Environment) Type(ctx context.Context, text string) (value.Type, error) {
	p, err := syntax.Parse(syntax.NewFile("", text), syntax.Options{Tasks: true})
	if err != nil {
		return nil, err
	}
	is, plain := isType(p)
	if !is {
		return nil, fmt.Errorf("'%s' is not a type: write a name, with types and literals in brackets", text)
	}
	// Most types use only the language itself, so no functions must be created for them.
	if plain {
		return value.ParseType(text)
	}
	v, err := e.Evaluation(Node{Plans: true}).Run(ctx, p)
	if err != nil {
		return nil, err
	}
	t, ok := v.(value.Type)
	if !ok {
		return nil, errors.New("'" + text + "' is not a type")
	}
	return t, nil
}

// TypeReader returns DeclaredType of the environment of plans with these options. The
// environment is created at the first call.
func TypeReader(o Options) func(ctx context.Context, text string) (value.Type, error) {
	o.Plans = true
	e := sync.OnceValue(func() *Environment { return New(o) })
	return func(ctx context.Context, text string) (value.Type, error) { return e().DeclaredType(ctx, text) }
}

// DeclaredType is Type for the declaration of a parameter. Its error messages are
// Puppet's; the more detailed messages of Type are in their causes.
func (e *Environment) DeclaredType(ctx context.Context, text string) (value.Type, error) {
	t, err := e.Type(ctx, text)
	return t, asPuppet(err)
}

// asPuppet converts an error of a type to Puppet's message.
func asPuppet(err error) error {
	if err == nil {
		return nil
	}
	msg := err.Error()
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		first := errs[0]
		msg = "Syntax error at end of input"
		if text := first.File.Src; !first.Incomplete && int(first.Span.Off) < len(text) {
			msg = fmt.Sprintf("Syntax error at '%s'", text[first.Span.Off:min(int(first.Span.End()), len(text))])
		}
		err = errors.New(first.Msg)
	} else if e, ok := errors.AsType[*eval.Error](err); ok {
		msg = e.Msg
	}
	return &fault.Error{Kind: "bolt/pal-error", Msg: msg, Err: err}
}

// isType reports whether a program can only be a type, and whether all its types are part
// of the language itself.
func isType(p *syntax.Program) (is, plain bool) {
	if len(p.Body.Exprs) != 1 {
		return false, false
	}
	is, plain = true, true
	syntax.Walk(p.Body.Exprs[0], func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Index, *syntax.Name, *syntax.Str, *syntax.Regexp, *syntax.Int, *syntax.Float, *syntax.Neg, *syntax.Bool,
			*syntax.Undef, *syntax.Default, *syntax.List, *syntax.Hash, *syntax.Entry:
		case *syntax.TypeName:
			_, known := value.Builtin(n.Value)
			plain = plain && known
		default:
			is = false
		}
		return is
	})
	return is, plain
}
