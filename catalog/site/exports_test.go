package site_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/catalog/exports"
	"bolt/catalog/site"
	"bolt/catalog/wire"
	"bolt/puppet/value"
)

// The directory testdata/exports/recorded contains the recorded results of Puppet 7.23 for
// the environment in testdata/exports/envs: the payloads that its client for PuppetDB 7.12
// sent for all nodes, and the catalog of mon, which collects the exports of web1 and web2
// from PuppetDB.
const recorded = "testdata/exports/recorded"

// shape contains the parts of a payload or a catalog that two compilers must have in
// common: the resources, in their order, and the edges.
type shape struct {
	Resources []struct {
		Type, Title, Kind, File string
		Line                    int
		Exported                bool
		Tags                    []string
		Parameters              map[string]any
		Sensitive               []string `json:"sensitive_parameters"`
	}
	Edges []map[string]any
}

func shapeOf(t *testing.T, text []byte) *shape {
	t.Helper()
	here, err := filepath.Abs("testdata/exports/envs")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(here), []byte("/code/environments"))
	s := &shape{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	for i := range s.Resources {
		slices.Sort(s.Resources[i].Tags)
	}
	slices.SortFunc(s.Edges, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return s
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	a, b := shapeOf(t, got), shapeOf(t, want)
	if len(a.Resources) != len(b.Resources) {
		t.Errorf("%s: %d resources, want %d", what, len(a.Resources), len(b.Resources))
		return
	}
	for i := range a.Resources {
		if x, y := fmt.Sprintf("%+v", a.Resources[i]), fmt.Sprintf("%+v", b.Resources[i]); x != y {
			t.Errorf("%s: got  %s\nwant %s", what, x, y)
		}
	}
	if x, y := fmt.Sprint(a.Edges), fmt.Sprint(b.Edges); x != y {
		t.Errorf("%s: the edges are\n%s\nwant\n%s", what, x, y)
	}
}

func exporting(t *testing.T) (*site.Site, []site.Node) {
	t.Helper()
	s, err := site.Open(t.Context(), "testdata/exports/envs", "production", options, nil)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []site.Node
	for _, name := range []string{"web1", "web2", "mon"} {
		nodes = append(nodes, site.Node{Name: name, Facts: value.NewHash()})
	}
	return s, nodes
}

// TestExports checks that catalogs and their PuppetDB forms equal Puppet's, for every
// source of exports.
func TestExports(t *testing.T) {
	s, nodes := exporting(t)
	fleet, failed, err := site.Gather(t.Context(), s.With(&exports.Index{}), nodes, 0)
	if err != nil || failed > 0 {
		t.Fatal(failed, err)
	}
	files, err := site.ReadExports(t.Context(), recorded+"/stored")
	if err != nil {
		t.Fatal(err)
	}
	for from, x := range map[string]*exports.Index{"fleet": fleet, "files": files} {
		for c := range site.CompileAll(t.Context(), s.With(x), nodes, 0) {
			if c.Err != nil {
				t.Fatal(c.Err)
			}
			text, err := c.Catalog.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			stored := recorded + "/stored/" + c.Node + ".json"
			if c.Node == "mon" {
				stored = recorded + "/mon-stored.json"
				want, err := os.ReadFile(recorded + "/mon.json")
				if err != nil {
					t.Fatal(err)
				}
				same(t, from+" mon", text, want)
				nodes := make(map[string]int)
				for _, r := range c.Collected {
					nodes[r.Node]++
				}
				if fmt.Sprint(nodes) != "map[web1:6 web2:5]" {
					t.Errorf("%s: collected %v", from, c.Collected)
				}
			}
			want, err := os.ReadFile(stored)
			if err != nil {
				t.Fatal(err)
			}
			c.Store(wire.Options{Producer: "client", Produced: time.Unix(0, 0)})
			got, err := c.Stored.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			same(t, from+" "+stored, got, want)

			// A written catalog is read as a catalog of the same node.
			back, err := catalog.Parse(got)
			if err != nil || back.Name != c.Node || back.UUID != c.Catalog.UUID || len(back.Edges) < len(back.Resources())-2 {
				t.Errorf("%s: %+v, %v", c.Node, back, err)
			}
		}
	}
}

// TestExportsErrors checks that errors name the files, and that a node that fails in the
// first pass is counted.
func TestExportsErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"twice/a.json":        `{"certname":"n","resources":[]}`,
		"twice/b.json":        `{"certname":"n","resources":[]}`,
		"bad/a.json":          `{"certname":"n","resources":[],"edges":[{"source":{"type":"A"},"target":{},"relationship":"contains"}]}`,
		"none/x":              ``,
		"e/manifests/site.pp": "if $trusted['certname'] == 'b' { fail('no') }\n@@notify { $trusted['certname']: }\nNotify <<| |>>",
		"d/manifests/site.pp": "@@notify { 'same': }\nNotify <<| |>>",
		"r/manifests/site.pp": "@@notify { $trusted['certname']: require => Notify['x'] }\nif $trusted['certname'] == 'b' { Notify <<| |>> }",
	})
	for name, want := range map[string]string{
		"twice": "b.json' cannot be used: there are two catalogs of the node n",
		"bad":   "edges[0].source",
		"none":  "has no catalogs",
	} {
		if _, err := site.ReadExports(t.Context(), filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	fleet := func(env string) (failed int, errs []string) {
		t.Helper()
		s, err := site.Open(t.Context(), dir, env, options, nil)
		if err != nil {
			t.Fatal(err)
		}
		nodes := []site.Node{{Name: "a", Facts: value.NewHash()}, {Name: "b", Facts: value.NewHash()}, {Name: "c", Facts: value.NewHash()}}
		x, failed, err := site.Gather(t.Context(), s.With(&exports.Index{}), nodes, 0)
		if err != nil {
			t.Fatal(err)
		}
		for c := range site.CompileAll(t.Context(), s.With(x), nodes, 0) {
			text := fmt.Sprint(c.Err)
			if c.Err == nil {
				text = fmt.Sprint(len(c.Collected))
			}
			errs = append(errs, text)
		}
		return failed, errs
	}
	if failed, errs := fleet("e"); failed != 1 || errs[0] != "1" || errs[2] != "1" || !strings.Contains(errs[1], "no") {
		t.Errorf("%d failed, %q", failed, errs)
	}
	_, errs := fleet("d")
	for i, other := range []string{"b", "a", "a"} {
		for _, want := range []string{"site.pp:2", "a duplicate resource was found while collecting exported resources: Notify[same], exported by " + other + " at ", "is declared already, at "} {
			if !strings.Contains(errs[i], want) {
				t.Errorf("got %s, want %s", errs[i], want)
			}
		}
	}
	if _, errs := fleet("r"); !strings.Contains(errs[1], "Notify['x'] is named by Notify[") && !strings.Contains(errs[1], "not declared") {
		t.Errorf("got %q", errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, nodes := exporting(t)
	if _, _, err := site.Gather(ctx, s.With(&exports.Index{}), nodes, 0); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
