package value

import (
	"strings"
	"testing"
)

// object defines an object type from the source of a hash.
func object(t *testing.T, w *world, name, init string) *ObjectType {
	t.Helper()
	v, err := parseLiteral(init, w.lookup)
	if err != nil {
		t.Fatalf("%s: %v", init, err)
	}
	o, err := newObjectType(name, v.(*Hash))
	if err != nil {
		t.Fatalf("%s: %v", init, err)
	}
	w.types[strings.ToLower(name)] = o
	return o
}

func TestObjectInheritance(t *testing.T) {
	w := testTypes(t)
	a := object(t, w, "A", "{ attributes => { a => Integer, b => { type => String, value => 'x' } } }")
	b := object(t, w, "B", "{ parent => A, attributes => { c => Integer, b => { type => String[1], value => 'y', override => true } }, constants => { k => 1 } }")
	o, err := b.Create([]Value{Int(1), Int(2)})
	if err != nil {
		t.Fatal(err)
	}
	if got := Inspect(o.init()); got != "{'a' => 1, 'c' => 2}" {
		t.Errorf("made of %s", got)
	}
	for name, want := range map[string]Value{"a": Int(1), "b": String("y"), "c": Int(2), "k": Int(1)} {
		if got, ok := o.Get(name); !ok || got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	if _, ok := o.Get("none"); ok {
		t.Error("there is an attribute that was not declared")
	}
	if !Instance(a, o) || !Instance(b, o) || !Assignable(a, b) || Assignable(b, a) || !Instance(anyObject, o) {
		t.Error("B is not an A")
	}
	h, err := b.Create([]Value{hashOf("c", Int(2), "a", Int(1))})
	if err != nil {
		t.Fatal(err)
	}
	if !Equal(o, h) || hashKey(o) != hashKey(h) {
		t.Error("objects of the same attributes differ")
	}
	kinds := object(t, w, "Kinds", "{ attributes => { a => { type => Any, kind => reference, value => 'reference' } } }")
	if got, want := Describe(kinds), "Object[{name => 'Kinds', attributes => {'a' => {type => Any, kind => reference, value => 'reference'}}}]"; got != want {
		t.Errorf("printed: %s", got)
	}
	if m, ok := b.Member("a"); !ok || m.Of != a {
		t.Error("a is not inherited")
	}
}

func TestObjectEquality(t *testing.T) {
	w := testTypes(t)
	byA := object(t, w, "ByA", "{ attributes => { a => Integer, b => Integer }, equality => a }")
	other := object(t, w, "Other", "{ attributes => { a => Integer, b => Integer }, equality => a }")
	none := object(t, w, "None", "{ attributes => { a => Integer }, equality => [] }")
	make := func(o *ObjectType, args ...Value) *Object {
		made, err := o.Create(args)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	if !Equal(make(byA, Int(1), Int(2)), make(byA, Int(1), Int(3))) {
		t.Error("b counts")
	}
	if Equal(make(byA, Int(1), Int(2)), make(byA, Int(2), Int(2))) {
		t.Error("a does not count")
	}
	if Equal(make(byA, Int(1), Int(2)), make(other, Int(1), Int(2))) {
		t.Error("the type does not count")
	}
	if !Equal(make(none, Int(1)), make(none, Int(2))) {
		t.Error("attributes count where none does")
	}
}

func TestObjectCreateErrors(t *testing.T) {
	w := testTypes(t)
	for _, c := range []struct{ typ, args, want string }{
		{"M::Point", "[]", "1 to 2 arguments"},
		{"M::Point", "[1, 2, 3]", "got 3"},
		{"M::Point", "['a']", "M::Point[x] expects an Integer value, got String"},
		{"M::Point", "[{ 'x' => 'a' }]", "M::Point[x] expects an Integer value, got Hash"},
		{"M::Point3", "[1]", "2 to 4 arguments"},
		{"Object", "[{}]", "Object"},
	} {
		typ, err := parseTypeWith(c.typ, w.lookup)
		if err != nil {
			t.Fatal(err)
		}
		_, err = typ.(*ObjectType).Create(w.value(t, c.args).(*Array).Elems())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s.new(%s): %v, want %q", c.typ, c.args, err, c.want)
		}
	}
}

func TestObjectParameters(t *testing.T) {
	w := testTypes(t)
	par := w.types["m::par"].(*ObjectType)
	one, err := par.Create([]Value{Int(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got := TypeString(Infer(one)); got != "Par[1]" {
		t.Errorf("inferred: %s", got)
	}
	e, err := ErrorType().Create([]Value{String("m"), String("k")})
	if err != nil {
		t.Fatal(err)
	}
	if got := TypeString(Infer(e)); got != "Error['k', undef]" {
		t.Errorf("inferred: %s", got)
	}
	for src, want := range map[string]bool{"Error['k']": true, "Error[/k/]": true, "Error[Enum['x']]": false, "Error[default, undef]": true, "Error": true} {
		typ, err := ParseType(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := Instance(typ, e); got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}

func TestObjectParentFirst(t *testing.T) {
	parent := DeclareObjectType("Parent")
	_, err := newObjectType("Child", hashOf("parent", parent))
	if err == nil || err.(*TypeError).Kind != "undefined" {
		t.Errorf("a parent that is not defined: %v", err)
	}
	self := DeclareObjectType("Self")
	if err := self.Define(hashOf("parent", self)); err == nil || err.(*TypeError).Kind != "recursion" {
		t.Errorf("a type that is its own parent: %v", err)
	}
	alias := NewAlias("Alias")
	if err := alias.Resolve(DeclareObjectType("X")); err != nil {
		t.Error(err)
	}
	if _, err := newObjectType("Y", hashOf("parent", &ReferenceType{"Nowhere"})); err == nil || err.(*TypeError).Kind != "unknown-type" {
		t.Errorf("a parent that was not found: %v", err)
	}
}

func TestTypeSet(t *testing.T) {
	w := testTypes(t)
	set := func(src string) (*TypeSetType, error) {
		v, err := parseLiteral(src, w.lookup)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		return NewTypeSetType("", "", v.(*Hash))
	}
	car, err := set("{ pcore_version => '1.0.0', name => 'Car', version => '1.2.0', types => { 'Wheel' => Object[{ attributes => { n => Integer } }], 'Size' => Integer[1, 5] } }")
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := set("{ pcore_version => '1.0.0', name => 'Fleet', version => '1.0.0', name_authority => 'http://example.com/x', " +
		"types => { 'Ref' => String }, references => { 'C' => { name => 'Car', version_range => '1.x' } } }")
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.References()[0].Resolve(car); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ref": "String", "C::Size": "Integer[1, 5]", "c::wheel": "Object"} {
		if got, ok := fleet.Lookup(name); !ok || TypeString(got) != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	if _, ok := fleet.Lookup("C::None"); ok {
		t.Error("there is a type that was not declared")
	}
	if got, want := Describe(car), "TypeSet[{pcore_version => '1.0.0', name => 'Car', version => '1.2.0', "+
		"types => {Wheel => Object[{attributes => {'n' => Integer}}], Size => Integer[1, 5]}}]"; got != want {
		t.Errorf("printed: %s", got)
	}
	if got, want := Describe(fleet), "TypeSet[{pcore_version => '1.0.0', name_authority => 'http://example.com/x', name => 'Fleet', version => '1.0.0', "+
		"types => {Ref => String}, references => {C => {'name' => 'Car', 'version_range' => '1.x'}}}]"; got != want {
		t.Errorf("printed: %s", got)
	}
	if !Assignable(anyTypeSet, car) || Assignable(car, fleet) || !Instance(anyTypeSet, car) || Equal(car, fleet) {
		t.Error("type sets are mixed up")
	}
	for src, want := range map[string]string{
		"{ name => 'A' }": "pcore_version is missing",
		"{ pcore_version => '2.0.0', name => 'A' }":                                                                                                          "pcore_version is 2.0.0",
		"{ pcore_version => '1.0.0', types => { a => Integer } }":                                                                                            "'a' is not a name",
		"{ pcore_version => '1.0.0', types => { 'A' => 1 } }":                                                                                                "A is not a type",
		"{ pcore_version => '1.0.0', types => { 'A' => Integer }, references => { 'A' => { name => 'B', version_range => '1.x' } } }":                        "both a type and a reference",
		"{ pcore_version => '1.0.0', references => { 'A' => { name => 'B', version_range => '1.x' }, 'C' => { name => 'B', version_range => '>=1.5.0' } } }": "overlap",
		"{ pcore_version => '1.0.0', references => { 'A' => { name => 'B' } } }":                                                                             "needs name and version_range",
		"{ pcore_version => '1.0.0', size => 1 }":                                                                                                            "the key 'size' is not supported",
	} {
		if _, err := set(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
	if err := fleet.References()[0].Resolve(fleet); err != nil {
		t.Errorf("a set of a version in range is refused: %v", err)
	}
	old, err := set("{ pcore_version => '1.0.0', name => 'Car', version => '0.1.0' }")
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.References()[0].Resolve(old); err == nil {
		t.Error("a set of another version is taken")
	}
}
