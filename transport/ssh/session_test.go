package ssh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/archive"
)

func TestStart(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	for _, k := range []struct {
		name, line, input string
		tty               bool
		stdout, stderr    string
		status            transport.Status
	}{
		{name: "output", line: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "exit code", line: "exit 3", status: transport.Status{Code: 3}},
		{name: "signal", line: "kill -TERM $$", status: transport.Status{Code: -1, Signal: "TERM"}},
		{name: "input", line: "tr a-z A-Z", input: "loud", stdout: "LOUD"},
		{name: "input that nobody reads", line: "exit 0", input: strings.Repeat("x", 8<<20)},
		{name: "terminal", line: "test -t 0 && test -t 1 && test -t 2 && echo yes; echo err >&2", tty: true, stdout: "yes\r\nerr\r\n"},
		{name: "binary", line: `printf '\000\377\n'`, stdout: "\x00\xff\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			stdout, stderr, status, err := output(t.Context(), c, k.line, k.input, k.tty)
			if err != nil || stdout != k.stdout || stderr != k.stderr || status != k.status {
				t.Errorf("stdout %q, stderr %q, status %+v, error %v", stdout, stderr, status, err)
			}
		})
	}
	t.Run("much, both ways", func(t *testing.T) {
		in := bytes.Repeat([]byte("0123456789abcdef"), 1<<16*10) // 10 MB
		out, _, _, err := output(t.Context(), c, "cat", string(in), false)
		if err != nil || out != string(in) {
			t.Errorf("%d bytes came back, %v", len(out), err)
		}
	})
}

// TestSessionClose checks that Close returns although the process lives on and
// prints nothing.
func TestSessionClose(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	for _, line := range []string{"sleep 3", "trap '' HUP TERM; sleep 3 <&-; true"} {
		ses, err := c.Start(t.Context(), line, false)
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		work.Go(func() { io.Copy(io.Discard, ses.Stdout()) })
		work.Go(func() { io.Copy(io.Discard, ses.Stderr()) })
		work.Go(func() { io.Copy(ses.Stdin(), neverEnding{}) })
		began := time.Now()
		ses.Close()
		ses.Close()
		work.Wait()
		if _, err := ses.Wait(); err == nil {
			t.Error("a closed session has a status")
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
	}
	say(t, c, "true")
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

// TestManySessions checks that further sessions wait: the server's MaxSessions
// is 10.
func TestManySessions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config string
		sessions     int
	}{
		{"OpenSSH's default", "", 0},
		{"server allows fewer than we try", "MaxSessions 3\n", 0},
		{"we try more than the server allows", "", 30},
		{"one", "MaxSessions 1\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: c.config})
			l := newLab(t, func(o *Options) { o.MaxSessions, o.Keep = c.sessions, true }, s)
			conn := l.mustDial(t, dest(s))
			var work sync.WaitGroup
			for i := range 30 {
				work.Go(func() {
					out, _, _, err := output(t.Context(), conn, fmt.Sprintf("sleep 0.1; echo %d", i), "", false)
					if err != nil || out != fmt.Sprintf("%d\n", i) {
						t.Errorf("run %d: %q, %v", i, out, err)
					}
				})
			}
			work.Wait()
		})
	}
	t.Run("none at all", func(t *testing.T) {
		t.Parallel()
		s := sshtest.Start(t, sshtest.Options{Config: "MaxSessions 0\n"})
		l := newLab(t, nil, s)
		conn := l.mustDial(t, dest(s))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := conn.Start(ctx, "true", false); transport.ClassOf(err) != transport.ClassThrottled {
			t.Errorf("error %v", err)
		}
	})
}

func TestLost(t *testing.T) {
	t.Parallel()
	wait := func(t *testing.T, c *Conn, lose func()) (time.Duration, error) {
		t.Helper()
		ses, err := c.Start(t.Context(), "echo begun; sleep 100", false)
		if err != nil {
			t.Fatal(err)
		}
		begun := make([]byte, 6)
		if _, err := io.ReadFull(ses.Stdout(), begun); err != nil {
			t.Fatal(err)
		}
		lose()
		began := time.Now()
		io.Copy(io.Discard, ses.Stdout())
		io.Copy(io.Discard, ses.Stderr())
		_, err = ses.Wait()
		return time.Since(began), err
	}
	t.Run("server killed", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{})
		l := newLab(t, nil, s)
		c := l.mustDial(t, dest(s))
		took, err := wait(t, c, s.Kill)
		if transport.ClassOf(err) != transport.ClassLost || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		wantText(t, "message", err.Error(), "127.0.0.1 lost", "outcome is unknown")
		if _, err := c.Start(t.Context(), "true", false); transport.ClassOf(err) != transport.ClassConnect {
			t.Errorf("a start afterwards: %v", err)
		}
	})
	t.Run("black hole", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{})
		link := sshtest.Delay(t, s.Addr, 0)
		l := newLab(t, nil, s)
		to := dest(s)
		to.Host, to.Port, to.HostKeyCheck, to.Keepalive = link.Host, link.Port, transport.CheckNone, 500*time.Millisecond
		c := l.mustDial(t, to)
		// Silence with answers does not count as a lost connection.
		if out, _, _, err := output(t.Context(), c, "sleep 3; echo still here", "", false); err != nil || out != "still here\n" {
			t.Fatalf("%q, %v", out, err)
		}
		took, err := wait(t, c, func() { link.BlackHole(true) })
		if transport.ClassOf(err) != transport.ClassLost || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		wantText(t, "message", err.Error(), "no data received for")
	})
	t.Run("closed by us", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{})
		l := newLab(t, nil, s)
		c := l.mustDial(t, dest(s))
		took, err := wait(t, c, func() { c.Close() })
		if transport.ClassOf(err) != transport.ClassLost || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		c.Close()
	})
}

// TestRefusedTerminal checks that a refused terminal differs from a failed
// command.
func TestRefusedTerminal(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	key := filepath.Join(t.TempDir(), "key")
	signer := sshtest.WriteKey(t, key, "ed25519")
	s.Authorize(t, "restrict", signer.PublicKey())
	l := newLab(t, nil, s)
	to := dest(s)
	to.PrivateKey = key
	c := l.mustDial(t, to)
	if _, _, _, err := output(t.Context(), c, "true", "", true); transport.ClassOf(err) != transport.ClassUnsupported {
		t.Errorf("a terminal in spite of restrict: %v", err)
	}
	say(t, c, "true")
}

func TestSFTP(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	src, far, near := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(src, name)
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(file, mode)
	}
	big := strings.Repeat("0123456789", 300_000)
	write("tree/a", "aaa", 0o755)
	write("tree/deep/b", big, 0o600)
	if err := os.Symlink("a", filepath.Join(src, "tree/link")); err != nil {
		t.Fatal(err)
	}
	read := func(file, want string, mode os.FileMode) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil || string(text) != want {
			t.Errorf("%s: %d bytes, %v; want %d", file, len(text), err, len(want))
			return
		}
		if info, _ := os.Stat(file); info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v", file, info.Mode(), mode)
		}
	}
	put := func(from, to string) error {
		return c.putBySFTP(t.Context(), transport.Tree{Path: filepath.Join(src, from)}, to)
	}
	code := func(err error) string {
		if e, ok := err.(*transport.Error); ok && e.Class == transport.ClassFile {
			return e.Code
		}
		return fmt.Sprint(err)
	}
	if err := put("tree/deep/b", far+"/b"); err != nil {
		t.Fatal(err)
	}
	read(far+"/b", big, 0o600)
	if err := put("tree/a", far+"/b"); err != nil { // over an older file
		t.Fatal(err)
	}
	read(far+"/b", "aaa", 0o755)
	if err := put("tree", far+"/new"); err != nil {
		t.Fatal(err)
	}
	read(far+"/new/deep/b", big, 0o600)
	read(far+"/new/link", "aaa", 0o755)
	if err := put("tree", far+"/new"); err != nil { // into the directory, as mv does
		t.Fatal(err)
	}
	read(far+"/new/tree/a", "aaa", 0o755)
	if got := code(put("tree", far+"/new")); got != "MV_ERROR" {
		t.Errorf("third time: %s, want MV_ERROR", got)
	}
	if got := code(put("tree/a", far+"/no/such/dir")); got != "WRITE_ERROR" {
		t.Errorf("missing directory: %s, want WRITE_ERROR", got)
	}
	if err := c.getBySFTP(t.Context(), far+"/new", near+"/fresh", transport.Limits{}); err != nil {
		t.Fatal(err)
	}
	read(near+"/fresh/new/tree/deep/b", big, 0o600)
	read(near+"/fresh/new/link", "aaa", 0o755)
	if err := put("tree/a", far+"/none/"); code(err) != "MV_ERROR" || !strings.Contains(err.Error(), "directory does not exist: "+far+"/none/") {
		t.Errorf("to a directory that is missing: %v", err)
	}
	if got := code(c.getBySFTP(t.Context(), far+"/none", near, transport.Limits{})); got != "WRITE_ERROR" {
		t.Errorf("missing source: %s, want WRITE_ERROR", got)
	}
	left, err := filepath.Glob(far + "/.*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	left, err = filepath.Glob(far + "/new/.*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.getBySFTP(ctx, far+"/new", near, transport.Limits{}); transport.ClassOf(err) != transport.ClassCancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCopyWithoutTar checks that Put and Get use SFTP if the machine has no
// tar.
func TestCopyWithoutTar(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	programs, err := os.ReadDir("/usr/bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if strings.Contains(p.Name(), "tar") {
			continue
		}
		if err := os.Symlink("/usr/bin/"+p.Name(), filepath.Join(bin, p.Name())); err != nil {
			t.Fatal(err)
		}
	}
	s := sshtest.Start(t, sshtest.Options{Config: "SetEnv SHLVL=1 PATH=" + bin + "\n"})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	src, far, near := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "file"), []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), transport.Tree{Path: src}, far+"/tree", transport.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), far+"/tree", near, transport.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(near + "/tree/file"); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	err = archive.Receive(far+"/tree", "web1", near+"/again", transport.Limits{}, func(to io.Writer) error {
		return c.Archive(t.Context(), far+"/tree", to, transport.FileOptions{})
	})
	if text, rerr := os.ReadFile(near + "/again/tree/file"); err != nil || string(text) != "text" {
		t.Errorf("%v: %q, %v", err, text, rerr)
	}
}
