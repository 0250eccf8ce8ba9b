package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bolt/pool"
	"bolt/pool/wire"
	"bolt/transport"
	"golang.org/x/sys/unix"
)

// options returns the options of a server that does not dial.
func options(t *testing.T, socket string) Options {
	t.Helper()
	p := pool.New(newHere(), pool.Options{})
	t.Cleanup(func() { p.Close() })
	return Options{Socket: socket, Pool: p, Router: func(wire.Caller, func(string) (transport.Secret, bool), func(string, string)) transport.Router {
		return newHere()
	}}
}

// runAndEnd runs a server whose context has ended, which closes the server.
func runAndEnd(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestSocketDirectoryIsPrivate(t *testing.T) {
	v := serve(t, nil)
	dir := filepath.Dir(v.Addr())
	for path, want := range map[string]fs.FileMode{
		dir: fs.ModeDir | 0o700, v.Addr(): fs.ModeSocket | 0o600, filepath.Join(dir, lockName): 0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
	pid, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil || strings.TrimSpace(string(pid)) != strconv.Itoa(os.Getpid()) {
		t.Errorf("the lock says %q, %v", pid, err)
	}
	v.end()
	v.wait(t)
	if _, err := os.Lstat(v.Addr()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, lockName)); err != nil {
		t.Errorf("the lock's file does not stay: %v", err)
	}
}

func TestOneDaemonAtATime(t *testing.T) {
	v := serve(t, nil)
	if _, err := New(options(t, v.Addr())); !errors.Is(err, ErrRunning) {
		t.Fatalf("a second daemon: %v", err)
	}
	v.connect(t).control("ping") // the loser has not removed the socket
	v.end()
	v.wait(t)
	s, err := New(options(t, v.Addr()))
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	runAndEnd(t, s)
}

// TestManyStarters checks that exactly one of several daemons that start at
// once serves.
func TestManyStarters(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d", "s")
	const n = 20
	made := make(chan *Server, n)
	for range n {
		o := options(t, socket)
		go func() {
			s, err := New(o)
			if err != nil && !errors.Is(err, ErrRunning) {
				t.Error(err)
			}
			made <- s
		}()
	}
	var won []*Server
	for range n {
		if s := <-made; s != nil {
			won = append(won, s)
		}
	}
	if len(won) != 1 {
		t.Errorf("%d daemons", len(won))
	}
	for _, s := range won {
		runAndEnd(t, s)
	}
}

// deadSocket leaves a socket file as a killed daemon does.
func deadSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestStaleSocketIsReplaced(t *testing.T) {
	v := serve(t, func(o *Options) {
		if err := os.Mkdir(filepath.Dir(o.Socket), 0o700); err != nil {
			t.Fatal(err)
		}
		deadSocket(t, o.Socket)
	})
	v.connect(t).control("ping")
}

func TestUnusableSocketPaths(t *testing.T) {
	base := t.TempDir()
	dir := func(name string, mode fs.FileMode) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(dir("real", 0o700), filepath.Join(base, "link")))
	open := dir("open", 0o700)
	must(os.Chmod(open, 0o750))
	theirs := dir("theirs", 0o700)
	must(os.Chown(theirs, 65534, 65534))
	file := filepath.Join(base, "file")
	must(os.WriteFile(file, nil, 0o600))
	taken := dir("taken", 0o700)
	must(os.WriteFile(filepath.Join(taken, "s"), nil, 0o600))
	full := dir("full", 0o700)
	must(syscall.Mount("none", full, "tmpfs", 0, "nr_inodes=2,mode=0700"))
	t.Cleanup(func() {
		if err := syscall.Unmount(full, 0); err != nil {
			t.Error(err)
		}
	})

	for _, c := range []struct{ name, socket, want string }{
		{"symbolic link", filepath.Join(base, "link", "s"), "it is a symbolic link"},
		{"open to the group", filepath.Join(open, "s"), "other users have access to it (mode 0750)"},
		{"another user's", filepath.Join(theirs, "s"), "it belongs to another user"},
		{"no directory", filepath.Join(file, "s"), "not a directory"},
		{"something else there", filepath.Join(taken, "s"), "not a socket"},
		{"disk full", filepath.Join(full, "s"), "no space left on device"},
		{"path too long", filepath.Join(base, strings.Repeat("x", 120)), "at most 107"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(options(t, c.socket))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Count(err.Error(), "no space") > 1 {
				t.Errorf("says it twice: %v", err)
			}
		})
	}
}

// TestForeignSocketStays checks that a daemon whose directory was replaced does
// not remove the files there.
func TestForeignSocketStays(t *testing.T) {
	v := serve(t, nil)
	if err := os.RemoveAll(filepath.Dir(v.Addr())); err != nil {
		t.Fatal(err)
	}
	second := serve(t, func(o *Options) { o.Socket = v.Addr() })
	v.end()
	v.wait(t)
	second.connect(t).control("ping")
}

// listenForTest returns a listener for a daemon.
func listenForTest(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	return l
}

func TestInheritedSocket(t *testing.T) {
	l := listenForTest(t)
	path := l.Addr().String()
	v := serve(t, func(o *Options) { o.Socket, o.Listener = "", l })
	p := v.connect(t)
	p.control("ping")
	if st := p.status(); st.Socket != path {
		t.Errorf("status says %q", st.Socket)
	}
	v.end()
	v.wait(t)
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket's file is gone: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(path), lockName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lock was made: %v", err)
	}
}

// TestOtherUsersAreRefused connects as another user, who has access to the
// socket and its directory.
func TestOtherUsersAreRefused(t *testing.T) {
	v := serve(t, nil)
	if err := os.Chmod(filepath.Dir(v.Addr()), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(v.Addr(), 0o666); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(filepath.Dir(v.Addr())); dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		n   int
		err error
	}
	got := make(chan result)
	go func() {
		runtime.LockOSThread() // permanently: the thread ends with the goroutine
		n, err := talkAs(65534, v.Addr())
		got <- result{n, err}
	}()
	if r := <-got; r.err != nil || r.n != 0 {
		t.Errorf("a stranger read %d bytes, %v", r.n, r.err)
	}
	eventually(t, "a line in the log", func() bool { return strings.Contains(v.log.String(), "refused a process of another user") })
	v.connect(t).control("ping")
}

// talkAs greets as another user and returns the number of bytes of the answer.
// It changes the user of the calling thread.
func talkAs(uid int, path string) (int, error) {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
		return 0, errno
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return 0, err
	}
	g := wire.Greeting{Version: wire.Version, Made: 100}
	body := g.Encode()
	frame := append([]byte{0, 0, 0, byte(len(body)), byte(wire.Hello), 0, 0, 0, 0}, body...)
	if _, err := unix.Write(fd, frame); err != nil && !errors.Is(err, unix.EPIPE) {
		return 0, err
	}
	n, err := unix.Read(fd, make([]byte, 100))
	if errors.Is(err, unix.ECONNRESET) {
		n, err = 0, nil
	}
	return n, err
}
