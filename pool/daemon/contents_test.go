package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"

	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/archive"
)

// offerAll offers a content, sends its pieces without waiting for answers, and returns the answer
// to its end.
func (p *peer) offerAll(data []byte, digest wire.Digest, size int64) wire.Frame {
	p.t.Helper()
	id := p.id()
	p.send(wire.Offer, id, (&wire.OfferRequest{Content: digest, Size: size, Pushed: true}).Encode())
	p.pieces(id, data)
	p.send(wire.End, id, nil)
	f := p.next()
	if f.ID != id {
		p.t.Fatalf("answer for %d, want %d", f.ID, id)
	}
	return f
}

func (p *peer) pieces(id uint32, data []byte) {
	p.t.Helper()
	for len(data) > 0 {
		n := min(len(data), wire.MaxPiece)
		p.send(wire.Piece, id, data[:n])
		data = data[n:]
	}
}

func (p *peer) push(data []byte) wire.Digest {
	p.t.Helper()
	d := wire.Digest(sha256.Sum256(data))
	if f := p.offerAll(data, d, int64(len(data))); f.Type != wire.Finished {
		p.t.Fatalf("answer of type %d: %v", f.Type, failure(p.t, f))
	}
	return d
}

// pattern returns n varying bytes.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

func TestStagedFilesAndStdin(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	lease := p.dial("a")
	script, big, empty := []byte("#!/bin/sh\ncd \"${0%/*}\"; wc -c <big; cksum <big; ls -l x.sh | cut -c1-10; cat\n"), pattern(3<<20), []byte{}
	sum := func(d []byte) wire.Digest { return sha256.Sum256(d) }
	for _, stdin := range [][]byte{[]byte("stdin\n"), empty} {
		for _, d := range [][]byte{script, big, stdin} {
			p.push(d)
		}
		q := wire.RunRequest{Lease: lease, Cmd: transport.Cmd{Argv: []string{"./x.sh"}}, HasStdin: true,
			Stdin: wire.StagedFile{Size: int64(len(stdin)), Data: sum(stdin)},
			Files: []wire.StagedFile{
				{Name: "x.sh", Mode: 0o744, Size: int64(len(script)), Data: sum(script)},
				{Name: "big", Mode: 0o600, Size: int64(len(big)), Data: sum(big)},
			}}
		id := p.id()
		p.send(wire.Run, id, q.Encode())
		out, errs, st, err := p.finish(id)
		lines := strings.SplitN(out, "\n", 4)
		if err != nil || !st.OK() || errs != "" || len(lines) != 4 || lines[0] != "3145728" || lines[2] != "-rwxr--r--" || lines[3] != string(stdin) {
			t.Errorf("got %q, %q, %v, %v", out, errs, st, err)
		}
	}
	for d, c := range v.contents.all {
		if c.loads != 0 || c.loaded != nil {
			t.Errorf("content %v is still in memory", d)
		}
	}
}

// packed returns a tree as a client packs it.
func packed(t *testing.T, tree fstest.MapFS, top string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := archive.Pack(&b, transport.Tree{FS: tree, Path: top}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// countedConn counts the bytes that are written to it.
type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// taker is a Router whose connections read the trees of their uploads.
type taker struct {
	still
	bytes *atomic.Int64
}

func (k taker) Route(_ context.Context, to transport.Dest) (transport.Route, error) {
	return takerRoute{stillRoute{to.Host}, k}, nil
}

type takerRoute struct {
	stillRoute
	taker taker
}

func (r takerRoute) Dial(context.Context) (transport.Conn, error) { return r.taker, nil }

func (k taker) Put(_ context.Context, src transport.Tree, dst string, _ transport.FileOptions) error {
	if src.Name != "named" || dst != "/dst" || archive.Describe(src) != "/home/me/src" {
		return fmt.Errorf("tree %+v to %s", src, dst)
	}
	return fs.WalkDir(src.FS, src.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(src.FS, path)
		k.bytes.Add(int64(len(data)))
		return err
	})
}

// TestContentCrossesOnce checks that two hundred uploads of one tree, by several clients, send its
// bytes once.
func TestContentCrossesOnce(t *testing.T) {
	t.Parallel()
	to := taker{bytes: new(atomic.Int64)}
	v := serve(t, func(o *Options) {
		o.Router = func(wire.Caller, func(string) (transport.Secret, bool), func(string, string)) transport.Router {
			return to
		}
	})
	tree := fstest.MapFS{"d/a": {Data: pattern(2 << 20), Mode: 0o640}, "d/b/c": {Data: []byte("c"), Mode: 0o755}}
	data := packed(t, tree, "d")
	digest := wire.Digest(sha256.Sum256(data))
	for round := range 2 {
		p := v.connect(t)
		var sent atomic.Int64
		p.w = wire.NewWriter(countedConn{p.conn, &sent})
		id := p.id()
		p.send(wire.Offer, id, (&wire.OfferRequest{Content: digest, Size: int64(len(data))}).Encode())
		if round == 0 {
			p.expect(wire.Wanted, id)
			p.pieces(id, data)
			p.send(wire.End, id, nil)
			p.expect(wire.Finished, id)
		} else {
			p.expect(wire.Had, id)
		}
		const puts = 100
		for i := range puts {
			lease := p.dial(fmt.Sprintf("host%d", i))
			id := p.id()
			p.send(wire.Put, id, (&wire.PutRequest{Lease: lease, Tree: digest, Source: "/home/me/src", Name: "named", Dst: "/dst"}).Encode())
			p.expect(wire.Finished, id)
		}
		most := int64(100_000)
		if round == 0 {
			most += int64(len(data))
		}
		if n := sent.Load(); n > most {
			t.Errorf("round %d: %d bytes over the socket, at most %d expected", round, n, most)
		}
		if n := to.bytes.Swap(0); n != puts*(2<<20+1) {
			t.Errorf("round %d: %d bytes reached the machines", round, n)
		}
		if names, err := os.ReadDir(v.o.ContentDir); err != nil || len(names) > 0 {
			t.Errorf("on disk: %v, %v", names, err)
		}
		p.conn.Close()
	}
}

// TestPutErrorNamesTheSource checks that the error contains the source and not the path in the
// archive.
func TestPutErrorNamesTheSource(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	d := p.push([]byte("no archive"))
	id := p.id()
	p.send(wire.Put, id, (&wire.PutRequest{Lease: p.dial("a"), Tree: d, Source: "/home/me/src", Name: "x", Dst: "/x"}).Encode())
	if e := p.failed(id); !strings.Contains(e.Msg, "/home/me/src") {
		t.Errorf("got %+v", e)
	}
}

func TestInvalidContents(t *testing.T) {
	v := serve(t, nil)
	for _, size := range []int{100, 2 << 20} {
		good := pattern(size)
		digest := wire.Digest(sha256.Sum256(good))
		bad := bytes.Clone(good)
		bad[size/2] ^= 1
		for _, c := range []struct {
			name string
			data []byte
			want string
		}{
			{"corrupt", bad, "digest differs from the announced one"},
			{"short", good[:size-1], fmt.Sprintf("received %d of", size-1)},
			{"nothing", nil, "received 0 of"},
		} {
			t.Run(fmt.Sprintf("%s %d", c.name, size), func(t *testing.T) {
				p := v.connect(t)
				f := p.offerAll(c.data, digest, int64(size))
				if f.Type != wire.Failed || !strings.Contains(failure(t, f).Msg, c.want) {
					t.Fatalf("answer %d %q", f.Type, f.Body)
				}
				// Requests that need the content fail with the same reason, and a second offer may
				// succeed.
				q := wire.RunRequest{Lease: p.dial("a"), Cmd: transport.Cmd{Line: "cksum"}, HasStdin: true, Stdin: wire.StagedFile{Size: int64(size), Data: digest}}
				id := p.id()
				p.send(wire.Run, id, q.Encode())
				if e := p.failed(id); !strings.Contains(e.Msg, c.want) {
					t.Errorf("got %v", e)
				}
				p.push(good)
				id = p.id()
				p.send(wire.Run, id, q.Encode())
				if out, _, _, err := p.finish(id); err != nil || !strings.HasSuffix(out, fmt.Sprintf(" %d\n", size)) {
					t.Errorf("got %q, %v", out, err)
				}
			})
			v.contents.mu.Lock()
			delete(v.contents.all, digest) // otherwise the next case has it
			v.contents.mu.Unlock()
		}
	}
}

func TestContentDiskFull(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	v := serve(t, func(o *Options) { o.ContentDir = small })
	t.Cleanup(func() { // after the daemon has ended: its cleanup was registered first, so this one runs before
		v.end()
		v.wait(t)
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	p := v.connect(t)
	data := pattern(4 << 20)
	f := p.offerAll(data, sha256.Sum256(data), int64(len(data)))
	if e := failure(t, f); f.Type != wire.Failed || !strings.Contains(e.Msg, "no space left on device") || e.Hint == "" {
		t.Errorf("got %d, %+v", f.Type, e)
	}
	p.push(pattern(1000)) // it stays in memory
}

// TestConcurrentOffersOfOneContent offers the same content by two clients, one of which gives up.
func TestConcurrentOffersOfOneContent(t *testing.T) {
	v := serve(t, nil)
	data := pattern(1 << 20)
	digest := wire.Digest(sha256.Sum256(data))
	offer := (&wire.OfferRequest{Content: digest, Size: int64(len(data))}).Encode()
	var peers []*peer
	for range 4 {
		p := v.connect(t)
		p.send(wire.Offer, 1, offer)
		p.expect(wire.Wanted, 1)
		p.pieces(1, data[:1000])
		peers = append(peers, p)
	}
	peers[0].send(wire.Cancel, 1, (&wire.CancelRequest{}).Encode())
	if e := peers[0].failed(1); e.Class != transport.ClassCancelled {
		t.Error(e)
	}
	peers[1].conn.Close()
	for _, p := range peers[2:] {
		p.pieces(1, data[1000:])
		p.send(wire.End, 1, nil)
		p.expect(wire.Finished, 1)
	}
	peers[0].send(wire.Offer, 2, offer)
	peers[0].expect(wire.Had, 2)
	eventually(t, "the memory of those that came to nothing is free", func() bool {
		v.contents.mu.Lock()
		defer v.contents.mu.Unlock()
		return v.contents.memory == 1<<20 && v.contents.size == 1<<20
	})
	if st := peers[0].status(); st.Contents != 1 || st.ContentSize != 1<<20 {
		t.Errorf("status: %d contents of %d bytes", st.Contents, st.ContentSize)
	}
}

// TestContentIsStoredAfterFailure checks that a content that one client failed to store can be
// stored by another.
func TestContentIsStoredAfterFailure(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	lease := p.dial("a")
	data := pattern(1000)
	digest := wire.Digest(sha256.Sum256(data))
	if f := p.offerAll(make([]byte, len(data)), digest, int64(len(data))); f.Type != wire.Failed {
		t.Fatalf("other bytes than announced: answer of type %d", f.Type)
	}
	v.connect(t).push(data)
	id := p.id()
	p.send(wire.Offer, id, (&wire.OfferRequest{Content: digest, Size: int64(len(data))}).Encode())
	p.expect(wire.Had, id)
	q := wire.RunRequest{Lease: lease, Cmd: transport.Cmd{Line: "wc -c"}, HasStdin: true, Stdin: wire.StagedFile{Size: int64(len(data)), Data: digest}}
	id = p.id()
	p.send(wire.Run, id, q.Encode())
	if out, _, _, err := p.finish(id); strings.TrimSpace(out) != "1000" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestForgottenContentIsKeptWhileUsed checks that a forgotten content stays for its users, and can
// be offered again.
func TestForgottenContentIsKeptWhileUsed(t *testing.T) {
	v := serve(t, nil)
	p := v.connect(t)
	lease := p.dial("a")
	data := pattern(2 << 20)
	digest := p.push(data)
	used := func() int {
		v.contents.mu.Lock()
		defer v.contents.mu.Unlock()
		return v.contents.all[digest].users
	}
	q := wire.RunRequest{Lease: lease, Cmd: transport.Cmd{Line: "sleep 0.1; wc -c"}, HasStdin: true, Stdin: wire.StagedFile{Size: int64(len(data)), Data: digest}}
	id := p.id()
	p.send(wire.Run, id, q.Encode())
	p.send(wire.Forget, 0, wire.EncodeForget(digest))
	p.control("ping")
	if n := used(); n != 1 {
		t.Errorf("%d users while a request needs it", n)
	}
	if out, _, _, err := p.finish(id); strings.TrimSpace(out) != fmt.Sprint(len(data)) || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
	eventually(t, "nobody uses it", func() bool { return used() == 0 })
	p.send(wire.Forget, 0, wire.EncodeForget(digest)) // a second Forget does nothing
	id = p.id()
	p.send(wire.Offer, id, (&wire.OfferRequest{Content: digest, Size: int64(len(data))}).Encode())
	p.expect(wire.Had, id)
	p.send(wire.Forget, 0, wire.EncodeForget(digest))
	p.send(wire.Run, p.id(), q.Encode())
	p.closed()
}

func TestStore(t *testing.T) {
	newContent := func(s *store, n byte, size int64) *content {
		c := &content{digest: wire.Digest{n}, size: size}
		if c.onDisk = !s.reserve(size); !c.onDisk {
			c.data = make([]byte, size)
			return s.add(c)
		}
		var err error
		if c.file, err = os.CreateTemp(t.TempDir(), ""); err != nil {
			t.Fatal(err)
		}
		return s.add(c)
	}
	names := func(s *store) string {
		var b strings.Builder
		for n := range byte(100) {
			if c := s.use(wire.Digest{n}); c != nil {
				fmt.Fprintf(&b, "%d ", n)
				s.mu.Lock()
				c.users-- // without a change of its position in the list
				if c.users == 0 {
					c.place = s.unused.PushBack(c)
					s.rest += c.size
				}
				s.mu.Unlock()
			}
		}
		return strings.TrimSpace(b.String())
	}
	t.Run("unused ones go, oldest first", func(t *testing.T) {
		s := newStore("", 25)
		var all []*content
		for n := range byte(4) {
			all = append(all, newContent(s, n, 10))
		}
		if got := names(s); got != "0 1 2 3" {
			t.Fatalf("in use: %s", got)
		}
		s.drop(all[2])
		s.drop(all[0])
		s.drop(all[1])
		if got := names(s); got != "0 1 3" {
			t.Errorf("kept: %s", got)
		}
		s.drop(all[3])
		if got := names(s); got != "1 3" {
			t.Errorf("kept: %s", got)
		}
		s.close()
		if s.memory != 0 || s.size != 0 || s.rest != 0 || len(s.all) != 0 {
			t.Errorf("not all is free: %+v", s)
		}
	})
	t.Run("not too many", func(t *testing.T) {
		s := newStore("", 1<<40)
		for n := range byte(maxUnused + 10) {
			s.drop(newContent(s, n, 1))
		}
		if n, size := s.sum(); n != maxUnused || size != maxUnused {
			t.Errorf("%d of %d bytes", n, size)
		}
	})
	t.Run("memory is bounded", func(t *testing.T) {
		s := newStore("", 1<<40)
		var files int
		for n := range byte(80) {
			if newContent(s, n, maxInMemory).onDisk {
				files++
			}
		}
		if files != 80-maxMemory/maxInMemory {
			t.Errorf("%d on disk", files)
		}
		for _, c := range s.all {
			s.drop(c)
		}
		s.close()
	})
}

// TestLargeContentIsShared checks that concurrent requests share the memory.
func TestLargeContentIsShared(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, "hello"); err != nil {
		t.Fatal(err)
	}
	c := &content{size: 5, onDisk: true, file: f}
	one, release1, err1 := c.bytes()
	two, release2, err2 := c.bytes()
	if err1 != nil || err2 != nil || string(one) != "hello" || &one[0] != &two[0] {
		t.Errorf("got %q, %q, %v, %v", one, two, err1, err2)
	}
	release1()
	if c.loaded == nil {
		t.Error("freed while in use")
	}
	release2()
	if c.loaded != nil {
		t.Error("not freed")
	}
	c.size = 6
	if _, _, err := c.bytes(); transport.ClassOf(err) != transport.ClassFile {
		t.Errorf("a file that is short: %v", err)
	}
}
