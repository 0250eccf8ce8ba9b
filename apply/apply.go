// Package apply brings a machine to the state that a catalog describes.
//
// Prepare checks a catalog as a whole: nothing is read or changed before every resource is known to
// be well formed. Run.Apply then takes the resources in the order of the catalog, with
// Puppet's semantics of relations, containers, refreshes, noop, tags and schedules.
//
// # Order
//
// Resources are applied in the order of the manifest unless relations require another order, as with
// Puppet's setting ordering=manifest. Items that implement resource.Parallel, such as files, are applied
// many at a time by a fixed number of workers, if they have no relation to each other. An item that is
// not Parallel starts when all items before it are done, and runs alone. Resources of one type that
// follow each other are read and changed together if their type can do that (resource.Reader,
// resource.Doer).
//
// # Failures
//
// A resource whose dependency failed is skipped. Every resource ends with one
// report.Result. A panic in an item is the failure of that resource.
package apply

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/catalog/types"
	"bolt/format/ordered"
)

// Options are the settings of a run.
type Options struct {
	// Types has the resource types that can be applied, by capitalized name.
	Types map[string]resource.Type
	// Noop leaves resources as they are, unless their own noop is false.
	Noop bool
	// Tags are the tags of the resources that are applied; nil for all. Resources with
	// one of SkipTags are not applied.
	Tags, SkipTags []string
	// Sema is the number of resources that are applied at a time, besides the limits that resources have themselves; 0 for no limit. Resources
	// that are applied together count as one.
	Sema int
	// Only are the resources that Apply checks; nil for all. Apply also checks the resources that their changes refresh. The other
	// resources keep their status and have no results: a resource of Failed has failed, so its dependents are skipped.
	Only, Failed map[catalog.Ref]bool
	// Sent has the values that resources sent in earlier runs of the same watch, and Apply adds to it; nil for a single run. They are
	// the values of resources that are not checked, or that now send nothing. Apply also checks the receivers of a new value.
	Sent map[catalog.Ref]Sent
	// Workers is the number of Parallel items that are applied at a time; 0 for 64.
	Workers int
	// Stop ends the run early when it is closed: items that have begun are finished, and the rest
	// is skipped. nil never ends it.
	Stop <-chan struct{}
	// Superseded ends all retries when it is closed: a resource whose attempt has failed gets no further attempt. Other resources are
	// applied. nil never does.
	Superseded <-chan struct{}

	// Changing is called before the changes, and before the refresh, of a resource. It is called from several
	// goroutines. It can be nil.
	Changing func(ref catalog.Ref)
	// Refreshes are resources that an interrupted run should have refreshed. They are refreshed when they
	// are applied.
	Refreshes []catalog.Ref
	// Owe is called before the changes of a resource that refresh others, with these. Paid is
	// called when a resource of Owe or Refreshes has been refreshed, or will not be. Both can be nil; an error of Owe
	// fails the resource before it is changed.
	Owe  func(refs []catalog.Ref) error
	Paid func(ref catalog.Ref)
	// Checked returns when a resource with a schedule was last applied; the zero time if never.
	// nil is never.
	Checked func(ref catalog.Ref) time.Time
	// Audited returns the Summary.Audited of the last run in which a resource was audited; nil if there is none. It is called
	// from several goroutines, and can be nil.
	Audited func(ref catalog.Ref) map[string]string
}

// defaultWorkers is enough for many files to be flushed to the disk with one call.
const defaultWorkers = 64

// A Summary is the outcome of a run as a whole. The results of resources are not in it.
type Summary struct {
	// Checked are the resources with a schedule that were applied.
	Checked []catalog.Ref
	// Audited are the values of the audited properties of resources before their changes, for people. They have no secrets.
	Audited map[catalog.Ref]map[string]string
	// Stopped is set if Options.Stop ended the run early.
	Stopped bool
}

// A Run is a catalog that can be applied once.
type Run struct {
	host      *resource.Host
	o         Options
	steps     []*step
	schedules map[string]*schedule
	byRef     map[catalog.Ref]*step
	byKey     map[catalog.Ref]bool // type, and the value of its key
	resources map[string][]*resource.Resource
	hidden    sync.Map // the *strings.Replacer of each resource with secrets, by its catalog.Ref
}

// passive are the types whose resources are settings for other resources. They are not applied themselves.
var passive = []string{"Filebucket", "Node", "Schedule", "Whit"}

// Passive reports whether the resources of a type, by its capitalized name, are not applied themselves.
func Passive(typ string) bool { return slices.Contains(passive, typ) }

// Reported reports whether a resource of a catalog has a result when the catalog is applied.
func Reported(r *catalog.Resource) bool {
	return !r.Virtual && !r.Container() && !slices.Contains(passive, r.Type)
}

// Prepare checks a catalog. It neither reads nor changes the host. The error joins all mistakes; each
// names its resource and where this is declared.
func Prepare(c *catalog.Catalog, h *resource.Host, o Options) (*Run, error) {
	run := &Run{host: h, o: o, byRef: make(map[catalog.Ref]*step), byKey: make(map[catalog.Ref]bool), resources: make(map[string][]*resource.Resource)}
	// The catalog decides which types are applied, so the host answers from the run.
	host := *h
	host.Declared = func(typ string) []*resource.Resource { return run.resources[typ] }
	if h.Log != nil {
		host.Log = func(ref catalog.Ref, level report.Level, text string) {
			if hidden, is := run.hidden.Load(ref); is {
				text = hidden.(*strings.Replacer).Replace(text)
			}
			h.Log(ref, level, text)
		}
	}
	run.host = &host
	if run.o.Workers == 0 {
		run.o.Workers = defaultWorkers
	}
	points, err := order.Graph(c, types.Order(c))
	if err != nil {
		return nil, err
	}
	p := preparation{run: run, catalog: c, free: c.Free()}
	for _, point := range points {
		p.add(&point)
	}
	for i, point := range points {
		for _, s := range point.After {
			run.steps[i].after = append(run.steps[i].after, link{run.steps[s.To], s.Refresh})
			run.steps[s.To].waits++
		}
	}
	run.group()
	p.connect()
	p.makeSchedules()
	p.checkBuckets()
	if len(p.unknown) > 0 {
		p.errs = append(p.errs, &unknownTypesError{p.unknown})
	}
	return run, errors.Join(p.errs...)
}

// A preparation makes the steps of a run.
type preparation struct {
	run     *Run
	catalog *catalog.Catalog
	free    func(*catalog.Resource) bool
	unknown []*catalog.Resource
	errs    []error
}

func (p *preparation) fail(r *catalog.Resource, err error) {
	where := ""
	switch {
	case r.File != "":
		where = fmt.Sprintf(" (%s:%d)", r.File, r.Line)
	case r.Line > 0:
		where = fmt.Sprintf(" (line %d)", r.Line)
	}
	if hidden, is := p.run.hidden.Load(r.Ref); is {
		without := hidden.(*strings.Replacer).Replace
		if param, is := errors.AsType[*resource.ParamError](err); is {
			err = &resource.ParamError{Param: param.Param, Problem: without(param.Problem)}
		} else {
			err = errors.New(without(err.Error()))
		}
	}
	p.errs = append(p.errs, &resourceError{r, where, err})
}

func (p *preparation) add(point *order.Point) {
	r := point.Resource
	s := &step{ref: r.Ref, index: -1}
	p.run.steps = append(p.run.steps, s)
	if !Reported(r) {
		return
	}
	typ := p.run.o.Types[r.Type]
	if typ == nil {
		p.unknown = append(p.unknown, r)
		return
	}
	before := len(p.errs)
	s.resource, s.free = p.plain(r), p.free(r)
	p.run.conceal(s)
	if types.HasMeta(r) { // types.Check reports its problems
		s.meta.Meta, _ = types.MetaOf(s.resource.Params.Value(types.MetaParam))
	}
	for _, e := range types.Check(r) {
		if s.meta.Hidden && e.Param != types.MetaParam {
			continue
		}
		p.fail(r, &resource.ParamError{Param: e.Param, Problem: e.Problem})
	}
	if s.meta.Hidden {
		p.run.byRef[r.Ref], s.item = s, broken{}
		return
	}
	p.checkNUL(r, s.resource.Params)
	p.claim(r, s)
	if err := s.readMeta(); err != nil {
		p.fail(r, err)
	}
	if len(p.errs) > before {
		return
	}
	item, err := typ.New(s.resource)
	if err != nil {
		p.fail(r, err)
		return
	}
	s.adopt(typ, item)
}

// checkNUL refuses NUL characters in the title and in parameters.
func (p *preparation) checkNUL(r *catalog.Resource, params *ordered.Map) {
	if r.Type != "Notify" && strings.ContainsRune(r.Title, 0) {
		p.fail(r, errors.New("the title "+noNUL))
		return
	}
	for name, v := range params.All() {
		if !mayHaveNUL(name) && hasNUL(v) {
			p.fail(r, &resource.ParamError{Param: name, Problem: noNUL})
		}
	}
}

// hasNUL reports whether a value is a string with a NUL character, or a list that has such a string.
func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	}
	return false
}

// checkBuckets checks that the filebuckets exist that files name for their backups, and that they are local. The bucket "puppet" always does.
func (p *preparation) checkBuckets() {
	for _, r := range p.catalog.Resources() {
		bucket, is := r.Params.Value("backup").(string)
		if r.Type != "File" || r.Virtual || !is || strings.HasPrefix(bucket, ".") || slices.Contains([]string{"puppet", "true", "false"}, bucket) {
			continue
		}
		switch b := p.catalog.Find(catalog.Ref{Type: "Filebucket", Title: bucket}); {
		case b == nil:
			p.fail(r, fmt.Errorf("the catalog has no filebucket %q for the parameter backup", bucket))
		case remote(b):
			p.fail(r, fmt.Errorf("the filebucket %q of the parameter backup is on a server, but bolt keeps copies on the target only. Remove its parameter server and path, or set backup to true", bucket))
		}
	}
}

// remote reports whether a filebucket is on a server. A directory makes it a local one.
func remote(bucket *catalog.Resource) bool {
	path := bucket.Params.Value("path")
	return path == false || path == "false" || path == nil && bucket.Params.Value("server") != nil
}

// conceal keeps the secrets of a step out of all texts about it.
func (r *Run) conceal(s *step) {
	if s.hidden = hiding(s.resource); s.hidden != nil {
		r.hidden.Store(s.ref, s.hidden)
	}
}

// claim records that a resource exists. Two resources of a type cannot have the same key.
func (p *preparation) claim(r *catalog.Resource, s *step) {
	p.run.byRef[r.Ref] = s
	p.run.resources[r.Type] = append(p.run.resources[r.Type], s.resource)
	key := keyOf(r.Ref, r.Params)
	t := types.Find(strings.ToLower(r.Type))
	if p.run.byKey[key] && t != nil && t.Unique {
		p.fail(r, fmt.Errorf("another %s has the %s %q, too", r.Type, t.Key, key.Title))
	}
	p.run.byKey[key] = true
}

// keyOf returns the type with the value of the parameter that names a resource. Paths have one spelling.
func keyOf(ref catalog.Ref, params *ordered.Map) catalog.Ref {
	t := types.Find(strings.ToLower(ref.Type))
	if t == nil {
		return ref
	}
	for _, param := range []string{t.Key, "name"} {
		if v, is := params.Value(param).(string); is {
			ref.Title = v
			break
		}
	}
	if t.Key == "path" && strings.HasPrefix(ref.Title, "/") {
		ref.Title = path.Clean(ref.Title)
	}
	return ref
}

// plain returns a resource as its type sees it.
func (p *preparation) plain(r *catalog.Resource) *resource.Resource {
	out := &resource.Resource{Ref: r.Ref, Params: &ordered.Map{}, Tags: r.Tags}
	out.File = p.catalog.Files[catalog.FileKey(r.Ref)]
	if r.Type == "File" {
		out.Trees = p.catalog.Trees[r.Title]
	}
	for name, v := range r.Params.All() {
		if v == nil || name == catalog.RecvParam {
			continue
		}
		if r.Secret(name) {
			out.Secrets = append(out.Secrets, name)
		}
		v, err := catalog.Plain(v)
		if err != nil {
			p.fail(r, fmt.Errorf("the parameter %s %w", name, err))
			continue
		}
		out.Params.Set(name, v)
	}
	examples(out, r)
	return out
}
