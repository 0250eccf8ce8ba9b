package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bolt/apply/fleet"
	"bolt/catalog"
	"bolt/environment"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/lazyregexp"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport"
)

// A resource is the state of one resource of a target as a plan knows it: a
// ResourceInstance. Only the goroutine that has the turn may change it.
type resource struct {
	target         *inventory.Target
	typ, title     string
	state, desired *value.Hash
	events         *value.Array
}

// reference returns a resource as the language writes it, without quotation
// marks.
func reference(typ, title string) string { return typ + "[" + title + "]" }

func (r *resource) reference() string { return reference(r.typ, r.title) }

func (r *resource) data() (*ordered.Map, error) {
	m := ordered.Of("target", r.target.SafeName(), "type", r.typ, "title", r.title)
	for _, part := range []struct {
		name string
		v    value.Value
	}{{"state", r.state}, {"desired_state", r.desired}, {"events", r.events}} {
		d, err := Data(part.v)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", part.name, r.reference(), err)
		}
		m.Set(part.name, d)
	}
	return m, nil
}

// resources are the known resources by their targets. The zero value has none.
type resources struct {
	of map[*inventory.Target]*resourceList
}

// A resourceList contains the resources of one target in the order in which they
// became known.
type resourceList struct {
	objects []*value.Object
	at      map[string]int // by reference, the index in objects
}

// get returns the object of a resource, nil if it is not known.
func (k *resources) get(t *inventory.Target, reference string) *value.Object {
	if list := k.of[t]; list != nil {
		if i, ok := list.at[reference]; ok {
			return list.objects[i]
		}
	}
	return nil
}

// put records a resource and returns its object. A known resource keeps its
// object: it gets the states of the new one, and the new events are added to its
// events.
func (k *resources) put(o *value.Object) *value.Object {
	r := resourceOf(o)
	if known := k.get(r.target, r.reference()); known != nil {
		old := resourceOf(known)
		old.state, old.desired = r.state, r.desired
		old.events = value.NewArray(slices.Concat(old.events.Elems(), r.events.Elems())...)
		return known
	}
	if k.of == nil {
		k.of = make(map[*inventory.Target]*resourceList)
	}
	list := k.of[r.target]
	if list == nil {
		list = &resourceList{at: make(map[string]int)}
		k.of[r.target] = list
	}
	list.at[r.reference()] = len(list.objects)
	list.objects = append(list.objects, o)
	return o
}

// hash returns the known resources of a target by their references.
func (k *resources) hash(t *inventory.Target) *value.Hash {
	var b value.HashBuilder
	if list := k.of[t]; list != nil {
		for _, o := range list.objects {
			b.Put(value.String(resourceOf(o).reference()), o)
		}
	}
	return b.Build()
}

func resourceOf(v value.Value) *resource {
	o, _ := v.(*value.Object)
	if o == nil {
		return nil
	}
	r, _ := o.Payload().(*resource)
	return r
}

func resourceData(o *value.Object) (value.Value, error) {
	m, err := resourceOf(o).data()
	if err != nil {
		return nil, err
	}
	return valuedata.Of(m)
}

func resourceText(o *value.Object) string { return resourceOf(o).reference() }

// typeName returns a type of resources in the form in which references begin
// with it. v is a string or a type of the language.
func typeName(v value.Value) string {
	name := value.ToString(v)
	if r, ok := v.(*value.ResourceType); ok && r.TypeName != "" {
		name = r.TypeName
	}
	first, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + strings.ToLower(name[n:])
}

// resourceInit returns the type of the attributes of a ResourceInstance.
func resourceInit(target value.Type) *value.StructType {
	t, err := value.ParseType(`Struct[{
		type => Variant[String[1], Type[Resource]], title => String[1],
		Optional[state] => Optional[Hash[String[1], Data]], Optional[desired_state] => Optional[Hash[String[1], Data]],
		Optional[events] => Optional[Array[Hash[String[1], Data]]]}]`)
	if err != nil {
		panic(err) // the type expression above is valid
	}
	return value.NewStructType(append([]value.StructElement{{Name: "target", Elem: target}}, t.(*value.StructType).Elements...))
}

// newResource implements ResourceInstance.new with a hash, or with the
// attributes as arguments.
func newResource(data any, args []value.Value) (value.Value, error) {
	x, _ := environment.Host(data).(*Executor)
	if x == nil {
		return nil, eval.Errorf("argument-count", "ResourceInstance.new can only be called in a running plan")
	}
	init := x.o.Language.types.resourceInit
	if h := onlyHash(args); h != nil {
		return x.newResource(h)
	}
	if len(args) > len(init.Elements) {
		return nil, eval.Errorf("argument-count", "ResourceInstance.new takes a hash, or %d arguments at most, got %d", len(init.Elements), len(args))
	}
	var b value.HashBuilder
	for i, v := range args {
		b.Put(value.String(init.Elements[i].Name), v)
	}
	return x.newResource(b.Build())
}

// onlyHash returns the only argument if it is a hash, and otherwise nil.
func onlyHash(args []value.Value) *value.Hash {
	if len(args) != 1 {
		return nil
	}
	h, _ := args[0].(*value.Hash)
	return h
}

func (x *Executor) newResource(h *value.Hash) (*value.Object, error) {
	t := &x.o.Language.types
	if !value.Instance(t.resourceInit, h) {
		return nil, eval.Errorf("type-mismatch", "%s", value.Mismatch("a ResourceInstance", t.resourceInit, h))
	}
	get := func(name string) value.Value {
		v, _ := h.GetString(name)
		return v
	}
	target := get("target")
	r := &resource{target: inventoryTarget(target), typ: typeName(get("type")), title: string(get("title").(value.String)),
		state: value.NewHash(), desired: value.NewHash(), events: value.NewArray()}
	if state, ok := get("state").(*value.Hash); ok {
		r.state = state
	}
	if desired, ok := get("desired_state").(*value.Hash); ok {
		r.desired = desired
	}
	if events, ok := get("events").(*value.Array); ok {
		r.events = events
	}
	return t.resource.Wrap(r), nil
}

// aboutResources returns the functions about resources, and the members of
// ResourceInstance.
func aboutResources() []*eval.Function {
	return append(resourceFunctions(),
		one("get_resources", "Reads the state of resources of targets: all resources of a type, or single resources (File[/x]).",
			"TargetSpec $targets, Variant[String, Type[Resource], Array[Variant[String, Type[Resource]]]] $resources", getResources),
		&eval.Function{Name: "set_resources", Doc: "Records resources of a target, and returns them.", Signatures: []eval.Signature{
			{Params: "Target $target, Variant[Hash, ResourceInstance] $resource", Returns: "Array[ResourceInstance]", Run: func(c *eval.Call) (value.Value, error) {
				return setResources(c, []value.Value{c.Args[1]})
			}},
			{Params: "Target $target, Array[Variant[Hash, ResourceInstance]] $resources", Returns: "Array[ResourceInstance]", Run: func(c *eval.Call) (value.Value, error) {
				return setResources(c, c.Args[1].(*value.Array).Elems())
			}},
		}},
		one("resource", "Returns a resource that set_resources has recorded; undef if there is none.",
			"Target $target, Variant[String[1], Type[Resource]] $type, String[1] $title", func(c *eval.Call) (value.Value, error) {
				ref := reference(typeName(c.Args[1]), string(c.Args[2].(value.String)))
				if o := of(&c.Site).known.get(inventoryTarget(c.Args[0]), ref); o != nil {
					return o, nil
				}
				return value.Undef{}, nil
			}),
	)
}

// resourceFunctions returns the attributes and functions of ResourceInstance.
func resourceFunctions() []*eval.Function {
	about := func(name, params string, tell func(c *eval.Call, r *resource) value.Value) *eval.Function {
		return member("ResourceInstance", name, params, func(c *eval.Call) (value.Value, error) { return tell(c, resourceOf(c.Args[0])), nil })
	}
	// change returns a function that replaces a state with the result of with
	// for the old state and the argument.
	change := func(name string, state func(r *resource) **value.Hash, with func(old, given *value.Hash) *value.Hash) *eval.Function {
		return about(name, "Hash[String[1], Data] $state", func(c *eval.Call, r *resource) value.Value {
			s := state(r)
			*s = with(*s, c.Args[1].(*value.Hash))
			return *s
		})
	}
	observed := func(r *resource) **value.Hash { return &r.state }
	desired := func(r *resource) **value.Hash { return &r.desired }
	overwrite := func(_, given *value.Hash) *value.Hash { return given }
	return []*eval.Function{
		about("target", "", func(c *eval.Call, r *resource) value.Value { return of(&c.Site).target(r.target) }),
		about("type", "", func(_ *eval.Call, r *resource) value.Value { return value.String(r.typ) }),
		about("title", "", func(_ *eval.Call, r *resource) value.Value { return value.String(r.title) }),
		about("state", "", func(_ *eval.Call, r *resource) value.Value { return r.state }),
		about("desired_state", "", func(_ *eval.Call, r *resource) value.Value { return r.desired }),
		about("events", "", func(_ *eval.Call, r *resource) value.Value { return r.events }),
		about("reference", "", func(_ *eval.Call, r *resource) value.Value { return value.String(r.reference()) }),
		about("add_event", "Hash[String[1], Data] $event", func(c *eval.Call, r *resource) value.Value {
			r.events = value.NewArray(append(slices.Clone(r.events.Elems()), c.Args[1])...)
			return r.events
		}),
		about("[]", "String[1] $attribute", func(c *eval.Call, r *resource) value.Value {
			if v, ok := r.state.Get(c.Args[1]); ok {
				return v
			}
			return value.Undef{}
		}),
		change("set_state", observed, (*value.Hash).Merge),
		change("overwrite_state", observed, overwrite),
		change("set_desired_state", desired, (*value.Hash).Merge),
		change("overwrite_desired_state", desired, overwrite),
	}
}

// setResources implements set_resources.
func setResources(c *eval.Call, given []value.Value) (value.Value, error) {
	x, target := of(&c.Site), inventoryTarget(c.Args[0])
	var once value.HashBuilder // a resource that is given twice is set once
	for _, v := range given {
		once.Put(v, value.Undef{})
	}
	var set []value.Value
	for v := range once.Build().All() {
		if h, ok := v.(*value.Hash); ok {
			o, err := x.describedResource(c, h)
			if err != nil {
				return nil, err
			}
			v = o
		}
		o := v.(*value.Object)
		if r := resourceOf(o); r.target != target {
			return nil, failf("bolt/validation-error", "The resource %s belongs to the target %s, and cannot be set on the target %s", r.reference(), r.target.Name, target.Name)
		}
		set = append(set, x.known.put(o))
	}
	return value.NewArray(set...), nil
}

// describedResource returns the resource that a hash describes. The hash has the
// function's own form, or the form of get_resources or of a report.
func (x *Executor) describedResource(c *eval.Call, h *value.Hash) (*value.Object, error) {
	target := c.Args[0]
	if spec, ok := h.GetString("target"); ok {
		list, err := x.resolve(&c.Site, spec)
		if err != nil {
			return nil, err
		}
		if len(list) != 1 || list[0] == nil {
			return nil, failf("bolt/validation-error", "A resource must have exactly one target, got %s", value.Inspect(spec))
		}
		target = x.target(list[0])
	}
	b := value.HashBuilder{}
	b.Put(value.String("target"), target)
	for _, names := range [][]string{{"type", "resource_type"}, {"title"}, {"state", "parameters"}, {"desired_state"}, {"events"}} {
		for _, name := range names {
			if v, ok := h.GetString(name); ok && !value.IsUndef(v) {
				b.Put(value.String(names[0]), v)
				break
			}
		}
	}
	return x.newResource(b.Build())
}

// queryTask is the task that queries resources with the Puppet of a target.
const queryTask = "apply_helpers::query_resources"

// resourceName is a type of resources, or one resource.
var resourceName = lazyregexp.New(`\A\w+(?:\[.+\])?\z`)

// getResources implements get_resources.
func getResources(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	asked := []value.Value{c.Args[1]}
	if list, ok := c.Args[1].(*value.Array); ok {
		asked = list.Elems()
	}
	names, refs, shown := make([]any, len(asked)), make([]catalog.Ref, len(asked)), true
	for i, v := range asked {
		name := value.ToString(v)
		if r, ok := v.(*value.ResourceType); ok && r.HasTitle {
			name = reference(r.TypeName, r.Title)
		}
		if !resourceName().MatchString(name) {
			return nil, failf("bolt/get-resources", "get_resources takes names of types (Package) and of resources (File[/x]), got %s", value.Inspect(value.String(name)))
		}
		names[i] = name
		typ, rest, _ := strings.Cut(name, "[")
		refs[i] = catalog.Ref{Type: typeName(value.String(typ)), Title: strings.TrimSuffix(rest, "]")}
		shown = shown && fleet.CanShow(refs[i])
	}
	targets, err := x.resolve(&c.Site, c.Args[0])
	if err != nil {
		return nil, err
	}
	task, err := x.o.Tasks.Find(c.Context(), queryTask)
	if err != nil {
		return nil, err
	}
	o, err := x.parseOptions(c, nil)
	if err != nil {
		return nil, err
	}
	q := &query{}
	if q.Run, err = x.taskAction(c.Context(), task.With(x.plugins()...), ordered.Of("resources", names), o); err != nil {
		return nil, err
	}
	if shown {
		if q.states, err = x.o.Catalogs.States(&fleet.States{Of: refs}); err != nil {
			return nil, err
		}
	}
	return x.do(c, &act{function: "run_task", object: queryTask, action: "task", about: "gather resources", targets: targets, do: q}, nil, o)
}

// query is the action of get_resources. The helper reads the states. If it
// cannot run, the task queries the Puppet of the target.
type query struct {
	*tasks.Run
	states run.Action // nil if there are resources that the helper cannot show
}

// Do reads the states of the resources of one target.
func (q *query) Do(ctx context.Context, site *run.Site) error {
	if q.states == nil || site.Via != site.Target || site.Settings.PowerShell {
		return q.Run.Do(ctx, site)
	}
	err := q.states.Do(ctx, site)
	no, is := errors.AsType[*transport.Error](err)
	if !is || no.Class != transport.ClassBootstrap {
		return err
	}
	if err := q.Run.Do(ctx, site); err != nil {
		return err
	}
	if failed := site.Result.Err; failed != nil {
		failed.Msg += "\n" + no.Msg
		if failed.Given != nil {
			failed.Given.Set("msg", failed.Msg)
		}
	}
	return nil
}

// plugins returns the lib directories of modules that have types and providers
// of resources, as names of a task's files.
func (x *Executor) plugins() []string {
	var names []string
	for _, m := range x.o.Modules.All() {
		for _, kind := range []string{"type", "provider"} {
			if info, err := m.Stat("lib/puppet/" + kind); err == nil && info.IsDir() {
				names = append(names, m.Name+"/lib/")
				break
			}
		}
	}
	return names
}
