package appendfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/ownfile"
)

func open(t *testing.T, path string, e Existence) *File {
	t.Helper()
	f, err := Open(t.Context(), path, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOpenChecksExistence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if _, err := Open(t.Context(), path, Existing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	open(t, path, New).Close()
	if _, err := Open(t.Context(), path, New); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	open(t, path, Any).Close()
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), link, Any); !errors.Is(err, ownfile.ErrLink) {
		t.Errorf("a symbolic link: %v", err)
	}
}

// TestLock checks that a second Open waits until ctx ends or the first File is closed.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	first := open(t, path, New)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, path, Any); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a locked file: %v", err)
	}
	first.Close()
	open(t, path, Any)
}

// TestOpenFollowsRename checks that Open takes the new file if the locked one
// is renamed.
func TestOpenFollowsRename(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	first := open(t, path, New)
	opened := make(chan *File)
	go func() {
		f, err := Open(t.Context(), path, Any)
		if err != nil {
			t.Error(err)
		}
		opened <- f
	}()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	first.Close()
	f := <-opened
	defer f.Close()
	if err := f.Append([]byte("new\n"), true); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != "new\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAppendAndCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f := open(t, path, New)
	for _, text := range []string{"a\n", "b\nc"} {
		if err := f.Append([]byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Cut(4); err != nil {
		t.Fatal(err)
	}
	if err := f.Append([]byte("d\n"), true); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != "a\nb\nd\n" {
		t.Errorf("%q, %v", text, err)
	}
	if n, err := f.Size(); n != 6 || err != nil {
		t.Errorf("size %d, %v", n, err)
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	f := &File{full}
	if err := f.Append([]byte("x\n"), true); err == nil {
		t.Error("no error")
	}
}

func TestReaderSplitsLongAndTornLines(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r := NewReader(strings.NewReader("a\n\n"+long+"\ntorn"), 1000)
	for _, want := range []Line{
		{Text: []byte("a")},
		{Text: []byte{}, Offset: 2},
		{Offset: 3, Long: true},
		{Text: []byte("torn"), Offset: 100_004, Open: true},
	} {
		l, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if l.Offset != want.Offset || l.Long != want.Long || l.Open != want.Open || !l.Long && !bytes.Equal(l.Text, want.Text) || len(l.Text) > 1000 {
			t.Errorf("got %d bytes, %+v", len(l.Text), l)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if r.Offset() != 100_008 {
		t.Errorf("offset %d", r.Offset())
	}
}

// FuzzReader checks that the lines of any text, put together, are the text.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader(bytes.NewReader(text), 0)
		var got []byte
		for {
			l, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.Offset != int64(len(got)) {
				t.Fatalf("offset %d, want %d", l.Offset, len(got))
			}
			if got = append(got, l.Text...); !l.Open {
				got = append(got, '\n')
			}
		}
		if !bytes.Equal(got, text) {
			t.Fatalf("got %q, want %q", got, text)
		}
	})
}

func TestBootID(t *testing.T) {
	if id := BootID(); id == "" || id != BootID() {
		t.Errorf("boot ID %q", id)
	}
}
