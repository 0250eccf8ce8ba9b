package value

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// within fails if f takes much longer than expected, even on a busy machine.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > time.Minute {
		t.Errorf("%s took %v", what, d)
	}
}

// nestedArrays returns nested arrays.
func nestedArrays(depth int) Value {
	v := Value(Int(1))
	for range depth {
		v = NewArray(v)
	}
	return v
}

func TestDeepValues(t *testing.T) {
	const depth = 300_000
	a, b := nestedArrays(depth), nestedArrays(depth)
	if d, n := Measure(a); d != depth || n != depth+1 {
		t.Errorf("measured %d and %d", d, n)
	}
	within(t, "looking at a value too deep", func() {
		if Equal(a, b) || Same(a, b) {
			t.Error("values too deep are equal")
		}
		if !Same(a, a) {
			t.Error("a value differs from itself")
		}
		hashKey(a)
		for _, typ := range []Type{Infer(a), InferDetailed(a)} {
			if got := TypeString(typ); got != "Array[Any, 1, 1]" {
				t.Errorf("inferred %.100s", got)
			}
		}
		if Instance(dataType(), a) || !Instance(AnyType{}, a) {
			t.Error("a value too deep is data")
		}
		if len(Mismatch("it", dataType(), a)) > 500 {
			t.Error("a mismatch is too long")
		}
		matches(a, b)
		NewHash(Entry{a, a}, Entry{b, b}).Get(a)
	})
	deep, again := nestedArrays(MaxDepth), nestedArrays(MaxDepth)
	if !Equal(deep, again) || !Instance(dataType(), deep) || !Instance(dataType(), NewHash(Entry{String("a"), nestedArrays(MaxDepth - 1)})) {
		t.Error("a value at the limit is not looked at")
	}
	if typ := InferDetailed(deep); !Instance(typ, again) || !Assignable(typ, InferDetailed(again)) || !sameType(typ, InferDetailed(again)) {
		t.Error("the type of a value at the limit is not that of the same value")
	}
	TypeString(Infer(deep))
	Generalize(InferDetailed(deep))
}

// TestWideValues has small values that are large if each occurrence is counted.
func TestWideValues(t *testing.T) {
	a, b := Value(Int(1)), Value(Int(1))
	for range 62 {
		a, b = NewArray(a, a), NewArray(b, b)
	}
	within(t, "looking at a value too wide", func() {
		if Equal(a, b) {
			t.Error("values too wide are equal")
		}
		hashKey(a)
		Infer(a)
		InferDetailed(a)
		Instance(dataType(), a)
		Mismatch("it", dataType(), a)
	})
	if _, n := Measure(a); n < 1<<62 {
		t.Errorf("measured %d", n)
	}
}

func TestManyElements(t *testing.T) {
	const n = 100_000
	strs, hashes, mixed := make([]Value, n), make([]Value, n), make([]Value, n)
	for i := range n {
		s := String("name" + strings.Repeat("x", i%7) + Inspect(Int(i)))
		strs[i] = s
		hashes[i] = NewHash(Entry{String("name"), s}, Entry{String("n"), Int(i)})
		mixed[i] = NewArray(s, NewArray(s, Int(i)))
	}
	within(t, "many elements", func() {
		for what, a := range map[string]*Array{"strings": NewArray(strs...), "hashes": NewArray(hashes...), "arrays": NewArray(mixed...)} {
			typ := Infer(a)
			if !Instance(typ, a) {
				t.Errorf("%s are not of their own type", what)
			}
			if !Instance(InferDetailed(a), a) {
				t.Errorf("%s are not of their own detailed type", what)
			}
			Generalize(typ)
			Mismatch("it", newArrayType(anyInteger, nil), a)
		}
	})
	if got := TypeString(Generalize(Infer(NewArray(hashes...)))); got != "Array[Hash[String[1, 4], ScalarData]]" {
		t.Errorf("inferred %s", got)
	}
	types := make([]Type, 20_000)
	for i := range types {
		types[i] = NewIntegerType(int64(3*i), int64(3*i+i%3))
	}
	within(t, "a variant of many", func() {
		v := NewVariantType(types...)
		if n := len(normalize(v).(*VariantType).Types); n < 10_000 || n > 14_000 {
			t.Errorf("%d ranges are left", n)
		}
		if !Equal(v, NewVariantType(types...)) {
			t.Error("a variant differs from itself")
		}
	})
}

func TestDeepTypes(t *testing.T) {
	typ := Type(anyInteger)
	var err error
	n := 0
	for ; n < 10*maxTypeDepth && err == nil; n++ {
		typ, err = Parametrize(anyArray, []Value{typ})
	}
	if e, ok := err.(*TypeError); !ok || e.Kind != "depth" || n != maxTypeDepth+1 {
		t.Errorf("after %d types in each other: %v", n, err)
	}
	for _, open := range []string{"Array[", "[", "{a=>", "Variant[Integer,"} {
		if _, err := ParseType(strings.Repeat(open, 100_000)); err == nil {
			t.Errorf("%s… is a type", open)
		}
	}
	nested := Value(NewHash())
	for range 100_000 {
		nested = NewArray(nested)
	}
	for _, typ := range []Type{anyEnum, anyTuple, anyVariant, anyCallable, anyStruct, anyClass, anyResource, anyInit} {
		if _, err := Parametrize(typ, []Value{nested}); err == nil {
			t.Errorf("arrays in each other are an argument of %s", TypeString(typ))
		}
	}
}

// TestSlowPattern has a pattern that would take infinite time. It must not
// match.
func TestSlowPattern(t *testing.T) {
	typ, err := ParseType(`Pattern[/\A(?=(a+)+\1b)x/, /(a*)*\1b$/]`)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "a slow pattern", func() {
		if Instance(typ, String(strings.Repeat("a", 50_000))) {
			t.Error("it matches")
		}
	})
}

// TestInitOfItself has object types that are made from themselves.
func TestInitOfItself(t *testing.T) {
	o := DeclareObjectType("O")
	init := hashOf("attributes", hashOf("x", newInitType(o, []Value{Int(1)}), "y", newInitType(o, []Value{Int(2)}), "z", newOptionalType(newInitType(o, nil))))
	if err := o.Define(init); err != nil {
		t.Fatal(err)
	}
	within(t, "types made of themselves", func() {
		for _, args := range [][]Value{nil, {Int(1)}, {Int(1), Int(2)}, {NewArray()}} {
			i := newInitType(o, args)
			for _, v := range []Value{Int(1), NewArray(Int(1), Int(2)), emptyHash, Undef{}} {
				Instance(i, v)
				Assignable(i, Infer(v))
			}
			Assignable(i, newInitType(o, nil))
			TypeString(i)
		}
	})
}

// TestConcurrentTypeUse uses one type in several goroutines, for the race
// detector.
func TestConcurrentTypeUse(t *testing.T) {
	w := testTypes(t)
	src := "Variant[Init[Integer], Pattern[/(?<=x)y/], Struct[{ p => M::Port, Optional[d] => Data }], M::Par[1], Init[M::Point], Error]"
	typ, err := parseTypeWith(src, w.lookup)
	if err != nil {
		t.Fatal(err)
	}
	var values []Value
	for _, src := range []string{"1", "'xy'", "'0x1f'", "{ 'p' => 1, 'd' => [[[[[[1]]]]]] }", "M::Par(1)", "[1, 2]", "Error('a')"} {
		values = append(values, w.value(t, src))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, v := range values {
				if !Instance(typ, v) {
					t.Errorf("%s is none of them", Inspect(v))
				}
				Assignable(typ, Infer(v))
			}
			Describe(typ)
			common(typ, ErrorType())
		})
	}
	wg.Wait()
}
