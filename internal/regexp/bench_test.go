package regexp

import (
	"regexp"
	"strings"
	"testing"
)

// benchPatterns compares with Go's regexp in the common case: patterns as
// in manifests.
var benchPatterns = []struct{ name, src, goSrc, s string }{
	{"version", `^\d+\.\d+(\.\d+)?$`, `(?m:^)\d+\.\d+(\.\d+)?(?m:$)`, "10.20.30"},
	{"name", `\A[a-z][a-z0-9_]*\z`, `\A[a-z][a-z0-9_]*\z`, "some_class_name"},
	{"nameZ", `\A[a-z][a-z0-9_]*\Z`, `\A[a-z][a-z0-9_]*\z`, "some_class_name"},
	{"options", `(?i:^(yes|on|true|1)$)`, `(?i:(?m:^)(yes|on|true|1)(?m:$))`, "TRUE"},
	{"word", `\bweb\d+\b`, `\bweb\d+\b`, "the host web12 is up"},
	{"miss", `error`, `error`, strings.Repeat("all is well here. ", 50)},
	{"find", `(\w+)=(\w+)`, `(\w+)=(\w+)`, "a line with key=value in it"},
}

func BenchmarkMatch(b *testing.B) {
	for _, p := range benchPatterns {
		b.Run(p.name+"/ours", func(b *testing.B) {
			r := mustCompile(b, p.src)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Match(p.s); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(p.name+"/go", func(b *testing.B) {
			r := regexp.MustCompile(p.goSrc)
			b.ReportAllocs()
			for b.Loop() {
				r.MatchString(p.s)
			}
		})
	}
}

func BenchmarkFindIndex(b *testing.B) {
	p := benchPatterns[len(benchPatterns)-1]
	b.Run("ours", func(b *testing.B) {
		r := mustCompile(b, p.src)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.FindIndex(p.s, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go", func(b *testing.B) {
		r := regexp.MustCompile(p.goSrc)
		b.ReportAllocs()
		for b.Loop() {
			r.FindStringSubmatchIndex(p.s)
		}
	})
}

// BenchmarkMatcher has patterns that only the matcher supports.
func BenchmarkMatcher(b *testing.B) {
	long := strings.Repeat("key = value\n", 1000)
	for _, p := range []struct{ name, src, s string }{
		{"not", `^(?!root$)[a-z]+$`, "postgres"},
		{"quoted", `(['"])(.*?)\1`, `say "hello" to them`},
		{"behind", `(?<=key )=(?= none)`, long},
		{"possessive", `\A(?:\w++ = \w++\n)*+\z`, long},
	} {
		b.Run(p.name, func(b *testing.B) {
			r := mustCompile(b, p.src)
			b.SetBytes(int64(len(p.s)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Match(p.s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, p := range benchPatterns {
		b.Run(p.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(p.src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(p.name+"/first match", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, _ := Compile(p.src)
				if _, err := r.Match(p.s); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(p.name+"/go", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				regexp.MustCompile(p.goSrc)
			}
		})
	}
}
