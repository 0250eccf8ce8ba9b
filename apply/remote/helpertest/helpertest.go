// Package helpertest builds the helper of bolt for tests.
package helpertest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"bolt/apply/remote/embedded"
)

// Set builds the helper for the machine of the test, which go caches, and returns it as
// the only one of a set. root is the root of the module.
func Set(t testing.TB, root string) *embedded.Set {
	t.Helper()
	return Of(t, map[string][]byte{"linux-" + runtime.GOARCH: Program(t, root)})
}

// Program builds the helper and returns the program.
func Program(t testing.TB, root string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bolt-helper")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/bolt-helper")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the helper cannot be built: %v\n%s", err, out)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Of makes a set of programs, by their systems.
func Of(t testing.TB, programs map[string][]byte) *embedded.Set {
	t.Helper()
	files := make(fstest.MapFS)
	var sums bytes.Buffer
	for system, program := range programs {
		fmt.Fprintf(&sums, "%x %s\n", sha256.Sum256(program), system)
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err == nil {
			_, err = z.Write(program)
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		files["bolt-helper-"+system+".gz"] = &fstest.MapFile{Data: packed.Bytes()}
	}
	files["sums"] = &fstest.MapFile{Data: sums.Bytes()}
	set, err := embedded.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
