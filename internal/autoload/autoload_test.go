package autoload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bolt/modules"
	"bolt/puppet/eval"
)

// tree makes files and returns their folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newLoader(dir string) *Loader { return New(modules.NewPath(modules.Module{}, dir), false) }

// TestLoad: what is where its name tells is found, and what is there instead is
// an error.
func TestLoad(t *testing.T) {
	l := newLoader(tree(t, map[string]string{
		"m/functions/f.pp":          "function m::f() { 1 }",
		"m/functions/a/b.pp":        "function m::a::b() { 1 }",
		"m/functions/other.pp":      "function m::another() { 1 }",
		"m/functions/empty.pp":      "# nothing",
		"m/functions/bad.pp":        "function m::bad(",
		"m/functions/unchecked.pp":  "function m::unchecked() { 1; 2 }",
		"m/types/t.pp":              "type M::T = String",
		"m/types/init.pp":           "type M = String",
		"m/manifests/init.pp":       "class m { class inside {} }",
		"m/manifests/c.pp":          "class m::c {} \n define m::c::d() {}",
		"m/manifests/e/g.pp":        "class m::e::g {}",
		"m/plans/p.pp":              "plan m::p() {}",
		"m/lib/puppet/type/kind.rb": "",
		"Upper/functions/f.pp":      "function upper::f() { 1 }",
	}))
	for _, c := range []struct {
		kind eval.Kind
		name string
		want string // what is found; "" for nothing, "! …" for an error
	}{
		{eval.KindFunction, "m::f", "m::f"},
		{eval.KindFunction, "m::a::b", "m::a::b"},
		{eval.KindFunction, "m::another", ""},
		{eval.KindFunction, "m::other", "! other.pp has to define the function m::other, and defines the function m::another"},
		{eval.KindFunction, "m::empty", "! defines nothing"},
		{eval.KindFunction, "m::bad", "! bad.pp"},
		{eval.KindFunction, "m::unchecked", "! unchecked.pp"},
		{eval.KindFunction, "m", ""},
		{eval.KindFunction, "f", ""},
		{eval.KindFunction, "none::f", ""},
		{eval.KindFunction, "upper::f", ""},
		{eval.KindFunction, "m::" + strings.Repeat("x", 300), ""},
		{eval.KindType, "m::t", "m::t"},
		{eval.KindType, "m", "m"},
		{eval.KindClass, "m", "m"},
		{eval.KindClass, "m::inside", "m::inside"},
		{eval.KindClass, "m::c", "m::c"},
		{eval.KindClass, "m::c::d", ""},
		{eval.KindDefine, "m::c::d", "m::c::d"},
		{eval.KindClass, "m::e::g", "m::e::g"},
		{eval.KindClass, "m::e", ""},
		{eval.KindTask, "m::c", ""},
		{eval.KindResourceType, "kind", "kind"},
		{eval.KindResourceType, "cron", "cron"},
		{eval.KindResourceType, "unheard_of", ""},
	} {
		d, err := l.Load(t.Context(), c.kind, c.name)
		want, bad := strings.CutPrefix(c.want, "! ")
		switch {
		case bad:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v %s: %v, want an error with %q", c.kind, c.name, err, want)
			}
		case err != nil:
			t.Errorf("%v %s: %v", c.kind, c.name, err)
		case (d != nil) != (want != "") || d != nil && d.Name != want:
			t.Errorf("%v %s: %v, want %q", c.kind, c.name, d, want)
		}
		if again, _ := l.Load(t.Context(), c.kind, c.name); again != d {
			t.Errorf("%v %s: another definition the second time", c.kind, c.name)
		}
	}
}

// TestRubyAdvice: what the message says to write is found once it is written.
func TestRubyAdvice(t *testing.T) {
	for _, c := range []struct {
		ruby, function, say string
		file, text, call    string // what there is after the advice was followed
	}{
		{"m/lib/puppet/functions/m/f.rb", "m::f", "write it in the Puppet language, in DIR/m/functions/f.pp, or do without it",
			"m/functions/f.pp", "function m::f() { 1 }", "m::f"},
		{"m/lib/puppet/functions/m/a/b.rb", "m::a::b", "write it in the Puppet language, in DIR/m/functions/a/b.pp, or do without it",
			"m/functions/a/b.pp", "function m::a::b() { 1 }", "m::a::b"},
		{"m/lib/puppet/functions/foo.rb", "foo", "write it in the Puppet language as m::foo, in DIR/m/functions/foo.pp, and call it by that name, or do without it",
			"m/functions/foo.pp", "function m::foo() { 1 }", "m::foo"},
		{"m/lib/puppet/parser/functions/old.rb", "old", "as m::old, in DIR/m/functions/old.pp, and call it by that name",
			"m/functions/old.pp", "function m::old() { 1 }", "m::old"},
		{"m/lib/puppet/functions/other/a/b.rb", "other::a::b", "in functions/a/b.pp of a module other, or do without it",
			"other/functions/a/b.pp", "function other::a::b() { 1 }", "other::a::b"},
	} {
		dir := tree(t, map[string]string{c.ruby: ""})
		_, err := newLoader(dir).Load(t.Context(), eval.KindFunction, c.function)
		var ruby *RubyError
		if !errors.As(err, &ruby) || ruby.Path != filepath.Join(dir, c.ruby) || ruby.Module.Name != "m" || ruby.Function != c.function {
			t.Errorf("%s: %v", c.function, err)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), dir, "DIR"); !strings.HasPrefix(got, "the function "+c.function+" of module m is written in Ruby (DIR/"+c.ruby+")") || !strings.Contains(got, c.say) {
			t.Errorf("%s: %s, want %q in it", c.function, got, c.say)
		}
		path := filepath.Join(dir, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if d, err := newLoader(dir).Load(t.Context(), eval.KindFunction, c.call); err != nil || d == nil {
			t.Errorf("%s, after the advice: %v, %v", c.call, d, err)
		}
	}
}

// TestMisses: names that programs make up do not fill memory.
func TestMisses(t *testing.T) {
	l := newLoader(tree(t, map[string]string{"m/functions/f.pp": "function m::f() { 1 }", "m/manifests/init.pp": "class m {}", "bad/manifests/init.pp": "class bad {"}))
	f, err := l.Load(t.Context(), eval.KindFunction, "m::f")
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	for i := range 2 * maxMisses {
		for _, kind := range []eval.Kind{eval.KindFunction, eval.KindClass} {
			if d, err := l.Load(t.Context(), kind, fmt.Sprintf("m::x%d", i)); d != nil || err != nil {
				t.Fatal(d, err)
			}
		}
		if _, err := l.Load(t.Context(), eval.KindClass, fmt.Sprintf("bad::x%d", i)); err == nil {
			t.Fatal("a file that cannot be parsed is no error")
		}
	}
	if n := count(&l.names); n > maxMisses+1 {
		t.Errorf("%d names are kept", n)
	}
	if n := count(&l.files); n > maxMisses+2 {
		t.Errorf("%d files are kept", n)
	}
	if again, _ := l.Load(t.Context(), eval.KindFunction, "m::f"); again != f {
		t.Error("what was found is forgotten")
	}
}

func count[K comparable, V any](m *memo[K, V]) (n int) {
	m.entries.Range(func(any, any) bool { n++; return true })
	return n
}

// TestPanic: a search that panicked is not one that found nothing.
func TestPanic(t *testing.T) {
	l := newLoader(t.TempDir())
	l.all = func() []modules.Module { panic("mistake") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		d, err := l.Load(t.Context(), eval.KindResourceType, "x")
		t.Error(d, err)
	}()
	if d, err := l.Load(t.Context(), eval.KindResourceType, "x"); err == nil {
		t.Errorf("after the panic: %v and no error", d)
	}
}

// TestMemoOnce: many goroutines, one search for each key.
func TestMemoOnce(t *testing.T) {
	var m memo[int, int]
	var searches atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for key := range 500 {
				v, err := m.get(key, func() (int, bool, error) {
					searches.Add(1)
					return key * 2, key%2 == 0, nil
				})
				if v != key*2 || err != nil {
					t.Errorf("%d: %v, %v", key, v, err)
				}
			}
		})
	}
	all.Wait()
	if n := searches.Load(); n != 500 {
		t.Errorf("%d searches", n)
	}
}

func TestFiles(t *testing.T) {
	dir := tree(t, map[string]string{"m/files/a/b.txt": "text", "m/secret": ""})
	f := Files{Path: modules.NewPath(modules.Module{}, dir)}
	path, ok := f.Find("files", "m/a/b.txt")
	if !ok || path != filepath.Join(dir, "m/files/a/b.txt") {
		t.Errorf("Find: %q, %v", path, ok)
	}
	if text, err := f.Read(path); err != nil || string(text) != "text" {
		t.Errorf("Read: %q, %v", text, err)
	}
	if p, ok := f.Find("files", path); !ok || p != path {
		t.Errorf("an absolute path: %q, %v", p, ok)
	}
	for _, bad := range []string{"m", "m/", "m/../secret", "m/a/c.txt", "none/a"} {
		if p, ok := f.Find("files", bad); ok {
			t.Errorf("%s is found, at %s", bad, p)
		}
	}
	if root, ok := f.Root("m"); !ok || root != filepath.Join(dir, "m") {
		t.Errorf("Root: %q, %v", root, ok)
	}
}
