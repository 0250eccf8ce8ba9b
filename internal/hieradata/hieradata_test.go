package hieradata

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml", "c.json", ".hidden.yaml", "d/e.yaml", "d/f/g.yaml", "d.yaml/x", "[k].yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The expected lists are what Ruby 3.1's Pathname.glob gives.
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"*.yaml", []string{"[k].yaml", "a.yaml", "b.yaml"}},
		{"{b,a}.yaml", []string{"b.yaml", "a.yaml"}},
		{"{b,{a,c}}.{yaml,json}", []string{"b.yaml", "a.yaml", "c.json"}},
		{"?.yaml", []string{"a.yaml", "b.yaml"}},
		{"[ab].yaml", []string{"a.yaml", "b.yaml"}},
		{"**/*.yaml", []string{"[k].yaml", "a.yaml", "b.yaml", "d/e.yaml", "d/f/g.yaml"}},
		{"d/**/g.yaml", []string{"d/f/g.yaml"}},
		{".*.yaml", []string{".hidden.yaml"}},
		{"\\[k\\].yaml", []string{"[k].yaml"}},
		{"a.yaml", []string{"a.yaml"}},
		{"nope/*.yaml", nil},
		{"nope.yaml", nil},
		{"d", nil},
	} {
		got, err := Files{}.Glob(filepath.Join(dir, c.pattern))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range got {
			got[i], _ = filepath.Rel(dir, f)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.pattern, got, c.want)
		}
	}
}

func TestStat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, ok := (Files{}).Stat(path); ok {
		t.Error("a file that is not there has a stamp")
	}
	if err := os.WriteFile(path, []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	a, ok := Files{}.Stat(path)
	if !ok || a.Size != 1 || a.Inode == 0 {
		t.Errorf("stamp %+v, %v", a, ok)
	}
	if err := os.WriteFile(path, []byte("ab"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, _ := (Files{}).Stat(path); a == b {
		t.Error("another content has the same stamp")
	}
}

func TestJSONComments(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": 1}`: `{"a": 1}`,
		"{/* x */\"a//b\": \"/* \\\" */\", // y\n\"c\": 1}": "{       \"a//b\": \"/* \\\" */\",     \n\"c\": 1}",
		"{} //":      "{}   ",
		"{} /* open": "{} /* open",
	} {
		if got := string(blankComments([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
