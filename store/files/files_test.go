package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/store"
	"bolt/store/storetest"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, place string) store.Store { return open(t, filepath.Join(place, "state", "deep")) })
}

// add appends the numbers of the next n events, and returns the new revision.
func add(t *testing.T, s *Store, after store.Revision, n int) store.Revision {
	t.Helper()
	var data []json.RawMessage
	for i := range n {
		data = append(data, number(int(after)+1+i))
	}
	r, err := s.Append(t.Context(), "log", after, 0, data...)
	must(t, err)
	return r
}

func number(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }

// whole checks that a store has the numbers from 1 to last, and nothing else.
func whole(t *testing.T, s *Store, last int) {
	t.Helper()
	events, err := store.Load(t.Context(), s, "log", 0)
	must(t, err)
	if len(events) != last {
		t.Fatalf("%d events, want %d", len(events), last)
	}
	for i, e := range events {
		if string(e.Data) != strconv.Itoa(i+1) {
			t.Fatalf("event %d is %s", i+1, e.Data)
		}
	}
}

func TestDamagedBlob(t *testing.T) {
	s := open(t, t.TempDir())
	d, err := s.Put(t.Context(), []byte("content"))
	must(t, err)
	for _, text := range []string{"Content", "conten", "content more", ""} {
		must(t, os.WriteFile(s.blob(d), []byte(text), 0o600))
		_, err = s.Get(t.Context(), d)
		if e, is := errors.AsType[*store.DamagedError](err); !is || e.File != s.blob(d) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := s.Put(t.Context(), []byte("content")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), d); err != nil || string(got) != "content" {
		t.Errorf("after a new Put: %q, %v", got, err)
	}
	must(t, os.Remove(s.blob(d)), os.Symlink("/etc/passwd", s.blob(d)))
	if _, err := s.Get(t.Context(), d); err == nil {
		t.Error("a link was read")
	}
}

// TestTorn cuts a log at many bytes of its last Append.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := add(t, s, 0, 2)
	before, err := os.ReadFile(s.log("log"))
	must(t, err)
	add(t, s, r, 3)
	all, err := os.ReadFile(s.log("log"))
	must(t, err)
	const step = 5
	for size := len(before); size < len(all); size += step {
		for name, text := range map[string][]byte{
			"cut":    all[:size],
			"zeroes": append(bytes.Clone(all[:size]), make([]byte, len(all)-size)...),
			"hole":   append(append(bytes.Clone(all[:size]), 0), all[size+1:]...),
		} {
			must(t, os.WriteFile(s.log("log"), text, 0o600))
			s := open(t, dir)
			whole(t, s, 2)
			add(t, s, 2, 1)
			whole(t, open(t, dir), 3)
			if t.Failed() {
				t.Fatalf("%s at %d", name, size)
			}
		}
	}
}

// TestZeroed writes zero bytes into an Append before the last one. This is not a torn tail: the events were synced, so
// they must not be removed.
func TestZeroed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, add(t, s, add(t, s, 0, 2), 2), 2)
	text, err := os.ReadFile(s.log("log"))
	must(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	from, size := len(lines[0])+len(lines[1]), len(lines[2])+len(lines[3])
	for at := from; at < from+size; at++ {
		for name, n := range map[string]int{"byte": 1, "rest of the line": max(1, bytes.IndexByte(text[at:], '\n'))} {
			bad := bytes.Clone(text)
			clear(bad[at : at+n])
			must(t, os.WriteFile(s.log("log"), bad, 0o600))
			s := open(t, dir)
			_, err := store.Load(t.Context(), s, "log", 0)
			_, appendErr := s.Append(t.Context(), "log", 2, 0, json.RawMessage("3"))
			for _, err := range []error{err, appendErr} {
				if e, is := errors.AsType[*store.DamagedError](err); !is || e.Line < 3 || e.Line > 4 {
					t.Fatalf("%s at %d: %v", name, at-from, err)
				}
			}
			if now, err := os.ReadFile(s.log("log")); err != nil || !bytes.Equal(now, bad) {
				t.Fatalf("%s at %d: the file was changed", name, at-from)
			}
		}
	}
}

// TestEdited checks the place of each line that was edited, removed or inserted.
func TestEdited(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := add(t, s, 0, 2)
	add(t, s, r, 3)
	text, err := os.ReadFile(s.log("log"))
	must(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))[:5]
	edit := func(i int, f func(line []byte) []byte) []byte {
		var all []byte
		for n, l := range lines {
			if n == i {
				l = f(bytes.Clone(l))
			}
			all = append(all, l...)
		}
		return all
	}
	for i := range lines {
		for name, c := range map[string]struct {
			f    func([]byte) []byte
			line int
		}{
			"data":     {func(l []byte) []byte { return bytes.Replace(l, []byte(`"data":`), []byte(`"data":1`), 1) }, i + 1},
			"fence":    {func(l []byte) []byte { return bytes.Replace(l, []byte(`"fence":0`), []byte(`"fence":9`), 1) }, i + 1},
			"no event": {func([]byte) []byte { return []byte("{}\n") }, i + 1},
			"empty":    {func(l []byte) []byte { return append([]byte("\n"), l...) }, i + 1},
			"twice":    {func(l []byte) []byte { return append(l, l...) }, i + 2},
			"removed":  {func([]byte) []byte { return nil }, i + 1},
		} {
			if name == "removed" && i == len(lines)-1 {
				continue // as if the last Append had not been complete
			}
			must(t, os.WriteFile(s.log("log"), edit(i, c.f), 0o600))
			s := open(t, dir)
			_, err := store.Load(t.Context(), s, "log", 0)
			damage := func(err error) {
				t.Helper()
				if e, is := errors.AsType[*store.DamagedError](err); !is || e.File != s.log("log") || e.Line != c.line {
					t.Errorf("%s in line %d: %v", name, i+1, err)
				}
			}
			damage(err)
			_, err = s.Append(t.Context(), "log", 5, 0, number(6))
			damage(err)
			for _, werr := range s.Watch(t.Context(), "log", 4) {
				err = werr
			}
			damage(err)
		}
	}
	must(t, os.WriteFile(s.log("log"), text, 0o600))
	whole(t, open(t, dir), 5)
}

// TestFullDisk fills a small file system. Data that cannot be stored leaves no files, and earlier data stays.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mount tmpfs (it needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := open(t, filepath.Join(dir, "state"))
	r := add(t, s, 0, 3)
	fill := filepath.Join(dir, "fill")
	big := bytes.Repeat([]byte("x"), 1<<20)
	if err := os.WriteFile(fill, big, 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the file system is not full: %v", err)
	}
	size := func() int64 {
		info, err := os.Stat(s.log("log"))
		must(t, err)
		return info.Size()
	}
	before := size()
	if _, err := s.Append(t.Context(), "log", r, 0, number(4), json.RawMessage(`"`+strings.Repeat("y", 100_000)+`"`)); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("Append: %v", err)
	}
	if size() != before {
		t.Error("a part of the events is in the file")
	}
	content := []byte("content")
	if _, err := s.Put(t.Context(), content); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("Put: %v", err)
	}
	if _, err := s.Get(t.Context(), store.DigestOf(content)); err == nil {
		t.Error("the content is there")
	}
	if _, err := s.Lease(t.Context(), "x", "ada", time.Hour); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Lease: %v", err)
	}
	if _, err := s.Append(t.Context(), "new/log", 0, 0, number(1)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Append to a new log: %v", err)
	}
	if names, err := s.Names(t.Context(), ""); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	whole(t, open(t, s.Dir()), 3)
	must(t, os.Remove(fill))
	add(t, s, r, 1)
	whole(t, open(t, s.Dir()), 4)
	_, err := s.Put(t.Context(), content)
	must(t, err)
	l, err := s.Lease(t.Context(), "x", "ada", time.Hour)
	must(t, err)
	must(t, l.Release(t.Context()))
}

// These variables make the test binary a writer to the store that they name: until it is killed
// (TestKilled), or beside another one (TestTwoProcesses).
const (
	childVariable  = "BOLT_TEST_STORE"
	besideVariable = "BOLT_TEST_STORE_BESIDE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		child(dir)
		os.Exit(1)
	}
	if dir := os.Getenv(besideVariable); dir != "" {
		if err := beside(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child takes a lease and appends until it is killed: three events at a time, and a content for
// each time. It prints each revision when Append has returned.
func child(dir string) {
	s, err := Open(context.Background(), dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	l, err := s.Lease(ctx, "log", "child", time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	events, err := store.Load(ctx, s, "log", 0)
	for after := store.Revision(len(events)); err == nil; {
		n := int(after)
		if _, err = s.Put(ctx, []byte(strconv.Itoa(n))); err != nil {
			break
		}
		if after, err = s.Append(ctx, "log", after, l.Fence(), number(n+1), number(n+2), number(n+3)); err == nil {
			fmt.Println(after)
		}
	}
	fmt.Println(err)
}

// TestKilled kills a writer at many points. All acknowledged events are on the disk, each Append is complete,
// and the next writer continues at once, before the lease ends.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	told := 0
	var last store.Fence
	for round := range 25 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for i := 0; i <= round && lines.Scan(); i++ {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatal(lines.Text())
			}
			told = n
		}
		must(t, cmd.Process.Kill())
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait() // it was killed
		for _, word := range strings.Fields(string(rest)) {
			if n, err := strconv.Atoi(word); err == nil {
				told = max(told, n)
			}
		}
		s := open(t, dir)
		events, err := store.Load(t.Context(), s, "log", 0)
		must(t, err)
		if len(events) < told || len(events)%3 != 0 {
			t.Fatalf("%d events, and %d were reported", len(events), told)
		}
		whole(t, s, len(events))
		if fence := events[len(events)-1].Fence; fence <= last {
			t.Fatalf("fence %d after %d", fence, last)
		} else {
			last = fence
		}
		for d, err := range s.List(t.Context()) {
			must(t, err)
			_, err = s.Get(t.Context(), d)
			must(t, err)
		}
	}
}

// TestOtherFile checks that a log that was replaced or cut is read again from its beginning.
func TestOtherFile(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, 0, 3)
	whole(t, s, 3)
	must(t, os.Remove(s.log("log")))
	if events, err := store.Load(t.Context(), s, "log", 0); err != nil || len(events) != 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
	add(t, open(t, s.Dir()), 0, 1)
	whole(t, s, 1)
	must(t, os.Truncate(s.log("log"), 0))
	add(t, s, 0, 2)
	whole(t, s, 2)
}

func TestPermissions(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"))
	if _, err := store.Load(t.Context(), s, "log", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("reading has made the directory: %v", err)
	}
	add(t, s, 0, 1)
	_, err := s.Put(t.Context(), []byte("a"))
	must(t, err)
	l, err := s.Lease(t.Context(), "a/b", "ada", time.Hour)
	must(t, err)
	defer func() { must(t, l.Release(t.Context())) }()
	must(t, filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	}))
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "version"), []byte("2\n"), 0o600))
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("%v", err)
	}
}

// FuzzLog reads any bytes as a log: if the log can be read, an event can be appended, and the log is then complete.
func FuzzLog(f *testing.F) {
	var b bytes.Buffer
	first := line{Event: store.Event{Revision: 1, Time: time.Unix(1, 0).UTC(), Data: number(1)}, more: 1}
	v := newVerifier("")
	first.appendTo(&b, v)
	second := line{Event: store.Event{Revision: 2, Time: time.Unix(2, 0).UTC(), Fence: 3, Data: json.RawMessage(`{"a":"}"}`)}}
	second.appendTo(&b, v)
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-1])
	f.Add([]byte(`{"sum":"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var events []store.Event
		end, err := read(t.Context(), bytes.NewReader(text), "log", tail{}, int64(len(text)), func(p *part) *part {
			events = append(events, p.events...)
			return new(part)
		})
		if _, is := errors.AsType[*store.DamagedError](err); err != nil && !is {
			t.Fatal(err)
		}
		if end.offset > int64(len(text)) || int(end.revision) != len(events) || end.line != len(events) {
			t.Fatalf("%+v, %d events", end, len(events))
		}
		var out bytes.Buffer
		v := newVerifier("")
		for i, e := range events {
			if e.Revision != store.Revision(i+1) {
				t.Fatalf("event %d has the revision %d", i+1, e.Revision)
			}
			l := line{Event: e}
			l.appendTo(&out, v)
		}
		again := 0
		if _, err := read(t.Context(), bytes.NewReader(out.Bytes()), "log", tail{}, int64(out.Len()), func(p *part) *part {
			again += len(p.events)
			return p
		}); err != nil || again != len(events) {
			t.Fatalf("%d events, then %d: %v", len(events), again, err)
		}
	})
}

// besideEvents is the number of events that each process of TestTwoProcesses adds.
const besideEvents = 40

// beside adds events. It tries again if another process was faster.
func beside(dir string) error {
	s, err := Open(context.Background(), dir)
	if err != nil {
		return err
	}
	last := store.Revision(0)
	for done := 0; done < besideEvents; {
		r, err := s.Append(context.Background(), "log", last, 0, number(int(last)+1))
		if e, is := errors.AsType[*store.ConflictError](err); is {
			last = e.Have
			continue
		}
		if err != nil {
			return err
		}
		last = r
		done++
	}
	return nil
}

// TestTwoProcesses lets two processes append to a log that this process watches.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	const processes = 2
	ended := make(chan error, processes)
	for range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), besideVariable+"="+dir)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	n := 0
	for e, err := range open(t, dir).Watch(t.Context(), "log", 0) {
		must(t, err)
		if n++; e.Revision != store.Revision(n) || string(e.Data) != strconv.Itoa(n) {
			t.Fatalf("event %d is %d %s", n, e.Revision, e.Data)
		}
		if n == processes*besideEvents {
			break
		}
	}
	for range processes {
		must(t, <-ended)
	}
	whole(t, open(t, dir), n)
}

// BenchmarkLoad reads the log of a rollout over 10,000 nodes.
func BenchmarkLoad(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	const events, each = 60_000, 1000
	data := make([]json.RawMessage, each)
	for i := range data {
		data[i] = json.RawMessage(fmt.Sprintf(`{"type":"node_finished","node":"web%d.example.com","run":"01JXYZ","outcome":"done","changed":true,"catalog":%q}`, i, store.DigestOf(nil)))
	}
	for after := store.Revision(0); after < events; {
		if after, err = s.Append(b.Context(), "log", after, 1, data...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		other, err := Open(b.Context(), s.Dir())
		if err != nil {
			b.Fatal(err)
		}
		if list, err := store.Load(b.Context(), other, "log", 0); err != nil || len(list) != events {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkAppend adds one event at a time.
func BenchmarkAppend(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	after := store.Revision(0)
	for b.Loop() {
		if after, err = s.Append(b.Context(), "log", after, 1, number(1)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestParts reads a log that is longer than one read, and has an Append that is longer than one read.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	long := json.RawMessage(`"` + strings.Repeat("x", window/3) + `"`)
	rev, err := s.Append(t.Context(), "log", 0, 0, long)
	must(t, err)
	rev, err = s.Append(t.Context(), "log", rev, 0, slices.Repeat([]json.RawMessage{long}, 8)...)
	must(t, err)
	for range 5 {
		rev, err = s.Append(t.Context(), "log", rev, 0, long)
		must(t, err)
	}
	for name, events := range map[string]iter.Seq2[store.Event, error]{
		"Watch": open(t, dir).Watch(t.Context(), "log", 0), "Events": open(t, dir).Events(t.Context(), "log", 0),
	} {
		n := store.Revision(0)
		for e, err := range events {
			must(t, err)
			if n++; e.Revision != n || !bytes.Equal(e.Data, long) {
				t.Fatalf("%s: event %d is %d with %d bytes", name, n, e.Revision, len(e.Data))
			}
			if n == rev { // Watch does not end
				break
			}
		}
		if n != rev {
			t.Errorf("%s: %d events", name, n)
		}
	}
	for e, err := range open(t, dir).Events(t.Context(), "log", 0) {
		if must(t, err); e.Revision == 2 { // a reader that stops early
			break
		}
	}
	// Damage and a torn tail are found behind the first read, too.
	file := filepath.Join(dir, "logs", "log.jsonl")
	text, err := os.ReadFile(file)
	must(t, err)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for name, tt := range map[string]struct {
		change func(text []byte)
		events store.Revision
		line   int
	}{
		"edited": {func(text []byte) { text[last-2] = 'y' }, rev - 2, int(rev) - 1},
		"torn":   {func(text []byte) { clear(text[last+200 : len(text)-200]) }, rev - 1, 0},
	} {
		changed := slices.Clone(text)
		tt.change(changed)
		must(t, os.WriteFile(file, changed, 0o600))
		events, err := store.Load(t.Context(), open(t, dir), "log", 0)
		damaged, _ := errors.AsType[*store.DamagedError](err)
		if len(events) != int(tt.events) || (tt.line > 0) != (damaged != nil) || damaged != nil && damaged.Line != tt.line {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
	}
}
