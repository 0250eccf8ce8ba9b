package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bolt/internal/filelock"
)

func TestDir(t *testing.T) {
	dir := t.TempDir()
	inside, most := 0, 0
	var mu sync.Mutex
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inside += n
		most = max(most, inside)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			unlock, err := filelock.Dir(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			count(1)
			time.Sleep(2 * time.Millisecond)
			count(-1)
			unlock()
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d had the lock at once", most)
	}
}

func TestDirErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := filelock.Dir(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there was locked")
	}
	unlock, err := filelock.Dir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	enough := errors.New("waited enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, enough)
	defer cancel()
	if _, err := filelock.Dir(ctx, dir); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// TestTry checks that Try does not wait, and that closing the file ends the lock.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	open := func() *os.File {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := filelock.Try(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(second); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a lock that is held: %v", err)
	}
	first.Close()
	if err := filelock.Try(second); err != nil {
		t.Errorf("a lock that has ended: %v", err)
	}
	if err := filelock.Try(first); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a closed file: %v", err)
	}
}
