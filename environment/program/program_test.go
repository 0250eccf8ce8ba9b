package program

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bolt/modules"
	"bolt/puppet/value"
)

// write writes a file below dir.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWalkFindsPuppetFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/x.pp", "")
	write(t, dir, "a/y.epp", "")
	write(t, dir, "a/z.txt", "")
	write(t, dir, ".hidden/x.pp", "")
	if err := os.Symlink(dir, filepath.Join(dir, "a", "loop")); err != nil {
		t.Fatal(err)
	}
	var files []string
	Walk(t.Context(), []string{dir}, func(name string) { files = append(files, filepath.Base(name)) },
		func(f Finding) { t.Errorf("a finding: %+v", f) })
	if !slices.Equal(files, []string{"x.pp", "y.epp"}) {
		t.Errorf("found %q", files)
	}
	found := 0
	Walk(t.Context(), []string{t.TempDir()}, func(name string) { t.Error(name) }, func(f Finding) {
		if found++; f.Kind != "no-files" {
			t.Errorf("a finding: %+v", f)
		}
	})
	if found != 1 {
		t.Errorf("%d findings for an empty directory", found)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/x.erb", "")
	write(t, dir, "a/y.epp", "")
	if err := os.Symlink(dir, filepath.Join(dir, "a", "loop")); err != nil {
		t.Fatal(err)
	}
	var files []string
	Files(t.Context(), dir, func(name string) bool { return filepath.Ext(name) == ".erb" },
		func(name string) { files = append(files, filepath.Base(name)) }, func(f Finding) { t.Errorf("a finding: %+v", f) })
	if !slices.Equal(files, []string{"x.erb"}) {
		t.Errorf("found %q", files)
	}
	Files(t.Context(), filepath.Join(dir, "none"), func(string) bool { return true }, func(name string) { t.Error(name) }, func(f Finding) { t.Errorf("a finding: %+v", f) })
}

func TestPlacerFindsModuleAround(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "metadata.json", `{"name": "owner-web"}`)
	right := write(t, dir, "manifests/server.pp", "class web::server {}")
	wrong := write(t, dir, "manifests/client.pp", "class other {}")
	p := NewPlacer(modules.NewPath(modules.Module{}), t.TempDir())
	for path, want := range map[string]int{right: 0, wrong: 1} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := Named(path)
		s.Text = string(text)
		if _, problems := s.Check(p.Place(t.Context(), path)); len(problems) != want {
			t.Errorf("%s: %d problems, want %d: %+v", filepath.Base(path), len(problems), want, problems)
		}
	}
}

func TestVariablesAndFacts(t *testing.T) {
	var b value.HashBuilder
	b.Put(value.String("os"), value.String("linux"))
	e := NewEvaluator(Options{Facts: b.Build(), Given: []Variable{{"os", value.String("mine")}, {"x", value.String("y")}}})
	var hidden []string
	if err := e.SetVariables(func(name string) { hidden = append(hidden, name) }); err != nil || !slices.Equal(hidden, []string{"os"}) {
		t.Errorf("hidden: %q, %v", hidden, err)
	}
}
