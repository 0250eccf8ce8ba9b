package puppetdb

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/catalog/exports"
	"bolt/catalog/site"
	"bolt/catalog/wire"
	"bolt/environment"
	"bolt/format/ordered"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// TestLiveExports: a real PuppetDB stores catalogs, and finds in them the exported resources
// that an index of the same catalogs finds.
func TestLiveExports(t *testing.T) {
	o := liveOptions(t)
	c := client(t, o)
	ctx := t.Context()
	const stored = "../catalog/site/testdata/exports/recorded/stored"
	for _, name := range []string{"web1", "web2"} {
		text, err := os.ReadFile(stored + "/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		payload, err := ordered.ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		done, err := c.Submit(ctx, Command{Name: wire.Command, Version: wire.Version, Wait: time.Minute, Payload: payload.(*ordered.Map)})
		if err != nil || !done.Processed {
			t.Fatalf("catalog of %s: %+v, %v", name, done, err)
		}
	}
	index, err := site.ReadExports(ctx, stored)
	if err != nil {
		t.Fatal(err)
	}
	instances := NewInstances(Settings{Default: ordered.Of("server_urls", []any{o.ServerURLs[0]}, "cacert", o.CACert, "cert", o.Cert, "key", o.Key)})
	t.Cleanup(instances.Close)
	db := exports.NewPuppetDB(instances, "")
	is := func(name string, v value.Value) eval.Query { return &eval.QueryCompare{Name: name, Value: v} }
	not := func(name string, v value.Value) eval.Query {
		return &eval.QueryCompare{Name: name, Value: v, Not: true}
	}
	and := func(x, y eval.Query) eval.Query { return &eval.QueryBool{X: x, Y: y} }
	or := func(x, y eval.Query) eval.Query { return &eval.QueryBool{X: x, Y: y, Or: true} }
	for _, tt := range []struct {
		node, typ string
		q         eval.Query
		want      string
	}{
		{"mon", "M::Check", nil, "web1/web1 web1/web1-tls web2/web2 web2/web2-tls"},
		{"web2", "M::Check", nil, "web1/web1 web1/web1-tls"},
		{"mon", "Package", nil, ""}, // is not exported
		{"mon", "Group", is("tag", value.String("MON")), "web1/web1 web2/web2"},
		{"mon", "Group", is("tag", value.String("webtag")), "web1/web1 web2/web2"},
		{"mon", "Group", is("tag", value.NewArray(value.String("none"), value.String("x::y"))), "web1/web1 web2/web2"},
		{"mon", "Group", not("tag", value.String("x")), ""},
		{"mon", "Group", is("title", value.String("web2")), "web2/web2"},
		{"mon", "Group", is("title", value.String("WEB2")), ""},
		{"mon", "Group", is("members", value.String("a")), ""},
		{"mon", "Group", is("members", value.NewArray(value.String("a"), value.String("b"))), "web1/web1 web2/web2"},
		{"mon", "M::Check", is("port", value.Int(80)), "web1/web1 web2/web2"},
		{"mon", "M::Check", is("port", value.String("80")), ""},
		{"mon", "M::Check", not("port", value.Int(80)), "web1/web1-tls web2/web2-tls"},
		{"mon", "M::Check", is("opts", value.Undef{}), ""},
		{"mon", "M::Check", not("nothing", value.Undef{}), "web1/web1 web1/web1-tls web2/web2 web2/web2-tls"},
		{"mon", "M::Check", and(is("port", value.Int(443)), or(is("title", value.String("web1")), is("title", value.String("web1-tls")))), "web1/web1-tls"},
		{"mon", "File", is("require", value.NewResourceRef("package", "p")), "web1/conf-web1 web2/conf-web2"},
	} {
		for from, x := range map[string]interface {
			Find(ctx context.Context, node, typ string, q eval.Query) ([]exports.Export, error)
		}{"PuppetDB": db, "an index": index} {
			found, err := x.Find(ctx, tt.node, tt.typ, tt.q)
			var got []string
			for _, e := range found {
				got = append(got, e.Node+"/"+e.Title)
				slices.Sort(e.Tags)
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%s %+v in %s: got %q, %v, want %q", tt.typ, tt.q, from, got, err, tt.want)
			}
		}
	}
	// The catalog of a node that collects them is the same.
	s, err := site.Open(ctx, "../catalog/site/testdata/exports/envs", "production", environment.Options{Now: time.Now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, collecting := range []*site.Site{s.With(index), s.With(db)} {
		made, err := collecting.Compile(ctx, site.Node{Name: "mon", Facts: value.NewHash()})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, fmt.Sprintf("%x %d", made.Catalog.Digest(), len(made.Catalog.Resources())))
	}
	if digests[0] != digests[1] || !strings.HasSuffix(digests[0], " 20") {
		t.Errorf("got %q", digests)
	}
}
