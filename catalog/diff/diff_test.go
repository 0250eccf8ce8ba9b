package diff_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/diff"
)

func parse(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const before = `{"resources":[
 {"type":"Class","title":"X","kind":"class","parameters":{"port":1}},
 {"type":"File","title":"/a","file":"x.pp","line":3,"tags":["a"],"parameters":{"content":"one","mode":"0644","noop":true}},
 {"type":"File","title":"/b","parameters":{"content":"secret"},"sensitive_parameters":["content"]},
 {"type":"Service","title":"s","parameters":{"ensure":"running"}}],
"edges":[{"source":"Class[X]","target":"File[/a]"}]}`

// show writes changes on one line.
func show(changes []diff.Change) string {
	var parts []string
	for _, c := range changes {
		text := strings.TrimSpace(fmt.Sprintf("%s %s", c.Kind, strings.TrimPrefix(c.Resource.String(), "[]")))
		for _, p := range c.Params {
			if p.Secret {
				text += fmt.Sprintf(" %s secret %v %v", p.Name, p.Old, p.New)
			} else {
				text += fmt.Sprintf(" %s %v to %v", p.Name, p.Old, p.New)
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// TestCompare checks that Compare finds the differences, and finds none if
// the digests are equal.
func TestCompare(t *testing.T) {
	for _, k := range []struct{ what, old, new, want string }{
		{"nothing", `"line":3`, `"line":4`, ""},
		{"a class's own parameter", `"port":1`, `"port":2`, ""},
		{"a tag", `"tags":["a"]`, `"tags":["b"]`, ""},
		{"a value", `"content":"one"`, `"content":"two"`, "changed File[/a] content one to two"},
		{"a new parameter", `"mode":"0644"`, `"mode":"0644","owner":"root"`, "changed File[/a] owner <nil> to root"},
		{"a parameter less", `,"noop":true`, ``, "changed File[/a] noop true to <nil>"},
		{"the type of a value", `"noop":true`, `"noop":"true"`, "changed File[/a] noop true to true"},
		{"a secret", `"content":"secret"`, `"content":"other"`, "changed File[/b] content secret <nil> <nil>"},
		{"a mark of a secret", `,"sensitive_parameters":["content"]`, ``, "changed File[/b] content secret <nil> <nil>"},
		{"a mark of a secret that is not there", `,"sensitive_parameters":["content"]`, `,"sensitive_parameters":["content","gone"]`, ""},
		{"a title", `"title":"s"`, `"title":"t"`, "added Service[t] ensure <nil> to running; removed Service[s] ensure running to <nil>"},
		{"a container", `{"source":"Class[X]","target":"File[/a]"}`, ``, "changed File[/a] (container) Class[X] to <nil>"},
	} {
		if !strings.Contains(before, k.old) {
			t.Fatal(k.what)
		}
		a, b := parse(t, before), parse(t, strings.Replace(before, k.old, k.new, 1))
		if got := show(diff.Compare(a, b)); got != k.want || (got == "") != (a.Digest() == b.Digest()) {
			t.Errorf("%s: %q, want %q", k.what, got, k.want)
		}
	}
	a, b := parse(t, before), parse(t, before)
	b.Resources()[1], b.Resources()[2] = b.Resources()[2], b.Resources()[1]
	if got := show(diff.Compare(a, b)); got != "moved" {
		t.Errorf("another order: %q", got)
	}
	b = parse(t, strings.Replace(before, "0644", "0600", 1))
	b.Resources()[1], b.Resources()[2] = b.Resources()[2], b.Resources()[1]
	if got := show(diff.Compare(a, b)); !strings.HasPrefix(got, "changed ") || !strings.HasSuffix(got, "moved") {
		t.Errorf("another order and another mode: %q", got)
	}
}

// TestCompareSources checks that the content of a source is compared, and
// not its path.
func TestCompareSources(t *testing.T) {
	const text = `{"resources":[{"type":"File","title":"/a","parameters":{"source":"puppet:///modules/m/a"}}],
"metadata":{"/a":{"path":"/code/a","type":"file","mode":420,"checksum":{"type":"sha256","value":"{sha256}1"}}}}`
	a := parse(t, text)
	if got := diff.Compare(a, parse(t, strings.ReplaceAll(text, "/code/a", "/code/b"))); got != nil {
		t.Errorf("another place: %s", show(got))
	}
	if got := show(diff.Compare(a, parse(t, strings.ReplaceAll(text, "{sha256}1", "{sha256}2")))); got != "changed File[/a] (file) {sha256}1 to {sha256}2" {
		t.Errorf("another content: %s", got)
	}
}

// TestCompareTrees checks that the files of a directory are compared one by
// one.
func TestCompareTrees(t *testing.T) {
	tree := func(files string) *catalog.Catalog {
		return parse(t, `{"resources":[{"type":"File","title":"/a","parameters":{"source":"s"}}],
"recursive_metadata":{"/a":{"s":[{"relative_path":".","type":"directory"},`+files+`]}}}`)
	}
	a := tree(`{"relative_path":"b","type":"file","checksum":{"type":"sha256","value":"1"}},{"relative_path":"old","type":"directory"}`)
	b := tree(`{"relative_path":"b","type":"file","owner":0,"group":"wheel","mode":384,"checksum":{"type":"sha256","value":"1"}},{"relative_path":"l","type":"link","destination":"b"}`)
	want := "changed File[/a] (file b) 1 to 1, owner 0, group wheel, mode 0600 (file l) <nil> to link to b (file old) directory to <nil>"
	if got := show(diff.Compare(a, b)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFold(t *testing.T) {
	one := []diff.Change{{Kind: diff.Removed, Resource: catalog.Ref{Type: "A", Title: "a"}}}
	two := []diff.Change{{Kind: diff.Changed, Resource: catalog.Ref{Type: "A", Title: "a"}, Params: []diff.Param{{Name: "x", New: int64(1)}}}}
	got := diff.Fold(map[string][]diff.Change{"n1": two, "n2": one, "n3": one, "n0": nil})
	want := []diff.Group{{Nodes: []string{"n2", "n3"}, Changes: one}, {Nodes: []string{"n0"}}, {Nodes: []string{"n1"}, Changes: two}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestByChange(t *testing.T) {
	a := diff.Change{Kind: diff.Removed, Resource: catalog.Ref{Type: "A", Title: "a"}}
	b := diff.Change{Kind: diff.Added, Resource: catalog.Ref{Type: "B", Title: "b"}}
	got := diff.ByChange(map[string][]diff.Change{"n1": {b, a}, "n2": {b}, "n3": nil})
	if want := []diff.Shared{{a, []string{"n1"}}, {b, []string{"n1", "n2"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// BenchmarkFleet compares the catalogs of 100 nodes with 500 resources each.
func BenchmarkFleet(b *testing.B) {
	var list []string
	for i := range 500 {
		list = append(list, fmt.Sprintf(`{"type":"File","title":"/f%d","tags":["a","b","c"],"file":"/m/init.pp","line":%d,"exported":false,"kind":"compilable_type","parameters":{"ensure":"file","mode":"0644","content":"%d","owner":"root"}}`, i, i, i))
	}
	text := `{"resources":[` + strings.Join(list, ",") + `]}`
	other := []byte(strings.Replace(text, "0644", "0600", 1))
	for b.Loop() {
		changes := make(map[string][]diff.Change)
		for i := range 100 {
			x, err := catalog.Parse([]byte(text))
			if err != nil {
				b.Fatal(err)
			}
			y, err := catalog.Parse(other)
			if err != nil {
				b.Fatal(err)
			}
			changes[fmt.Sprint(i)] = diff.Compare(x, y)
		}
		if g := diff.Fold(changes); len(g) != 1 || len(g[0].Changes) != 1 {
			b.Fatal(g)
		}
	}
}
