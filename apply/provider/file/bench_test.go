package file_test

import (
	"fmt"
	"os"
	"testing"

	"bolt/apply"
	"bolt/apply/provider/file"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// thousand is a catalog of a thousand files in a directory.
func thousand(b *testing.B, dir string) *catalog.Catalog {
	b.Helper()
	c := &catalog.Catalog{}
	for i := range 1000 {
		params := ordered.Of("ensure", "file", "content", fmt.Sprintf("%d\n%01000d\n", i, i), "mode", "0644", "owner", "root", "group", "root")
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "File", Title: fmt.Sprintf("%s/f%d", dir, i)}, Params: params}); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

func applyAll(b *testing.B, c *catalog.Catalog) (changed int) {
	b.Helper()
	run, err := apply.Prepare(c, resource.NewHost(), apply.Options{Types: map[string]resource.Type{"File": file.New()}})
	if err != nil {
		b.Fatal(err)
	}
	_, err = run.Apply(b.Context(), func(r *report.Result) {
		switch r.Status {
		case report.Changed:
			changed++
		case report.Failed:
			b.Error(r.Failure())
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return changed
}

// BenchmarkFresh makes a thousand files, with a sync of each.
func BenchmarkFresh(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		c := thousand(b, dir)
		b.StartTimer()
		if n := applyAll(b, c); n != 1000 {
			b.Fatal(n)
		}
		b.StopTimer()
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkUnchanged reads a thousand files.
func BenchmarkUnchanged(b *testing.B) {
	c := thousand(b, b.TempDir())
	applyAll(b, c)
	for b.Loop() {
		if n := applyAll(b, c); n != 0 {
			b.Fatal(n)
		}
	}
}
