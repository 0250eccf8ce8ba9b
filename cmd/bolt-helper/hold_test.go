package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestHoldKeepsFiles checks that a program under a guard has the files that it needs, and no others.
func TestHoldKeepsFiles(t *testing.T) {
	var files []*os.File
	for _, name := range []string{"lock", "ending", "kept"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	if _, err := files[2].WriteAt([]byte("content\n"), 0); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "hold", "-", "false", "0s", "1", "--", "/bin/sh", "-c", "cat /proc/self/fd/3; for n in 4 5; do test ! -e /proc/self/fd/$n || echo $n is open; done")
	cmd.ExtraFiles = files
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "content\n" {
		t.Errorf("%v, %q", err, out)
	}
}
