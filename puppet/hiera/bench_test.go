package hiera_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bolt/puppet/hiera"
)

// levels is a hierarchy of six levels with 2,000 keys in each of three files.
func levels() map[string]string {
	var hierarchy strings.Builder
	hierarchy.WriteString(defaults + "hierarchy:\n")
	for _, p := range []string{"nodes/%{trusted.certname}", "role/%{trusted.extensions.pp_role}", "os/%{facts.os.name}-%{facts.os.release.major}", "os/%{facts.os.family}", "kernel/%{facts.kernel}", "common"} {
		fmt.Fprintf(&hierarchy, "  - {name: '%s', path: '%s.yaml'}\n", p, p)
	}
	files := map[string]string{env + "hiera.yaml": hierarchy.String()}
	for i, name := range []string{"role/web", "os/Debian", "common"} {
		var b strings.Builder
		b.WriteString("lookup_options: {'^h.*': {merge: deep}}\n")
		for k := range 2000 {
			switch k % 10 {
			case 0:
				fmt.Fprintf(&b, "h%d: {level%d: [%d, %d], nested: {x: %d}}\n", k, i, k, i, i)
			case 1:
				fmt.Fprintf(&b, "i%d: \"%%{facts.kernel} %d\"\n", k, i)
			default:
				if k%3 == i {
					fmt.Fprintf(&b, "k%d: value %d of %d\n", k, k, i)
				}
			}
		}
		files[env+"data/"+name+".yaml"] = b.String()
	}
	return files
}

// BenchmarkLookup makes 1,000 lookups in one session: plain values,
// interpolated values, and deep merges that lookup_options select.
func BenchmarkLookup(b *testing.B) {
	w := newWorld(b, worldOptions{files: levels()})
	ctx := context.Background()
	at := hiera.AtSite(w.in.Site(ctx, nil))
	for _, kind := range []struct {
		name string
		key  func(i int) string
	}{
		{"plain", func(i int) string { return fmt.Sprintf("k%d", 2+i%8+i%200*10) }},
		{"interpolated", func(i int) string { return fmt.Sprintf("i%d", i%200*10+1) }},
		{"deep", func(i int) string { return fmt.Sprintf("h%d", i%200*10) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			keys := make([][]string, 1000)
			for i := range keys {
				keys[i] = []string{kind.key(i)}
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, k := range keys {
					if _, err := w.s.Lookup(ctx, at, hiera.Request{Names: k}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/lookup")
		})
	}
}

// BenchmarkSession makes a session and its first lookup, with cached files.
func BenchmarkSession(b *testing.B) {
	w := newWorld(b, worldOptions{files: levels()})
	ctx := context.Background()
	at := hiera.AtSite(w.in.Site(ctx, nil))
	b.ReportAllocs()
	for b.Loop() {
		s := w.h.Session(hiera.SessionOptions{})
		if _, err := s.Lookup(ctx, at, hiera.Request{Names: []string{"k12"}}); err != nil {
			b.Fatal(err)
		}
	}
}
