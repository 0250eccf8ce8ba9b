package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/archive"
)

// TestContentsOnce checks that two hundred runs with the same files send them
// once.
func TestContentsOnce(t *testing.T) {
	d := newFake(t, nil)
	c := newClient(t, Options{Socket: d.socket})
	small, large := bytes.Repeat([]byte("s"), 20<<10), bytes.Repeat([]byte("large"), 50<<10)
	cmd := transport.Cmd{Argv: []string{"./x"}, Stdin: []byte("in"), Files: []transport.File{
		{Name: "x", Mode: 0o755, Data: small}, {Name: "y", Mode: 0o644, Data: large}, {Name: "empty"},
	}}
	want := string(small) + string(large) + "in"
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			var out strings.Builder
			mine := cmd
			mine.Stdout = &out
			conn := mustDial(t, c)
			if _, err := conn.Run(testContext(t), &mine); err != nil || !strings.HasPrefix(want, out.String()) || out.Len() == 0 {
				t.Errorf("%d bytes, %v", out.Len(), err)
			}
		})
	}
	wg.Wait()
	if n := d.seen(wire.Offer); n != 4 || d.pieces != len(want) {
		t.Errorf("%d offers, %d bytes, want 4 and %d", n, d.pieces, len(want))
	}
	if len(c.sums.m) != 0 {
		t.Errorf("%d digests are remembered", len(c.sums.m))
	}

	other := newClient(t, Options{Socket: d.socket}) // the daemon has the content already
	if _, err := mustDial(t, other).Run(testContext(t), &transport.Cmd{Line: "x", Stdin: large}); err != nil {
		t.Error(err)
	}
	if d.pieces != len(want) {
		t.Errorf("a content that was had was sent")
	}
}

// TestManyContents checks that the number of held contents is bounded, and that
// forgotten contents are offered again.
func TestManyContents(t *testing.T) {
	const workers, each = 50, 180
	var mu sync.Mutex
	has := map[wire.Digest]bool{}
	var most, forgotten int
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		switch f.Type {
		case wire.Offer:
			if o, err := wire.DecodeOffer(f.Body); err == nil {
				has[o.Content] = true
				most = max(most, len(has))
			}
			if len(p.offers) > wire.MaxOffers {
				t.Errorf("%d offers at a time", len(p.offers))
			}
		case wire.End:
			delete(p.offers, f.ID)
			p.send(wire.Finished, f.ID, nil)
		case wire.Forget:
			c, err := wire.DecodeForget(f.Body)
			if err != nil || !has[c] {
				t.Errorf("%v is forgotten, %v", c, err)
			}
			delete(has, c)
			forgotten++
		case wire.Run:
			r, err := wire.DecodeRun(f.Body)
			if err != nil || !has[r.Stdin.Data] || !has[r.Files[0].Data] {
				t.Errorf("a command without its contents, %v", err)
			}
			p.send(wire.Exited, f.ID, wire.EncodeStatus(transport.Status{}))
		default:
			return false
		}
		return f.Type != wire.Offer
	})
	c := newClient(t, Options{Socket: d.socket})
	conn := mustDial(t, c)
	shared := []transport.File{{Name: "x", Data: []byte("used by all")}}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				// Each is used twice, the second time long after.
				n := w*each + i%(each/2)
				if _, err := conn.Run(testContext(t), &transport.Cmd{Argv: []string{"./x"}, Files: shared, Stdin: fmt.Append(nil, n)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if forgotten == 0 || most > wire.MaxHeld+workers {
		t.Errorf("%d contents at a time, %d forgotten", most, forgotten)
	}
}

// TestReusedBuffer checks that bytes that change after a Run are a new content.
func TestReusedBuffer(t *testing.T) {
	d := newFake(t, nil)
	conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
	buf := bytes.Repeat([]byte("a"), 30<<10)
	for _, b := range []byte("abab") {
		for i := range buf {
			buf[i] = b
		}
		var out bytes.Buffer
		if _, err := conn.Run(testContext(t), &transport.Cmd{Stdin: buf, Argv: []string{"x"}, Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		if out.Bytes()[0] != b {
			t.Errorf("got %.1q, want %q", out.Bytes(), b)
		}
	}
}

// TestContentRefused checks that a content refused because of a full disk is
// offered again later.
func TestContentRefused(t *testing.T) {
	for name, size := range map[string]int{"pushed": 10 << 10, "asked": 1 << 20} {
		for _, at := range []wire.Type{wire.Offer, wire.Piece, wire.End} {
			if at == wire.Offer && name == "pushed" {
				continue // it is refused at its end
			}
			t.Run(name, func(t *testing.T) {
				var full atomic.Bool
				full.Store(true)
				refused := map[uint32]bool{}
				d := newFake(t, func(p *peer, f wire.Frame) bool {
					if full.Load() && f.Type == at && !refused[f.ID] {
						refused[f.ID] = true
						p.fail(f.ID, transport.ClassFile, "no space left")
					}
					return refused[f.ID]
				})
				conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
				data := make([]byte, size)
				cmd := transport.Cmd{Argv: []string{"x"}, Stdin: data}
				if _, err := conn.Run(testContext(t), &cmd); err == nil {
					t.Error("the command has run")
				}
				full.Store(false)
				if _, err := conn.Run(testContext(t), &cmd); err != nil {
					t.Errorf("again: %v", err)
				}
			})
		}
	}
}

// TestRefusedWhilePushed checks the case that the refusal arrives before the
// content is recorded as held.
func TestRefusedWhilePushed(t *testing.T) {
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Offer {
			p.fail(f.ID, transport.ClassFile, "no space left")
		}
		return f.Type == wire.Offer
	})
	c := newClient(t, Options{Socket: d.socket})
	s, err := c.session(testContext(t))
	check(t, err)
	var u uses
	err = s.offer(testContext(t), &u, wire.Digest{1}, 1, func(io.Writer) error {
		_, err := c.Control(testContext(t), "ping") // its answer comes after the refusal
		return err
	})
	expectClass(t, err, transport.ClassFile, "no space left")
	if s.contents.has(wire.Digest{1}, &u) {
		t.Error("the content is held")
	}
}

// TestUsesOutliveRefusal checks that a user of a refused content is not a user
// of the same content after a new offer.
func TestUsesOutliveRefusal(t *testing.T) {
	c := newContents()
	var first, second uses
	c.add(wire.Digest{1}, &first)
	c.refused(wire.Digest{1})
	c.add(wire.Digest{1}, &second)
	c.done(first)
	if n := c.held[wire.Digest{1}].users; n != 1 {
		t.Errorf("%d users, want 1", n)
	}
}

func writeTree(t *testing.T, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	check(t, os.MkdirAll(dir+"/sub", 0o755))
	check(t, os.WriteFile(dir+"/sub/file", bytes.Repeat([]byte("x"), size), 0o640))
	return dir
}

// TestTreeOnce checks that two hundred uploads of one tree pack and send it
// once.
func TestTreeOnce(t *testing.T) {
	for name, size := range map[string]int{"small": 100, "large": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t, size)
			var tar bytes.Buffer
			check(t, archive.Pack(&tar, transport.Tree{Path: dir}))
			d := newFake(t, nil)
			c := newClient(t, Options{Socket: d.socket})
			var wg sync.WaitGroup
			begin := make(chan struct{})
			for range 200 {
				conn := mustDial(t, c)
				wg.Go(func() {
					<-begin
					if err := conn.Put(testContext(t), transport.Tree{Path: dir}, "/to", transport.FileOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
			close(begin)
			wg.Wait()
			if d.seen(wire.Offer) != 1 || d.pieces != tar.Len() || d.seen(wire.Put) != 200 {
				t.Errorf("%d offers, %d bytes, %d puts; want 1, %d, 200", d.seen(wire.Offer), d.pieces, d.seen(wire.Put), tar.Len())
			}
			if len(c.trees.m) != 0 {
				t.Error("the tree is remembered")
			}
		})
	}
}

// TestTreeChanges checks that an upload sends the tree as it is when the upload
// begins, including changes deep in the tree.
func TestTreeChanges(t *testing.T) {
	d := newFake(t, nil)
	conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
	dir := writeTree(t, 100)
	put := func(tree transport.Tree) wire.Digest {
		t.Helper()
		var got wire.Digest
		d.on = func(_ *peer, f wire.Frame) bool {
			if f.Type == wire.Put {
				r, err := wire.DecodePut(f.Body)
				if err != nil {
					t.Error(err)
				}
				got = r.Tree
			}
			return false
		}
		check(t, conn.Put(testContext(t), tree, "/to", transport.FileOptions{}))
		return got
	}
	first := put(transport.Tree{Path: dir})
	if again := put(transport.Tree{Path: dir}); again != first {
		t.Error("an equal tree has another digest")
	}
	if fromFS := put(transport.Tree{FS: os.DirFS(filepath.Dir(dir)), Path: "tree"}); fromFS != first {
		t.Error("an equal tree of an FS has another digest")
	}
	check(t, os.WriteFile(dir+"/sub/file", bytes.Repeat([]byte("y"), 100), 0o640))
	if put(transport.Tree{Path: dir}) == first {
		t.Error("a changed tree has the same digest")
	}
	if put(transport.Tree{FS: fstest.MapFS{"a/b": {Data: []byte("z")}}, Path: "a", Name: "n"}) == first {
		t.Error("another tree has the same digest")
	}
}

// TestTreeChangesMeanwhile changes a tree between the two times that it is
// read.
func TestTreeChangesMeanwhile(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"other bytes": func(f string) error { return os.WriteFile(f, bytes.Repeat([]byte("y"), 1<<20), 0o640) },
		"longer":      func(f string) error { return os.WriteFile(f, bytes.Repeat([]byte("x"), 2<<20), 0o640) },
		"shorter":     func(f string) error { return os.Truncate(f, 1<<18) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t, 1<<20)
			var changed bool
			d := newFake(t, func(_ *peer, f wire.Frame) bool {
				if f.Type == wire.Offer && !changed {
					changed = true
					check(t, change(dir+"/sub/file"))
				}
				return false
			})
			conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
			err := conn.Put(testContext(t), transport.Tree{Path: dir}, "/to", transport.FileOptions{})
			expectClass(t, err, transport.ClassFile, dir, "it has changed")
			eventually(t, "the offer is taken back", func() bool { return d.seen(wire.Cancel) == 1 })
			if d.seen(wire.End) != 0 || d.seen(wire.Put) != 0 {
				t.Error("it was uploaded")
			}
			check(t, conn.Put(testContext(t), transport.Tree{Path: dir}, "/to", transport.FileOptions{}))
		})
	}
}

func TestTreeErrors(t *testing.T) {
	d := newFake(t, nil)
	conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
	for name, tree := range map[string]transport.Tree{"missing": {Path: "/nonexistent/x"}, "device": {Path: "/dev/null"}} {
		t.Run(name, func(t *testing.T) {
			expectClass(t, conn.Put(testContext(t), tree, "/to", transport.FileOptions{}), transport.ClassFile, tree.Path)
		})
	}
	expectClass(t, conn.Put(testContext(t), transport.Tree{Path: "/etc/passwd", Name: "a/b"}, "/to", transport.FileOptions{}), transport.ClassUnsupported)
	if n := d.seen(wire.Offer) + d.seen(wire.Put); n != 0 {
		t.Errorf("%d frames were sent", n)
	}
}

// TestPusherGivesUp checks that another caller sends a content if the caller
// that sends it for many is cancelled.
func TestPusherGivesUp(t *testing.T) {
	var offers atomic.Int32
	first, cancel := context.WithCancel(testContext(t))
	defer cancel()
	second := make(chan struct{})
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Offer && offers.Add(1) == 1 {
			<-second
			cancel()
			return true // no answer
		}
		return false
	})
	c := newClient(t, Options{Socket: d.socket})
	one, two := mustDial(t, c), mustDial(t, c)
	cmd := &transport.Cmd{Argv: []string{"x"}, Stdin: make([]byte, 1<<20)}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := one.Run(first, cmd)
		expectClass(t, err, transport.ClassCancelled, "before it started")
	})
	eventually(t, "the first offers", func() bool { return offers.Load() == 1 })
	wg.Go(func() {
		if _, err := two.Run(testContext(t), cmd); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(10 * time.Millisecond) // the second waits for the first, most likely
	close(second)
	wg.Wait()
	eventually(t, "the first offer is taken back", func() bool { return d.seen(wire.Cancel) == 1 })
}

func TestDownload(t *testing.T) {
	src := writeTree(t, 200<<10)
	var tar bytes.Buffer
	check(t, archive.Pack(&tar, transport.Tree{Path: src}))
	var fail atomic.Bool
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type != wire.Get {
			return false
		}
		b := tar.Bytes()
		for len(b) > 0 && !fail.Load() {
			n := min(len(b), wire.MaxPiece)
			p.send(wire.Stdout, f.ID, b[:n])
			b = b[n:]
		}
		if fail.Load() {
			p.fail(f.ID, transport.ClassFile, "no such file there")
		} else {
			p.send(wire.Finished, f.ID, nil)
		}
		return true
	})
	conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
	dst := t.TempDir()
	check(t, conn.Get(testContext(t), "/far/tree", dst, transport.FileOptions{}))
	if got, err := os.ReadFile(dst + "/tree/sub/file"); err != nil || len(got) != 200<<10 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	check(t, os.WriteFile(dst+"/file", nil, 0o600))
	expectClass(t, conn.Get(testContext(t), "/far/tree", dst+"/file", transport.FileOptions{}), transport.ClassFile, "Could not prepare the download directory")
	expectClass(t, conn.Get(testContext(t), "/", dst, transport.FileOptions{}), transport.ClassUnsupported)
	fail.Store(true)
	expectClass(t, conn.Get(testContext(t), "/far/tree", dst, transport.FileOptions{}), transport.ClassFile, "no such file there")
}
