package reporting

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// TestRecognizesReadOnlyProject checks that a project that is intentionally
// read-only prints no warning.
func TestRecognizesReadOnlyProject(t *testing.T) {
	for err, want := range map[error]bool{syscall.EROFS: true, syscall.EACCES: true, syscall.ENOSPC: false, syscall.ENOTDIR: false, errors.New("x"): false} {
		if got := unwritable(&fs.PathError{Op: "mkdir", Path: "x", Err: err}); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
