package glob

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"*", "web1", true}, {"*", "", true}, {"*", ".hidden", false}, {".h*", ".hidden", true}, {"[.]h*", ".hidden", false},
		{"web?", "web1", true}, {"web?", "web", false}, {"w*1", "web.example/x1", true},
		{"WEB*", "web1", true}, {"web*", "WEB1", true}, {"web[1-3]", "web2", true}, {"web[^1-3]", "web2", false}, {"web[!1-3]", "web4", true},
		{"web[]]", "web]", true}, {"web[a-]", "web-", true}, {"web[", "web[", true}, {"web[1", "web1", false}, {`web\*`, "web*", true}, {`web\*`, "webx", false},
		{"{a,b}c", "bc", true}, {"{a,b}c", "c", false}, {"x{,y}", "x", true}, {"x{,y}", "xy", true}, {"{a{1,2},b}", "a2", true},
		{"{a", "{a", true}, {"a}", "a}", true}, {`\{a,b\}`, "{a,b}", true}, {"{a*,b*}", "bar", true},
		{"a*b*c", "aXbYc", true}, {"a*b*c", "aXcYb", false}, {"*.example.com", "web.example.com", true}, {"**", "x", true},
	}
	for _, tt := range tests {
		t.Run(tt.pattern+" "+tt.name, func(t *testing.T) {
			g, err := Compile(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.Match(tt.name); got != tt.want {
				t.Errorf("got %v (alternatives %q)", got, []string(g))
			}
		})
	}
}

func TestWithoutBraces(t *testing.T) {
	for name, want := range map[string]bool{"{a,b}1": true, "a1": false, "{A,B}x": true} {
		if got := WithoutBraces("{a,B}*").Match(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("web[1-3]*", "web1")
	f.Add("{a,b{c,d}}", "bc")
	f.Add(`\[{,}?*`, "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := Compile(pattern)
		if err != nil {
			return
		}
		g.Match(name)
		if !strings.ContainsAny(pattern, Chars+`\`) && !g.Match(pattern) {
			t.Fatalf("%q does not match itself", pattern)
		}
	})
}
