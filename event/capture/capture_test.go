package capture

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// printed is a piece that a test writes to an Output.
type printed struct {
	stream Stream
	text   string
}

func capture(t testing.TB, o Options, parts ...printed) *Output {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c := New(o)
	t.Cleanup(func() { c.Close() })
	for _, p := range parts {
		if n, err := io.WriteString(c.Stream(p.stream), p.text); err != nil || n != len(p.text) {
			t.Fatalf("Write(%q) = %d, %v", p.text, n, err)
		}
	}
	return c
}

func text(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (c *Output) texts(t testing.TB) (out, err, merged string) {
	t.Helper()
	return text(t, func(w io.Writer) error { return c.WriteStream(w, Stdout) }),
		text(t, func(w io.Writer) error { return c.WriteStream(w, Stderr) }),
		text(t, c.WriteMerged)
}

func TestOutputKeepsOrder(t *testing.T) {
	for _, memory := range []int{0, 1, 5, 7, 20} {
		t.Run(fmt.Sprintf("memory %d", memory), func(t *testing.T) {
			c := capture(t, Options{Memory: memory},
				printed{Stdout, "a\n"}, printed{Stdout, "b\n"}, printed{Stderr, "oops\n"}, printed{Stdout, ""}, printed{Stdout, "c"})
			out, err, merged := c.texts(t)
			if out != "a\nb\nc" || err != "oops\n" || merged != "a\nb\noops\nc" {
				t.Errorf("stdout %q, stderr %q, merged %q", out, err, merged)
			}
			if c.Len(Stdout) != 5 || c.Len(Stderr) != 5 {
				t.Errorf("lengths are %d and %d, want 5 and 5", c.Len(Stdout), c.Len(Stderr))
			}
		})
	}
}

// TestOutputRandom compares an Output with plain buffers, for pieces of many sizes and
// all ways of spilling.
func TestOutputRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 40 {
		var streams [2]bytes.Buffer
		var merged bytes.Buffer
		c := capture(t, Options{Memory: 1 + r.IntN(50_000)})
		for range r.IntN(50) {
			p := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(1<<r.IntN(16)))
			s := Stream(r.IntN(2))
			c.Stream(s).Write(p)
			streams[s].Write(p)
			merged.Write(p)
		}
		out, err, all := c.texts(t)
		if out != streams[0].String() || err != streams[1].String() || all != merged.String() {
			t.Fatalf("round %d (%d bytes, memory %d): differs", i, merged.Len(), c.memory)
		}
		if sum, err := c.Sum(); err != nil || sum != sha256.Sum256(merged.Bytes()) {
			t.Fatalf("round %d: Sum = %x, %v", i, sum, err)
		}
		if len(c.buf) > c.memory && len(c.buf) > maxPiece {
			t.Fatalf("round %d: %d bytes in memory, limit %d", i, len(c.buf), c.memory)
		}
	}
}

func TestOutputLimit(t *testing.T) {
	c := capture(t, Options{Memory: 8, Limit: 10}, printed{Stdout, "12345"}, printed{Stderr, "abcdefgh"}, printed{Stdout, "more"})
	out, err, merged := c.texts(t)
	const why = ": more than 10 bytes were printed]\n"
	if want := "12345\n[output cut here, 4 bytes left out" + why; out != want {
		t.Errorf("stdout %q, want %q", out, want)
	}
	if want := "abcde\n[output cut here, 3 bytes left out" + why; err != want {
		t.Errorf("stderr %q, want %q", err, want)
	}
	if want := "12345abcde\n[output cut here, 7 bytes left out" + why; merged != want {
		t.Errorf("merged %q, want %q", merged, want)
	}
	if n, reason := c.Dropped(); n != 7 || reason != nil {
		t.Errorf("Dropped = %d, %v; want 7, nil", n, reason)
	}
	exact := capture(t, Options{Limit: 5}, printed{Stdout, "12345"})
	if n, _ := exact.Dropped(); n != 0 {
		t.Errorf("%d bytes dropped at exactly the limit", n)
	}
}

// TestOutputFullDisk fills a real, small file system.
func TestOutputFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts a small file system: run it as root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("mount tmpfs: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	c := New(Options{Memory: 10_000, Dir: dir})
	defer c.Close()
	var all bytes.Buffer
	for i := range 1000 {
		line := fmt.Sprintf("%0255d\n", i)
		all.WriteString(line)
		if _, err := io.WriteString(c.Stream(Stdout), line); err != nil {
			t.Fatal(err)
		}
	}
	dropped, reason := c.Dropped()
	if !errors.Is(reason, syscall.ENOSPC) {
		t.Fatalf("dropped %d because of %v, want %v", dropped, reason, syscall.ENOSPC)
	}
	kept := c.Len(Stdout)
	if kept+dropped != int64(all.Len()) || kept < 64<<10 {
		t.Errorf("%d kept and %d dropped of %d", kept, dropped, all.Len())
	}
	out, _, _ := c.texts(t)
	if !strings.HasPrefix(out, all.String()[:kept]) || !strings.Contains(out[kept:], "no space left on device") {
		t.Errorf("what was kept is not the beginning of the output, or the reason is missing: %q", out[max(0, len(out)-300):])
	}
}

func TestOutputNoFile(t *testing.T) {
	c := capture(t, Options{Memory: 8, Dir: "/nonexistent"}, printed{Stdout, "123"}, printed{Stdout, "456789"})
	out, _, _ := c.texts(t)
	if !strings.HasPrefix(out, "123\n[output cut here, 6 bytes left out: ") || !strings.Contains(out, "/nonexistent") {
		t.Errorf("stdout %q", out)
	}
}

func TestOutputLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	c := capture(t, Options{Memory: 8, Dir: dir}, printed{Stdout, "1234567890"}, printed{Stdout, "1234567890"})
	if c.pages == nil {
		t.Fatal("nothing was spilled")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the directory has %v, %v while the capture is open", left, err)
	}
}

func TestOutputBlank(t *testing.T) {
	for s, want := range map[string]bool{"": true, " \t\r\n\v\f\x00": true, "\n x": false, "\u00a0": false} {
		if got := capture(t, Options{}, printed{Stdout, "\n"}, printed{Stderr, s}).IsBlank(); got != want {
			t.Errorf("IsBlank with %q = %v", s, got)
		}
	}
}

func TestOutputClose(t *testing.T) {
	c := capture(t, Options{Memory: 4}, printed{Stdout, "some"}, printed{Stdout, "text"})
	if _, _, merged := c.texts(t); merged != "sometext" {
		t.Errorf("merged %q", merged)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WriteMerged(io.Discard); err == nil {
		t.Error("a closed capture can be read")
	}
	if c.Len(Stdout) != 8 {
		t.Errorf("length %d after Close, want 8", c.Len(Stdout))
	}
}

func TestNilCapture(t *testing.T) {
	var c *Output
	if _, _, merged := c.texts(t); merged != "" || !c.IsBlank() || c.Len(Stderr) != 0 || c.Close() != nil {
		t.Error("a nil Output is not an empty one")
	}
	if sum, err := c.Sum(); err != nil || sum != sha256.Sum256(nil) {
		t.Errorf("Sum = %x, %v", sum, err)
	}
}

func TestOutputManyReaders(t *testing.T) {
	c := capture(t, Options{Memory: 64}, printed{Stdout, strings.Repeat("line\n", 1000)}, printed{Stderr, "end"})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var b bytes.Buffer
			if err := c.WriteMerged(&b); err != nil || b.Len() != 5003 {
				t.Errorf("read %d bytes, %v", b.Len(), err)
			}
		})
	}
	readers.Wait()
}

// BenchmarkOutputMiB captures 1 MiB in pieces of the size of an SSH packet. Nearly all
// of it goes to the file.
func BenchmarkOutputMiB(b *testing.B) {
	chunk := bytes.Repeat([]byte("x"), 32<<10)
	b.SetBytes(1 << 20)
	dir := b.TempDir()
	for b.Loop() {
		c := New(Options{Dir: dir})
		w := c.Stream(Stdout)
		for range 32 {
			if _, err := w.Write(chunk); err != nil {
				b.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRetainKeepsOutputOpen checks that an output stays open until every holder has
// closed it.
func TestRetainKeepsOutputOpen(t *testing.T) {
	c := New(Options{})
	if _, err := io.WriteString(c.Stream(Stdout), "x"); err != nil {
		t.Fatal(err)
	}
	c.Retain()
	for _, want := range []string{"x", ""} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := c.WriteMerged(&b); b.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q, %v; want %q", b.String(), err, want)
		}
	}
	var none *Output
	none.Retain()
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}
