package value

import (
	"testing"
)

// recursiveAlias returns alias A = Variant[Integer, Array[A]].
func recursiveAlias(t *testing.T) *AliasType {
	t.Helper()
	a := NewAlias("A")
	if err := a.Resolve(NewVariantType(NewIntegerType(1, 2), NewArrayType(a, nil))); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRichRecursive compares the rich data of types that contain themselves
// with that of Puppet, and decodes it again.
func TestRichRecursive(t *testing.T) {
	a := recursiveAlias(t)
	const array = `{"__ptype":"Pcore::TypeAliasType","name":"L","type_expr":null,"resolved_type":{"__ptype":"Pcore::ArrayType","element_type":{"__ptype":"LocalRef","__pvalue":"$"}}}`
	list := NewAlias("L")
	if err := list.Resolve(NewArrayType(list, nil)); err != nil {
		t.Fatal(err)
	}
	b, err := MarshalRich(list)
	if err != nil || string(b) != array {
		t.Errorf("%s, %v, want %s", b, err, array)
	}
	node := DeclareObjectType("Node")
	init := NewHash(Entry{String("attributes"), NewHash(Entry{String("next"), NewHash(
		Entry{String("type"), newOptionalType(node)}, Entry{String("value"), Undef{}})})})
	if err := node.Define(init); err != nil {
		t.Fatal(err)
	}
	range1, err := newObjectType("Range", NewHash(Entry{String("type_parameters"), NewHash(Entry{String("lo"), anyInteger})},
		Entry{String("attributes"), NewHash(Entry{String("lo"), anyInteger})}))
	if err != nil {
		t.Fatal(err)
	}
	extended, err := range1.extend([]Value{Int(5)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := NewTypeSetType("My", "", NewHash(Entry{String("pcore_version"), String("1.0.0")}, Entry{String("version"), String("2.0.0")},
		Entry{String("types"), NewHash(Entry{String("A"), a}, Entry{String("R"), range1})}))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Value{
		"type parameters":       extended,
		"type set":              set,
		"any type set":          anyTypeSet,
		"alias":                 a,
		"twice":                 NewArray(a, a),
		"under keys":            NewHash(Entry{String(`it's \ "quoted"`), NewArray(Int(1), String(`a,b:{"x"}[]`), a)}),
		"under a number":        NewHash(Entry{Int(7), NewArray(a)}, Entry{String("x"), a}),
		"in a Sensitive":        NewSensitive(NewArray(a)),
		"object":                node,
		"type":                  newTypeType(newOptionalType(node)),
		"struct":                NewStructType([]StructElement{{Name: "n", Elem: a}}),
		"another alias":         NewArrayType(NewTupleType([]Type{a, list}, nil), nil),
		"data":                  dataType(),
		"behind another number": NewHash(Entry{Float(1), Int(1)}, Entry{Int(2), NewHash(Entry{Int(-1), a})}),
	} {
		b, err := MarshalRich(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := UnmarshalRich(b)
		if err != nil {
			t.Errorf("%s: %s: %v", name, b, err)
			continue
		}
		if Inspect(back) != Inspect(v) {
			t.Errorf("%s: %s came back as %s", name, Inspect(v), Inspect(back))
		}
		again, err := MarshalRich(back)
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: %s is written as %s, %v", name, b, again, err)
		}
	}
	back, err := UnmarshalRich([]byte(array))
	if err != nil || !Instance(back.(Type), NewArray(NewArray())) || Instance(back.(Type), NewArray(Int(1))) {
		t.Errorf("%s is %v, %v", array, back, err)
	}
	if _, err := MarshalRich(NewHash(Entry{NewArray(), a})); err == nil {
		t.Error("a reference leads through a key that is an array")
	}
	for _, bad := range []string{
		`{"__ptype":"Pcore::TypeAliasType","name":"A","resolved_type":{"__ptype":"LocalRef","__pvalue":"$"}}`,
		`{"__ptype":"Pcore::TypeAliasType","name":1,"resolved_type":{"__ptype":"Pcore::IntegerType"}}`,
		`{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"A","parent":{"__ptype":"LocalRef","__pvalue":"$"}}}`,
		`{"__ptype":"Pcore::TypeAliasType","name":"A","resolved_type":{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"B","parent":{"__ptype":"LocalRef","__pvalue":"$"}}}}`,
		`{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"A","attributes":{"x":{"type":{"__ptype":"LocalRef","__pvalue":"$"},"value":1}}}}`,
	} {
		if v, err := UnmarshalRich([]byte(bad)); err == nil {
			t.Errorf("%s is %s", bad, Inspect(v))
		}
	}
}

// TestRichRecursiveLong checks that references do not take time for each byte
// before them.
func TestRichRecursiveLong(t *testing.T) {
	a := recursiveAlias(t)
	elems := make([]Value, 20_000)
	for i := range elems {
		elems[i] = a
	}
	if _, err := MarshalRich(NewArray(elems...)); err != nil {
		t.Fatal(err)
	}
}
