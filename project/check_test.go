package project

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"bolt/format/fault"
)

func TestCheckFile(t *testing.T) {
	w := newWorld(t, map[string]string{"cwd/f": "", "cwd/d/x": "", "cwd/d/sub/y": "", "cwd/bad/sub/y": "", "cwd/shut/y": ""})
	w.check(os.Chmod(w.path("cwd/bad/sub/y"), 0))
	w.check(os.Chmod(w.path("cwd/shut"), 0o444))
	w.check(os.Symlink("nowhere", w.path("cwd/dangling")))
	w.check(os.Mkdir(w.path("cwd/loop"), 0o755))
	w.check(os.Symlink(".", w.path("cwd/loop/again")))
	w.check(os.Symlink("d", w.path("cwd/linked")))
	w.check(os.Chmod(filepath.Dir(w.dir), 0o755)) // the testing package made it for us alone
	asOrdinaryUser(t)

	tests := []struct {
		name, path string
		check      func(what, path string) error
		want       string // "" is fine
	}{
		{"file", "cwd/f", CheckFile, ""},
		{"file, as tree", "cwd/f", CheckTree, ""},
		{"tree", "cwd/d", CheckTree, ""},
		{"linked tree", "cwd/linked", CheckTree, ""},
		{"directory", "cwd/d", CheckFile, "The script 'cwd/d' is not a file"},
		{"missing", "cwd/none", CheckFile, "The script 'cwd/none' does not exist"},
		{"missing tree", "cwd/none", CheckTree, "The script 'cwd/none' does not exist"},
		{"dangling", "cwd/dangling", CheckFile, "The script 'cwd/dangling' does not exist"},
		{"below a file", "cwd/f/x", CheckFile, "The script 'cwd/f/x' is unreadable: not a directory"},
		{"no permission", "cwd/bad/sub/y", CheckFile, "The script 'cwd/bad/sub/y' is unreadable: permission denied"},
		{"no permission inside", "cwd/bad", CheckTree, "The script 'cwd/bad/sub/y' is unreadable: permission denied"},
		{"closed directory", "cwd/shut", CheckTree, "The script 'cwd/shut/y' is unreadable: permission denied"},
		{"loop", "cwd/loop", CheckTree, "The script 'cwd/loop/again' is a link to a directory that it is in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.check("script", w.path(tt.path))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			w.wantError(err, "bolt/file-error")
			if got := w.strip(err.Error()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if p, _ := err.(*fault.Error).Details.Value("path").(string); p == "" {
				t.Error("the details hold no path")
			}
		})
	}
}

// asOrdinaryUser takes root's powers away for the rest of the test, as they
// open every file.
func asOrdinaryUser(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if err := syscall.Setreuid(-1, 65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setreuid(-1, 0); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRerun(t *testing.T) {
	w := newWorld(t, nil)
	r := Rerun{w.path("cwd/new/dir/.rerun.json")}
	w.check(r.Save([]RerunEntry{{"web1", true}, {"ssh://a&b:<pw>@h", false}, {"db\"2", false}}))
	data, err := os.ReadFile(r.Path)
	w.check(err)
	const want = `[{"target":"web1","status":"success"},{"target":"ssh://a&b:<pw>@h","status":"failure"},{"target":"db\"2","status":"failure"}]`
	if string(data) != want {
		t.Errorf("file holds %s", data)
	}
	if info, err := os.Stat(r.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for filter, want := range map[string][]string{
		"all": {"web1", "ssh://a&b:<pw>@h", "db\"2"}, "success": {"web1"}, "failure": {"ssh://a&b:<pw>@h", "db\"2"},
	} {
		if got, err := r.Targets(t.Context(), filter); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", filter, got, err)
		}
	}

	w.check(r.Save(nil))
	if got, err := r.Targets(t.Context(), "all"); err != nil || len(got) != 0 {
		t.Errorf("empty file: %q, %v", got, err)
	}
}

func TestRerunErrors(t *testing.T) {
	tests := []struct {
		name, text, filter string // text "-" makes no file
		kind, want         string
	}{
		{"filter", "-", "sometimes", "bolt/cli-error", "Unexpected option sometimes for '--rerun': the accepted values are all, failure and success"},
		{"no file", "-", "all", "bolt/file-error", "Could not read rerun file at cwd/.rerun.json"},
		{"not JSON", "[", "all", "bolt/file-error", ""},
		{"empty", "", "all", "bolt/file-error", ""},
		{"map", "{}", "all", "bolt/file-error", "Missing data in rerun file: cwd/.rerun.json"},
		{"elements", `["a"]`, "all", "bolt/file-error", "Missing data in rerun file: cwd/.rerun.json"},
		{"no target", `[{"status":"success"}]`, "failure", "bolt/file-error", "Missing data in rerun file: cwd/.rerun.json"},
		{"no status", `[{"target":"a"}]`, "failure", "bolt/file-error", "Missing data in rerun file: cwd/.rerun.json"},
		{"wrong type", `[{"target":5,"status":"success"}]`, "all", "bolt/file-error", "Missing data in rerun file: cwd/.rerun.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := Rerun{w.path("cwd/.rerun.json")}
			if tt.text != "-" {
				w.check(os.WriteFile(r.Path, []byte(tt.text), 0o600))
			}
			_, err := r.Targets(t.Context(), tt.filter)
			w.wantError(err, tt.kind)
			if got := w.strip(err.Error()); tt.want != "" && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRerunUnwriteable(t *testing.T) {
	w := newWorld(t, map[string]string{"cwd/file": ""})
	if err := (Rerun{w.path("cwd/file/.rerun.json")}).Save(nil); err == nil {
		t.Error("no error")
	}
}

func FuzzRerun(f *testing.F) {
	f.Add([]byte(`[{"target":"web1","status":"success"}]`))
	f.Add([]byte(`[{"target":"web1"`))
	f.Add([]byte(`[null,1,[],{}]`))
	name := filepath.Join(f.TempDir(), ".rerun.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		names, err := Rerun{name}.Targets(t.Context(), "all")
		if err != nil && kindOf(err) != "bolt/file-error" {
			t.Errorf("error %v", err)
		}
		if slices.Contains(names, "") {
			t.Errorf("a target without a name: %q", names)
		}
	})
}
