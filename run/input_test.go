package run

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func newInput(t *testing.T, src io.Reader) *Input {
	t.Helper()
	in, err := NewInput(src, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// TestInput checks that all targets read the whole source, also one that begins late.
func TestInput(t *testing.T) {
	data := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, src := range map[string]io.Reader{"copied": bytes.NewReader(data), "regular file": file} {
		t.Run(name, func(t *testing.T) {
			in := newInput(t, src)
			check := func() {
				r := in.Reader()
				defer r.Close()
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			}
			var all sync.WaitGroup
			for range 4 {
				all.Go(check)
			}
			all.Wait()
			check()
		})
	}
}

// A counter counts the bytes that are read from an endless source.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += len(p)
	return len(p), nil
}

func TestInputCopyIsBounded(t *testing.T) {
	src := &counter{}
	in := newInput(t, src)
	r := in.Reader()
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	in.Close() // waits for the copy
	if src.n > 1<<20+maxAhead+1<<20 {
		t.Errorf("%d bytes were read for a target that took 1 MiB", src.n)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestInputError(t *testing.T) {
	cause := errors.New("the source is gone")
	r := newInput(t, io.MultiReader(bytes.NewReader([]byte("text")), errorReader{cause})).Reader()
	if got, err := io.ReadAll(r); string(got) != "text" || !errors.Is(err, cause) {
		t.Errorf("got %q, %v", got, err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// TestInputReaderClosed checks that Close ends a Read that waits.
func TestInputReaderClosed(t *testing.T) {
	src, end := io.Pipe()
	r := newInput(t, src).Reader()
	read := make(chan error)
	go func() {
		_, err := r.Read(make([]byte, 1))
		read <- err
	}()
	r.Close()
	if err := <-read; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	end.Close()
}

// TestInputUnused checks that a source that no target reads is not read.
func TestInputUnused(t *testing.T) {
	src := &counter{}
	newInput(t, src).Close()
	if src.n != 0 {
		t.Errorf("%d bytes were read", src.n)
	}
}
