package run

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExpandScript runs the script in each shell that can be installed as sh.
func TestExpandScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.log", "b.log", ".c.log", "d e.log", "[ab].txt", "a.txt", "-x", `back\slash`, "new\nline", "lit*", "~x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, shell := range [][]string{{"sh"}, {"bash"}, {"bash", "--posix"}, {"dash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			t.Logf("no %s", shell[0])
			continue
		}
		for _, k := range []struct {
			source string
			want   []string // begins with "path" if it is not a pattern
		}{
			{"*.log", []string{"a.log", "b.log", "d e.log"}},
			{".*.log", []string{".c.log"}},
			{"[ab].txt", []string{"path", "[ab].txt"}},
			{"[!b].log", []string{"a.log"}},
			{"?.txt", []string{"a.txt"}},
			{"-?", []string{"-x"}},
			{"lit*", []string{"path", "lit*"}},
			{"new*", []string{"new\nline"}},
			{"*$(touch hacked)", nil},
			{"*`touch hacked`;touch hacked", nil},
			{"~/*.log", []string{dir + "/a.log", dir + "/b.log", dir + "/d e.log"}},
			{"~/a.txt", []string{"path", dir + "/a.txt"}},
			{"~x", []string{"path", "~x"}},
			{"~root;touch hacked", []string{"path", "~root;touch hacked"}},
			{"~$(touch hacked)/*", nil},
			{"~root/none", []string{"path", "/root/none"}},
		} {
			cmd := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-s", "--", k.source)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
			cmd.Stdin = strings.NewReader(expandScript)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s, %q: %v", shell, k.source, err)
			}
			paths, pattern, err := parseMatches("noise\n"+string(out), false)
			if !pattern {
				paths = append([]string{"path"}, paths...)
			}
			slices.Sort(paths[min(1, len(paths)):])
			if (err != nil) != (k.want == nil) || !slices.Equal(paths, k.want) {
				t.Errorf("%s, %q: %q, %v, want %q", shell, k.source, paths, err, k.want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
			t.Fatalf("%s has run a part of a pattern", shell)
		}
	}
}

// FuzzParseMatches parses arbitrary output of a target.
func FuzzParseMatches(f *testing.F) {
	f.Add("\x00\x00path\n/a\x00")
	f.Add("noise\x00\x00pattern\n/a\x00b/c\x00")
	f.Add("\x00\x00pattern\n/a/x\x00/b/x\x00")
	f.Add("\x00\x00pattern\n..\x00")
	f.Fuzz(func(t *testing.T, out string) {
		paths, pattern, err := parseMatches(out, false)
		if err != nil {
			return
		}
		if len(paths) == 0 || !pattern && len(paths) != 1 {
			t.Fatalf("%d paths", len(paths))
		}
		names := map[string]bool{}
		for _, p := range paths {
			name := path.Base(p)
			if pattern && (names[name] || name == ".." || strings.Contains(name, "/")) {
				t.Errorf("%q of %q", name, paths)
			}
			names[name] = true
		}
	})
}
