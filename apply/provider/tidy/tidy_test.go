package tidy_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/apply"
	"bolt/apply/provider/file"
	"bolt/apply/provider/tidy"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// old is a time that is long ago.
func old() time.Time { return time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) }

func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, aged := strings.CutSuffix(name, "!")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if aged {
			defer func() {
				if err := os.Chtimes(path, old(), old()); err != nil {
					t.Error(err)
				}
			}()
		}
	}
}

// run applies a tidy resource, and returns the files that were removed.
func run(t *testing.T, dir string, declared []string, noop bool, params ...any) []string {
	t.Helper()
	c := &catalog.Catalog{}
	if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "Tidy", Title: dir}, Params: ordered.Of(params...)}); err != nil {
		t.Fatal(err)
	}
	for _, d := range declared {
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "File", Title: filepath.Join(dir, d)}, Params: ordered.Of("ensure", "present")}); err != nil {
			t.Fatal(err)
		}
	}
	h := resource.NewHost()
	h.Backup = func(path string) error { t.Errorf("%s is backed up", path); return nil }
	r, err := apply.Prepare(c, h, apply.Options{Noop: noop, Types: map[string]resource.Type{"File": file.New(), "Tidy": tidy.Type{}}})
	if err != nil {
		t.Fatal(err)
	}
	var removed []string
	_, err = r.Apply(t.Context(), func(r *report.Result) {
		rel, err := filepath.Rel(dir, r.Ref.Title)
		if err != nil {
			t.Error(err)
		}
		switch {
		case r.Ref.Type == "Tidy" && r.Status != report.Unchanged, r.Status == report.Failed:
			t.Errorf("%s is %s: %v", r.Ref, r.Status, r.Events)
		case r.Status == report.Changed || r.Status == report.Noop:
			removed = append(removed, rel)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(removed)
	return removed
}

func TestTidy(t *testing.T) {
	for name, c := range map[string]struct {
		files    string // "!" after an old one
		declared string
		params   []any
		want     string
	}{
		"age":                       {"a! b s/c! s/d", "", []any{"age", "1w", "recurse", true}, "a s/c"},
		"no recursion":              {"a!", "", []any{"age", "1w"}, ""},
		"levels":                    {"a! s/c! s/t/d!", "", []any{"age", "1", "recurse", int64(2)}, "a s/c"},
		"size":                      {"a b/c", "", []any{"size", "100b", "recurse", true}, "a b/c"},
		"a larger size":             {"a b/c", "", []any{"size", "1", "recurse", true}, ""},
		"size or age":               {"a! b", "", []any{"size", "1k", "age", "2Days", "recurse", true}, "a"},
		"all":                       {"a b/c", "", []any{"recurse", "inf"}, "a b/c"},
		"matches":                   {"a.log! .b.log! c.txt! log/d!", "", []any{"recurse", true, "age", "0", "matches", []any{"*.log", "x"}}, ".b.log a.log"},
		"declared files":            {"a! b!", "a", []any{"recurse", true, "age", "1w"}, "b"},
		"directories":               {"s/a! s/t/b! s/u/! s/t/! s/!", "", []any{"recurse", true, "age", "1w", "rmdirs", true, "type", "mtime"}, "s s/a s/t s/t/b s/u"},
		"a directory in use":        {"s/a! s/t/b s/u/! s/t/! s/!", "", []any{"recurse", true, "age", "1w", "rmdirs", true, "type", "mtime"}, "s/a s/u"},
		"a declared file in it":     {"s/a! s/b! s/!", "s/b", []any{"recurse", true, "age", "1w", "rmdirs", true, "type", "mtime"}, "s/a"},
		"an empty one at the limit": {"s/t/! s/!", "", []any{"recurse", int64(2), "age", "1w", "rmdirs", true, "type", "mtime"}, "s s/t"},
		"names around a slash":      {"s/a! s-/x! s!/y! s/! s-/! s!/!", "", []any{"recurse", true, "age", "1w", "rmdirs", true, "type", "mtime"}, "s s! s!/y s- s-/x s/a"},
		"more than max_files":       {"a! b!", "", []any{"age", "1w", "recurse", true, "max_files", int64(1)}, ""},
		"below the limit":           {"s/t/b! s/t/! s/!", "", []any{"recurse", int64(1), "age", "1w", "rmdirs", true, "type", "mtime"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, strings.Fields(c.files)...)
			if got := strings.Join(run(t, dir, strings.Fields(c.declared), true, c.params...), " "); got != c.want {
				t.Errorf("noop: %s, want %s", got, c.want)
			}
			if got := strings.Join(run(t, dir, strings.Fields(c.declared), false, c.params...), " "); got != c.want {
				t.Errorf("removed %s, want %s", got, c.want)
			}
			for _, name := range strings.Fields(c.want) {
				if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
			if got := run(t, dir, strings.Fields(c.declared), false, c.params...); got != nil {
				t.Errorf("the second run removed %v", got)
			}
		})
	}
}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "f!", "d/x!", "d/!")
	if err := os.Symlink("d", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "l", "none", "f/below"} {
		want := "."
		if name == "none" || name == "f/below" {
			want = ""
		}
		if got := strings.Join(run(t, filepath.Join(dir, name), nil, false, "recurse", true, "age", "0", "type", "mtime"), " "); got != want {
			t.Errorf("of %s, %q was removed", name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "d/x")); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"path", "x"}, "path"},
		{[]any{"matches", "x"}, "matches"},
		{[]any{"matches", "x", "recurse", int64(0)}, "matches"},
		{[]any{"age", "1x"}, "age"},
		{[]any{"age", "w"}, "age"},
		{[]any{"age", int64(1)}, "age"},
		{[]any{"size", int64(1)}, "size"},
		{[]any{"age", "-1d"}, "age"},
		{[]any{"size", "99999999999t"}, "size"},
		{[]any{"recurse", "deep"}, "recurse"},
		{[]any{"max_files", int64(-1)}, "max_files"},
		{[]any{"rmdirs", "maybe"}, "rmdirs"},
	} {
		r := &resource.Resource{Ref: catalog.Ref{Type: "Tidy", Title: "/d"}, Params: ordered.Of(c.params...)}
		_, err := tidy.Type{}.New(r)
		var p *resource.ParamError
		if !errors.As(err, &p) || p.Param != c.want {
			t.Errorf("%v: error is %v, want one about %s", c.params, err, c.want)
		}
	}
}
