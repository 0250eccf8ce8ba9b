package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bolt/format/yaml"
)

// names lists a directory, files with their paths from it.
func (w world) names(dir string) string {
	w.t.Helper()
	var names []string
	w.check(filepath.WalkDir(w.path(dir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != w.path(dir) {
			rel, _ := filepath.Rel(w.path(dir), path)
			names = append(names, rel)
		}
		return err
	}))
	return strings.Join(names, " ")
}

func (w world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	w.check(err)
	return string(text)
}

func TestCreate(t *testing.T) {
	w := newWorld(t, map[string]string{"depot/": "", "cwd/.gitignore": "mine\n"})
	if _, err := Create(w.path("depot"), "", nil); err != nil {
		t.Fatal(err)
	}
	if got := w.names("depot"); got != ".gitignore bolt-project.yaml inventory.yaml" {
		t.Errorf("made %s", got)
	}
	if got := w.read("depot/bolt-project.yaml"); got != "---\nname: depot\nmodules: []\n" {
		t.Errorf("project file %q", got)
	}
	s := w.sources()
	s.Cwd = w.path("depot")
	c, ids, err := w.load(s, nil)
	if err != nil || ids != nil || c.Project.Name != "depot" || !c.HasModules {
		t.Errorf("the new project is read with %v, %v: %+v", err, ids, c)
	}

	undo, err := Create(w.path("cwd"), "other", []string{"puppetlabs-stdlib", "me/extra"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read("cwd/bolt-project.yaml"); got != "---\nname: other\nmodules:\n- puppetlabs-stdlib\n- me/extra\n" {
		t.Errorf("project file %q", got)
	}
	undo()
	if got := w.names("cwd") + w.read("cwd/.gitignore"); got != ".gitignoremine\n" {
		t.Errorf("what is left: %s", got)
	}
}

// TestExampleInventory: without its marks the example is an inventory.
func TestExampleInventory(t *testing.T) {
	_, example, _ := strings.Cut(exampleInventory, "#\n")
	w := newWorld(t, map[string]string{"cwd/inventory.yaml": strings.ReplaceAll(strings.ReplaceAll(example, "# ", ""), "#\n", "\n")})
	m, err := yaml.ReadMap(t.Context(), w.path("cwd/inventory.yaml"), "inventory")
	if err != nil || len(m.Value("groups").([]any)) != 2 {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := yaml.DecodeMap([]byte(exampleInventory), "", "inventory"); err != nil || m.Len() != 0 {
		t.Errorf("with its marks it says %v, %v", m, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	for _, tt := range []struct {
		dir, name, spec string
		kind, text      string
	}{
		{"cwd", "Bad-Name", "", "bolt/validation-error", "cannot be called 'Bad-Name': a name is made of"},
		{"cwd", "file", "", "bolt/validation-error", "belongs to a built-in module"},
		{"Bad-Dir", "", "", "bolt/validation-error", "as its directory is"},
		{"cwd", "a", "no module", "bolt/validation-error", "'no module' is not a module name"},
		{"cwd", "a", "x-y\n- z-z", "bolt/validation-error", "is not a module name"},
		{"taken", "", "", "bolt/existing-project-error", "'taken/bolt-project.yaml' exists"},
		{"old", "", "", "bolt/existing-project-error", "'old/bolt.yaml' exists"},
		{"embedded", "", "", "bolt/existing-project-error", "'embedded/Boltdir' exists"},
		{"managed", "", "a-b", "bolt/existing-puppetfile-error", "'managed/Puppetfile' exists"},
		{"gone", "", "", "bolt/file-error", "could not be written: no such file or directory"},
	} {
		w := newWorld(t, map[string]string{"Bad-Dir/": "", "taken/bolt-project.yaml": "", "old/bolt.yaml": "", "embedded/Boltdir/": "", "managed/Puppetfile": ""})
		var specs []string
		if tt.spec != "" {
			specs = []string{tt.spec}
		}
		before := w.names("")
		_, err := Create(w.path(tt.dir), tt.name, specs)
		w.wantError(err, tt.kind, tt.text)
		if after := w.names(""); after != before {
			t.Errorf("%s: left %s", tt.text, after)
		}
	}
}

func TestNewPlan(t *testing.T) {
	w := newWorld(t, nil)
	p := &Project{Dir: w.path("cwd"), Name: "depot"}
	for _, tt := range []struct {
		name   string
		puppet bool
		file   string
	}{{"depot", false, "init.yaml"}, {"depot::a", true, "a.pp"}, {"depot::b::c_1", false, "b/c_1.yaml"}, {"depot::b::init", true, "b/init.pp"}} {
		file, err := p.NewPlan(tt.name, tt.puppet)
		if err != nil || w.strip(file) != "cwd/plans/"+tt.file {
			t.Fatalf("%s: %s, %v", tt.name, file, err)
		}
		if text := w.read("cwd/plans/" + tt.file); !strings.Contains(text, "Hello from "+tt.name) || strings.Contains(text, "NAME") {
			t.Errorf("%s: %s", tt.name, text)
		}
	}
	before := w.names("cwd")
	for name, want := range map[string][2]string{
		"depot":       {"bolt/existing-plan-error", "'cwd/plans/init.yaml' exists"},
		"depot::a":    {"bolt/existing-plan-error", "'cwd/plans/a.pp' exists"},
		"other::a":    {"bolt/validation-error", "begin with 'depot::'"},
		"depot::Bad":  {"bolt/validation-error", "is made of parts"},
		"depot::":     {"bolt/validation-error", "is made of parts"},
		"depot::../x": {"bolt/validation-error", "is made of parts"},
		"depot::init": {"bolt/validation-error", "the file init is that of the plan 'depot'"},
		"depot::a::x": {"", ""}, // a.pp is no obstacle
	} {
		_, err := p.NewPlan(name, false)
		if want[0] == "" {
			w.check(err)
			w.check(os.RemoveAll(w.path("cwd/plans/a")))
			continue
		}
		w.wantError(err, want[0], want[1])
	}
	if after := w.names("cwd"); after != before {
		t.Errorf("refused plans left %s", after)
	}
	_, err := (&Project{Dir: w.path("cwd")}).NewPlan("depot::x", false)
	w.wantError(err, "bolt/unnamed-project-error", "needs a name")

	_, err = (&Project{Dir: w.path("cwd")}).NewPolicy(t.Context(), "depot::x")
	w.wantError(err, "bolt/validation-error", "needs a name")

	blocked := newWorld(t, map[string]string{"cwd/plans": "a file\n"})
	_, err = (&Project{Dir: blocked.path("cwd"), Name: "depot"}).NewPlan("depot::x::y", false)
	blocked.wantError(err, "bolt/existing-file-error", "not a directory")
	blocked.check(os.Symlink("nowhere", blocked.path("cwd/manifests")))
	_, err = (&Project{Dir: blocked.path("cwd"), Name: "depot"}).NewPolicy(t.Context(), "depot::x")
	blocked.wantError(err, "bolt/existing-file-error", "file exists")
}

func TestNewPolicy(t *testing.T) {
	const before = "# Ours.\nname: depot\npolicies: # by hand\n- depot::pol # first\n\n# The end.\nformat: human\n"
	w := newWorld(t, map[string]string{"cwd/bolt-project.yaml": before})
	w.check(os.Chmod(w.path("cwd/bolt-project.yaml"), 0o640))
	find := func(w world) *Project {
		p, err := Find(t.Context(), w.sources(), nil)
		w.check(err)
		return p
	}
	file, err := find(w).NewPolicy(t.Context(), "depot::a::b")
	if err != nil || w.strip(file) != "cwd/manifests/a/b.pp" || w.read("cwd/manifests/a/b.pp") != "class depot::a::b {\n\n}\n" {
		t.Fatal(file, err)
	}
	if got, want := w.read("cwd/bolt-project.yaml"), strings.Replace(before, "# first\n", "# first\n- depot::a::b\n", 1); got != want {
		t.Errorf("project file %q, want %q", got, want)
	}
	if info, err := os.Stat(w.path("cwd/bolt-project.yaml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// One that is in the list stays there once.
	if _, err := find(w).NewPolicy(t.Context(), "depot::pol"); err != nil || strings.Count(w.read("cwd/bolt-project.yaml"), "depot::pol") != 1 {
		t.Errorf("%v: %s", err, w.read("cwd/bolt-project.yaml"))
	}
	_, err = find(w).NewPolicy(t.Context(), "depot::pol")
	w.wantError(err, "bolt/existing-policy-error", "'cwd/manifests/pol.pp' exists")

	// Several at once lose none.
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if _, err := find(w).NewPolicy(t.Context(), fmt.Sprintf("depot::many::p%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := strings.Count(w.read("cwd/bolt-project.yaml"), "\n- depot::many::p"); got != 8 {
		t.Errorf("%d of 8 policies are in the list: %s", got, w.read("cwd/bolt-project.yaml"))
	}

	// A list that cannot be edited leaves nothing behind.
	w = newWorld(t, map[string]string{"cwd/bolt-project.yaml": "{name: depot}\n"})
	_, err = find(w).NewPolicy(t.Context(), "depot::a::b")
	w.wantError(err, "bolt/file-error", "by hand")
	if got := w.names("cwd"); got != "bolt-project.yaml" {
		t.Errorf("left %s", got)
	}
}

// TestUndoKeeps: a directory that has got other content is not ours any more.
func TestUndoKeeps(t *testing.T) {
	w := newWorld(t, nil)
	var m made
	w.check(m.all(w.path("cwd/a/b/new"), "x"))
	w.check(os.WriteFile(w.path("cwd/a/theirs"), nil, 0o644))
	m.undo()
	if got := w.names("cwd"); got != "a a/theirs" {
		t.Errorf("left %s", got)
	}
	w.check(m.all(w.path("cwd/new"), "x"))
	if err := m.file(w.path("cwd/new"), "y"); !errors.Is(err, fs.ErrExist) || w.read("cwd/new") != "x" {
		t.Errorf("written over: %v", err)
	}
}
