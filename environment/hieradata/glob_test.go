package hieradata

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// files makes files, and links "name -> target", and returns their folder.
func files(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// globbed is the folder that patterns are tried in.
func globbed(t *testing.T) string {
	return files(t, "a.yaml", "b.yaml", "c.json", ".hidden.yaml", "d/e.yaml", "d/f/g.yaml", "d.yaml/x", "[k].yaml", "z.yaml", "a[b", "a-b", "!a", "^a", "a]b",
		"é.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml", ".dot", "x*y", "q{r", "back\\slash", ".hd/a.yaml", "link -> d", "broken -> nowhere", "la.yaml -> a.yaml")
}

// TestGlobsLikeRuby compares the results with Ruby 3.1's Dir.glob
// (testdata/glob.jsonl).
func TestGlobsLikeRuby(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "glob.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	t.Chdir(globbed(t))
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct {
			Pattern string
			Want    []string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got, err := Entries(t.Context(), c.Pattern)
		if err != nil || !slices.Equal(got, c.Want) {
			t.Errorf("%s: %q, %v, want %q", c.Pattern, got, err, c.Want)
		}
	}
	if n < 100 {
		t.Errorf("only %d patterns", n)
	}
}

// TestGlobEnds: the end of a context ends a search.
func TestGlobEnds(t *testing.T) {
	dir := files(t, strings.Repeat("d/", 20)+"f.yaml")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for _, pattern := range []string{"/**/*", "/*", "/d/d", "/d/*/"} {
		if got, err := (Files{}).Glob(ctx, dir+pattern); !errors.Is(err, why) && !strings.HasSuffix(pattern, "/") || got != nil {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
		if got, err := Entries(ctx, dir+pattern); !errors.Is(err, why) || got != nil {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
}

// TestGlob compares with what Ruby 3.1's Dir.glob gives without directories and
// without links that lead nowhere.
func TestGlob(t *testing.T) {
	t.Chdir(globbed(t))
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"*.yaml", []string{"[k].yaml", "a.yaml", "b.yaml", "la.yaml", "z.yaml", "é.yaml"}},
		{"[!a].yaml", []string{"b.yaml", "z.yaml", "é.yaml"}},
		{"[^a].yaml", []string{"b.yaml", "z.yaml", "é.yaml"}},
		{"[!ab]*", []string{"!a", "[k].yaml", "^a", "c.json", "la.yaml", "q{r", "x*y", "z.yaml", "é.yaml"}},
		{"[^a-b].yaml", []string{"z.yaml", "é.yaml"}},
		{"[a-b].yaml", []string{"a.yaml", "b.yaml"}},
		{"[b-a].yaml", []string{"a.yaml", "b.yaml"}},
		{"[]a].yaml", nil},
		{"[!]a].yaml", nil},
		{"[].yaml", nil},
		{"[!].yaml", []string{"a.yaml", "b.yaml", "z.yaml", "é.yaml"}},
		{"[a", nil},
		{"a[b", nil},
		{"a\\[b", []string{"a[b"}},
		{"[\\]a]*", []string{"a-b", "a.yaml", "a[b", "a]b"}},
		{"a[]]b", nil},
		{"a[-]b", []string{"a-b"}},
		{"a[a-]b", []string{"a-b"}},
		{"a[+--]b", []string{"a-b"}},
		{"[!^]a", []string{"!a"}},
		{"[!a-z]a", []string{"!a", "^a"}},
		{"[\\!]a", []string{"!a"}},
		{"[!!]a", []string{"^a"}},
		{"[^^]a", []string{"!a"}},
		{"[é].yaml", []string{"é.yaml"}},
		{"[à-ï].yaml", []string{"é.yaml"}},
		{"?.yaml", []string{"a.yaml", "b.yaml", "z.yaml", "é.yaml"}},
		{"[.]hidden.yaml", nil},
		{"\\.hidden.yaml", []string{".hidden.yaml"}},
		{".*", []string{".dot", ".hidden.yaml"}},
		{"**", []string{"!a", "[k].yaml", "^a", "a-b", "a.yaml", "a[b", "a]b", "b.yaml", "back\\slash", "c.json", "la.yaml", "q{r", "x*y", "z.yaml", "é.yaml"}},
		{"**/**", []string{"!a", "[k].yaml", "^a", "a-b", "a.yaml", "a[b", "a]b", "b.yaml", "back\\slash", "c.json", "d/e.yaml", "d/f/g.yaml", "d.yaml/x", "la.yaml", "q{r", "sub/x/a.yaml", "sub/x/y/a.yaml", "x*y", "z.yaml", "é.yaml"}},
		{"**/*.yaml", []string{"[k].yaml", "a.yaml", "b.yaml", "d/e.yaml", "d/f/g.yaml", "la.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml", "z.yaml", "é.yaml"}},
		{"**/**/*.yaml", []string{"[k].yaml", "a.yaml", "b.yaml", "d/e.yaml", "d/f/g.yaml", "la.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml", "z.yaml", "é.yaml"}},
		{"**/**/**/a.yaml", []string{"a.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"**/x/**/a.yaml", []string{"sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"**/x/**/*.yaml", []string{"sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"sub/**/*.yaml", []string{"sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"**.yaml", []string{"[k].yaml", "a.yaml", "b.yaml", "la.yaml", "z.yaml", "é.yaml"}},
		{"a**", []string{"a-b", "a.yaml", "a[b", "a]b"}},
		{"**/a.yaml", []string{"a.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"{a,a}.yaml", []string{"a.yaml", "a.yaml"}},
		{"{a,b,}.yaml", []string{"a.yaml", "b.yaml"}},
		{"{}.yaml", nil},
		{"{a.yaml", nil},
		{"a.yaml}", nil},
		{"q{r", nil},
		{"q\\{r", []string{"q{r"}},
		{"{a,{b,z}}.yaml", []string{"a.yaml", "b.yaml", "z.yaml"}},
		{"x\\*y", []string{"x*y"}},
		{"x*y", []string{"x*y"}},
		{"back\\\\slash", []string{"back\\slash"}},
		{"link/*", []string{"link/e.yaml"}},
		{"**/link/*", []string{"link/e.yaml"}},
		{"*/e.yaml", []string{"d/e.yaml", "link/e.yaml"}},
		{"./*.yaml", []string{"./[k].yaml", "./a.yaml", "./b.yaml", "./la.yaml", "./z.yaml", "./é.yaml"}},
		{"**/", nil},
		{"d/", nil},
		{"d/**", []string{"d/e.yaml"}},
		{"d/**/", nil},
		{"d/**/g.yaml", []string{"d/f/g.yaml"}},
		{"**/f/../e.yaml", nil},
		{"*/../a.yaml", []string{"d/../a.yaml", "d.yaml/../a.yaml", "link/../a.yaml", "sub/../a.yaml"}},
		{"brok*", nil},
		{"la.*", []string{"la.yaml"}},
		{"**/d/**/f/**/*.yaml", []string{"d/f/g.yaml"}},
		{"[a-", nil},
		{"[a-]", nil},
		{"[!", nil},
		{"*.yaml/x", []string{"d.yaml/x"}},
		{"**/x", []string{"d.yaml/x"}},
		{"[[]k].yaml", []string{"[k].yaml"}},
		{"[", nil},
		{"\\", nil},
		{"a\\", nil},
		{"[a\\-b].yaml", []string{"a.yaml", "b.yaml"}},
		{"[\\a].yaml", []string{"a.yaml"}},
		{"{**/,}a.yaml", []string{"a.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml", "a.yaml"}},
		{"{**/x,sub}/**/a.yaml", []string{"sub/x/a.yaml", "sub/x/y/a.yaml", "sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"[a/b]", nil},
		{"d[/]e.yaml", nil},
		{"*[b", nil},
		{"**[b", nil},
		{"[^]]*.json", nil},
		{"**/.hd/a.yaml", []string{".hd/a.yaml"}},
		{"**/.*", []string{".dot", ".hidden.yaml"}},
		{"nope/*.yaml", nil},
		{"nope.yaml", nil},
		{"d", nil},
		{"{b,a}.yaml", []string{"b.yaml", "a.yaml"}},
		{"{b,{a,c}}.{yaml,json}", []string{"b.yaml", "a.yaml", "c.json"}},
		{"*/*/*.yaml", []string{"d/f/g.yaml", "link/f/g.yaml", "sub/x/a.yaml"}},
		{"**/y/**/a.yaml", []string{"sub/x/y/a.yaml"}},
		{"**/**/x/**/**/*", []string{"sub/x/a.yaml", "sub/x/y/a.yaml"}},
		{"d*/**/*", []string{"d/e.yaml", "d/f/g.yaml", "d.yaml/x"}},
		{"*a*", []string{"!a", "[k].yaml", "^a", "a-b", "a.yaml", "a[b", "a]b", "b.yaml", "back\\slash", "la.yaml", "z.yaml", "é.yaml"}},
		{"*a*a*", []string{"a.yaml", "back\\slash", "la.yaml"}},
		{"?*?*.yaml", []string{"[k].yaml", "la.yaml"}},
	} {
		got, err := Files{}.Glob(t.Context(), c.pattern)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.pattern, got, err, c.want)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{dir + "/**/**/g.*": dir + "/d/f/g.yaml", "../" + filepath.Base(dir) + "/b.*": "../" + filepath.Base(dir) + "/b.yaml"} {
		if got, err := (Files{}).Glob(t.Context(), pattern); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, %v, want %q", pattern, got, err, want)
		}
	}
}

// TestGlobLimits: patterns that stand for too much are errors, and soon.
func TestGlobLimits(t *testing.T) {
	dir := files(t, "a/loop -> .", "a/b -> .", "a/f.yaml", strings.Repeat("d/", 12)+"f.yaml")
	for _, c := range []struct{ name, pattern, want string }{
		{"alternatives", strings.Repeat("{a,b}", 20), "expands to too many"},
		{"groups", strings.Repeat("{a}", 20_000), "expands to too many"},
		{"alternatives of groups", strings.Repeat("{a,b}", 13) + strings.Repeat("{a}", 10_000), "expands to too many"},
		{"long", strings.Repeat("x", 1<<17), "too long"},
		{"links in a circle", "a/" + strings.Repeat("*/", 64) + "*", "too many files and folders"},
		{"alternatives of links", "a/" + strings.Repeat("{loop,b}/", 12) + strings.Repeat("*/", 9) + "*", "too many files and folders"},
		{"open braces", strings.Repeat("{", 60_000), ""},
		{"stars", strings.Repeat("*a", 30_000) + "b", ""},
		{"folders that stay", strings.Repeat("./", 30_000) + "*", ""},
		{"folders below folders", strings.Repeat("**/d/", 100) + "*", ""},
	} {
		start := time.Now()
		got, err := Files{}.Glob(t.Context(), dir+"/"+c.pattern)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d files, %v, want %q", c.name, len(got), err, c.want)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: took %v", c.name, d)
		}
	}
	got, err := Files{}.Glob(t.Context(), dir+"/"+strings.Repeat("**/", 40)+"d/**/d/**/f.yaml")
	if err != nil || len(got) != 1 {
		t.Errorf("one file below many folders: %q, %v", got, err)
	}
}
