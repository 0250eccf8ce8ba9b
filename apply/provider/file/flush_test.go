package file

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// TestFlush flushes many files at the same time, together and one by one. A file alone needs no call for all.
func TestFlush(t *testing.T) {
	for _, grouped := range []bool{true, false} {
		t.Run(strconv.FormatBool(grouped), func(t *testing.T) {
			const files = 200
			var f flusher
			dir := t.TempDir()
			open := func(i int) *os.File {
				file, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
				if err != nil {
					t.Error(err)
					return nil
				}
				if _, err := file.WriteString("text"); err != nil {
					t.Error(err)
				}
				return file
			}
			alone := open(files)
			defer alone.Close()
			s, err := f.system(int(alone.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			s.grouped = grouped
			if err := f.sync(alone); err != nil || s.begun.Load() != 0 {
				t.Errorf("a file alone: %v, %d calls", err, s.begun.Load())
			}
			var wg sync.WaitGroup
			for i := range files {
				wg.Go(func() {
					file := open(i)
					defer file.Close()
					if err := f.sync(file); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := s.begun.Load(); n >= files || !grouped && n > 0 {
				t.Errorf("%d calls for %d files", n, files)
			}
			if s.waiting.Load() != 0 {
				t.Error("somebody still waits")
			}
		})
	}
}

// TestFlushGone checks that the error of a file that cannot be flushed arrives.
func TestFlushGone(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	var f flusher
	if err := f.sync(file); err == nil {
		t.Error("a closed file was flushed")
	}
}

// TestDirty checks that the system reports the amount of unwritten data.
func TestDirty(t *testing.T) {
	if n := dirty(); n < 0 || n > 1<<50 {
		t.Errorf("%d bytes", n)
	}
}
