package maketest

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/internal/buildtest"
)

const root = "../.."

// command runs a program in the module's root folder and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestDemoTwiceAtOnce checks that two demos at the same time both succeed,
// print the documented lines, and leave no processes or folders behind.
func TestDemoTwiceAtOnce(t *testing.T) {
	bolt := buildtest.Build(t, root, "cmd/bolt")
	t.Run("demos", func(t *testing.T) {
		for _, name := range []string{"one", "two"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				out := command(t, "scripts/demo.sh", bolt)
				for _, want := range []string{
					"Successful on 8 targets", // the web group
					"configuration: 2 lines, checksum ",
					"collected/db01/app.conf",
					`"merged_output":"listen: 8080\nworkers: 4\n"`,
					"Failed on 1 target: ssh://127.0.2.1:1",
					"Upgrade to 3.0 failed on web03: 3.0 has no line payment=... in shared/settings. All machines run 2.0 again.",
					`{"web01":"UP","web02":"UP","web03":"UP","web04":"UP"}`,
					"Nodes: 7 cancelled, 1 rolled_back",
					"Nodes: 8 done",
				} {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in\n%s", want, out)
					}
				}
				dir, _, ok := strings.Cut(out[strings.Index(out, "/tmp/bolt-demo."):], "/farm/")
				if _, err := os.Stat(dir); !ok || !os.IsNotExist(err) {
					t.Errorf("folder %q: %v, want it gone", dir, err)
				}
				left := processes(t, dir)
				for end := time.Now().Add(30 * time.Second); len(left) > 0 && time.Now().Before(end); left = processes(t, dir) {
					time.Sleep(10 * time.Millisecond) // a killed process may not have ended yet
				}
				if len(left) > 0 {
					t.Errorf("still running: %q", left)
				}
			})
		}
	})
}

// processes returns the command lines of all processes that name a folder, or
// work in it.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(name), "cwd")) // ended processes have none
		if line, err := os.ReadFile(name); err == nil && (bytes.Contains(line, []byte(dir+"/")) || strings.HasPrefix(cwd, dir+"/")) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// TestInstall checks that a staged installation contains the programs, the
// manual and the completions, and that no file is empty. The installed bolt
// finds bolt-clouds.
func TestInstall(t *testing.T) {
	stage := t.TempDir()
	// A copy of the sources, so that bin and dist of the checkout stay as
	// they are.
	tree := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains([]string{"bin", "dist", "testdata"}, e.Name()) {
			command(t, "cp", "-r", e.Name(), tree)
		}
	}
	out := command(t, "make", "-C", tree, "install", "DESTDIR="+stage, "PREFIX=/usr", "VERSION=9.8.7")
	var got []string
	err = filepath.WalkDir(stage, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() == 0 {
			t.Errorf("%s is empty", name)
		}
		got = append(got, strings.TrimPrefix(name, stage))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/usr/bin/bolt",
		"/usr/bin/bolt-clouds",
		"/usr/lib/systemd/user/bolt-pool.service",
		"/usr/lib/systemd/user/bolt-pool.socket",
		"/usr/share/bash-completion/completions/bolt",
		"/usr/share/fish/vendor_completions.d/bolt.fish",
		"/usr/share/man/man1/bolt.1",
		"/usr/share/zsh/site-functions/_bolt",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("installed %q, want %q\n%s", got, want, out)
	}
	for _, name := range []string{"bolt", "bolt-clouds"} {
		if v := command(t, filepath.Join(stage, "usr/bin", name), "--version"); strings.TrimSpace(v) != "9.8.7" {
			t.Errorf("%s --version prints %q, want the version given to make", name, v)
		}
	}
	show := exec.CommandContext(t.Context(), filepath.Join(stage, "usr/bin/bolt"), "inventory", "show", "-t", "all")
	show.Dir = t.TempDir()
	show.Env = []string{"HOME=" + show.Dir, "BOLT_POOL=off", "BOLT_INVENTORY={targets: [{_plugin: gcloud_inventory}]}"}
	if out, err := show.CombinedOutput(); err == nil || !strings.Contains(string(out), "The plugin gcloud_inventory requires") {
		t.Errorf("the installed programs together: %v\n%s", err, out)
	}
}
