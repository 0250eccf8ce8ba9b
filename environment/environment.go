// Package environment builds the environment of programs of the Puppet language: the functions of packages
// builtin, stdlib and hiera, definitions in modules, data of hiera, facts, trusted facts and variables of
// the top scope.
//
// An [Environment] is shared by the programs of one invocation. An [Evaluation] is one of these programs,
// for one machine:
//
//	env := environment.New(environment.Options{Modules: path, Hiera: "/project/hiera.yaml", Now: time.Now})
//	x := env.Evaluation(environment.Node{Facts: facts})
//	v, err := x.Run(ctx, program)
//	v, err = x.Lookup(ctx, hiera.Request{Names: []string{"port"}})
//
// Functions outside of the core are created when the first of them is used, because most programs use
// none.
package environment

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"bolt/environment/autoload"
	"bolt/environment/hieradata"
	"bolt/environment/inputs"
	"bolt/format/hocon"
	"bolt/format/valuedata"
	"bolt/format/yaml"
	"bolt/modules"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/stdlib"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Options are the settings of an Environment.
type Options struct {
	Modules *modules.Path // nil for none
	// Hiera is the path of the hiera.yaml of the global layer; if the file does not
	// exist, its defaults apply, as in Puppet. "" means no global layer.
	Hiera string
	// Dir is a directory whose hiera.yaml is the environment layer; "" for none.
	Dir string
	// Keys is the directory that relative paths of eyaml's keys are relative to.
	Keys string
	// Plans reads the files of modules by the rules of plans.
	Plans bool
	// Language has the types and functions of plans or of apply blocks; nil: only those of every program.
	Language *PlanLanguage
	Getenv   func(name string) (string, bool) // for HOCON and eyaml's keys
	Now      func() time.Time                 // nil: time.Now
}

// WithDefaults returns o with a value for each member that must not be nil.
func (o Options) WithDefaults() Options {
	if o.Modules == nil {
		o.Modules = modules.NewPath(modules.Module{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A PlanLanguage is the part of the language that only plans have.
type PlanLanguage struct {
	Functions []*eval.Function
	// Types are object types. Aliases are types that are written in the language and may refer to them.
	Types   []*value.ObjectType
	Aliases string
	// Plan returns the program of a plan that is not written in the language, and its module; nil and no
	// error if there is none.
	Plan func(ctx context.Context, name string) (p *syntax.Program, module string, err error)
}

// An Environment is shared by programs. It reads a file of a module again only when the file has changed.
// It is safe for concurrent use.
type Environment struct {
	core      []*eval.Function                   // of builtin
	functions func() map[string]*eval.Definition // the others
	hiera     *hiera.Hiera
	plans     bool          // by the rules of plans
	language  *PlanLanguage // nil: that of programs

	mu    sync.Mutex // guards state
	state *state
}

// A state is shared by the evaluations that begin while no file changes.
type state struct {
	modules *autoload.Loader
	library *eval.Library
}

// Name is the name of every environment that does not belong to a target.
const Name = "production"

// New returns an Environment. It reads nothing.
func New(o Options) *Environment {
	o = o.WithDefaults()
	files := autoload.Files{Path: o.Modules}
	data := hieradata.Options(hieradata.Source{Getenv: o.Getenv, Dir: o.Keys})
	data.Global, data.Environment, data.EnvironmentName, data.Modules = o.Hiera, o.Dir, Name, files
	e := &Environment{
		core: builtin.Functions(builtin.Options{Files: files, Now: o.Now, Template: new(templates).parse}),
		functions: once(func() []*eval.Function {
			return append(stdlib.Functions(stdlibOptions(o, files)), hiera.Functions(sessionOf)...)
		}),
		hiera:    hiera.New(data),
		plans:    o.Plans,
		language: o.Language,
	}
	if o.Language != nil {
		e.core = append(e.core, o.Language.Functions...)
	}
	e.state = e.over(autoload.New(o.Modules, o.Plans))
	return e
}

func (e *Environment) over(modules *autoload.Loader) *state {
	return &state{modules, eval.NewLibrary(newLoader(modules, e.functions, e.plans, e.language), e.core...)}
}

// library returns the names for programs that begin now. Definitions in modules are cached as long as no
// file has changed. After a change all of them are found again, because definitions refer to each other.
// Evaluations in progress keep their library.
func (e *Environment) library() *eval.Library {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.state.modules.Current() {
		e.state = e.over(e.state.modules.Renewed())
	}
	return e.state.library
}

// stdlibOptions returns the options of stdlib.
func stdlibOptions(o Options, files autoload.Files) stdlib.Options {
	return stdlib.Options{
		Now:  o.Now,
		Rand: rand.Reader,
		YAML: func(text []byte) (value.Value, error) {
			data, err := yaml.DecodeData(text, "")
			if err != nil {
				return nil, err
			}
			return valuedata.Of(data)
		},
		HOCON: func(text []byte) (value.Value, error) {
			data, err := hocon.Decode(text, "", hocon.Options{Getenv: o.Getenv})
			if err != nil {
				return nil, err
			}
			return valuedata.Of(data)
		},
		ReadFile: files.Read,
		Glob: func(ctx context.Context, pattern string) ([]string, error) {
			found, err := hieradata.Entries(ctx, pattern)
			return found, autoload.Ended(ctx, err)
		},
		Module: files.Module,
	}
}

// A Node is the data about the machine that an evaluation is for.
type Node struct {
	// Facts, Trusted and Server are the variables $facts, $trusted and $server_facts. A nil variable is
	// not defined.
	Facts, Trusted, Server *value.Hash
	// Variables are further variables of the top scope.
	Variables *value.Hash
	// Plans sets the rules of plans: expressions that need a catalog are errors, and data comes from
	// plan_hierarchy if there is one.
	Plans bool

	Strict         eval.Strict
	LooseVariables bool
	// Limits stop programs that do not terminate or need too much memory; zero fields are the defaults of
	// eval.
	Limits eval.Limits
	// Log receives the log messages of programs and lookups; nil drops them.
	Log func(eval.Log)
	// Inputs records the reads of programs and lookups; nil: reads are not recorded. It is for
	// evaluations in one goroutine.
	Inputs *inputs.Record
	// Host is the value that functions of the PlanLanguage need from their evaluation.
	Host any
	// Apply is eval.Env's.
	Apply func(c *eval.Call, f *syntax.File, a *syntax.Apply) (value.Value, error)
}

// An Evaluation is one run of programs, or one compilation: it sees one state of the data and of the
// definitions in modules.
type Evaluation struct {
	Interp  *eval.Interp
	session *hiera.Session
}

// Evaluation returns a new evaluation. It is cheap.
func (e *Environment) Evaluation(n Node) *Evaluation {
	o := hiera.SessionOptions{Plan: n.Plans, Strict: n.Strict}
	if n.Log != nil {
		o.Warn = func(msg string) { n.Log(eval.Log{Level: eval.Warning, Kind: "lookup", Msg: msg}) }
	}
	var read func(name string, path []string)
	if n.Inputs != nil {
		read, o.Looked = n.Inputs.Variable, n.Inputs.Key
	}
	session := e.hiera.Session(o)
	return &Evaluation{
		Interp: eval.New(eval.Env{
			Read:    read,
			Library: e.library(), Facts: n.Facts, Trusted: n.Trusted, ServerFacts: n.Server, Variables: n.Variables,
			Tasks: n.Plans, Strict: n.Strict, LooseVariables: n.LooseVariables, Limits: n.Limits, Log: n.Log, Data: &owned{session, n.Host}, Apply: n.Apply,
		}),
		session: session,
	}
}

// Run evaluates a program in the top scope and returns its value.
func (x *Evaluation) Run(ctx context.Context, p *syntax.Program) (value.Value, error) {
	return x.Interp.Run(ctx, p, nil)
}

// Lookup looks up data in the top scope. Errors are *hiera.Error, or come from functions that the
// hierarchy names.
func (x *Evaluation) Lookup(ctx context.Context, r hiera.Request) (value.Value, error) {
	return x.LookupIn(ctx, nil, r)
}

// LookupIn is Lookup in the scope s; nil is the top scope.
func (x *Evaluation) LookupIn(ctx context.Context, s *eval.Scope, r hiera.Request) (value.Value, error) {
	return x.session.Lookup(ctx, hiera.AtSite(x.Interp.Site(ctx, s)), r)
}

// Unset returns the variables without a value that paths of the hierarchy use, as hiera.Session does.
func (x *Evaluation) Unset() []string { return x.session.Unset() }

// sessionOf returns the session of a call, because all evaluations share the functions of the library.
func sessionOf(c *eval.Call) (*hiera.Session, error) {
	o, ok := c.Interp.Env().Data.(*owned)
	if !ok {
		return nil, eval.Errorf("internal", "%s: the evaluation has no data", c.Name)
	}
	return o.session, nil
}

// owned is the data that functions can get from their evaluation.
type owned struct {
	session *hiera.Session
	host    any
}

// Host returns the Host of a Node from the data of an evaluation (eval.Env.Data); nil if there is none.
func Host(data any) any {
	if o, ok := data.(*owned); ok {
		return o.host
	}
	return nil
}
