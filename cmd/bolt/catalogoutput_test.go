package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
)

// catalogProject makes a project with many targets, and a program with many
// resources.
func catalogProject(t *testing.T, targets int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	inventory := "targets:\n"
	for i := range targets {
		inventory += fmt.Sprintf("  - n%03d\n", i)
	}
	for name, text := range map[string]string{
		"inventory.yaml": inventory,
		"site.pp":        `range(1, 300).each |$i| { notify { "a rather long title of resource ${i}": } }`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wholeCatalogs counts the catalogs in a directory, each of which must be complete.
func wholeCatalogs(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil || !json.Valid(text) || !bytes.HasSuffix(text, []byte("}\n")) {
			t.Errorf("%s has %d bytes and is not whole (%v)", name, len(text), err)
		}
	}
	return len(files)
}

// TestCatalogOutputKilled checks that the catalogs of a killed bolt are complete.
func TestCatalogOutputKilled(t *testing.T) {
	const targets = 120
	dir := catalogProject(t, targets)
	server := sshtest.Start(t, sshtest.Options{})
	out := filepath.Join(dir, "out")
	cut := 0
	for _, wanted := range []int{1, 5, 20, 60} {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		cmd := startBoltIn(t, dir, server, nil, "catalog", "compile", "site.pp", "-t", "all", "--output", "out")
		until(t, "catalogs are written", func() bool {
			files, _ := filepath.Glob(filepath.Join(out, "*.json"))
			return len(files) >= wanted
		})
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n := wholeCatalogs(t, out); n < targets {
			cut++
		}
	}
	if cut == 0 {
		t.Error("bolt was not killed while it wrote")
	}
	// The files that the killed run left behind do not disturb the next run.
	var said bytes.Buffer
	cmd := startBoltIn(t, dir, server, &said, "catalog", "compile", "site.pp", "-t", "all", "--output", "out")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if n := wholeCatalogs(t, out); n != targets {
		t.Errorf("there are %d catalogs", n)
	}
}

// TestCatalogOutputDiskFull checks that a full disk ends the work with an error
// that names the file, and that no file is incomplete.
func TestCatalogOutputDiskFull(t *testing.T) {
	dir := catalogProject(t, 20)
	if err := os.Mkdir(filepath.Join(dir, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The disk exists only for these processes, so its files are copied out.
	cmd := exec.Command("unshare", "--map-root-user", "--mount", "bash", "-c",
		`mount -t tmpfs -o size=200k tmpfs full || exit 77
		(exec -a bolt "$0" catalog compile site.pp -t all --output full/out)
		code=$?
		cp -r full/out copy
		mount -o remount,ro full
		(exec -a bolt "$0" catalog compile site.pp -t all --output full/out)
		(exec -a bolt "$0" catalog compile site.pp -t all --output full/new)
		exit $code`, self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "BOLT_PROJECT="+dir)
	begin := time.Now()
	said, _ := cmd.CombinedOutput() // the status is checked by the script
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 77 || strings.HasPrefix(string(said), "unshare:") {
		t.Fatalf("this machine lets unshare(1) make no mount: %s", said)
	}
	text := string(said)
	for _, want := range []string{": no space left on device", "The catalog 'full/out/n000.json' could not be written: read-only file system", "The catalog 'full/new/n000.json' could not be written: read-only file system"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || time.Since(begin) > 2*time.Minute {
		t.Errorf("exit code %d after %v", code, time.Since(begin))
	}
	if n := wholeCatalogs(t, filepath.Join(dir, "copy")); n == 0 || n == 20 {
		t.Errorf("%d catalogs were written", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "copy", ".*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
