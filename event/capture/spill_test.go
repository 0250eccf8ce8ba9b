package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func spill(t testing.TB) *Spill {
	t.Helper()
	s := NewSpill(t.TempDir())
	t.Cleanup(func() { s.Close() })
	return s
}

// TestSpillShared checks that many large outputs share one open file, and that each can be read
// back unchanged.
func TestSpillShared(t *testing.T) {
	s := spill(t)
	const outputs = 50
	list := make([]*Output, outputs)
	want := func(i int) string { return strings.Repeat(fmt.Sprintf("output %d\n", i), 10_000) }
	var writers sync.WaitGroup
	for i := range list {
		writers.Go(func() {
			list[i] = capture(t, Options{Spill: s})
			w := list[i].Stream(Stream(i % 2))
			for rest := []byte(want(i)); len(rest) > 0; {
				n := min(len(rest), 1000+i)
				w.Write(rest[:n])
				rest = rest[n:]
			}
			list[i].Settle()
		})
	}
	writers.Wait()
	if opened := descriptors(t, s.dir); opened != 1 {
		t.Errorf("%d descriptors are open for %d outputs, want 1", opened, outputs)
	}
	for i, c := range list {
		if _, _, merged := c.texts(t); merged != want(i) {
			t.Errorf("output %d has %d bytes, and not those that were written", i, len(merged))
		}
	}
}

// descriptors counts the open files below a directory, also removed ones. The process has others, which a collection of
// garbage can close at any time.
func descriptors(t *testing.T, dir string) (n int) {
	t.Helper()
	const open = "/proc/self/fd"
	entries, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, err := os.Readlink(filepath.Join(open, e.Name()))
		if err == nil && strings.HasPrefix(name, dir+"/") {
			n++
		}
	}
	return n
}

// TestSpillReuse checks that slots are reused after their Output was closed or has become
// unreachable.
func TestSpillReuse(t *testing.T) {
	s := spill(t)
	large := strings.Repeat("x", 3*DefaultMemory)
	c := capture(t, Options{Spill: s}, printed{Stdout, large})
	had := s.slots
	c.Close()
	capture(t, Options{Spill: s}, printed{Stdout, large}).Close()
	if had == 0 || s.slots != had {
		t.Errorf("two outputs one after the other took %d places, one %d", s.slots, had)
	}
	drop := func() {
		c := New(Options{Spill: s})
		io.WriteString(c.Stream(Stdout), large)
		c.Settle()
	}
	drop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		runtime.GC()
		s.mu.Lock()
		free := int64(len(s.free))
		s.mu.Unlock()
		if free == s.slots && s.inMemory.Load() == 0 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d places are free, %d bytes in memory", free, s.slots, s.inMemory.Load())
		case <-time.After(time.Millisecond):
		}
	}
}

// TestSettleMovesOutputsToFile checks that ended outputs go to the file if they exceed the memory
// limit, and that small ones stay in memory.
func TestSettleMovesOutputsToFile(t *testing.T) {
	s := spill(t)
	s.most = 1 << 20
	text := strings.Repeat("0123456789abcde\n", 2<<10)
	list := make([]*Output, 64)
	inMemory := int64(0)
	for i := range list {
		list[i] = capture(t, Options{Spill: s}, printed{Stdout, text}, printed{Stderr, "e"})
		list[i].Settle()
		if list[i].buf != nil {
			inMemory += int64(cap(list[i].buf))
		}
	}
	small := capture(t, Options{Spill: s}, printed{Stdout, "small"})
	small.Settle()
	if inMemory > s.most || inMemory < s.most/2 || small.pages != nil {
		t.Errorf("%d bytes are in memory, limit %d", inMemory, s.most)
	}
	for _, c := range append(list[len(list)-10:], list[:10]...) {
		if out, err, merged := c.texts(t); out != text || err != "e" || merged != text+"e" {
			t.Fatal("an output is not what was written")
		}
	}
	if out, _, _ := small.texts(t); out != "small" {
		t.Errorf("got %q", out)
	}
}

// TestSpillClosed checks that reading and writing fail after Close.
func TestSpillClosed(t *testing.T) {
	s := spill(t)
	large := strings.Repeat("x", 2*DefaultMemory)
	c := capture(t, Options{Spill: s}, printed{Stdout, large})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := c.WriteMerged(&b); !errors.Is(err, errSpillClosed) {
		t.Errorf("read %d bytes, %v", b.Len(), err)
	}
	late := capture(t, Options{Spill: s}, printed{Stdout, large})
	if n, reason := late.Dropped(); n == 0 || !errors.Is(reason, errSpillClosed) {
		t.Errorf("%d bytes were dropped, %v", n, reason)
	}
	if out, _, _ := late.texts(t); !strings.Contains(out, errSpillClosed.Error()) {
		t.Errorf("what is left does not say why: %q", out[max(0, len(out)-200):])
	}
}
