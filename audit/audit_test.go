package audit

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/appendfile"
)

func TestMain(m *testing.M) {
	// This is the child process of TestProcesses, which adds records.
	if path := os.Getenv("AUDIT_TEST_LOG"); path != "" {
		for range perProcess {
			if err := New(path, time.Now).Add(context.Background(), record(Begin, "p")); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const perProcess = 20

func record(e Event, request string) *Record {
	r := &Record{Event: e, Request: request, Actor: Actor{User: "alice", UID: 1000, Host: "ctl", PID: 7, Version: "1"}, Action: Action{Name: "command", Object: "uptime"}}
	if e == Begin {
		r.Targets = NewNames([]string{"web1", "web2", "db"})
	} else {
		r.Outcome = &Outcome{Status: Success, Succeeded: 3}
	}
	return r
}

func newLog(t *testing.T) *Log {
	t.Helper()
	return New(filepath.Join(t.TempDir(), "audit.jsonl"), time.Now)
}

func add(t *testing.T, l *Log, n int) {
	t.Helper()
	for i := range n {
		e := Begin
		if i%2 == 1 {
			e = End
		}
		if err := l.Add(t.Context(), record(e, fmt.Sprint(i/2))); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t *testing.T, expect string, files ...string) *Report {
	t.Helper()
	r, err := Verify(t.Context(), files, expect)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChain(t *testing.T) {
	l := newLog(t)
	add(t, l, 6)
	r := verify(t, "", l.Path())
	if r.Break != nil || r.Records != 6 || r.First != 1 || r.Last != 6 || r.Before != "" || r.Cut {
		t.Fatalf("got %+v", r)
	}
	info, err := os.Stat(l.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	noted := r.Hash
	add(t, l, 2)
	if r := verify(t, noted, l.Path()); !r.Found {
		t.Error("the record that was noted is not found")
	}
	lines := bytes.SplitAfter(read(t, l.Path()), []byte("\n"))
	write(t, l.Path(), bytes.Join(lines[:5], nil))
	if r := verify(t, noted, l.Path()); r.Break != nil || r.Found {
		t.Errorf("cut off at a line: %+v", r)
	}
}

// TestTampering changes a log as people and disk errors do.
func TestTampering(t *testing.T) {
	l := newLog(t)
	add(t, l, 6)
	whole := read(t, l.Path())
	lines := bytes.SplitAfter(whole, []byte("\n"))[:6]
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	changed := func(i int, old, new string) []byte {
		c := bytes.Replace(lines[i], []byte(old), []byte(new), 1)
		if bytes.Equal(c, lines[i]) {
			t.Fatalf("line %d has no %s", i, old)
		}
		return join(append(append(append([][]byte{}, lines[:i]...), c), lines[i+1:]...)...)
	}
	tests := []struct {
		name string
		data []byte
		line int // of the break; 0: none
	}{
		{"as it was", whole, 0},
		{"a word", changed(2, "uptime", "reboot"), 4},
		{"the last line: the hash that was noted tells", changed(5, "uptime", "reboot"), 0},
		{"the hash", changed(3, `"prev":"`, `"prev":"0`), 4},
		{"the number", changed(3, `"seq":4`, `"seq":5`), 4},
		{"a line is missing", join(lines[0], lines[1], lines[3], lines[4]), 3},
		{"twice", join(lines[0], lines[1], lines[1], lines[2]), 3},
		{"another order", join(lines[1], lines[0], lines[2]), 2},
		{"no record", changed(2, `{`, `[`), 3},
		{"an empty line", join(lines[0], []byte("\n"), lines[1]), 2},
		{"the last is no record", join(lines[0], lines[1], []byte("xyz\n")), 3},
		{"a new chain", join(lines[0], lines[1], lines[0]), 3},
		{"the first are missing", join(lines[2], lines[3]), 0},
		{"a beginning that is none", changed(0, `"prev":""`, `"prev":"00"`), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			write(t, path, tt.data)
			r := verify(t, "", path)
			got := 0
			if r.Break != nil {
				got = r.Break.Line
			}
			if got != tt.line {
				t.Errorf("break at line %d, want %d: %+v", got, tt.line, r.Break)
			}
		})
	}
}

// TestTorn checks that a line torn by a crash is closed and reported, and is not
// reported as tampering. If the torn line is changed later, Verify finds the change.
func TestTorn(t *testing.T) {
	for _, cut := range []int{1, 2, 40, 200} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			l := newLog(t)
			add(t, l, 3)
			whole := read(t, l.Path())
			write(t, l.Path(), whole[:len(whole)-cut])
			if r := verify(t, "", l.Path()); r.Break != nil || r.Cut != (cut > 1) {
				t.Errorf("torn: %+v", r)
			}
			add(t, l, 1)
			add(t, l, 1)
			r := verify(t, "", l.Path())
			want := Report{Records: 4, Torn: 1, First: 1, Last: 4}
			if cut == 1 { // only the end of the line was missing
				want = Report{Records: 5, First: 1, Last: 5}
			}
			if r.Hash = ""; *r != want {
				t.Errorf("got %+v, want %+v", *r, want)
			}
			if cut > 1 {
				path := filepath.Join(t.TempDir(), "changed")
				lines := bytes.Split(read(t, l.Path()), []byte("\n"))
				lines[1] = bytes.Replace(lines[1], []byte("uptime"), []byte("reboot"), 1)
				write(t, path, bytes.Join(lines, []byte("\n")))
				if r := verify(t, "", path); r.Break == nil {
					t.Error("a change before the torn line is not seen")
				}
			}
			write(t, l.Path(), bytes.Replace(read(t, l.Path()), []byte(`,"torn":true`), nil, 1))
			if r := verify(t, "", l.Path()); (r.Break != nil) != (cut > 1) {
				t.Errorf("without the word torn: %+v", r)
			}
		})
	}
	t.Run("foreign bytes", func(t *testing.T) {
		l := newLog(t)
		write(t, l.Path(), []byte("no log\n\nat all"))
		add(t, l, 2)
		if r := verify(t, "", l.Path()); r.Break != nil || r.Records != 2 || r.First != 1 {
			t.Errorf("got %+v", r)
		}
	})
}

// TestStrays checks that lines that are not records do not keep records from being
// added and found.
func TestStrays(t *testing.T) {
	for name, stray := range map[string]string{
		"an empty line":           "\n",
		"empty lines":             "\n\n\n",
		"very many of them":       strings.Repeat("\n", 1<<18),
		"zeros":                   strings.Repeat("\x00", 4096),
		"half a record":           `{"v":1,"seq":9,"event":"beg`,
		"a record of the future":  `{"v":0,"seq":9,"event":"begin"}` + "\n",
		"a line of many pieces":   strings.Repeat("x", 5*piece) + "\n",
		"lines that look like it": strings.Repeat("{}\n", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []int{0, 3} {
				l := newLog(t)
				add(t, l, before)
				var text []byte
				if before > 0 {
					text = read(t, l.path)
				}
				write(t, l.path, append(text, stray...))
				add(t, l, 2)
				if r := verify(t, "", l.path); r.Break != nil || r.Records != before+2 || r.Torn == 0 {
					t.Errorf("behind %d records: %+v, %+v", before, r, r.Break)
				}
			}
		})
	}
	l := newLog(t)
	write(t, l.path, bytes.Repeat([]byte("no record\n"), maxLine/10+2))
	if err := l.Add(t.Context(), record(Begin, "r")); err == nil || !strings.Contains(err.Error(), "not an audit log") {
		t.Errorf("got %v", err)
	}
}

// TestCopies checks that a copy beside the log is not part of the log.
func TestCopies(t *testing.T) {
	l := newLog(t)
	add(t, l, 2)
	for _, behind := range []string{".bak", "-copy", "_", ".old.1"} {
		write(t, l.path+behind, read(t, l.path))
	}
	add(t, l, 2)
	if files := l.Files(); len(files) != 1 {
		t.Errorf("the log is %q", files)
	}
	if r := verify(t, "", l.Files()...); r.Break != nil || r.Records != 4 {
		t.Errorf("got %+v, %+v", r, r.Break)
	}
}

func TestRotation(t *testing.T) {
	l := newLog(t)
	add(t, l, 3)
	if err := os.Rename(l.Path(), l.Path()+".1"); err != nil {
		t.Fatal(err)
	}
	add(t, l, 2)
	files := l.Files()
	if len(files) != 2 || files[0] != l.Path()+".1" {
		t.Fatalf("files: %v", files)
	}
	if r := verify(t, "", files...); r.Break != nil || r.Records != 5 || r.Last != 5 {
		t.Errorf("both: %+v", r)
	}
	first := verify(t, "", files[0])
	if r := verify(t, "", l.Path()); r.Break != nil || r.First != 4 || r.Before != first.Hash {
		t.Errorf("the second alone: %+v", r)
	}
	if r := verify(t, "", files[1], files[0]); r.Break == nil {
		t.Error("in the wrong order it is whole")
	}
	// gzip(1) is what logrotate calls.
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(read(t, files[0]))
	_ = w.Close()
	write(t, l.Path()+".1.gz", z.Bytes())
	if r := verify(t, "", l.Path()+".1.gz", l.Path()); r.Break != nil || r.Records != 5 {
		t.Errorf("compressed: %+v", r)
	}
	write(t, l.Path()+".1.gz", z.Bytes()[:z.Len()/2])
	if _, err := Verify(t.Context(), []string{l.Path() + ".1.gz"}, ""); err == nil {
		t.Error("half a compressed file is no error")
	}
}

// TestProcesses lets several processes, each with several goroutines, add to one log.
func TestProcesses(t *testing.T) {
	l := newLog(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+l.Path())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		wg.Go(func() {
			for range perProcess {
				if err := l.Add(t.Context(), record(Begin, "g")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if r := verify(t, "", l.Path()); r.Break != nil || r.Records != 8*perProcess {
		t.Errorf("got %+v", r)
	}
}

// TestRotationWhileWaiting removes the log while a process waits for its lock.
func TestRotationWhileWaiting(t *testing.T) {
	l := newLog(t)
	add(t, l, 1)
	f, err := appendfile.Open(t.Context(), l.Path(), appendfile.Any)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- l.Add(t.Context(), record(End, "0")) }()
	if err := os.Rename(l.Path(), l.Path()+".1"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := verify(t, "", l.Path()); r.Records != 1 || r.First != 2 {
		t.Errorf("the new file: %+v", r)
	}
}

func TestCannotWrite(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"a directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "is a directory"},
		{"a link", func(t *testing.T, path string) { must(t, os.Symlink("/dev/null", path)) }, "symbolic link"},
		{"a pipe", func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) }, "not a regular file"},
		{"a pipe that is read", func(t *testing.T, path string) {
			must(t, unix.Mkfifo(path, 0o600))
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			t.Cleanup(func() { f.Close() })
		}, "not a regular file"},
		{"no directory", func(t *testing.T, path string) { must(t, os.Remove(filepath.Dir(path))) }, "no such file"},
		{"a file for a directory", func(t *testing.T, path string) {
			must(t, os.Remove(filepath.Dir(path)))
			write(t, filepath.Dir(path), nil)
		}, "not a directory"},
		{"no log", func(t *testing.T, path string) { write(t, path, bytes.Repeat([]byte{'x'}, maxLine+piece)) }, "not an audit log"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dir", "log")
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			tt.make(t, path)
			err := New(path, time.Now).Add(t.Context(), record(Begin, "1"))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != Kind || !strings.Contains(f.Msg, tt.want) || !strings.Contains(f.Msg, path) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNoPermission adds a record as a user without permission. Root has every
// permission, so the process changes its user.
func TestNoPermission(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	for d := filepath.Dir(dir); len(d) > 1 && strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	path := filepath.Join(dir, "log")
	write(t, path, nil)
	self := filepath.Join(dir, "self")
	data := read(t, os.Args[0])
	must(t, os.WriteFile(self, data, 0o755))
	must(t, os.Chmod(self, 0o755))
	cmd := exec.Command(self)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+path)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else {
		must(t, os.Chmod(path, 0o400))
	}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "permission denied") {
		t.Errorf("got %v: %s", err, out)
	}
}

// TestFullDisk adds to a log beyond a limit of the file size, as on a full disk: the
// half record is removed.
func TestFullDisk(t *testing.T) {
	l := newLog(t)
	add(t, l, 1)
	before := read(t, l.Path())
	limit := (len(before)/512 + 1) * 512
	cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -f %d; exec %s", limit/512, os.Args[0]))
	cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+l.Path())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file too large") {
		t.Fatalf("got %v: %s", err, out)
	}
	r := verify(t, "", l.Path())
	if r.Break != nil || r.Cut {
		t.Errorf("got %+v", r)
	}
	add(t, l, 1)
	if r := verify(t, "", l.Path()); r.Break != nil || r.Torn != 0 {
		t.Errorf("then: %+v", r)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLockIsBounded(t *testing.T) {
	l := newLog(t)
	f, err := appendfile.Open(t.Context(), l.Path(), appendfile.Any)
	must(t, err)
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := l.Add(ctx, record(Begin, "1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestEntries(t *testing.T) {
	l := newLog(t)
	for _, r := range []*Record{record(Begin, "a"), record(Begin, "b"), record(End, "b"), record(End, "lost"), record(Begin, "c"), record(End, "a")} {
		must(t, l.Add(t.Context(), r))
	}
	write(t, l.Path(), append(read(t, l.Path()), "torn"...))
	var got []string
	others, err := Entries(t.Context(), []string{l.Path()}, func(e *Entry) error {
		words := ""
		if e.Begin != nil {
			words += "begin " + e.Begin.Request + " "
		}
		if e.End != nil {
			words += "end " + e.End.Request
		}
		got = append(got, strings.TrimSpace(words))
		return nil
	})
	if want := "begin b end b, end lost, begin a end a, begin c"; err != nil || others != 1 || strings.Join(got, ", ") != want {
		t.Errorf("got %q, %d, %v; want %q", got, others, err, want)
	}
	stop := errors.New("enough")
	if _, err := Entries(t.Context(), []string{l.Path()}, func(*Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestManyOpen checks that actions without an end do not fill the memory.
func TestManyOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var b bytes.Buffer
	for i := range maxOpen + 10 {
		r := record(Begin, fmt.Sprint(i))
		r.Version, r.Seq = Version, uint64(i+1)
		line, err := r.line()
		must(t, err)
		b.Write(line)
	}
	write(t, path, b.Bytes())
	stop := errors.New("enough")
	n := 0
	_, err := Entries(t.Context(), []string{path, "/nonexistent"}, func(*Entry) error { n++; return nil })
	if n != 10 || err == nil || errors.Is(err, stop) {
		t.Errorf("%d were told before the end, %v", n, err)
	}
}

func TestNames(t *testing.T) {
	var names []string
	for i := range 25000 {
		names = append(names, fmt.Sprintf("web%05d.example.com", i))
	}
	n := NewNames(append(names, "[::1]", "a,b"))
	if n.Folded != "web[00000-24999].example.com" || n.Count != 25002 || n.Absent != 0 {
		t.Errorf("got %+v", n)
	}
	for _, name := range []string{"web00017.example.com", "[::1]", "a,b"} {
		if !n.Has(name) {
			t.Errorf("%s is not among them", name)
		}
	}
	for _, name := range []string{"web25000.example.com", "web17.example.com", "web", ""} {
		if n.Has(name) {
			t.Errorf("%s is among them", name)
		}
	}
	many := make([]string, 0, 200000)
	for i := range cap(many) {
		many = append(many, fmt.Sprintf("%x-odd,%d", i*7919, i))
	}
	big := record(Begin, "1")
	big.Targets = NewNames(many)
	if _, err := big.line(); err != nil {
		t.Error(err)
	}
	if big.Targets.Count != len(many) || big.Targets.Absent == 0 {
		t.Errorf("count %d, omitted %d", big.Targets.Count, big.Targets.Absent)
	}
}

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"uptime": "uptime",
		"curl https://joe:pa55@example.com/x ftp://a:b@c": "curl https://joe:********@example.com/x ftp://a:********@c",
		"https://example.com:8080/a@b":                    "https://example.com:8080/a@b",
	} {
		if got, digest := Shown(text); got != want || digest != "" {
			t.Errorf("%q: %q, %q", text, got, digest)
		}
	}
	long := strings.Repeat("é", maxObject)
	got, digest := Shown(long)
	if len(got) > maxObject+3 || digest != Digest([]byte(long)) || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, %s", len(got), digest)
	}
}

func TestParams(t *testing.T) {
	data := ordered.Of("name", "nginx")
	one, err := NewParams([]string{"name"}, []string{"password"}, data)
	must(t, err)
	two, err := NewParams([]string{"name"}, []string{"password"}, data)
	must(t, err)
	if one.Digest == two.Digest || len(one.Digest) != 64 || len(one.Salt) != 32 {
		t.Errorf("digests %s and %s", one.Digest, two.Digest)
	}
	if none, err := NewParams(nil, nil, ordered.Of()); none != nil || err != nil {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}

// FuzzLog reads a file of any bytes, adds a record to it, and checks that the record
// is correctly chained.
func FuzzLog(f *testing.F) {
	r := record(Begin, "1")
	r.Version, r.Seq = Version, 1
	line, _ := r.line()
	f.Add([]byte{})
	f.Add(line)
	f.Add(line[:len(line)-10])
	f.Add(append(line, "\n\n{}"...))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLog(t)
		write(t, l.Path(), data)
		_, _ = Entries(t.Context(), []string{l.Path()}, func(*Entry) error { return nil })
		before, err := Verify(t.Context(), []string{l.Path()}, "")
		if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return // a user who keeps such a file as a log cannot read it again
		}
		if err != nil {
			t.Fatal(err)
		}
		must(t, l.Add(t.Context(), record(End, "1")))
		after := verify(t, "", l.Path())
		if before.Break == nil && after.Break != nil {
			t.Errorf("it was whole, and one record more breaks it: %+v", after.Break)
		}
		must(t, l.Add(t.Context(), record(End, "1")))
		if again := verify(t, "", l.Path()); after.Break == nil && (again.Break != nil || again.Records != after.Records+1) {
			t.Errorf("then: %+v after %+v", again, after)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	l := New(filepath.Join(b.TempDir(), "log"), time.Now)
	for b.Loop() {
		if err := l.Add(b.Context(), record(Begin, "1")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	var out bytes.Buffer
	prev := ""
	for i := range 20000 {
		r := record(Begin, fmt.Sprint(i))
		r.Version, r.Seq, r.Prev = Version, uint64(i+1), prev
		line, _ := r.line()
		prev = Digest(line[:len(line)-1])
		out.Write(line)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(out.Len()))
	for b.Loop() {
		if r, err := Verify(b.Context(), []string{path}, ""); err != nil || r.Break != nil {
			b.Fatal(r, err)
		}
	}
}
