package ssh

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/internal/sshtest"
	"bolt/transport"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !given("test.parallel") {
		flag.Set("test.parallel", "6") // most tests wait for servers or timers
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeSudoers()
		os.Exit(code)
	}))
}

// given reports whether a flag is on the command line.
func given(name string) (is bool) {
	flag.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// A lab is a Dialer with its own files.
type lab struct {
	*Dialer
	home   string
	known  string // its known_hosts
	config string // its ssh_config

	mu       sync.Mutex
	warnings []string
}

// newLab returns a Dialer whose known_hosts holds the given servers. change, if
// not nil, changes its options.
func newLab(t testing.TB, change func(*Options), servers ...*sshtest.Server) *lab {
	t.Helper()
	l := &lab{home: t.TempDir()}
	dir := filepath.Join(l.home, ".ssh")
	l.known, l.config = filepath.Join(dir, "known"), filepath.Join(dir, "config")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		l.record(t, s.KnownHosts())
	}
	l.configure(t, "")
	o := Options{Caller: Caller{Home: l.home, SystemConfig: os.DevNull, Warn: func(id, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.warnings = append(l.warnings, id+": "+text)
	}}}
	if change != nil {
		change(&o)
	}
	var err error
	if l.Dialer, err = NewDialer(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// configure writes the ssh_config. It takes effect at the first Dial.
func (l *lab) configure(t testing.TB, text string) {
	t.Helper()
	text += fmt.Sprintf("\nHost *\nUserKnownHostsFile %s\nGlobalKnownHostsFile /dev/null\n", l.known)
	if err := os.WriteFile(l.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// record adds lines to known_hosts.
func (l *lab) record(t testing.TB, lines string) {
	t.Helper()
	f, err := os.OpenFile(l.known, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(lines); err != nil {
		t.Fatal(err)
	}
}

// dest returns the destination of a server, with its key.
func dest(s *sshtest.Server) transport.Dest {
	return transport.Dest{Protocol: "ssh", Host: s.Host, Port: s.Port, User: "root", PrivateKey: s.KeyFile,
		ConnectTimeout: 20 * time.Second, LoadConfig: true, HostKeyCheck: transport.CheckStrict}
}

// peerDest returns the destination of a peer that is not an SSH server.
func peerDest(p *sshtest.Peer) transport.Dest {
	return transport.Dest{Protocol: "ssh", Host: p.Host, Port: p.Port, User: "root", ConnectTimeout: 10 * time.Second, HostKeyCheck: transport.CheckNone}
}

func (l *lab) mustDial(t testing.TB, to transport.Dest) *Conn {
	t.Helper()
	c, err := l.Dial(t.Context(), to)
	if err != nil {
		t.Fatalf("dial %s:%d: %v", to.Host, to.Port, err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*Conn)
}

// mustDialShort dials a server with a short connect timeout. A login on a busy machine
// may take longer, and is then repeated.
func (l *lab) mustDialShort(t testing.TB, to transport.Dest) *Conn {
	t.Helper()
	for range 20 {
		c, err := l.Dial(t.Context(), to)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c.(*Conn)
		}
		if transport.ClassOf(err) != transport.ClassTimeout {
			t.Fatalf("dial %s:%d: %v", to.Host, to.Port, err)
		}
	}
	t.Fatalf("no login at %s:%d within %v", to.Host, to.Port, to.ConnectTimeout)
	return nil
}

// refused dials and returns the error, which must have the class and code.
func (l *lab) refused(t *testing.T, to transport.Dest, class transport.Class, code string) *transport.Error {
	t.Helper()
	c, err := l.Dial(t.Context(), to)
	if err == nil {
		c.Close()
		t.Fatalf("dial %s:%d succeeded, want class %s", to.Host, to.Port, class)
	}
	e, ok := errors.AsType[*transport.Error](err)
	if !ok {
		t.Fatalf("error of type %T, want *transport.Error: %v", err, err)
	}
	if e.Class != class || e.Code != code {
		t.Fatalf("class %s, code %s, want %s, %s: %v", e.Class, e.Code, class, code, err)
	}
	return e
}

func wantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s is %q, want %q in it", what, text, p)
		}
	}
}

// output runs a line, with input if it is not empty.
func output(ctx context.Context, c *Conn, line, input string, tty bool) (stdout, stderr string, status transport.Status, err error) {
	s, err := c.Start(ctx, line, tty)
	if err != nil {
		return "", "", transport.Status{}, err
	}
	defer s.Close()
	var work sync.WaitGroup
	var out, errs []byte
	work.Go(func() { out, _ = io.ReadAll(s.Stdout()) })
	work.Go(func() { errs, _ = io.ReadAll(s.Stderr()) })
	work.Go(func() {
		if input != "" {
			io.WriteString(s.Stdin(), input)
		}
		s.Stdin().Close()
	})
	work.Wait()
	status, err = s.Wait()
	return string(out), string(errs), status, err
}

// say runs a line that must succeed and returns its output.
func say(t testing.TB, c *Conn, line string) string {
	t.Helper()
	out, errs, status, err := output(t.Context(), c, line, "", false)
	if err != nil || !status.OK() {
		t.Fatalf("%q: status %+v, error %v, stderr %q", line, status, err, errs)
	}
	return out
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// everyonesDir returns the directory for the private directories of all users.
func everyonesDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bolt-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// entries returns the paths of the entries of a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// writeText writes text to a file of the test.
func writeText(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
