package factcache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
)

// writerVariable has the directory in which the test binary, as a child, puts
// records until it is killed.
const writerVariable = "FACTCACHE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		c := Open(dir)
		for i := 0; ; i++ {
			if err := c.Put(record("web1", facterLike(i))); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			if i == 3 {
				fmt.Println("begun")
			}
		}
	}
	os.Exit(m.Run())
}

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func record(target string, facts *ordered.Map) Record {
	return Record{Target: target, Collected: noon, Source: "task", Version: "1.2.3", Facts: facts}
}

func prepared(t *testing.T) *Cache {
	t.Helper()
	c := Open(filepath.Join(t.TempDir(), "user", "cache"))
	if err := c.Prepare(noon); err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t *testing.T, c *Cache, r Record) {
	t.Helper()
	if err := c.Put(r); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c *Cache, target string, want Want) *Record {
	t.Helper()
	r, err := c.Get(t.Context(), target, want)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *testing.T, v *ordered.Map) string {
	t.Helper()
	data, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestGet(t *testing.T) {
	c := prepared(t)
	if r := get(t, c, "web1", All()); r != nil {
		t.Fatalf("an empty cache has %v", r)
	}
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	facts := ordered.Of("z", nil, "a", true, "", "no name", "n", int64(-1), "f", 1.5, "huge", huge, "text", "ä\x00<", "list", []any{int64(1), &ordered.Map{}},
		"large", strings.Repeat("0123456789", 1000), "deep", ordered.Of("b", ordered.Of("a", []any{})))
	put(t, c, record("web1", ordered.Of("old", true)))
	put(t, c, record("web1", facts))
	r := get(t, c, "web1", All())
	if got, want := text(t, r.Facts), text(t, facts); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Target != "web1" || !r.Collected.Equal(noon) || r.Source != "task" || r.Version != "1.2.3" {
		t.Errorf("got %+v", r)
	}
	if got := text(t, get(t, c, "web1", Only("large", "n", "absent", "a")).Facts); got != `{"a":true,"n":-1,"large":"`+strings.Repeat("0123456789", 1000)+`"}` {
		t.Errorf("got %s", got)
	}
	if got := get(t, c, "web1", Only()); got.Facts.Len() != 0 || !got.Collected.Equal(noon) {
		t.Errorf("got %+v", got)
	}
}

// TestNames: any text can be a target's name, and stays apart from all others.
func TestNames(t *testing.T) {
	c := prepared(t)
	names := []string{"", ".", "..", "/", "../../../etc/passwd", "a", "A", "a/b", "a\x00b", "a\nb", "\xff", "ä", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "ssh://root@[::1]:22"}
	for i, name := range names {
		put(t, c, record(name, ordered.Of("i", int64(i))))
	}
	for i, name := range names {
		if r := get(t, c, name, All()); r == nil || r.Facts.Value("i") != int64(i) {
			t.Errorf("%.20q has %v", name, r)
		}
	}
	if got := len(files(t, c)); got != len(names) {
		t.Errorf("%d files for %d names", got, len(names))
	}
	long := record(strings.Repeat("x", maxHead), &ordered.Map{})
	if err := c.Put(long); err == nil || get(t, c, long.Target, All()) != nil {
		t.Errorf("a name of %d bytes: %v", maxHead, err)
	}
}

func files(t *testing.T, c *Cache) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(c.Dir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(c.Dir(), ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(list, hidden...)
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c := Open(dir)
	if err := c.Prepare(noon); err != nil {
		t.Fatal(err)
	}
	put(t, c, record("web1", &ordered.Map{}))
	for path, want := range map[string]fs.FileMode{dir: 0o700, files(t, c)[0]: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

// TestDamage: of a record no byte can be missing or wrong.
func TestDamage(t *testing.T) {
	c := prepared(t)
	put(t, c, record("web1", ordered.Of("a", "text", "b", strings.Repeat("0123456789", 40))))
	path := files(t, c)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := c.Get(t.Context(), "web1", All())
		if d, ok := errors.AsType[*DamagedError](err); !ok || d.Path != path || r != nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("%s: %v, %v", what, r, err)
		}
	}
	for i := range whole {
		damaged(fmt.Sprintf("the first %d bytes", i), whole[:i])
		wrong := bytes.Clone(whole)
		wrong[i] ^= 0x20
		damaged(fmt.Sprintf("byte %d", i), wrong)
	}
	damaged("one more byte", append(bytes.Clone(whole), 0))
	put(t, c, record("web1", &ordered.Map{})) // which mends it
	get(t, c, "web1", All())

	// The record of another target, under this one's name.
	put(t, c, record("web2", &ordered.Map{}))
	if err := os.Rename(c.path("web2"), c.path("web1")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "web1", All()); err == nil || !strings.Contains(err.Error(), "another target") {
		t.Error(err)
	}
	// What is no file.
	if err := errors.Join(os.Remove(c.path("web1")), os.Mkdir(c.path("web1"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "web1", All()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
}

// seal gives a record the checksum that it needs.
func seal(data []byte) []byte {
	binary.LittleEndian.PutUint32(data[len(magic):], checksum(data))
	return data
}

// TestWrongInside: a checksum does not make a record right.
func TestWrongInside(t *testing.T) {
	head, err := new(encoder).encode(&Record{Facts: &ordered.Map{}})
	if err != nil {
		t.Fatal(err)
	}
	fact := func(size, stored uint64, value string) []byte {
		b := appendText(bytes.Clone(head), "f")
		b = binary.AppendUvarint(binary.AppendUvarint(b, size), stored)
		return seal(append(b, value...))
	}
	bomb := new(encoder).pack(bytes.Repeat([]byte(" "), 1<<20))
	later := bytes.Clone(head)
	later[len(magic)-1]++
	for want, data := range map[string][]byte{
		"cut off":           fact(1<<40, 0, "1"),
		"more than 16 MiB":  fact(1<<40, 1, "1"),
		"its size is wrong": fact(100, uint64(len(bomb)), string(bomb)),
		"line 1":            fact(1, 0, "?"),
		"flate: corrupt":    fact(5, 3, "\xff\xff\xff"),
		"another version":   later,
		"not a record of":   []byte("#!/bin/sh\nexit 0"),
		"unexpected EOF":    fact(0, 0, ""),
		"cut off\x00":       seal(append(bytes.Clone(head), bytes.Repeat([]byte{0xff}, 20)...)),
		"invalid character": fact(4, 0, "{a:1"),
	} {
		if _, err := decode(data, All()); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, "\x00")) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	// What nobody wants is not made a value of.
	if r, err := decode(fact(1, 0, "?"), Only("g")); err != nil || r.Facts.Len() != 0 {
		t.Error(r, err)
	}
}

func TestTooLarge(t *testing.T) {
	c := prepared(t)
	put(t, c, record("web1", ordered.Of("old", true)))
	half := strings.Repeat("x", maxRecord/2)
	for name, facts := range map[string]*ordered.Map{"together": ordered.Of("a", half, "b", half), "name": ordered.Of(strings.Repeat("x", maxRecord), nil)} {
		err := c.Put(record("web1", facts))
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != Kind || !strings.Contains(f.Msg, "more than 16 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Put(record("web1", ordered.Of("f", func() {}))); err == nil || !strings.Contains(err.Error(), "the fact f cannot be written as JSON") {
		t.Error(err)
	}
	if got := text(t, get(t, c, "web1", All()).Facts); got != `{"old":true}` {
		t.Errorf("the facts from before are gone: %s", got)
	}
	put(t, c, record("web1", ordered.Of("a", half)))
	get(t, c, "web1", All())
}

// TestTogether: who reads sees one of the records that were put, whole.
func TestTogether(t *testing.T) {
	dir := prepared(t).Dir()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			c := Open(dir)
			for i := range 15 {
				if err := c.Put(record("web1", facterLike(w))); err != nil {
					t.Error(err)
				}
				if r, err := c.Get(t.Context(), "web1", Only("networking", "os")); err != nil || r == nil || r.Facts.Len() != 2 {
					t.Error(i, r, err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(files(t, Open(dir))); got != 1 {
		t.Errorf("%d files are left", got)
	}
}

// TestKilled: a process that is killed while it writes leaves whole records,
// and what else it leaves goes at last.
func TestKilled(t *testing.T) {
	c := prepared(t)
	for range 4 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), writerVariable+"="+c.Dir())
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 10)); err != nil {
			t.Error(err)
		}
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
		if r := get(t, c, "web1", All()); r == nil || r.Facts.Len() < 200 {
			t.Fatal(r)
		}
	}
	rest := filepath.Join(c.Dir(), "."+filepath.Base(c.path("web1"))+".0.tmp")
	for age, left := range map[time.Duration]bool{abandoned / 2: true, 2 * abandoned: false} {
		if err := errors.Join(os.WriteFile(rest, nil, 0o600), os.Chtimes(rest, noon, noon), c.Prepare(noon.Add(age))); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(rest); (err == nil) != left {
			t.Errorf("after %v: %v", age, err)
		}
	}
	get(t, c, "web1", All())
}

func TestForget(t *testing.T) {
	c := prepared(t)
	for i, name := range []string{"old", "new", "other"} {
		r := record(name, &ordered.Map{})
		r.Collected = noon.Add(time.Duration(i) * time.Hour)
		put(t, c, r)
	}
	if err := os.WriteFile(c.path("damaged"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, name := range map[bool]string{true: "other", false: "absent"} {
		if got, err := c.Forget(name); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if n, err := c.ForgetBefore(t.Context(), noon.Add(time.Hour)); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if get(t, c, "old", All()) != nil || get(t, c, "new", All()) == nil || get(t, c, "other", All()) != nil || get(t, c, "damaged", All()) != nil {
		t.Error("the wrong ones are left")
	}
	if n, err := Open(filepath.Join(t.TempDir(), "none")).ForgetBefore(t.Context(), noon); n != 0 || err != nil {
		t.Errorf("a cache that is not there: %d, %v", n, err)
	}
}

// TestNoFile: what stands in the place of a record and is no file is replaced, and
// neither waited for nor written through.
func TestNoFile(t *testing.T) {
	c := prepared(t)
	path := c.path("web1")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, place := range map[string]func() error{
		"named pipe": func() error { return exec.Command("mkfifo", path).Run() },
		"directory":  func() error { return os.Mkdir(path, 0o700) },
		"link":       func() error { return os.Symlink(other, path) },
		"loop":       func() error { return os.Symlink(path, path) },
	} {
		if err := place(); err != nil {
			t.Fatal(what, err)
		}
		put(t, c, record("web1", facterLike(1)))
		if r, err := c.Get(t.Context(), "web1", All()); err != nil || r == nil {
			t.Errorf("%s: %v, %v", what, r, err)
		}
		if _, err := c.Forget("web1"); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "mine" {
		t.Errorf("a link was written through: %q, %v", text, err)
	}
}

func TestEmpty(t *testing.T) {
	c := Open(filepath.Join(t.TempDir(), "cache"))
	check := func(want bool) {
		t.Helper()
		if c.Empty() != want {
			t.Errorf("empty is %v", !want)
		}
	}
	check(true)
	if err := c.Prepare(noon); err != nil {
		t.Fatal(err)
	}
	for i := range 150 { // what writers left that were killed
		if err := os.WriteFile(filepath.Join(c.dir, fmt.Sprintf(".%d.tmp", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check(true)
	put(t, c, record("web1", facterLike(1)))
	check(false)
	if _, err := c.Forget("web1"); err != nil {
		t.Fatal(err)
	}
	check(true)
}

func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := Open(filepath.Join(file, "cache"))
	for _, err := range []error{c.Prepare(noon), c.Put(record("a", nil))} {
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != Kind || !strings.Contains(f.Msg, c.Dir()) || !strings.Contains(f.Msg, "not a directory") {
			t.Error(err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	stop(ended)
	if _, err := prepared(t).Get(ctx, "a", All()); err != ended {
		t.Error(err)
	}
}

func TestAge(t *testing.T) {
	r := record("a", nil)
	for after, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, -time.Minute: 0} {
		if got := r.Age(noon.Add(after)); got != want {
			t.Errorf("%v later it is %v old", after, got)
		}
	}
}

// FuzzDecode: any bytes with a checksum are an error, or a record that can be
// put and read again.
func FuzzDecode(f *testing.F) {
	for _, facts := range []*ordered.Map{{}, ordered.Of("a", int64(1), "b", ordered.Of("c", []any{nil, true})), ordered.Of("large", strings.Repeat("0123456789", 100))} {
		data, err := new(encoder).encode(&Record{Target: "web1", Collected: noon, Source: "task", Version: "1", Facts: facts})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = decode(data, All())
		if len(data) < len(magic)+4 {
			return
		}
		copy(data, magic)
		r, err := decode(seal(data), All())
		if err != nil {
			return
		}
		again, err := new(encoder).encode(r)
		if err != nil {
			if strings.Contains(err.Error(), "too long") {
				return
			}
			t.Fatal(err)
		}
		r2, err := decode(again, All())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := text(t, r.Facts), text(t, r2.Facts); a != b || r.Target != r2.Target || !r.Collected.Equal(r2.Collected) {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}
