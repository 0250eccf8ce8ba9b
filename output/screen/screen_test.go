package screen

import (
	"os"
	"path/filepath"
	"testing"
)

// TestApart checks that hints are apart from their errors only between two different pipes.
func TestApart(t *testing.T) {
	pipe := func() *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		return w
	}
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	one, other, file, null := pipe(), pipe(), open(filepath.Join(t.TempDir(), "out")), open(os.DevNull)
	for _, tt := range []struct {
		name     string
		out, err *os.File
		want     bool
	}{
		{"two pipes", one, other, true},
		{"one pipe for both", one, one, false},
		{"> file", file, one, false},
		{"2> file", one, file, false},
		{"2> /dev/null", one, null, false},
		{"> file 2>&1", file, file, false},
	} {
		if got := Apart(tt.out, tt.err); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
