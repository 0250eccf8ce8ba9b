// Package helpertest builds the helper of bolt for tests.
package helpertest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

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
	// go caches results of tests, and knows only the files that the test itself opens.
	for _, dir := range []string{"apply", "catalog", "cmd/bolt-helper", "format", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
				return err
			}
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			return f.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
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
	dir := t.TempDir()
	Write(t, dir, programs)
	set, err := embedded.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Write writes the files of a set into a directory, and creates that.
func Write(t testing.TB, dir string, programs map[string][]byte) {
	t.Helper()
	err := os.MkdirAll(dir, 0o755)
	write := func(name string, data []byte) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
	}
	var sums bytes.Buffer
	for system, program := range programs {
		fmt.Fprintf(&sums, "%x %s\n", sha256.Sum256(program), system)
		var packed bytes.Buffer
		z, zerr := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if zerr == nil {
			_, zerr = z.Write(program)
		}
		if zerr == nil {
			zerr = z.Close()
		}
		if zerr != nil {
			t.Fatal(zerr)
		}
		write("bolt-helper-"+system+".gz", packed.Bytes())
	}
	write("sums", sums.Bytes())
	if err != nil {
		t.Fatal(err)
	}
}
