package listing

import (
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/output/layout"
)

func TestPrintModules(t *testing.T) {
	groups := []ModuleGroup{
		{Path: "/p/modules", Modules: []ModuleEntry{{Name: "me/long_name", Version: "1.0.0"}, {Name: "bare"}}},
		{Path: "/p/.modules", Title: "Project Dependencies"},
		{Path: "builtin:/", Title: "Packaged Modules", Modules: []ModuleEntry{{Name: "facts", BuiltIn: true}}},
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
  'bolt module show MODULE' tells more of one module.
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

// TestPrintModule: the text of a module is a stranger's.
func TestPrintModule(t *testing.T) {
	m := &ModuleInfo{
		Name: "me/x\x1b[2J", Path: "/p/\x1b[1mx",
		Metadata: ordered.Of("version", "1.0\x07", "summary", strings.Repeat("word ", 30)+"\x1b]0;title\x07end",
			"operatingsystem_support", []any{ordered.Of("operatingsystem", "Debian\n", "operatingsystemrelease", []any{"12", int64(13)}), "odd", ordered.Of()},
			"dependencies", []any{ordered.Of("name", "a/b", "version_requirement", int64(1)), nil}),
		Tasks: []Described{{"x", strings.Repeat("long ", 30)}, {"x::two", "two\nlines"}},
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
	if err := PrintModule(&b, Options{Format: layout.JSON}, &ModuleInfo{Name: "x", Path: "/x", Plans: []Described{{"x", ""}}}); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"x","metadata":{},"path":"/x","plans":[["x",null]],"tasks":[]}` + "\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestPrintInstalled(t *testing.T) {
	changes := []ModuleChange{{"a/a", "", "1.0.0"}, {"a/bb", "1.0.0", "2.0.0"}, {"c", "?", "3"}, {"d", "4", ""}, {"e", "5", "5"}}
	var b strings.Builder
	if err := PrintInstalled(&b, Options{}, "/p/Puppetfile", "/p/.modules", changes); err != nil {
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
