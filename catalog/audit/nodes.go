package audit

import (
	"errors"
	"strings"

	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/catalog/types"
	"bolt/environment/autoload"
	"bolt/puppet/erb"
	"bolt/puppet/eval"
)

// A Refusal is a reason for which bolt does not apply a catalog.
type Refusal struct {
	Resource    *catalog.Resource // nil for the catalog as a whole
	UnknownType bool              // bolt does not apply the type
	Param       string            // the parameter that is refused; "" for none
	Err         error             // without the resource
}

// AddNode adds a node whose catalog was compiled. refusals are those of the catalog. The node definitions of the code
// are reported, too.
func (r *Result) AddNode(c *site.Compiled, refusals []Refusal) {
	b := &body{key: key{sortNode, c.Node}}
	r.nodes = append(r.nodes, b)
	if c.Err != nil {
		r.note(b, r.compileError(c.Err), placeOf(c.Err, b.at))
		return
	}
	for _, l := range c.Logs {
		switch l.Kind {
		case site.KindOrder, site.KindValue, site.KindSource:
			r.note(b, Part{Kind: KindCode, Name: l.Msg, Need: Impossible, Reason: "the catalog cannot be applied"}, Place{l.Pos.File, l.Pos.Line})
		}
	}
	for _, res := range c.Catalog.Resources() {
		if !res.Virtual && !res.Container() {
			r.applied(b, res)
		}
	}
	for _, x := range refusals {
		r.refused(b, x)
	}
}

// applied records the types and providers of a catalog.
func (r *Result) applied(b *body, res *catalog.Resource) {
	at := Place{res.File, res.Line}
	name := lower(res.Type)
	if r.o.Applies(res.Type) {
		r.note(b, Part{Kind: KindType, Name: name}, at)
		if provider, is := res.Params.Value("provider").(string); is && !res.Secret("provider") && r.o.Refuses(res.Type, "provider", provider) == nil {
			r.note(b, Part{Kind: KindProvider, Name: name + " " + provider}, at)
		}
	}
}

func (r *Result) refused(b *body, x Refusal) {
	if x.Resource == nil {
		r.note(b, Part{Kind: KindCode, Name: x.Err.Error(), Need: Impossible, Reason: "the catalog cannot be applied"}, Place{})
		return
	}
	at := Place{x.Resource.File, x.Resource.Line}
	name := lower(x.Resource.Type)
	switch {
	case x.UnknownType:
		r.note(b, *r.resourceType(name), at)
	case x.Param == "":
		r.note(b, Part{Kind: KindType, Name: name, Need: Impossible, Reason: x.Err.Error()}, at)
	case x.Param == "provider":
		provider, _ := x.Resource.Params.Value("provider").(string)
		r.note(b, Part{Kind: KindProvider, Name: name + " " + provider, Need: Engine, Reason: x.Err.Error()}, at)
	default:
		p := Part{Kind: KindParam, Name: name + " " + x.Param, Need: Engine, Reason: x.Err.Error()}
		if puppetRefuses(x.Resource, x.Param) {
			p.Need = Impossible
		}
		r.note(b, p, at)
	}
}

// puppetRefuses reports whether a parameter has a value that Puppet's type rejects, too.
func puppetRefuses(res *catalog.Resource, param string) bool {
	for _, err := range append(types.Check(res), types.CheckForms(res)...) {
		if err.Param == param {
			return true
		}
	}
	return false
}

// compileError returns the part for the error of a compilation.
func (r *Result) compileError(err error) Part {
	if ruby, is := errors.AsType[*autoload.RubyError](err); is {
		return Part{Kind: KindFunction, Name: ruby.Function, Need: Compiler, Reason: "it is in Ruby, in the module " + ruby.Module.Name}
	}
	if e, is := errors.AsType[*erb.Error](err); is {
		if what := e.Construct(); what != "" {
			return Part{Kind: KindERB, Name: what, Need: Compiler, Reason: reasonERB}
		}
	}
	if e, is := errors.AsType[*eval.Error](err); is {
		switch name := lower(e.Name); {
		case name == "":
		case e.Kind == "unknown-variable" && !strings.Contains(name, "::"):
			return Part{Kind: KindFact, Name: name, Need: Facts, Reason: "the node has no such fact"}
		case e.Kind == "unknown-function":
			return *r.missing(KindFunction, name)
		case e.Kind == "unknown-class":
			return *r.missing(KindClass, name)
		case e.Kind == "unknown-resource-type":
			return *r.missing(KindType, name)
		}
		return Part{Kind: KindCode, Name: e.Msg, Need: Impossible, Reason: "the catalog cannot be compiled"}
	}
	return Part{Kind: KindCode, Name: message(err), Need: Impossible, Reason: "the catalog cannot be compiled"}
}

const reasonERB = "only Ruby evaluates it in ERB templates"
