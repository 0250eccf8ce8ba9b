package catalog_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/format/ordered"
)

// recorded returns the catalogs of the corpus, as Puppet wrote them, by the names of
// their cases.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/puppet/expected/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var c struct {
			Case    string
			Catalog json.RawMessage
		}
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Catalog != nil {
			all[c.Case] = c.Catalog
		}
	}
	if len(all) < 80 {
		t.Fatalf("the corpus has %d catalogs only", len(all))
	}
	return all
}

func parse(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRoundTrip checks that a catalog of Puppet is the same after it was read and
// written, except for keys that the corpus leaves out.
func TestRoundTrip(t *testing.T) {
	for name, text := range recorded(t) {
		c := parse(t, string(text))
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		want, got := decode(t, text), decode(t, out)
		for _, key := range []string{"tags", "resources", "edges", "classes"} {
			if !reflect.DeepEqual(want.Value(key), got.Value(key)) {
				t.Errorf("%s: %s is %v, want %v", name, key, got.Value(key), want.Value(key))
			}
		}
		if again := parse(t, string(out)); again.Digest() != c.Digest() {
			t.Errorf("%s: the digest changed", name)
		}
	}
}

func decode(t *testing.T, text []byte) *ordered.Map {
	t.Helper()
	v, err := ordered.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*ordered.Map)
}

const static = `{"tags":["web"],"name":"n1","version":1795199831,"code_id":"c8","catalog_uuid":"70","catalog_format":2,"environment":"production",
"resources":[
 {"type":"Stage","title":"main","tags":["stage"],"exported":false,"kind":"compilable_type","parameters":{"name":"main"}},
 {"type":"Class","title":"Web","tags":["class"],"file":"/m/init.pp","line":2,"exported":false,"kind":"class","parameters":{"port":80,"tls":"hunter2"},"sensitive_parameters":["tls"]},
 {"type":"File","title":"/srv/i","tags":["file"],"file":"/m/init.pp","line":3,"exported":false,"kind":"compilable_type","parameters":{"ensure":"file","source":"puppet:///modules/web/i","tag":["x"]}},
 {"type":"File","title":"/srv/t","exported":false,"kind":"compilable_type","parameters":{"recurse":true,"source":"puppet:///modules/web/t"}},
 {"type":"File","title":"/srv/s","exported":false,"kind":"compilable_type","parameters":{"content":"secret","mode":"0600","require":"File[/srv/t]"},"sensitive_parameters":["content"]},
 {"type":"Exec","title":"e[1]","exported":true,"kind":"compilable_type","parameters":{"command":["/bin/true",{"__ptype":"Sensitive","__pvalue":"p"}],"timeout":1.0,"tries":99999999999999999999}}],
"edges":[{"source":"Stage[main]","target":"Class[Web]"},{"source":"Class[Web]","target":"File[/srv/i]"},{"source":"Class[Web]","target":"Exec[e[1]]"}],
"classes":["web"],
"metadata":{"/srv/i":{"path":"/code/i","relative_path":null,"links":"manage","owner":103,"group":"adm","mode":420,
 "checksum":{"type":"sha256","value":"{sha256}58"},"type":"file","destination":null,"content_uri":"puppet:///modules/web/files/i","source":"puppet:///modules/web/i"}},
"recursive_metadata":{"/srv/t":{"puppet:///modules/web/t":[
 {"path":"/code/t","relative_path":".","links":"manage","owner":0,"group":0,"mode":493,"checksum":{"type":"ctime","value":"{ctime}2026"},"type":"directory","destination":null,"content_uri":"puppet:///modules/web/files/t"}]}}}`

// TestStaticCatalog checks that every part of a static catalog is the same after
// reading and writing.
func TestStaticCatalog(t *testing.T) {
	c := parse(t, static)
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	want := decode(t, []byte(static))
	for _, v := range want.Value("resources").([]any) { // tags are always written
		if r := v.(*ordered.Map); r.Value("tags") == nil {
			r.Set("tags", []any{})
		}
	}
	if got := decode(t, out); !reflect.DeepEqual(plain(got), plain(want)) {
		t.Errorf("wrote\n%s", out)
	}
	e := c.Find(catalog.Ref{Type: "Exec", Title: "e[1]"})
	if e == nil || !e.Secret("command") || e.Secret("timeout") || !e.Exported {
		t.Errorf("Exec[e[1]] is %+v", e)
	}
	if s := c.Find(catalog.Ref{Type: "File", Title: "/srv/s"}); !s.Secret("content") || s.Secret("mode") {
		t.Errorf("File[/srv/s] is %+v", s)
	}
	if in := c.Containers(); in[e.Ref] != (catalog.Ref{Type: "Class", Title: "Web"}) {
		t.Errorf("%v contains %v", in[e.Ref], e.Ref)
	}
}

// plain returns data whose maps can be compared without their order.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		l := make([]any, len(v))
		for i, x := range v {
			l[i] = plain(x)
		}
		return l
	case *ordered.Map:
		m := make(map[string]any)
		for k, x := range v.All() {
			m[k] = plain(x)
		}
		return m
	}
	return v
}

// TestDigest checks that the digest changes if and only if the applied state
// changes.
func TestDigest(t *testing.T) {
	for _, k := range []struct {
		what, old, new string
		changes        bool
	}{
		{"the place of a declaration", `"file":"/m/init.pp","line":3`, `"file":"/m/other.pp","line":4`, false},
		{"the version", `"version":1795199831`, `"version":"v2"`, false},
		{"the compilation", `"catalog_uuid":"70"`, `"catalog_uuid":"71"`, false},
		{"the code's commit", `"code_id":"c8"`, `"code_id":null`, false},
		{"the node", `"name":"n1"`, `"name":"n2"`, false},
		{"tags", `"tags":["file"]`, `"tags":["file","x"]`, false},
		{"a tag", `"tag":["x"]`, `"tag":["y"]`, false},
		{"the order of parameters", `"content":"secret","mode":"0600"`, `"mode":"0600","content":"secret"`, false},
		{"the order of edges", `{"source":"Stage[main]","target":"Class[Web]"},{"source":"Class[Web]","target":"File[/srv/i]"}`,
			`{"source":"Class[Web]","target":"File[/srv/i]"},{"source":"Stage[main]","target":"Class[Web]"}`, false},
		{"a parameter of a class", `"port":80`, `"port":81`, false},
		{"a source whose file is the same", `puppet:///modules/web/i`, `puppet:///modules/web/j`, false},
		{"where the content comes from", `"path":"/code/i"`, `"path":"/code2/i"`, false},
		{"the time of a directory", `{ctime}2026`, `{ctime}2027`, false},
		{"the mark of an export", `"exported":true`, `"exported":false`, false},
		{"a content", `"content":"secret"`, `"content":"other"`, true},
		{"a mode", `"mode":"0600"`, `"mode":"0640"`, true},
		{"the kind of a number", `"timeout":1.0`, `"timeout":1`, true},
		{"a large number", `99999999999999999999`, `99999999999999999998`, true},
		{"a title", `"title":"/srv/t"`, `"title":"/srv/u"`, true},
		{"a relation", `"require":"File[/srv/t]"`, `"require":"File[/srv/i]"`, true},
		{"containment", `{"source":"Class[Web]","target":"File[/srv/i]"}`, `{"source":"Stage[main]","target":"File[/srv/i]"}`, true},
		{"the content of a source", `{sha256}58`, `{sha256}59`, true},
		{"the owner of a source", `"owner":103`, `"owner":104`, true},
		{"the mode of a directory below a source", `"mode":493`, `"mode":488`, true},
		{"a mark of a secret", `,"sensitive_parameters":["content"]`, ``, true},
	} {
		if strings.Count(static, k.old) == 0 {
			t.Fatalf("%s: there is no %s", k.what, k.old)
		}
		text := strings.ReplaceAll(static, k.old, k.new)
		if k.what == "a title" {
			text = strings.ReplaceAll(text, "File[/srv/t]", "File[/srv/u]")
		}
		if changed := parse(t, text).Digest() != parse(t, static).Digest(); changed != k.changes {
			t.Errorf("%s: the digest changes: %v", k.what, changed)
		}
	}
	c := parse(t, static)
	d := c.Digest()
	slices.Reverse(c.Resources())
	if c.Digest() == d {
		t.Error("the order of resources does not count")
	}
}

// TestVirtual checks that virtual resources are neither written nor applied.
func TestVirtual(t *testing.T) {
	c := parse(t, static)
	if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "Notify", Title: "x"}, Virtual: true}); err != nil {
		t.Fatal(err)
	}
	c.Edges = append(c.Edges, catalog.Edge{Source: catalog.Ref{Type: "Class", Title: "Web"}, Target: catalog.Ref{Type: "Notify", Title: "x"}})
	out, err := json.Marshal(c)
	if err != nil || bytes.Contains(out, []byte("Notify")) || c.Digest() != parse(t, static).Digest() {
		t.Errorf("%v %s", err, out)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "line 1: unexpected EOF",
		`[]`:                                  "the catalog: expected an object",
		`{}`:                                  "the catalog: it has no resources",
		`{"resources":{}}`:                    "resources: expected a list",
		`{"resources":[1]}`:                   "resources[0]: expected an object",
		`{"resources":[{"type":"A"}]}`:        "resources[0]: a resource needs a type and a title",
		`{"resources":[{"type":1}]}`:          "resources[0].type: expected a string",
		`{"resources":[],"catalog_format":3}`: "catalog_format: this version reads formats up to 2, and not 3",
		`{"resources":[{"type":"A","title":"b","parameters":[]}]}`:                               "resources[0].parameters: expected an object",
		`{"resources":[{"type":"A","title":"b","exported":1}]}`:                                  "resources[0].exported: expected true or false",
		`{"resources":[{"type":"A","title":"b"},{"type":"A","title":"b"}]}`:                      "resources[1]: A[b] is declared twice",
		`{"resources":[],"edges":[{"source":"A[b]","target":"A[b]"}]}`:                           "edges[0].source: A[b] is not among the resources",
		`{"resources":[{"type":"A","title":"b"}],"edges":[{"source":"A[b]","target":"A"}]}`:      `edges[0].target: "A" is not a reference of the form Type[title]`,
		`{"resources":[],"metadata":{"/x":{"owner":true}}}`:                                      "metadata./x.owner: expected a name or a number",
		`{"resources":[],"recursive_metadata":{"/x":{"puppet:///m/x":[{"mode":"0644"}]}}}`:       "recursive_metadata./x.puppet:///m/x[0].mode: expected a whole number",
		`{"resources":[{"type":"A","title":"b","tags":["a",1]}]}`:                                "resources[0].tags: expected a list of strings",
		`{"catalog":{"resources":[{"type":"A","title":"b","sensitive_parameters":"x"}]},"x":[]}`: "resources[0].sensitive_parameters: expected a list",
	} {
		if _, err := catalog.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s\n  %v\nwant\n  %s", text, err, want)
		}
	}
}

// TestParseLeast reads the smallest catalog that Puppet applies.
func TestParseLeast(t *testing.T) {
	c := parse(t, `{"resources":[{"type":"Notify","title":"x","parameters":{}}]}`)
	if r := c.Resources(); len(r) != 1 || r[0].String() != "Notify[x]" || r[0].Params != nil {
		t.Errorf("%+v", r)
	}
}

// FuzzParse checks that a catalog is equal after it was written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(static))
	for _, text := range recorded(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalog.Parse(data)
		if err != nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := catalog.Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !bytes.Equal(c.Canonical(), again.Canonical()) {
			t.Errorf("%s\nis\n%s\nafter it was written as\n%s", c.Canonical(), again.Canonical(), out)
		}
	})
}
