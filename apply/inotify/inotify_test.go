package inotify

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watching starts a Watcher. next waits for changes until a path has one; all is reported as the path "all".
func watching(t *testing.T, paths ...Path) (w *Watcher, next func(t *testing.T, want string)) {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan string, 1000)
	done := make(chan error)
	go func() {
		done <- w.Run(func(c Change) {
			if c.All {
				changes <- "all"
			}
			for _, p := range c.Paths {
				changes <- p.Name
			}
			for p := range c.Lost {
				changes <- "lost " + p.Name
			}
		})
	}()
	t.Cleanup(func() {
		w.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for p, err := range w.Set(paths) {
		t.Errorf("%s: %v", p.Name, err)
	}
	return w, func(t *testing.T, want string) {
		t.Helper()
		late := time.After(20 * time.Second)
		for {
			select {
			case got := <-changes:
				if got != want {
					continue
				}
				for { // the events that belong to the same change
					select {
					case <-changes:
					case <-time.After(30 * time.Millisecond):
						return
					}
				}
			case <-late:
				t.Fatalf("no change of %s was reported", want)
			}
		}
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestChanges makes each kind of change of a file, also while its directories do not exist.
func TestChanges(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b")
	f := filepath.Join(dir, "f")
	_, next := watching(t, Path{Name: f})
	do(t, os.MkdirAll(dir, 0o755))
	next(t, f)
	do(t, os.WriteFile(f, []byte("x"), 0o644))
	next(t, f)
	do(t, os.WriteFile(f, []byte("y"), 0o644))
	next(t, f)
	do(t, os.Chmod(f, 0o600))
	next(t, f)
	other := filepath.Join(top, "other")
	do(t, os.Link(f, other))
	next(t, f)
	do(t, os.WriteFile(other, []byte("through another name"), 0o644))
	next(t, f)
	do(t, os.WriteFile(f+".new", []byte("z"), 0o644))
	do(t, os.Rename(f+".new", f))
	next(t, f)
	do(t, os.WriteFile(f, []byte("the new file"), 0o644))
	next(t, f)
	do(t, os.Remove(f))
	next(t, f)
	do(t, os.Symlink(other, f))
	next(t, f)
	do(t, os.WriteFile(other, []byte("behind the link"), 0o644))
	next(t, f)
	do(t, os.Remove(f))
	next(t, f)
	do(t, os.Rename(filepath.Join(top, "a"), filepath.Join(top, "away")))
	next(t, f)
	do(t, os.MkdirAll(dir, 0o755))
	next(t, f)
	do(t, os.WriteFile(f, []byte("in new directories"), 0o644))
	next(t, f)
	do(t, os.RemoveAll(filepath.Join(top, "a")))
	next(t, f)
	do(t, os.WriteFile(filepath.Join(top, "a"), nil, 0o644)) // not a directory
	next(t, f)
	do(t, os.Remove(filepath.Join(top, "a")))
	next(t, f)
	do(t, os.MkdirAll(dir, 0o755))
	next(t, f)
	do(t, os.WriteFile(f, nil, 0o644))
	next(t, f)
}

// TestLinkAbove changes a file whose directory is a symbolic link, and then the link.
func TestLinkAbove(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"one/deep", "two"} {
		do(t, os.MkdirAll(filepath.Join(top, d), 0o755))
	}
	f := filepath.Join(top, "dir", "f")
	do(t, os.Symlink("one/deep", filepath.Join(top, "dir")))
	_, next := watching(t, Path{Name: f})
	do(t, os.WriteFile(filepath.Join(top, "one/deep/f"), []byte("x"), 0o644))
	next(t, f)
	do(t, os.Rename(filepath.Join(top, "one"), filepath.Join(top, "gone")))
	next(t, f)
	do(t, os.Symlink("two", filepath.Join(top, "new")))
	do(t, os.Rename(filepath.Join(top, "new"), filepath.Join(top, "dir")))
	next(t, f)
	do(t, os.WriteFile(filepath.Join(top, "two/f"), []byte("x"), 0o644))
	next(t, f)
}

// TestTree changes files below a directory, also in new directories.
func TestTree(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	_, next := watching(t, Path{Name: top, Tree: true})
	do(t, os.MkdirAll(filepath.Join(top, "x", "y"), 0o755))
	next(t, top)
	f := filepath.Join(top, "x", "y", "f")
	do(t, os.WriteFile(f, []byte("x"), 0o644))
	next(t, top)
	do(t, os.Chmod(f, 0o600))
	next(t, top)
	do(t, os.MkdirAll(filepath.Join(top, "x", "y", "z"), 0o755))
	next(t, top)
	do(t, os.WriteFile(filepath.Join(top, "x", "y", "z", "g"), nil, 0o644))
	next(t, top)
	do(t, os.RemoveAll(top))
	next(t, top)
	do(t, os.Mkdir(top, 0o755))
	next(t, top)
}

// TestLost makes more directories below a path than are watched.
func TestLost(t *testing.T) {
	top := t.TempDir()
	w, next := watching(t)
	w.most = 3
	if lost := w.Set([]Path{{Name: top, Tree: true}}); len(lost) > 0 {
		t.Fatal(lost)
	}
	for _, name := range []string{"a", "b"} {
		do(t, os.Mkdir(filepath.Join(top, name), 0o755))
		next(t, top)
	}
	do(t, os.Mkdir(filepath.Join(top, "c"), 0o755))
	next(t, "lost "+top)
	do(t, os.Remove(filepath.Join(top, "c")))
	next(t, top)
	do(t, os.Mkdir(filepath.Join(top, "d"), 0o755))
	next(t, "lost "+top)
}

// TestSet replaces the paths: the watches of old paths are removed.
func TestSet(t *testing.T) {
	top := t.TempDir()
	a, b := filepath.Join(top, "a"), filepath.Join(top, "b")
	for _, f := range []string{a, b} {
		do(t, os.WriteFile(f, nil, 0o644))
	}
	w, next := watching(t, Path{Name: a})
	before := len(w.watches)
	w.Set([]Path{{Name: b}})
	if len(w.watches) != before {
		t.Errorf("%d watches became %d", before, len(w.watches))
	}
	do(t, os.Chmod(a, 0o600))
	do(t, os.Chmod(b, 0o600))
	next(t, b)
	if w.Set(nil); len(w.watches) != 0 {
		t.Errorf("%d watches are left", len(w.watches))
	}
}

// TestNoise changes a file beside the path: that has no event.
func TestNoise(t *testing.T) {
	top := t.TempDir()
	f := filepath.Join(top, "f")
	w, err := New()
	do(t, err)
	w.Set([]Path{{Name: f}})
	do(t, os.WriteFile(filepath.Join(top, "g"), []byte("x"), 0o644))
	b := make([]byte, 64<<10)
	n, err := w.file.Read(b)
	do(t, err)
	events, err := parse(b[:n])
	do(t, err)
	if len(events) == 0 {
		t.Error("the new name has no event")
	}
	if c := w.take(events); len(c.Paths) > 0 || c.All {
		t.Errorf("%v", c)
	}
	w.Close()
}

// raw returns an event as the kernel writes it.
func raw(wd int32, mask uint32, name string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(wd))
	b = binary.NativeEndian.AppendUint32(b, mask)
	b = binary.NativeEndian.AppendUint32(b, 0)
	padded := 0
	if name != "" {
		padded = (len(name)/16 + 1) * 16
	}
	b = binary.NativeEndian.AppendUint32(b, uint32(padded))
	b = append(b, name...)
	return append(b, make([]byte, padded-len(name))...)
}

// TestOverflow gives the Watcher the event of a full queue, which a test cannot cause without a change of the
// machine's limits. All paths are followed again, because the dropped events can have been about their directories.
func TestOverflow(t *testing.T) {
	top := t.TempDir()
	f := filepath.Join(top, "d", "f")
	w, err := New()
	do(t, err)
	defer w.Close()
	w.Set([]Path{{Name: f}})
	do(t, os.Mkdir(filepath.Join(top, "d"), 0o755)) // its event is dropped
	before := len(w.watches)
	events, err := parse(raw(-1, unix.IN_Q_OVERFLOW, ""))
	do(t, err)
	if !w.take(events).All {
		t.Error("the overflow is not reported")
	}
	if len(w.watches) != before+1 {
		t.Errorf("%d watches became %d; the new directory is not watched", before, len(w.watches))
	}
}

func TestParse(t *testing.T) {
	b := slices.Concat(raw(1, unix.IN_MODIFY, ""), raw(2, unix.IN_CREATE, "name"), raw(3, unix.IN_DELETE, "0123456789abcdef"))
	events, err := parse(b)
	want := []event{{1, unix.IN_MODIFY, ""}, {2, unix.IN_CREATE, "name"}, {3, unix.IN_DELETE, "0123456789abcdef"}}
	if err != nil || !slices.Equal(events, want) {
		t.Errorf("%v %v", events, err)
	}
	if events, err = parse(b[:len(b)-1]); err == nil || !slices.Equal(events, want[:2]) {
		t.Errorf("torn: %v %v", events, err)
	}
}

// FuzzParse reads any bytes: parse neither panics nor makes up events.
func FuzzParse(f *testing.F) {
	f.Add(raw(1, unix.IN_CREATE, "name"))
	f.Add(raw(-1, unix.IN_Q_OVERFLOW, ""))
	f.Add(slices.Concat(raw(1, unix.IN_MODIFY, ""), raw(2, unix.IN_DELETE, "x"))[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := parse(b)
		size := 0
		for _, e := range events {
			size += headerSize + len(e.name)
		}
		if size > len(b) || err == nil && len(events) == 0 && len(b) > 0 {
			t.Errorf("%d bytes became %d events of %d bytes, and %v", len(b), len(events), size, err)
		}
	})
}
