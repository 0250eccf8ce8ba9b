package order_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/order"
)

// build returns a catalog of resources "Type[title] parameter=Ref ...". Resources after
// "Container:" are contained in it.
func build(t testing.TB, lines ...string) *catalog.Catalog {
	t.Helper()
	var resources, edges []string
	for _, line := range lines {
		container, rest, is := strings.Cut(line, ": ")
		if !is {
			rest = container
		}
		words := strings.Fields(rest)
		ref, err := catalog.ParseRef(words[0])
		if err != nil {
			t.Fatal(err)
		}
		params := []string{}
		for _, w := range words[1:] {
			name, v, _ := strings.Cut(w, "=")
			params = append(params, fmt.Sprintf("%q:[%q]", name, strings.ReplaceAll(v, ",", `","`)))
		}
		text := strings.ReplaceAll(strings.Join(params, ","), `\"`, `"`)
		resources = append(resources, fmt.Sprintf(`{"type":%q,"title":%q,"parameters":{%s}}`, ref.Type, ref.Title, text))
		if is {
			edges = append(edges, fmt.Sprintf(`{"source":%q,"target":%q}`, container, words[0]))
		}
	}
	c, err := catalog.Parse([]byte(`{"resources":[` + strings.Join(resources, ",") + `],"edges":[` + strings.Join(edges, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func titles(list []*catalog.Resource) string {
	var all []string
	for _, r := range list {
		all = append(all, r.Title)
	}
	return strings.Join(all, " ")
}

func TestOrder(t *testing.T) {
	for name, k := range map[string]struct {
		catalog []string
		want    string
	}{
		"as declared":                      {[]string{"A[c]", "A[a]", "A[b]"}, "c a b"},
		"all relations":                    {[]string{"A[a] require=A[c]", "A[b] subscribe=A[d]", "A[c]", "A[d]", "A[e] before=A[a],A[b]", "A[f] notify=A[e]"}, "c d f e a b"},
		"as soon as possible":              {[]string{"A[a] require=A[c]", "A[b]", "A[c]", "A[d]"}, "b c a d"},
		"a class waits as a whole":         {[]string{"Class[X] require=Class[Y]", "Class[X]: A[a]", "Class[X]: A[b]", "Class[Y]", "Class[Y]: A[c]", "Class[Y]: A[d]"}, "c d a b"},
		"for a class":                      {[]string{"A[a] require=Class[X]", "Class[X]", "Class[X]: A[b]", "Class[X]: A[c]"}, "b c a"},
		"for an empty class":               {[]string{"A[a] require=Class[X]", "Class[X] require=A[b]", "A[b]"}, "b a"},
		"containers in others":             {[]string{"Class[X] before=A[z]", "A[z]", "Class[X]: Class[Y]", "Class[Y]: A[a]"}, "a z"},
		"through an alias":                 {[]string{"A[a] require=A[other]", "A[b] alias=other"}, "b a"},
		"lower case, a slash":              {[]string{"A[a] require=file[/x/],class[::m::y]", "File[/x]", "Class[M::Y]", "Class[M::Y]: A[b]"}, "/x b a"},
		"a type's own":                     {[]string{"A[a]", "A[auto]"}, "auto a"},
		"a defined type of an old catalog": {[]string{"Web::V[x]", "Web::V[x]: A[a]", "A[b] before=Web::V[x]", "Old[y]", "Old[y]: A[c]"}, "b a c"},
		"not against a relation":           {[]string{"A[a] before=A[auto]", "A[auto]"}, "a auto"},
	} {
		list, err := order.Of(build(t, k.catalog...), order.Options{Auto: func(r *catalog.Resource) []catalog.Ref {
			return []catalog.Ref{{Type: "A", Title: "auto"}, {Type: "A", Title: "none"}}
		}})
		if err != nil || titles(list) != k.want {
			t.Errorf("%s: %q, %v, want %q", name, titles(list), err, k.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for name, k := range map[string]struct {
		catalog []string
		want    string
	}{
		"itself":        {[]string{"A[a] require=A[a]"}, "The resources wait for each other: A[a] => A[a]"},
		"two":           {[]string{"A[x] require=A[b]", "A[a] require=A[b]", "A[b] require=A[a]"}, "The resources wait for each other: A[a] => A[b] => A[a]"},
		"a class":       {[]string{"A[a] before=Class[X]", "Class[X]", "Class[X]: A[b]", "Class[X]: A[c] before=A[a]"}, "The resources wait for each other: A[a] => Class[X] => A[c] => A[a]"},
		"its own class": {[]string{"Class[X]", "Class[X]: A[a] require=Class[X]"}, "The resources wait for each other: A[a] => Class[X] => A[a]"},
		"nothing":       {[]string{"A[a] require=A[b]"}, "require of A[a] names A[b], which the catalog does not have"},
		"no reference":  {[]string{"A[a] notify=b"}, "notify of A[a] names b, which the catalog does not have"},
		"the shortest":  {[]string{"A[a] before=A[b],A[c]", "A[b] before=A[c]", "A[c] before=A[d]", "A[d] before=A[a],A[c]"}, "The resources wait for each other: A[c] => A[d] => A[c]"},
	} {
		_, err := order.Of(build(t, k.catalog...), order.Options{})
		if err == nil || err.Error() != k.want {
			t.Errorf("%s: %v\nwant %s", name, err, k.want)
		}
	}
	_, err := order.Of(build(t, "A[a] require=A[a]"), order.Options{})
	if e, is := errors.AsType[*order.CycleError](err); !is || len(e.Cycle) != 1 {
		t.Errorf("%#v", err)
	}
}

// TestLongWait has many resources that wait for a cycle, and that a second cycle can wait for.
func TestLongWait(t *testing.T) {
	lines := []string{"A[0] require=A[p]"}
	for i := range 30_000 {
		lines = append(lines, fmt.Sprintf("A[%d] require=A[%d]", i+1, i))
	}
	lines = append(lines, "A[p] require=A[q]", "A[q] require=A[p]")
	for _, k := range []struct{ more, want string }{{"A[r]", "A[p] => A[q] => A[p]"}, {"A[r] require=A[s],A[30000]", "A[r] => A[s] => A[r]"}} {
		_, err := order.Of(build(t, append(lines, k.more, "A[s] require=A[r]")...), order.Options{})
		if err == nil || !strings.HasSuffix(err.Error(), k.want) {
			t.Errorf("%v, want %s", err, k.want)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	lines := []string{"Class[X]"}
	for i := range 10_000 {
		lines = append(lines, fmt.Sprintf("Class[X]: A[%d] require=A[%d]", i, min(i+1, 9_999)))
	}
	lines[len(lines)-1] = "Class[X]: A[9999]"
	c := build(b, lines...)
	for b.Loop() {
		if list, err := order.Of(c, order.Options{}); err != nil || len(list) != 10_000 {
			b.Fatal(err)
		}
	}
}

func TestRelations(t *testing.T) {
	c := build(t, "A[a] before=A[b],A[c] notify=A[b]", "A[b] require=A[a]", "C[x] subscribe=A[c]", "A[c]")
	auto := func(r *catalog.Resource) []catalog.Ref {
		if r.Title == "b" {
			return []catalog.Ref{{Type: "A", Title: "a"}, {Type: "A", Title: "c"}, {Type: "A", Title: "none"}}
		}
		return nil
	}
	list, err := order.Relations(c, order.Options{Auto: auto})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprintf("%s %s %d", r.Before.Title, r.After.Title, r.Kind))
	}
	if want := "a b 3, a c 2, c x 3, c b 1"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, err := order.Relations(build(t, "A[a] before=A[b]"), order.Options{}); err == nil {
		t.Error("a missing resource is no error")
	}
}
