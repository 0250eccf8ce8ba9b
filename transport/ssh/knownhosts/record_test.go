package knownhosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"bolt/transport"
)

func TestHostKeyAcceptNew(t *testing.T) {
	s := newHostKeySet(t)
	found := func(t *testing.T, name, file string) string {
		t.Helper()
		out, _ := exec.Command("ssh-keygen", "-F", name, "-f", file).Output()
		return string(out)
	}
	for _, hash := range []bool{false, true} {
		t.Run(fmt.Sprintf("hash %v", hash), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ".ssh", "known_hosts")
			c := Rule{Policy: AcceptNew, WriteTo: path, Hash: hash}
			for _, hostport := range []string{"Web1:2222", "web2:22", "alias"} {
				name, _, _ := recordNames(hostport)
				for range 2 {
					if err := s.load(t, path).Check(c, "h", hostport, nil, s.ed.pub); err != nil {
						t.Fatal(err)
					}
				}
				if out := found(t, name, path); strings.Count(out, s.ed.text) != 1 {
					t.Errorf("ssh-keygen -F %s: %q", name, out)
				}
				err := s.load(t, path).Check(c, "h", hostport, nil, s.ed2.pub)
				if transport.ClassOf(err) != transport.ClassHostKeyChanged {
					t.Errorf("another key for %s: %v", hostport, err)
				}
			}
			text, _ := os.ReadFile(path)
			if hash == strings.Contains(string(text), "[web1]") { // hashes contain no brackets
				t.Errorf("names: %s", text)
			}
			// A cache that has not written the record must see the same lines.
			for _, known := range []*Files{s.known, NewFiles(nil)} {
				f, err := known.Load([]string{path}, 0)
				if err != nil {
					t.Fatal(err)
				}
				for i, name := range []string{"[web1]:2222", "web2", "alias"} {
					if r := f.find(name); len(r) != 1 || r[0].line != i+1 {
						t.Errorf("%s: %v", name, r)
					}
				}
			}
			for p, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
				if info, err := os.Stat(p); err != nil || info.Mode() != mode {
					t.Errorf("%s: %v, %v", p, info.Mode(), err)
				}
			}
		})
	}
	check := func(t *testing.T, path, hostport string, key ssh.PublicKey) error {
		t.Helper()
		return s.load(t, path).Check(Rule{Policy: AcceptNew, WriteTo: path}, "h", hostport, nil, key)
	}
	t.Run("after a torn last line", func(t *testing.T) {
		path := s.file(t, "web1 ED\nweb2 ED")
		if err := check(t, path, "web3:22", s.ec.pub); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); string(text) != s.replace.Replace("web1 ED\nweb2 ED\nweb3 EC\n") {
			t.Errorf("got %q", text)
		}
		if err := check(t, path, "web3:22", s.ed.pub); err == nil || !strings.Contains(err.Error(), path+":3") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a certificate leaves its key", func(t *testing.T) {
		path := s.file(t, "")
		if err := check(t, path, "web1:22", certify(t, s.ca, s.ec, "-h", "-n", "web1")); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); string(text) != s.replace.Replace("web1 EC\n") {
			t.Errorf("got %q", text)
		}
	})
	t.Run("never changed or revoked keys", func(t *testing.T) {
		text := "web1 ED2\n@revoked * EC\n"
		path := s.file(t, text)
		for hostport, key := range map[string]ssh.PublicKey{"web1:22": s.ed.pub, "web2:22": s.ec.pub} {
			if err := check(t, path, hostport, key); transport.ClassOf(err) != transport.ClassHostKeyChanged {
				t.Errorf("%s: %v", hostport, err)
			}
		}
		if now, _ := os.ReadFile(path); string(now) != s.replace.Replace(text) {
			t.Errorf("written: %q", now)
		}
	})
	t.Run("never a name that means more than itself", func(t *testing.T) {
		path := s.file(t, "")
		for _, hostport := range []string{"*:22", "a,b:22", "@revoked:22", "a b:22", "|1|a|b", "#x:22", "!x:22", "x\ny:22", ":22"} {
			if err := check(t, path, hostport, s.ed.pub); transport.ClassOf(err) != transport.ClassHostKeyUnknown {
				t.Errorf("%q: %v", hostport, err)
			}
		}
		if now, _ := os.ReadFile(path); len(now) > 0 {
			t.Errorf("written: %q", now)
		}
	})
	t.Run("a file that cannot be written", func(t *testing.T) {
		s.knownLog.Reset()
		if err := check(t, filepath.Join(s.ed.path, "known_hosts"), "web1:22", s.ed.pub); err != nil {
			t.Error(err)
		}
		if !strings.Contains(s.knownLog.String(), "not recorded") {
			t.Errorf("log: %s", s.knownLog.String())
		}
	})
	t.Run("/dev/null", func(t *testing.T) {
		for _, key := range []ssh.PublicKey{s.ed.pub, s.ed2.pub} {
			if err := check(t, "/dev/null", "web1:22", key); err != nil {
				t.Error(err)
			}
		}
	})
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process records first, replaced %v", replaced), func(t *testing.T) {
			path := s.file(t, "")
			held, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if err := unix.Flock(int(held.Fd()), unix.LOCK_SH); err != nil {
				t.Fatal(err)
			}
			f := s.load(t, path)
			done := make(chan error, 1)
			go func() {
				done <- f.Check(Rule{Policy: AcceptNew, WriteTo: path}, "h", "web1:22", nil, s.ed.pub)
			}()
			select {
			case err := <-done:
				t.Fatalf("did not wait for the lock: %v", err)
			case <-time.After(4 * lockPause):
			}
			if replaced {
				err = os.Rename(s.file(t, "web1 ED2\n"), path)
			} else {
				_, err = held.WriteString("web1 " + s.ed2.text + "\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			if stillAt(path, held) == replaced {
				t.Errorf("stillAt = %v", !replaced)
			}
			unix.Flock(int(held.Fd()), unix.LOCK_UN)
			if err := <-done; transport.ClassOf(err) != transport.ClassHostKeyChanged {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("many at once", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "known_hosts")
		caches := []*Files{NewFiles(nil), NewFiles(nil)} // like two processes
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				f, err := caches[i%2].Load([]string{path}, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if err := f.Check(Rule{Policy: AcceptNew, WriteTo: path, Hash: i%3 == 0}, "h", fmt.Sprintf("web%d:22", i%20), nil, s.ed.pub); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		text, _ := os.ReadFile(path)
		if n := strings.Count(string(text), "\n"); n != 20 {
			t.Errorf("%d lines for 20 hosts:\n%s", n, text)
		}
		for i := range 20 {
			if out := found(t, fmt.Sprintf("web%d", i), path); !strings.Contains(out, s.ed.text) {
				t.Errorf("web%d: %q", i, out)
			}
		}
	})
}

// TestHostKeyAcceptNewDoesNotReread checks that the cache stays correct without
// reading the file again while this process is the only writer.
func TestHostKeyAcceptNewDoesNotReread(t *testing.T) {
	s := newHostKeySet(t)
	path := s.file(t, "web0 ED\n")
	old := time.Now().Add(-time.Minute)
	os.Chtimes(path, old, old)
	first := s.load(t, path).files[0]
	for i := range 50 {
		if err := s.load(t, path).Check(Rule{Policy: AcceptNew, WriteTo: path}, "h", fmt.Sprintf("web%d:22", i), nil, s.ed.pub); err != nil {
			t.Fatal(err)
		}
	}
	if s.load(t, path).files[0] != first {
		t.Error("the file was read again")
	}
}

// BenchmarkHostKeysAcceptNew records new hosts one after the other.
func BenchmarkHostKeysAcceptNew(b *testing.B) {
	path, key := manyKnownHosts(b, 10_000, false)
	known := NewFiles(nil)
	i := 0
	for b.Loop() {
		i++
		f, err := known.Load([]string{path}, 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Check(Rule{Policy: AcceptNew, WriteTo: path}, "h", fmt.Sprintf("new%d:22", i), nil, key.pub); err != nil {
			b.Fatal(err)
		}
	}
}
