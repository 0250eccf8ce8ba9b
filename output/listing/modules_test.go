package listing

import (
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/modules"
	"bolt/modules/install"
	"bolt/output/layout"
	"bolt/plans"
	"bolt/tasks"
)

func TestPrintModules(t *testing.T) {
	described := func(m modules.Module, pairs ...any) modules.Described {
		return modules.Described{Module: m, Metadata: ordered.Of(pairs...)}
	}
	groups := []modules.Group{
		{Path: "/p/modules", Modules: []modules.Described{described(modules.Module{Name: "long_name"}, "name", "me-long_name", "version", "1.0.0"), described(modules.Module{Name: "bare"})}},
		{Path: "/p/.modules", Title: "Project Dependencies"},
		{Path: "builtin:/", Title: "Packaged Modules", Modules: []modules.Described{described(builtIn(t, "facts"))}},
	}
	var b strings.Builder
	if err := PrintModules(&b, Options{}, groups); err != nil {
		t.Fatal(err)
	}
	want := `/p/modules
  me/long_name   1.0.0
  bare           (no metadata)

/p/.modules
(no modules installed)

Packaged Modules
  facts   (built-in)

Additional information
  'bolt module show MODULE' shows details of one module.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := PrintModules(&b, Options{Format: layout.JSON}, groups); err != nil {
		t.Fatal(err)
	}
	want = `{"/p/modules":[{"name":"me/long_name","version":"1.0.0"},{"name":"bare","version":null}],"/p/.modules":[],` +
		`"builtin:/":[{"name":"facts","version":null,"internal_module_group":"Packaged Modules"}]}` + "\n"
	if b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

// TestPrintModule checks that control characters in the text of a module
// are removed.
func TestPrintModule(t *testing.T) {
	m := &Contents{
		Described: modules.Described{Module: modules.Module{Name: "x", Dir: "/p/\x1b[1mx"},
			Metadata: ordered.Of("name", "me/x\x1b[2J", "version", "1.0\x07", "summary", strings.Repeat("word ", 30)+"\x1b]0;title\x07end",
				"operatingsystem_support", []any{ordered.Of("operatingsystem", "Debian\n", "operatingsystemrelease", []any{"12", int64(13)}), "odd", ordered.Of()},
				"dependencies", []any{ordered.Of("name", "a/b", "version_requirement", int64(1)), nil})},
		Tasks: []tasks.Summary{{Name: "x", Description: strings.Repeat("long ", 30)}, {Name: "x::two", Description: "two\nlines"}, {Name: "x::own", Private: true}},
	}
	var b strings.Builder
	if err := PrintModule(&b, Options{}, m); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if strings.ContainsAny(got, "\x1b\x07") {
		t.Errorf("control characters in %q", got)
	}
	for line := range strings.Lines(got) {
		if len(line) > 90 {
			t.Errorf("long line %q", line)
		}
	}
	for _, want := range []string{"\nTasks\n  x          long long", "...\n  x::two     two", "\nOperating system support\n  Debian     12, 13\n\nDependencies\n  a/b\n\nPath\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	b.Reset()
	if err := PrintModule(&b, Options{Format: layout.JSON}, &Contents{
		Described: modules.Described{Module: modules.Module{Name: "x", Dir: "/x"}},
		Plans:     []plans.Summary{{Name: "x", File: "plans/init.pp"}, {Name: "x::deep::er", File: "plans/deep/er.pp"}},
	}); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"x","metadata":{},"path":"/x","plans":[["x",null]],"tasks":[]}` + "\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestPrintInstalled(t *testing.T) {
	r := &install.Result{Puppetfile: "/p/Puppetfile", ModuleDir: "/p/.modules", Changes: []install.Change{
		{Name: "a/a", New: "1.0.0"}, {Name: "a/bb", Old: "1.0.0", New: "2.0.0"}, {Name: "c", Old: "?", New: "3"}, {Name: "d", Old: "4"}, {Name: "e", Old: "5", New: "5"},
	}}
	var b strings.Builder
	if err := PrintInstalled(&b, Options{}, r); err != nil {
		t.Fatal(err)
	}
	want := `Changes
  a/a    1.0.0 (new)
  a/bb   1.0.0 to 2.0.0
  c      3 (replaced)
  d      removed
  e      5 (again)

Successfully synced modules from /p/Puppetfile to /p/.modules
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	s := NewModuleSteps(&b, layout.Human)
	if err := s.Begin("Installing"); err != nil {
		t.Fatal(err)
	}
	if err := s.Step("Syncing modules from " + strings.Repeat("x", 70)); err != nil {
		t.Fatal(err)
	}
	if want := "Installing\n\n  → Syncing modules from\n    " + strings.Repeat("x", 70) + "\n\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
