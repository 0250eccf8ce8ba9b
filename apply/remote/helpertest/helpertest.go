// Package helpertest builds the helper of bolt for tests.
package helpertest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/fstest"

	"bolt/apply/remote/embedded"
	"bolt/internal/buildtest"
)

// A Build is the helper for the machine of the test. It is built once, when a test first
// asks for it. The zero value with a Root is ready.
type Build struct {
	Root string // of the module

	mu      sync.Mutex
	program []byte
	set     *embedded.Set
}

// Set returns the helper as the only one of a set.
func (b *Build) Set(t testing.TB) *embedded.Set {
	t.Helper()
	program := b.Program(t)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set == nil {
		b.set = Of(t, map[string][]byte{"linux-" + runtime.GOARCH: program})
	}
	return b.set
}

// Program returns the program. Callers must not change it.
func (b *Build) Program(t testing.TB) []byte {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.program == nil {
		b.program = build(t, b.Root)
	}
	return b.program
}

func build(t testing.TB, root string) []byte {
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
	program, err := os.ReadFile(buildtest.Build(t, root, "cmd/bolt-helper"))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Of makes a set of programs, by their systems.
func Of(t testing.TB, programs map[string][]byte) *embedded.Set {
	t.Helper()
	files := make(fstest.MapFS)
	for name, data := range pack(t, programs) {
		files[name] = &fstest.MapFile{Data: data}
	}
	set, err := embedded.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Write writes the files of a set into a directory, and creates that.
func Write(t testing.TB, dir string, programs map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range pack(t, programs) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pack returns the files of a set by their names.
func pack(t testing.TB, programs map[string][]byte) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	var sums bytes.Buffer
	for system, program := range programs {
		fmt.Fprintf(&sums, "%x %s\n", sha256.Sum256(program), system)
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(program); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		files["bolt-helper-"+system+".gz"] = packed.Bytes()
	}
	files["sums"] = sums.Bytes()
	return files
}
