package value

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestHashKeepsOrder(t *testing.T) {
	h := NewHash(Entry{String("b"), Int(1)}, Entry{String("a"), Int(2)}, Entry{String("b"), Int(3)})
	if h.Len() != 2 || h.At(0) != (Entry{String("b"), Int(3)}) || h.At(1) != (Entry{String("a"), Int(2)}) {
		t.Errorf("got %v", h.entries)
	}
	merged := h.Merge(NewHash(Entry{String("c"), Int(4)}, Entry{String("a"), Int(5)}))
	if got := Inspect(merged.Keys()) + Inspect(merged.Values()); got != "['b', 'a', 'c'][3, 5, 4]" {
		t.Errorf("merged: %s", got)
	}
	if got := Inspect(merged.Without(String("a")).Keys()); got != "['b', 'c']" {
		t.Errorf("without: %s", got)
	}
	if h.Len() != 2 || h.With(String("z"), Undef{}).Len() != 3 {
		t.Error("a hash changed")
	}
	if h.Without(String("no")) != h {
		t.Error("a hash without a key that it does not have is another")
	}
}

// TestHashMany compares a Hash with a map, at the sizes where the index begins
// and grows.
func TestHashMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{indexFrom - 1, indexFrom, 24, 25, 1000} {
		var b HashBuilder
		want := map[Value]Value{}
		for i := range 2 * n {
			k := Value(Int(r.IntN(n)))
			if i%2 == 0 {
				k = String(strconv.Itoa(r.IntN(n)))
			}
			b.Put(k, Int(i))
			want[k] = Int(i)
			if got, ok := b.Get(k); !ok || got != Int(i) {
				t.Fatalf("%d: the builder has %v for %v", n, got, k)
			}
		}
		h := b.Build()
		if h.Len() != len(want) || b.Len() != 0 {
			t.Errorf("%d: %d entries, want %d; %d left in the builder", n, h.Len(), len(want), b.Len())
		}
		for k, v := range want {
			if got, ok := h.Get(k); !ok || got != v {
				t.Errorf("%d: %v is %v, want %v", n, k, got, v)
			}
		}
		if _, ok := h.GetString("none"); ok {
			t.Errorf("%d: a key that is not there", n)
		}
		for k, v := range h.With(String("new"), Int(1)).Without(Int(0)).All() {
			if w, ok := want[k]; (!ok || w != v) && k != Value(String("new")) {
				t.Errorf("%d: derived hash has %v => %v", n, k, v)
			}
		}
	}
}

func TestHashKeys(t *testing.T) {
	w := testTypes(t)
	keys := []string{
		"undef", "default", "true", "false", "0", "1", "1.0", "'1'", "''", "'a'", "'A'", "[]", "[1]", "[1.0]", "[[1]]", "{}", "{ 'a' => 1 }", "{ 'b' => 1 }",
		"Integer", "Integer[1]", "Integer[1, 2]", "String", "Enum['a']", "Enum['b']", "Variant[Integer, String]", "Variant[String, Integer]", "Struct[{ 'a' => Integer }]",
		"/a/", "/b/", "Sensitive(1)", "Sensitive('1')", "Timestamp(1)", "Timespan(1)", "Timespan(2)", "SemVer('1.0.0')", "SemVer('1.0.0+b')", "SemVerRange('1.x')", "Binary('AAEC')",
		"URI('http://a')", "URI('http://b')", "M::Point(1)", "M::Point(2)", "M::Port", "Class['a']", "File['/x']", "File['/y']", "Error('a')", "Callable[Integer]", "Callable[String]",
		"Pattern[/a/]", "Regexp[/a/]", "Tuple[Integer]", "Tuple[Integer, 0]", "Init[Integer]", "Runtime['go', 'a']", "Type[Integer]", "Timestamp[1]", "Timespan[1]",
	}
	var b HashBuilder
	for i, src := range keys {
		b.Put(w.value(t, src), Int(i))
	}
	h := b.Build()
	if h.Len() != len(keys) {
		t.Errorf("%d of %d keys differ", h.Len(), len(keys))
	}
	for i, src := range keys {
		v := w.value(t, src) // another one that is the same
		if got, ok := h.Get(v); !ok || got != Int(i) {
			t.Errorf("%s: got %v", src, got)
		}
		if !Same(v, v) || !Equal(v, v) {
			t.Errorf("%s differs from itself", src)
		}
		small := NewHash(Entry{v, Int(1)})
		if _, ok := small.Get(w.value(t, src)); !ok {
			t.Errorf("%s is not found in a small hash", src)
		}
	}
}
