package history

import (
	"fmt"
	"testing"
)

// BenchmarkAdd keeps a report of a node that has as many reports as are kept.
func BenchmarkAdd(b *testing.B) {
	d := Open(b.TempDir(), Keep)
	for n := range Keep {
		if err := d.Add(made("web1", n)); err != nil {
			b.Fatal(err)
		}
	}
	n := Keep
	for b.Loop() {
		n++
		if err := d.Add(made("web1", n)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLast reads the newest summary of each of 10,000 nodes with two reports.
func BenchmarkLast(b *testing.B) {
	const nodes = 10_000
	d := Open(b.TempDir(), Keep)
	for n := range nodes {
		for run := range 2 {
			if err := d.Add(made(fmt.Sprintf("web%d", n), run)); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		found := 0
		for _, err := range d.Last(b.Context(), nil) {
			if err != nil {
				b.Fatal(err)
			}
			found++
		}
		if found != nodes {
			b.Fatal(found)
		}
	}
}
