// Package buildtest builds programs for tests that run them.
package buildtest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the program in a directory of a module, such as "cmd/bolt", and returns its path, the last element of which is
// that of the directory. root is the directory of the module.
//
// The program is like those that are shipped: static, and without the race detector. All tests use the same flags, so that
// packages are compiled once for all of them.
func Build(t testing.TB, root, dir string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), filepath.Base(dir))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", program, "./"+dir)
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, out)
	}
	return program
}
