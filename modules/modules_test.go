package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// tree makes files (and directories, with a slash at the end) below dir.
func tree(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		sub := filepath.Dir(path)
		if name[len(name)-1] == '/' {
			sub = path
		}
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		if sub != path {
			if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir,
		"cwd/here.sh", "cwd/local/here.sh",
		"project/files/p.sh", "project/scripts/p2.sh", "project/files/both.sh", "project/scripts/both.sh",
		"one/extra/files/script.sh", "one/extra/scripts/other.sh", "one/extra/files/files/deep.sh", "one/extra/files/deep.sh",
		"one/extra/metadata.json", "one/local/files/x.sh", "one/bare/", "one/Upper/files/x.sh", "one/notadir",
		"two/extra/files/second.sh", "two/late/files/x.sh", "two/notadir/files/x.sh", "two/depot/files/x.sh",
	)
	if err := os.Symlink(filepath.Join(dir, "two", "late"), filepath.Join(dir, "one", "linked")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "cwd"))
	at := func(name string) string { return filepath.Join(dir, name) }
	p := NewPath(Module{Name: "depot", Dir: at("project")}, at("one"), at("missing"), at("two"))

	tests := []struct{ name, ref, want string }{
		{"local file", "here.sh", "here.sh"},
		{"local file before module", "local/here.sh", "local/here.sh"},
		{"local directory before module", "local", "local"},
		{"module behind local directory", "local/x.sh", at("one/local/files/x.sh")},
		{"absolute", at("cwd/here.sh"), at("cwd/here.sh")},
		{"absolute and missing", "/nope/x.sh", "/nope/x.sh"},
		{"files by default", "extra/script.sh", at("one/extra/files/script.sh")},
		{"files in full", "extra/files/script.sh", at("one/extra/files/script.sh")},
		{"scripts", "extra/scripts/other.sh", at("one/extra/scripts/other.sh")},
		{"files in files first", "extra/files/deep.sh", at("one/extra/files/files/deep.sh")},
		{"anything of the module", "extra/metadata.json", at("one/extra/metadata.json")},
		{"first module wins", "extra/second.sh", at("one/extra/files/second.sh")},
		{"later directory", "late/x.sh", at("two/late/files/x.sh")},
		{"linked module", "linked/x.sh", at("one/linked/files/x.sh")},
		{"file is no module", "notadir/x.sh", at("two/notadir/files/x.sh")},
		{"directory of files", "extra", at("one/extra/files")},
		{"directory of files, slash", "extra/", at("one/extra/files")},
		{"module without files", "bare", at("one/bare")},
		{"missing in module", "extra/none.sh", at("one/extra/files/none.sh")},
		{"missing module", "nope/x.sh", "nope/x.sh"},
		{"no module name", "Upper/x.sh", "Upper/x.sh"},
		{"not up the path", "../one/nope.sh", "../one/nope.sh"},
		{"project", "depot/p.sh", at("project/files/p.sh")},
		{"project scripts", "depot/scripts/p2.sh", at("project/scripts/p2.sh")},
		{"project's files before scripts", "depot/both.sh", at("project/files/both.sh")},
		{"project hides module", "depot/x.sh", at("project/files/x.sh")},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.Find(tt.ref); got != tt.want {
				t.Errorf("Find(%q) = %q, want %q", tt.ref, got, tt.want)
			}
		})
	}
}

func TestModule(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "depot/", "a1_b/")
	p := NewPath(Module{}, dir)
	for name, want := range map[string]bool{"depot": true, "a1_b": true, "": false, ".": false, "..": false, "a\n": false, "none": false} {
		if m, ok := p.Module(name); ok != want || ok && m != (Module{Name: name, Dir: filepath.Join(dir, name)}) {
			t.Errorf("Module(%q) = %v, %v", name, m, ok)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	dir := b.TempDir()
	for i := range 500 {
		tree(b, dir, fmt.Sprintf("m%d/files/x.sh", i))
	}
	p := NewPath(Module{}, dir)
	for b.Loop() {
		p.Find("m499/x.sh")
	}
}

func TestOf(t *testing.T) {
	dir := t.TempDir()
	p := NewPath(Module{Name: "depot", Dir: filepath.Join(dir, "project")}, filepath.Join(dir, "project", "modules"), filepath.Join(dir, "two"))
	t.Chdir(dir)
	for file, want := range map[string]string{
		"project/modules/a/manifests/init.pp":                 "a manifests/init.pp",
		"two/b/functions/x/y.pp":                              "b functions/x/y.pp",
		filepath.Join(dir, "two", "b", "types", "t.pp"):       "b types/t.pp",
		"project/manifests/site.pp":                           "depot manifests/site.pp",
		"project/modules/Bad/manifests/init.pp":               "depot modules/Bad/manifests/init.pp",
		"two/b":                                               "",
		"two/../other/b/manifests/init.pp":                    "",
		"two/b/../../project/modules/../plans/deploy/init.pp": "depot plans/deploy/init.pp",
	} {
		m, rel, ok := p.Of(filepath.FromSlash(file))
		if got := m.Name + " " + filepath.ToSlash(rel); ok != (want != "") || ok && got != want {
			t.Errorf("%s is of %q, %v, want %q", file, got, ok, want)
		}
	}
}
