package wire_test

import (
	"strings"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/catalog/wire"
	"bolt/format/ordered"
)

// Package catalog/site compares whole payloads with those of Puppet's own client.

func parsed(t *testing.T, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalog(t *testing.T) {
	c := parsed(t, `{"name":"n","version":7,"environment":"e","catalog_uuid":"u","resources":[
		{"type":"File","title":"/a","parameters":{"tag":["z","b"],"path":"/a","before":["File[/d/]","Notify[long]"]},"tags":["file"],"file":"x.pp","line":3,"kind":"compilable_type"},
		{"type":"File","title":"d","exported":true,"parameters":{"path":"/d","alias":"other"}},
		{"type":"Notify","title":"n","parameters":{"name":"long","message":"hush","require":"File[other]"},"sensitive_parameters":["message"]},
		{"type":"Exec","title":"e","parameters":{"command":"true","subscribe":["Notify[n]"],"notify":[["Notify[n]"]]}}],
		"edges":[{"source":"Exec[e]","target":"Notify[n]"}]}`)
	m, err := wire.Catalog(c, wire.Options{Producer: "p", Produced: time.Unix(1, 5e6)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"certname":"n","version":"7","environment":"e","transaction_uuid":"u","catalog_uuid":"u","code_id":null,"job_id":null,"producer":"p","producer_timestamp":"1970-01-01T00:00:01.005Z",` +
		`"resources":[{"type":"File","title":"/a","tags":["file"],"file":"x.pp","line":3,"exported":false,"kind":"compilable_type","parameters":{"tag":["b","z"],"path":"/a","before":["File[/d/]","Notify[long]"]}},` +
		`{"type":"File","title":"d","tags":[],"exported":true,"parameters":{"path":"/d","alias":["/d","other"]}},` +
		`{"type":"Notify","title":"n","tags":[],"exported":false,"parameters":{"name":"long","require":"File[other]","alias":["long"]}},` +
		`{"type":"Exec","title":"e","tags":[],"exported":false,"parameters":{"command":"true","subscribe":["Notify[n]"],"notify":[["Notify[n]"]]}}],` +
		`"edges":[{"source":{"type":"Exec","title":"e"},"target":{"type":"Notify","title":"n"},"relationship":"contains"},` +
		`{"source":{"type":"File","title":"/a"},"target":{"type":"File","title":"d"},"relationship":"before"},` +
		`{"source":{"type":"File","title":"/a"},"target":{"type":"Notify","title":"n"},"relationship":"before"},` +
		`{"source":{"type":"File","title":"d"},"target":{"type":"Notify","title":"n"},"relationship":"required-by"},` +
		`{"source":{"type":"Exec","title":"e"},"target":{"type":"Notify","title":"n"},"relationship":"notifies"},` +
		`{"source":{"type":"Notify","title":"n"},"target":{"type":"Exec","title":"e"},"relationship":"subscription-of"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if v := c.Find(catalog.Ref{Type: "Notify", Title: "n"}); v.Params.Value("message") != "hush" {
		t.Error("the catalog has changed")
	}
}

// TestMissing checks that a relation with a resource that is not applied is an
// error, unless the relation is secret.
func TestMissing(t *testing.T) {
	c := parsed(t, `{"name":"n","resources":[{"type":"A","title":"a","parameters":{"require":"B[b]"}}]}`)
	if _, err := wire.Catalog(c, wire.Options{}); err == nil || err.Error() != "require of A[a] names B[b], which the catalog does not have" {
		t.Errorf("got %v", err)
	}
	b := &catalog.Resource{Ref: catalog.Ref{Type: "B", Title: "b"}, Virtual: true, Exported: true}
	if err := c.Add(b); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Catalog(c, wire.Options{}); err == nil {
		t.Error("a relation with a resource that is exported only is accepted")
	}
	if list := wire.Exported(c); len(list) != 1 || list[0].Title != "b" {
		t.Errorf("exported are %v", list)
	}
	b.Virtual = false
	if _, err := wire.Catalog(c, wire.Options{}); err != nil {
		t.Error(err)
	}
	c = parsed(t, `{"name":"n","resources":[{"type":"A","title":"a","parameters":{"require":"B[b]"},"sensitive_parameters":["require"]}]}`)
	if _, err := wire.Catalog(c, wire.Options{}); err != nil {
		t.Error(err)
	}
}

// TestStringify checks that rich data becomes strings as in the recorded payload of
// shared data.
func TestStringify(t *testing.T) {
	for in, want := range map[string]string{
		`{"__ptype":"Regexp","__pvalue":"^a+$"}`:                             `"/^a+$/"`,
		`{"__ptype":"Default"}`:                                              `"default"`,
		`{"__ptype":"SemVer","__pvalue":"1.2.3"}`:                            `"1.2.3"`,
		`{"__ptype":"Sensitive","__pvalue":"hush"}`:                          `"Sensitive [value redacted]"`,
		`{"__ptype":"Timestamp","__pvalue":"2024-01-02T03:04:05.0 UTC"}`:     `"2024-01-02T03:04:05.0 UTC"`,
		`{"__ptype":"Hash","__pvalue":[1,"x",{"__ptype":"Default"},[null]]}`: `{"1":"x","default":[null]}`,
		`{"a":[1,true,{"__ptype":"Binary","__pvalue":"aGk="}]}`:              `{"a":[1,true,"aGk="]}`,
		`{"__ptype":"Pcore::IntegerType","from":1,"to":5}`:                   `"Integer[1, 5]"`,
		`{"__ptype":"No::Such","x":{"__ptype":"Sensitive","__pvalue":"h"}}`:  `hidden`,
	} {
		v, err := ordered.ParseJSON([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		text, err := ordered.Of("v", wire.Stringify(v)).MarshalJSON()
		got := strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}")
		if want == "hidden" {
			if strings.Contains(got, `"h"`) || strings.Contains(got, `\"h\"`) {
				t.Errorf("%s shows a secret: %s", in, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s became %s, %v, want %s", in, got, err, want)
		}
	}
}

// FuzzCatalog checks that a catalog that can be written can be read, and then has
// the same resources.
func FuzzCatalog(f *testing.F) {
	f.Add(`{"name":"n","resources":[{"type":"A","title":"a","exported":true,"parameters":{"alias":["b"],"x":{"__ptype":"Regexp","__pvalue":"r"}}},{"type":"B","title":"b","parameters":{"require":"A[b]"}}],"edges":[{"source":"A[a]","target":"B[b]"}]}`)
	f.Add(`{"certname":"n","version":"1","resources":[{"type":"File","title":"/","parameters":{"path":5,"tag":[[1],null]}}],"edges":[{"source":{"type":"File","title":"/"},"target":{"type":"File","title":"/"},"relationship":"contains"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := catalog.Parse([]byte(text))
		if err != nil {
			return
		}
		m, err := wire.Catalog(c, wire.Options{})
		if err != nil {
			return
		}
		data, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := catalog.Parse(data)
		if err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for i, r := range c.Resources() {
			if got := back.Resources()[i]; got.Ref != r.Ref || got.Exported != r.Exported {
				t.Errorf("%s became %s", r.Ref, got.Ref)
			}
		}
	})
}
