package environment

import (
	"context"
	"errors"
	"strings"
	"sync"

	"bolt/environment/autoload"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/stdlib"
	"bolt/puppet/syntax"
)

// A loader finds functions and types that are written in Go, besides
// definitions in modules. It creates them when they are first used.
//
// If there is a module stdlib, its definitions in the Puppet language are used,
// because the user chose its version. Its functions in Ruby are replaced by
// those in Go.
type loader struct {
	modules   modular
	types     func() (eval.Loader, error) // including types of modules
	functions func() map[string]*eval.Definition
	planned   func() (map[string]*eval.Definition, error) // types of plans; nil: there are none
	plan      func(ctx context.Context, name string) (*syntax.Program, string, error)

	mu    sync.Mutex // guards plans
	plans map[string]*eval.Definition
}

// A modular finds definitions in modules: *autoload.Loader.
type modular interface {
	eval.Loader
	// Written is Load for callers that ignore functions in Ruby.
	Written(ctx context.Context, kind eval.Kind, name string) (*eval.Definition, error)
}

func newLoader(modules modular, functions func() map[string]*eval.Definition, plans bool, language *PlanLanguage) *loader {
	l := &loader{
		modules: modules,
		types: sync.OnceValues(func() (eval.Loader, error) {
			contexts, err := hiera.NewLoader(modules)
			if err != nil {
				return nil, err
			}
			return stdlib.Loader(contexts), nil
		}),
		functions: functions,
	}
	if plans || language != nil {
		l.planned = typesOfPlans(language)
	}
	if plans && language != nil {
		l.plan = language.Plan
	}
	return l
}

// once returns a function that creates functions at its first call.
func once(functions func() []*eval.Function) func() map[string]*eval.Definition {
	return sync.OnceValue(func() map[string]*eval.Definition {
		list := functions()
		m := make(map[string]*eval.Definition, len(list))
		for _, f := range list {
			m[f.Name] = &eval.Definition{Kind: eval.KindFunction, Name: f.Name, Function: f}
		}
		return m
	})
}

// Load implements eval.Loader.
func (l *loader) Load(ctx context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	switch kind {
	case eval.KindFunction:
		return l.function(ctx, name)
	case eval.KindType:
		if l.planned != nil {
			defs, err := l.planned()
			if d := defs[name]; d != nil || err != nil {
				return d, err
			}
		}
		types, err := l.types()
		if err != nil {
			return nil, err
		}
		return types.Load(ctx, kind, name)
	case eval.KindPlan:
		return l.aPlan(ctx, name)
	}
	return l.modules.Load(ctx, kind, name)
}

// aPlan finds a plan of a module, in the Puppet language or not.
func (l *loader) aPlan(ctx context.Context, name string) (*eval.Definition, error) {
	d, err := l.modules.Load(ctx, eval.KindPlan, name)
	if d != nil || err != nil || l.plan == nil {
		return d, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, known := l.plans[name]; known {
		return d, nil
	}
	p, module, err := l.plan(ctx, name)
	if err != nil || p == nil {
		return nil, err
	}
	for _, d := range eval.Definitions(p, module) {
		if d.Kind == eval.KindPlan && d.Name == name {
			if l.plans == nil {
				l.plans = make(map[string]*eval.Definition)
			}
			l.plans[name] = d
			return d, nil
		}
	}
	return nil, nil
}

func (l *loader) function(ctx context.Context, name string) (*eval.Definition, error) {
	here := l.functions()[name]
	if here != nil {
		if !strings.Contains(name, "::") { // only qualified names are in modules
			return here, nil
		}
		d, err := l.modules.Written(ctx, eval.KindFunction, name)
		if d == nil && err == nil {
			d = here
		}
		return d, err
	}
	d, err := l.modules.Load(ctx, eval.KindFunction, name)
	if ruby, foreign := errors.AsType[*autoload.RubyError](err); foreign {
		return nil, inRuby{ruby}
	}
	return d, err
}

// inRuby makes a RubyError an error of the kind that the evaluator expects.
type inRuby struct{ *autoload.RubyError }

// Unwrap returns the kind of error, and the error itself.
func (e inRuby) Unwrap() []error { return []error{eval.ErrForeign, e.RubyError} }
