package value

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A matrix has the results of Puppet for values and types: which values are
// instances of which types, which types are assignable, and their names.
type matrix struct {
	Aliases     map[string]string
	Types       []string
	Printed     []string
	Generalized []string
	Normalized  []string
	Values      []string
	Detailed    []string
	Reduced     []string
	General     []string
	Matches     []string // [value][type]
	Assignable  []string // [from][to]
	Equal       []string
	Common      []string // [a][b], indexes into Commons
	Commons     []string
	types       []Type
	values      []Value
}

func readMatrix(t *testing.T, name string) *matrix {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	m := new(matrix)
	if err := json.NewDecoder(z).Decode(m); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, m.Aliases)
	for _, src := range m.Types {
		typ, err := parseTypeWith(src, w.lookup)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		m.types = append(m.types, typ)
	}
	for _, src := range m.Values {
		m.values = append(m.values, w.value(t, src))
	}
	return m
}

// A world has the named types of a test.
type world struct {
	types map[string]Type
}

func newWorld(t *testing.T, aliases map[string]string) *world {
	t.Helper()
	w := &world{types: map[string]Type{"file": NewResourceType("file"), "exec": NewResourceType("exec")}}
	for name, src := range aliases {
		if strings.HasPrefix(src, "Object[") {
			w.types[strings.ToLower(name)] = DeclareObjectType(name)
		} else {
			w.types[strings.ToLower(name)] = NewAlias(name)
		}
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range aliases {
			if !yield(name) {
				return
			}
		}
	})
	for _, name := range names {
		var err error
		switch typ := w.types[strings.ToLower(name)].(type) {
		case *ObjectType:
			var init Value
			if init, err = parseLiteral(strings.TrimSuffix(strings.TrimPrefix(aliases[name], "Object["), "]"), w.lookup); err == nil {
				err = typ.Define(init.(*Hash))
			}
		case *AliasType:
			var body Type
			if body, err = parseTypeWith(aliases[name], w.lookup); err == nil {
				err = typ.Resolve(body)
			}
		}
		if err != nil {
			t.Fatalf("type %s: %v", name, err)
		}
	}
	return w
}

func (w *world) lookup(name string) (Type, bool) {
	t, ok := w.types[strings.ToLower(name)]
	return t, ok
}

var call = regexp.MustCompile(`(?s)^([A-Z][\w:]*)\((.*)\)$`)

// value returns the value of a literal, or of Type(arguments).
func (w *world) value(t *testing.T, src string) Value {
	t.Helper()
	switch src {
	case "[1, 2].reverse_each", "['a', 'b'].reverse_each":
		v := w.value(t, strings.TrimSuffix(src, ".reverse_each")).(*Array)
		return NewIterator(NewVariantType(InferDetailed(v.At(0)), InferDetailed(v.At(1))), func(yield func(Value) bool) {
			for i := range v.Elems() {
				if !yield(v.At(v.Len() - 1 - i)) {
					return
				}
			}
		})
	case "Integer[1, 3].step(2)":
		return NewIterator(NewIntegerType(1, 3), func(yield func(Value) bool) { _ = yield(Int(1)) && yield(Int(3)) })
	case "'abc'.reverse_each":
		return NewIterator(oneCharacter, func(yield func(Value) bool) { _ = yield(String("c")) && yield(String("b")) && yield(String("a")) })
	}
	m := call.FindStringSubmatch(src)
	if m == nil {
		v, err := parseLiteral(src, w.lookup)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		return v
	}
	args, err := parseLiteral("["+m[2]+"]", w.lookup)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	typ, ok := Builtin(m[1])
	if !ok {
		typ, ok = w.lookup(m[1])
	}
	if !ok {
		t.Fatalf("%s: no type", src)
	}
	var v Value
	if o, ok := typ.(*ObjectType); ok {
		v, err = o.Create(args.(*Array).Elems())
	} else {
		v, err = New(typ, args.(*Array).Elems())
	}
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return v
}

// TestTypesLikePuppet compares results with those of Puppet, which
// testdata/record.rb records.
func TestTypesLikePuppet(t *testing.T) {
	for _, name := range []string{"types", "nested"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := readMatrix(t, "testdata/"+name+".json.gz")
			m.checkForms(t)
			m.checkValues(t)
			m.checkPairs(t)
		})
	}
}

// check compares a result with that of Puppet, if there is one.
func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want && want != "!" && want != "x" {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func (m *matrix) checkForms(t *testing.T) {
	for i, typ := range m.types {
		check(t, m.Types[i]+" printed", Describe(typ), m.Printed[i])
		check(t, m.Types[i]+" generalized", Describe(Generalize(typ)), m.Generalized[i])
		check(t, m.Types[i]+" normalized", Describe(normalize(typ)), m.Normalized[i])
	}
}

func (m *matrix) checkValues(t *testing.T) {
	for i, v := range m.values {
		check(t, "detailed type of "+m.Values[i], Describe(InferDetailed(v)), m.Detailed[i])
		check(t, "reduced type of "+m.Values[i], Describe(Infer(v)), m.Reduced[i])
		check(t, "general type of "+m.Values[i], Describe(Generalize(Infer(v))), m.General[i])
		for j, typ := range m.types {
			is := Instance(typ, v)
			check(t, m.Values[i]+" =~ "+m.Types[j], bit(is), m.Matches[i][j:j+1])
			if told := Mismatch("it", typ, v); (told == "") != is {
				t.Errorf("%s =~ %s is %v, and the mismatch %q", m.Values[i], m.Types[j], is, told)
			}
		}
	}
}

func (m *matrix) checkPairs(t *testing.T) {
	for i, from := range m.types {
		commons := strings.Fields(m.Common[i])
		for j, to := range m.types {
			check(t, m.Types[i]+" == "+m.Types[j], bit(Equal(from, to)), m.Equal[i][j:j+1])
			there, back := bit(Assignable(to, from)), bit(Assignable(from, to))
			if there == "0" && m.Assignable[i][j] == '1' && m.disproved(from, to) ||
				back == "0" && m.Assignable[j][i] == '1' && m.disproved(to, from) {
				continue
			}
			check(t, m.Types[i]+" <= "+m.Types[j], there, m.Assignable[i][j:j+1])
			n, err := strconv.Atoi(commons[j])
			if err != nil {
				t.Fatal(err)
			}
			check(t, "common type of "+m.Types[i]+" and "+m.Types[j], Describe(common(from, to)), m.Commons[n])
		}
	}
}

// disproved reports whether there is a value of from that is not an instance of
// to, although Puppet treats from as assignable to to. Puppet does so for some
// recursive aliases.
func (m *matrix) disproved(from, to Type) bool {
	recursive := false
	for _, t := range []Type{from, to} {
		walkTypes(t, func(t Type) bool {
			recursive = recursive || isRecursive(t)
			return true
		})
	}
	return recursive && slices.ContainsFunc(m.values, func(v Value) bool { return Instance(from, v) && !Instance(to, v) })
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
