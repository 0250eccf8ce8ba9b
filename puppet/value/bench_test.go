package value

import (
	"strconv"
	"testing"
)

func mustType(b testing.TB, src string) Type {
	t, err := ParseType(src)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// config returns a value that is typical for modules.
func config(hosts int) *Hash {
	list := make([]Value, hosts)
	for i := range list {
		list[i] = hashOf("name", String("web"+strconv.Itoa(i)), "port", Int(8080+i), "tags", NewArray(String("a"), String("b")), "tls", Bool(i%2 == 0))
	}
	return hashOf("hosts", NewArray(list...), "user", String("app"), "limits", hashOf("files", Int(1024), "load", Float(1.5)))
}

const configType = "Struct[{hosts => Array[Struct[{name => String[1], port => Integer[1, 65535], tags => Array[Enum['a', 'b']], Optional[tls] => Boolean}]], " +
	"user => Pattern[/\\A[a-z]+\\z/], limits => Hash[String, Numeric]}]"

func BenchmarkInstance(b *testing.B) {
	for _, c := range []struct {
		name, typ string
		v         Value
	}{
		{"Integer", "Integer[0, 100]", Int(42)},
		{"String", "String[1, 20]", String("hello")},
		{"Optional", "Optional[String[1]]", String("hello")},
		{"Enum", "Enum['present', 'absent', 'latest', 'purged']", String("latest")},
		{"Variant", "Variant[Boolean, Integer, Enum['a', 'b'], String[1]]", String("hello")},
		{"Data", "Data", config(10)},
		{"Struct", configType, config(10)},
		{"Array100k", "Array[Integer]", NewArray(make100k()...)},
	} {
		typ := mustType(b, c.typ)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !Instance(typ, c.v) {
					b.Fatal("no instance")
				}
			}
		})
	}
}

func make100k() []Value {
	vs := make([]Value, 100_000)
	for i := range vs {
		vs[i] = Int(i)
	}
	return vs
}

// TestInstanceAllocs checks that checks of types do not allocate.
func TestInstanceAllocs(t *testing.T) {
	for _, c := range []struct {
		typ string
		v   Value
	}{
		{"Integer[0, 100]", Int(42)}, {"String[1]", String("x")}, {"Variant[Integer, Optional[Enum['a']], Undef]", Undef{}},
		{"Array[String]", NewArray(String("a"))}, {"Struct[{a => Integer}]", hashOf("a", Int(1))}, {"Hash[String, Scalar]", hashOf("a", Int(1))},
		{"Data", hashOf("a", NewArray(Int(1), Undef{}))}, {"RichData", hashOf("a", NewArray(Int(1), Default{}))}, {"Tuple[Integer, String]", NewArray(Int(1), String(""))},
	} {
		typ := mustType(t, c.typ)
		if n := testing.AllocsPerRun(100, func() {
			if !Instance(typ, c.v) {
				t.Errorf("no instance of %s", c.typ)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", c.typ, n)
		}
	}
}

func BenchmarkInfer(b *testing.B) {
	for _, c := range []struct {
		name string
		v    Value
	}{
		{"Int", Int(1)}, {"String", String("x")}, {"Config", config(10)}, {"Config1000", config(1000)}, {"Array100k", NewArray(make100k()...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Infer(c.v)
			}
		})
		b.Run(c.name+"/detailed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				InferDetailed(c.v)
			}
		})
	}
}

func BenchmarkAssignable(b *testing.B) {
	for _, c := range []struct{ name, to, from string }{
		{"Integer", "Integer[0]", "Integer[1, 5]"},
		{"Struct", configType, configType},
		{"Data", "Data", "Hash[String, Array[Variant[Integer, String, Undef]]]"},
		{"Callable", "Callable[2, 2]", "Callable[Any, Any]"},
	} {
		to, from := mustType(b, c.to), mustType(b, c.from)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !Assignable(to, from) {
					b.Fatal("not assignable")
				}
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{4, 8, 16, 1000, 100_000} {
		keys := make([]string, n)
		var hb HashBuilder
		for i := range keys {
			keys[i] = "key" + strconv.Itoa(i)
			hb.Put(String(keys[i]), Int(i))
		}
		h := hb.Build()
		b.Run("GetString/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := h.GetString(keys[i%n]); !ok {
					b.Fatal("no value")
				}
			}
		})
		entries := h.entries
		b.Run("Build/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewHash(entries...)
			}
		})
	}
	ints := NewHash(func() []Entry {
		es := make([]Entry, 1000)
		for i := range es {
			es[i] = Entry{Int(i), Int(i)}
		}
		return es
	}()...)
	key := Value(Int(500))
	b.Run("Get/Int", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ints.Get(key)
		}
	})
}

func BenchmarkTypeString(b *testing.B) {
	typ := mustType(b, configType)
	b.ReportAllocs()
	for b.Loop() {
		TypeString(typ)
	}
}

func BenchmarkParseType(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustType(b, configType)
	}
}
