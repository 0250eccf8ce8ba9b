package fleet

import (
	"testing"

	"bolt/catalog"
	"bolt/format/ordered"
)

// TestFixedNoop checks that a resource cannot leave the noop mode.
func TestFixedNoop(t *testing.T) {
	c := &catalog.Catalog{Name: "web1"}
	for title, noop := range map[string]any{"no": false, "text": "false", "yes": true} {
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "File", Title: title}, Params: ordered.Of("noop", noop, "mode", "0644")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "File", Title: "plain"}}); err != nil {
		t.Fatal(err)
	}
	for _, noop := range []bool{true, false} {
		got, err := Fixed(c, &Delivery{Noop: noop}, "1").Compile(t.Context(), nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Resources() {
			_, has := r.Params.Get("noop")
			if want := r.Title == "yes" || !noop && r.Title != "plain"; has != want {
				t.Errorf("noop %v: %s has noop: %v, want %v", noop, r.Title, has, want)
			}
		}
	}
	if v := c.Find(catalog.Ref{Type: "File", Title: "no"}).Params.Value("noop"); v != false {
		t.Errorf("the catalog of the release was changed: %v", v)
	}
}
