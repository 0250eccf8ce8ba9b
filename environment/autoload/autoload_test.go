package autoload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
		"m/manifests/l.pp":          "class m::l {}\n$x = 1",
		"m/manifests/far.pp":        "class m::far {} class m::near {}",
		"m/functions/two.pp":        "function m::two() { 1 }\nfunction m::two::more() { 2 }",
		"m/functions/mixed.pp":      "type M::Mixed::T = String\nfunction m::mixed() { 1 }",
		"m/functions/logic.pp":      "function m::logic() { 1 }\n  $x = 1",
		"m/functions/mapped.pp":     "function m::mapped() { 1 }\ntype Runtime[ruby, 'X'] = Integer",
		"m/functions/longer.pp":     "\n function m::longer2() { 1 }",
		"m/functions/class.pp":      "class m::class_of {}",
		"m/functions/dir.pp/x":      "",
		"m/types/several.pp":        "type M::Several = String type M::Several::T = String",
		"m/types/init_typeset.pp":   "type M = TypeSet[{pcore_version => '1.0.0', version => '1.0.0', types => {A => Integer}}]",
		"set/types/init_typeset.pp": "type Set = TypeSet[{pcore_version => '1.0.0', version => '1.0.0', types => {A => Integer}}]",
		"m/outside.pp":              "function m::outside() { 1 }",
		"outside.pp":                "function outside() { 1 }",
		"lib/puppet/type/out.rb":    "",
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
		{eval.KindFunction, "m::other", "! other.pp:1:1: m::another is defined in a file for m::other"},
		{eval.KindFunction, "m::empty", "! empty.pp:1:1: the file must define the function m::empty, but defines nothing"},
		{eval.KindFunction, "m::two", "! two.pp:2:1: there is another definition before this one"},
		{eval.KindFunction, "m::mixed", "! mixed.pp:2:1: there is another definition before this one"},
		{eval.KindFunction, "m::logic", "! logic.pp:2:6: an assignment is outside of definitions"},
		{eval.KindFunction, "m::mapped", "! mapped.pp:2:6: there is another definition before this one"},
		{eval.KindFunction, "m::longer", "! longer.pp:2:2: the file must define the function m::longer, but defines the function m::longer2"},
		{eval.KindFunction, "m::class", "! class.pp:1:1: the file must define the function m::class, but defines the class m::class_of"},
		{eval.KindFunction, "m::dir", "! is a directory"},
		{eval.KindFunction, "m::../outside", ""},
		{eval.KindFunction, "m::..::outside", ""},
		{eval.KindFunction, "m::..", ""},
		{eval.KindFunction, "m::", ""},
		{eval.KindFunction, "m::/outside", ""},
		{eval.KindFunction, "m::_f", ""},
		{eval.KindFunction, "../outside", ""},
		{eval.KindFunction, "m::a/b", ""},
		{eval.KindClass, "m::../outside", ""},
		{eval.KindType, "m::../outside", ""},
		{eval.KindPlan, "m::../outside", ""},
		{eval.KindResourceType, "../../../../lib/puppet/type/out", ""},
		{eval.KindClass, "m::l", "! l.pp:2:4: an assignment is outside of definitions"},
		{eval.KindClass, "m::far", "! far.pp:1:17: m::near is defined in a file for m::far"},
		{eval.KindType, "m::several", "! several.pp:1:31: there is another definition before this one"},
		{eval.KindType, "m::init", "! the file must define the type M::Init, but defines the type M"},
		{eval.KindType, "set", "set"},
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
		{"m/lib/puppet/functions/m/f.rb", "m::f", "write it in the Puppet language, in DIR/m/functions/f.pp, or remove the call",
			"m/functions/f.pp", "function m::f() { 1 }", "m::f"},
		{"m/lib/puppet/functions/m/a/b.rb", "m::a::b", "write it in the Puppet language, in DIR/m/functions/a/b.pp, or remove the call",
			"m/functions/a/b.pp", "function m::a::b() { 1 }", "m::a::b"},
		{"m/lib/puppet/functions/foo.rb", "foo", "write it in the Puppet language as m::foo, in DIR/m/functions/foo.pp, and call it by that name, or remove the call",
			"m/functions/foo.pp", "function m::foo() { 1 }", "m::foo"},
		{"m/lib/puppet/parser/functions/old.rb", "old", "as m::old, in DIR/m/functions/old.pp, and call it by that name",
			"m/functions/old.pp", "function m::old() { 1 }", "m::old"},
		{"m/lib/puppet/functions/other/a/b.rb", "other::a::b", "in functions/a/b.pp of a module other, or remove the call",
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

// A function in Ruby is found if a module has the same name.
func TestRubyNamedLikeModule(t *testing.T) {
	dir := tree(t, map[string]string{"m/lib/puppet/functions/role.rb": "", "role/manifests/init.pp": "class role { }"})
	_, err := newLoader(dir).Load(t.Context(), eval.KindFunction, "role")
	if ruby, is := errors.AsType[*RubyError](err); !is || ruby.Module.Name != "m" {
		t.Errorf("error is %v, want that of a function in Ruby", err)
	}
}

// TestPublished checks that a function in Ruby of a public module is the one of package
// published, but only in that module, and that the Loader notices its end.
func TestPublished(t *testing.T) {
	dir := tree(t, map[string]string{
		"mysql/lib/puppet/functions/mysql/password.rb":            "",
		"mysql/metadata.json":                                     `{"name":"puppetlabs-mysql"}`,
		"docker/metadata.json":                                    `{"name":"puppetlabs-docker"}`,
		"sudo/lib/puppet/functions/sudo/defaults.rb":              "", // not the module of saz
		"docker/lib/puppet/parser/functions/docker_exec_flags.rb": "",
		"m/lib/puppet/functions/mongodb_password.rb":              "",
		"php/functions/ensure_prefix.pp":                          "function php::ensure_prefix() { 1 }",
		"php/lib/puppet/functions/php/ensure_prefix.rb":           "",
	})
	old := time.Now().Add(-time.Hour)
	for _, file := range []string{"mysql/lib/puppet/functions/mysql/password.rb", "docker/lib/puppet/parser/functions/docker_exec_flags.rb", "php/functions/ensure_prefix.pp", "mysql/metadata.json", "docker/metadata.json", ""} {
		if err := os.Chtimes(filepath.Join(dir, file), old, old); err != nil {
			t.Fatal(err)
		}
	}
	l := newLoader(dir)
	for name, native := range map[string]bool{"mysql::password": true, "docker_exec_flags": true, "php::ensure_prefix": false} {
		d, err := l.Load(t.Context(), eval.KindFunction, name)
		if err != nil || d == nil || (d.Function != nil) != native {
			t.Errorf("%s: %v, %v; want one in Go: %v", name, d, err, native)
		}
	}
	if !l.Current() {
		t.Error("the Loader is not current, but nothing has changed")
	}
	if err := os.Remove(filepath.Join(dir, "mysql/lib/puppet/functions/mysql/password.rb")); err != nil {
		t.Fatal(err)
	}
	if l.Current() {
		t.Error("the Loader is current, but a function was removed")
	}
	if d, err := l.Renewed().Load(t.Context(), eval.KindFunction, "mysql::password"); d != nil || err != nil {
		t.Errorf("the removed function: %v, %v", d, err)
	}
	var ruby *RubyError
	if _, err := l.Load(t.Context(), eval.KindFunction, "sudo::defaults"); !errors.As(err, &ruby) || ruby.Module.Name != "sudo" {
		t.Errorf("a function of a private module: %v", err)
	}
	if _, err := l.Load(t.Context(), eval.KindFunction, "mongodb_password"); !errors.As(err, &ruby) || ruby.Module.Name != "m" {
		t.Errorf("a function of another module: %v", err)
	}
}

// TestMissesDoNotFillMemory checks that unknown names from programs do not fill
// the memory.
func TestMissesDoNotFillMemory(t *testing.T) {
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

// TestPanicIsNotCached checks that a search that panicked is not cached as a
// miss.
func TestPanicIsNotCached(t *testing.T) {
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
				v, err := m.get(t.Context(), key, func() (int, bool, error) {
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

func TestFindsFilesOfModules(t *testing.T) {
	dir := tree(t, map[string]string{"m/files/a/b.txt": "text", "m/secret": ""})
	f := Files{Path: modules.NewPath(modules.Module{}, dir)}
	path, ok := f.Find("files", "m/a/b.txt")
	if !ok || path != filepath.Join(dir, "m/files/a/b.txt") {
		t.Errorf("Find: %q, %v", path, ok)
	}
	if text, err := f.Read(t.Context(), path); err != nil || string(text) != "text" {
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

// TestCanceledSearchIsNotCached checks that a search whose context ended does
// not answer other searches, concurrent or later.
func TestCanceledSearchIsNotCached(t *testing.T) {
	dir := tree(t, map[string]string{"m/functions/g.pp": "function m::g() { 1 }"})
	fifo := filepath.Join(dir, "m/functions/f.pp")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(fifo, os.O_RDWR, 0) // so that readers wait
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l := newLoader(dir)
	load := func(ctx context.Context) chan error {
		ended := make(chan error, 1)
		go func() {
			d, err := l.Load(ctx, eval.KindFunction, "m::f")
			if err == nil && (d == nil || d.Name != "m::f") {
				err = fmt.Errorf("it is %v", d)
			}
			ended <- err
		}()
		return ended
	}
	first, stop := context.WithCancelCause(t.Context())
	second, stopSecond := context.WithCancelCause(t.Context())
	reads := load(first)
	for n := 0; n < 2; time.Sleep(time.Millisecond) { // until it has opened the file, too
		n = 0
		fds, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); to == fifo {
				n++
			}
		}
	}
	waits, other := load(second), load(t.Context())
	time.Sleep(50 * time.Millisecond)
	stopSecond(errors.New("second is over"))
	if err := <-waits; err == nil || err.Error() != "the evaluation was ended: second is over" {
		t.Errorf("who waits: %v", err)
	}
	// Whoever reads it from now on finds a file.
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("function m::f() { 1 }"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(text, fifo); err != nil {
		t.Fatal(err)
	}
	stop(errors.New("first is over"))
	if err := <-reads; err == nil || err.Error() != "the evaluation was ended: first is over" {
		t.Errorf("who reads: %v", err)
	}
	if err := <-other; err != nil {
		t.Errorf("who has not ended: %v", err)
	}
	if err := <-load(t.Context()); err != nil {
		t.Errorf("who comes later: %v", err)
	}
}

// TestParsesOnlyChangedFiles checks that a Loader detects changed files, and
// that the next Loader parses only these.
func TestParsesOnlyChangedFiles(t *testing.T) {
	dir := tree(t, map[string]string{"m/functions/f.pp": "function m::f() { 1 }", "m/functions/g.pp": "function m::g() { 1 }"})
	old := time.Now().Add(-time.Hour)
	age := func(name string) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	load := func(l *Loader, name string) *eval.Definition {
		t.Helper()
		d, err := l.Load(t.Context(), eval.KindFunction, name)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	age("m/functions/f.pp")
	age("m/functions/g.pp")
	l := newLoader(dir)
	f, g := load(l, "m::f"), load(l, "m::g")
	if !l.Current() {
		t.Error("nothing has changed")
	}
	if d, err := l.Written(t.Context(), eval.KindFunction, "n::f"); d != nil || err != nil || !l.Current() {
		t.Errorf("a module that is not there: %v, %v", d, err)
	}
	if err := os.Rename(filepath.Join(dir, "m/functions/g.pp"), filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	if l.Current() {
		t.Error("a file is gone")
	}
	if err := os.WriteFile(filepath.Join(dir, "m/functions/g.pp"), []byte("function m::g() { 2 }"), 0o644); err != nil {
		t.Fatal(err)
	}
	age("m/functions/g.pp")
	if l.Current() {
		t.Error("a file of the same size and time is another")
	}
	next := l.Renewed()
	f2, g2 := load(next, "m::f"), load(next, "m::g")
	if f2 == f || f2.Program != f.Program || g2 == g || g2.Program == g.Program {
		t.Error("a definition is of one state of the files, a program of its file")
	}
	if load(l, "m::f") != f || load(l, "m::g") != g {
		t.Error("who has the old state keeps it")
	}
	if err := os.Mkdir(filepath.Join(dir, "n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if l.Current() || !next.Current() {
		t.Error("a module that was asked for is there now")
	}
	if load(next, "m::nothing") != nil || next.Current() {
		t.Error("what was looked for in Ruby, too, is not watched")
	}
	// A file that has just been written can change again without a trace.
	fresh := l.Renewed()
	if err := os.WriteFile(filepath.Join(dir, "m/functions/f.pp"), []byte("function m::f() { 3 }"), 0o644); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "m/functions/f.pp"), future, future); err != nil {
		t.Fatal(err)
	}
	if load(fresh, "m::f"); fresh.Current() {
		t.Error("the stamp of a fresh file is believed")
	}
}

// TestSeenBounded: programs can make up names without end.
func TestSeenBounded(t *testing.T) {
	l := newLoader(tree(t, nil))
	for i := range maxSeen + 10 {
		if _, err := l.Written(t.Context(), eval.KindFunction, fmt.Sprintf("m%d::f", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.seen.modules); n > maxSeen || l.Current() {
		t.Errorf("%d modules are watched, current %v", n, l.Current())
	}
}
