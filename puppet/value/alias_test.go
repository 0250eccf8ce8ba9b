package value

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

func resolve(t *testing.T, w *world, name, src string) error {
	t.Helper()
	body, err := parseTypeWith(src, w.lookup)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return w.types[strings.ToLower(name)].(*AliasType).Resolve(body)
}

func declare(names ...string) *world {
	w := &world{types: map[string]Type{}}
	for _, n := range names {
		w.types[strings.ToLower(n)] = NewAlias(n)
	}
	return w
}

func TestAliasWithoutTypeIsAnError(t *testing.T) {
	for _, src := range []string{"A", "Variant[A]", "Variant[A, A]", "Variant[Variant[A], A]", "NotUndef[A]"} {
		err := resolve(t, declare("A"), "A", src)
		var e *TypeError
		if !errors.As(err, &e) || e.Kind != "recursion" {
			t.Errorf("type A = %s: %v", src, err)
		}
	}
	w := declare("A", "B")
	if err := resolve(t, w, "A", "Variant[A, B]"); err != nil {
		t.Errorf("A is refused while B is unknown: %v", err)
	}
	if err := resolve(t, w, "B", "Variant[B, A]"); err == nil {
		t.Error("two aliases that stand for each other are not refused")
	}
	w = declare("A")
	if err := resolve(t, w, "A", "Integer"); err != nil {
		t.Error(err)
	}
	if err := resolve(t, w, "A", "String"); err == nil {
		t.Error("an alias is resolved twice")
	}
}

func TestAliasRecursion(t *testing.T) {
	w := declare("Tree", "A", "B", "Loop", "Opt", "Map", "Types")
	for name, src := range map[string]string{
		"Tree":  "Variant[Tree, Integer, Array[Tree]]",
		"A":     "Variant[Integer, Array[B]]",
		"B":     "Variant[String, Hash[String, A]]",
		"Loop":  "Optional[Loop]",
		"Opt":   "Optional[Array[Opt, 1]]",
		"Map":   "Struct[{ v => Integer, Optional[next] => Map }]",
		"Types": "Type[Types]",
	} {
		if err := resolve(t, w, name, src); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		typ, v string
		want   bool
	}{
		{"Tree", "1", true}, {"Tree", "[1, [2, [3, []]]]", true}, {"Tree", "[1, 'a']", false}, {"Tree", "'a'", false},
		{"A", "[{ 'a' => [{ 'b' => 1 }] }, 'x']", true}, {"A", "[[1]]", false}, {"B", "{ 'a' => ['b', { 'c' => 1 }] }", true},
		{"Loop", "undef", true}, {"Loop", "1", false},
		{"Opt", "[[undef], undef]", true}, {"Opt", "[[]]", false},
		{"Map", "{ 'v' => 1, 'next' => { 'v' => 2, 'next' => { 'v' => 3 } } }", true}, {"Map", "{ 'v' => 1, 'next' => { 'v' => 'x' } }", false},
		{"Types", "Integer", false},
	} {
		typ, v := w.types[strings.ToLower(c.typ)], w.value(t, c.v)
		if got := Instance(typ, v); got != c.want {
			t.Errorf("%s =~ %s: %v", c.v, c.typ, got)
		}
		if told := Mismatch("it", typ, v); (told == "") != c.want {
			t.Errorf("%s =~ %s: %q", c.v, c.typ, told)
		}
	}
	// Each comparison, and each other function that walks the types, must end.
	for _, a := range w.types {
		for _, b := range w.types {
			Assignable(a, b)
			common(a, b)
			Equal(a, b)
		}
		Describe(a)
		Generalize(a)
		normalize(a)
		iterable(a, nil)
		iterableElem(a, nil)
		isCallable(a, true, nil)
		newForms(a)
		if !Assignable(a, a) {
			t.Errorf("%s is not assignable to itself", TypeString(a))
		}
	}
	if got := Describe(w.types["tree"]); got != "Tree = Variant[Integer, Array[Tree]]" {
		t.Errorf("printed: %s", got)
	}
}

// TestAliasManyWays has an alias that leads to the same values in many ways.
// The functions must not follow all of them.
func TestAliasManyWays(t *testing.T) {
	w := declare("A", "B")
	if err := resolve(t, w, "A", "Variant[Array[A], Array[A, 1], Array[A, 1, 5], Tuple[A], Hash[String, A], Integer]"); err != nil {
		t.Fatal(err)
	}
	if err := resolve(t, w, "B", "Variant[Array[B, 1], Array[B], Array[B, 1, 6], Tuple[B], Hash[String, B], Integer]"); err != nil {
		t.Fatal(err)
	}
	v := Value(String("not one"))
	for range 200 {
		v = NewArray(v)
	}
	if Instance(w.types["a"], v) {
		t.Error("a string passes")
	}
	if Assignable(w.types["a"], Infer(v)) || Assignable(w.types["a"], InferDetailed(v)) {
		t.Error("a type of arrays of strings passes")
	}
	if !Assignable(w.types["a"], w.types["b"]) || !Assignable(w.types["b"], w.types["a"]) {
		t.Error("two ways to say the same are not assignable")
	}
}

// TestAliasesOfAliases checks a value of many levels with a chain of aliases,
// each of which leads to it in two ways.
func TestAliasesOfAliases(t *testing.T) {
	var last Type = NewIntegerType(0, 9)
	for i := range 60 {
		a := NewAlias("V" + strconv.Itoa(i))
		if err := a.Resolve(NewVariantType(NewArrayType(last, nil), NewTupleType([]Type{last}, nil))); err != nil {
			t.Fatal(err)
		}
		last = a
	}
	nested := func(v Value) Value {
		for range 60 {
			v = NewArray(v)
		}
		return v
	}
	if !Instance(last, nested(Int(1))) || Instance(last, nested(String("a"))) {
		t.Error("wrong answers")
	}
	if msg := Mismatch("it", last, nested(String("a"))); msg == "" {
		t.Error("no words for what is wrong")
	}
}
