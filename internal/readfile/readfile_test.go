package readfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// soon fails the test if f hangs.
func soon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}

func TestReadsRegularFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), n), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, n := range []int{0, 1, 511, 512, 513, 100_000} {
		path := write(fmt.Sprint(n), n)
		for _, limit := range []int64{int64(n), int64(n) + 1, 1 << 40} {
			if data, err := Read(t.Context(), path, limit); err != nil || len(data) != n {
				t.Errorf("%d bytes with a limit of %d: %d, %v", n, limit, len(data), err)
			}
		}
		if n == 0 {
			continue
		}
		data, err := Read(t.Context(), path, int64(n)-1)
		if large, ok := errors.AsType[*LargeError](err); !ok || large.Limit != int64(n)-1 || data != nil {
			t.Errorf("%d bytes with a limit of %d: %d, %v", n, n-1, len(data), err)
		}
	}
	if _, err := Read(t.Context(), filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := Read(t.Context(), dir, 1<<20); !errors.Is(err, syscall.EISDIR) || err.Error() != "read "+dir+": is a directory" {
		t.Errorf("a directory: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := Read(ctx, write("there", 10), 100); !errors.Is(err, why) {
		t.Errorf("after the end: %v", err)
	}
}

func TestReadsDevices(t *testing.T) {
	if data, err := Read(t.Context(), "/dev/null", 1); err != nil || len(data) != 0 {
		t.Errorf("/dev/null: %q, %v", data, err)
	}
	_, err := Read(t.Context(), "/dev/zero", 3<<20)
	if err == nil || err.Error() != "read /dev/zero: it is larger than 3 MiB" {
		t.Errorf("/dev/zero: %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("late"))
	defer cancel()
	soon(t, func() {
		if _, err := Read(ctx, "/dev/zero", 1<<40); err == nil || !strings.Contains(err.Error(), "late") {
			t.Errorf("/dev/zero without end: %v", err)
		}
	})
	// The size of these files is 0, even if they have content.
	if data, err := Read(t.Context(), "/proc/self/status", 1<<20); err != nil || len(data) == 0 {
		t.Errorf("/proc/self/status: %d bytes, %v", len(data), err)
	}
}

func TestPipeWithoutWriter(t *testing.T) {
	path := fifo(t)
	soon(t, func() {
		data, err := Read(t.Context(), path, 100)
		if !errors.Is(err, errNobodyWrites) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q, %v", data, err)
		}
	})
}

// writer opens a named pipe to write. It returns when a thread waits for a reader in
// open(2).
func writer(t *testing.T, path string, write func(f *os.File)) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		write(f)
	}()
	t.Cleanup(func() { <-ended })
	call := fmt.Sprintf("%d ", unix.SYS_OPENAT) // the system call of open(2)
	soon(t, func() {
		for {
			calls, err := filepath.Glob("/proc/self/task/*/syscall")
			if err != nil {
				t.Error(err)
				return
			}
			if slices.ContainsFunc(calls, func(file string) bool {
				text, _ := os.ReadFile(file) // the thread may have ended
				return strings.HasPrefix(string(text), call)
			}) {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestSlowWriter(t *testing.T) {
	path := fifo(t)
	writer(t, path, func(f *os.File) {
		for range 5 {
			time.Sleep(30 * time.Millisecond)
			fmt.Fprint(f, "late ")
		}
	})
	soon(t, func() {
		if data, err := Read(t.Context(), path, 25); err != nil || string(data) != "late late late late late " {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestLargePipe(t *testing.T) {
	path := fifo(t)
	writer(t, path, func(f *os.File) {
		_, _ = f.Write(make([]byte, 1<<20)) // ends when the reader closes the pipe
	})
	soon(t, func() {
		if _, err := Read(t.Context(), path, 1000); err == nil || !strings.HasSuffix(err.Error(), "it is larger than 1000 bytes") {
			t.Error(err)
		}
	})
}

// TestCancelled checks that the end of a context ends the wait for a writer
// that has the pipe open and writes nothing.
func TestCancelled(t *testing.T) {
	path := fifo(t)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("half"); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	soon(t, func() {
		data, err := Read(ctx, path, 100)
		if !errors.Is(err, why) || data != nil {
			t.Errorf("%q, %v", data, err)
		}
	})
}

// TestReadsAnonymousPipes reads pipes of the shell, by the shell's paths. An empty pipe
// is an empty file.
func TestReadsAnonymousPipes(t *testing.T) {
	for _, text := range []string{"", "text"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		w.Close()
		soon(t, func() {
			if data, err := Read(t.Context(), fmt.Sprintf("/dev/fd/%d", r.Fd()), 100); err != nil || string(data) != text {
				t.Errorf("%q, %v, want %q", data, err, text)
			}
		})
		r.Close()
	}
}

func TestWholeReadsToEnd(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	if data, err := Whole(t.Context(), iotest.HalfReader(strings.NewReader(text)), int64(len(text))); err != nil || string(data) != text {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if data, err := Whole(t.Context(), iotest.DataErrReader(strings.NewReader(text)), int64(len(text))-1); err == nil || data != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := Whole(t.Context(), iotest.TimeoutReader(strings.NewReader(text)), 1<<20); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("an error of the reader: %v", err)
	}
}
