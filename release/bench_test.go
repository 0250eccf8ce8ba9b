package release

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/internal/inorder"
)

// BenchmarkUnchanged creates releases of 1,000 nodes that have not changed, from catalogs of 200
// resources.
func BenchmarkUnchanged(b *testing.B) {
	const nodes, resources = 1000, 200
	var text strings.Builder
	for i := range resources {
		fmt.Fprintf(&text, `,{"type":"File","title":"/etc/file%d","parameters":{"ensure":"file","content":"line %d\n","owner":"root","mode":"0644"}}`, i, i)
	}
	catalogs := make([]*catalog.Catalog, nodes)
	names := make([]int, nodes)
	for i := range catalogs {
		names[i] = i
		catalogs[i] = parse(b, fmt.Sprintf(`{"name":"n%d","resources":[{"type":"Notify","title":"n%d"}%s]}`, i, i, text.String()))
	}
	a := archive(b)
	make := func(changed int) {
		r, err := a.Create(b.Context(), Options{Author: "ada"}, func(ctx context.Context, d *Draft) error {
			for err := range inorder.Each(names, func(i int) error { return d.Add(ctx, fmt.Sprint("n", i), catalogs[i], Making{}) }) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		must(b, err)
		if r.Changed() != changed {
			b.Fatalf("%d nodes have changed", r.Changed())
		}
	}
	make(nodes)
	for b.Loop() {
		make(0)
	}
}
