package executor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"bolt/environment"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// Declarative returns the additions of apply blocks to the language: the types of plans, the members of their objects,
// and the functions that only read. A call of another function of plans is an error.
func (l *Language) Declarative() *environment.PlanLanguage {
	d := &environment.PlanLanguage{Types: l.Types, Aliases: l.Aliases}
	for _, f := range functions() {
		if !declarative(f.Name) {
			f = refused(f.Name)
		}
		d.Functions = append(d.Functions, f)
	}
	return d
}

// declarative reports whether apply blocks have a function of plans.
func declarative(name string) bool {
	switch name {
	case "facts", "vars", "resource", "puppetdb_query", "puppetdb_fact", "file::exists", "file::readable", "file::read", "file::join", "dir::children", "system::env":
		return true
	}
	typ, what, member := strings.Cut(name, ".")
	return member && !(typ == "resourceinstance" && (what == "add_event" || strings.HasPrefix(what, "set_") || strings.HasPrefix(what, "overwrite_")))
}

// refused returns the function that is an error in apply blocks.
func refused(name string) *eval.Function {
	msg := fmt.Sprintf("Plan language function '%s' cannot be used from declarative manifest code or apply blocks", name)
	if name == "get_target" || name == "get_targets" {
		msg = fmt.Sprintf("The function '%s' is not callable within an apply block", name)
	}
	return &eval.Function{Name: name, Doc: "Cannot be called in apply blocks.", Signatures: []eval.Signature{{
		Params: "Any *$args", Block: "Optional[Callable]", Run: func(*eval.Call) (value.Value, error) { return nil, failf("bolt/apply-error", "%s", msg) },
	}}}
}

// declarative returns the Executor of the functions of one compilation. It does nothing on targets
// and shares no mutable state with x. puppetdb is the name of the instance of PuppetDB to query.
func (x *Executor) declarative(puppetdb string) *Executor {
	d := New(Options{Language: x.o.Language, Inventory: x.o.Inventory, Modules: x.o.Modules, Getenv: x.o.Getenv, Sink: x.o.Sink, Log: x.o.Log})
	if x.o.PuppetDB != nil {
		d.o.PuppetDB = instance{x.o.PuppetDB, puppetdb}
	}
	d.newTarget = func(*ordered.Map) (*inventory.Target, error) {
		return nil, failf("bolt/apply-error", "Target objects cannot be instantiated inside apply blocks")
	}
	d.turn.take()
	return d
}

// An instance is a PuppetDB whose default instance has another name.
type instance struct {
	PuppetDB
	name string
}

func (i instance) Query(ctx context.Context, query any, instance string) ([]any, error) {
	return i.PuppetDB.Query(ctx, query, cmp.Or(instance, i.name))
}

func (i instance) Facts(ctx context.Context, certnames []string, instance string) (*ordered.Map, error) {
	return i.PuppetDB.Facts(ctx, certnames, cmp.Or(instance, i.name))
}
