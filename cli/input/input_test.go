package input

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRemotePipe checks that --stdin opens a named pipe without waiting for a
// writer, because a signal could not end that wait, and that the first Read waits.
func TestRemotePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	in, closeInput, err := New(nil).Remote(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeInput()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if got, err := io.ReadAll(in.Reader()); string(got) != "text" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	time.Sleep(20 * time.Millisecond) // a Read that does not wait for the writer ends
	if err := os.WriteFile(path, []byte("text"), 0); err != nil {
		t.Error(err)
	}
}

// TestRemoteEnds checks that closing the input ends the wait for a writer.
func TestRemoteEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	in, closeInput, err := New(nil).Remote(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if n, err := in.Reader().Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	closeInput()
	wg.Wait()
}
