package nativessh

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// within returns a context that ends a hanging test.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// outcome is the result of a command.
type outcome struct {
	status      transport.Status
	out, stderr string
	err         error
}

func run(ctx context.Context, t *testing.T, to transport.Dest, line string, out func([]byte)) outcome {
	t.Helper()
	c, err := NewDialer(Options{}).Dial(ctx, to)
	if err != nil {
		return outcome{err: err}
	}
	defer c.Close()
	var stdout, stderr bytes.Buffer
	st, err := c.Run(ctx, &transport.Cmd{Line: line, Stdout: tee{&stdout, out}, Stderr: &stderr})
	return outcome{st, stdout.String(), stderr.String(), err}
}

type tee struct {
	*bytes.Buffer
	also func([]byte)
}

func (w tee) Write(p []byte) (int, error) {
	if w.also != nil {
		w.also(p)
	}
	return w.Buffer.Write(p)
}

func (o outcome) expectError(t *testing.T, class transport.Class, code, text string) {
	t.Helper()
	e, ok := errors.AsType[*transport.Error](o.err)
	if !ok || e.Class != class || e.Code != code || !strings.Contains(e.Error(), text) {
		t.Errorf("got %+v, want class %s, code %s and %q", o, class, code, text)
	}
}

func TestRefusals(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent, slammer, stuck := sshtest.Silent(t), sshtest.Slammer(t), sshtest.Speaker(t, "SSH-2.0-stuck\r\n")
	other := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	known := func(t *testing.T, text string) []string {
		file := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"ssh", "-F", "none", "-o", "UserKnownHostsFile=" + file}
	}
	changed, err := os.ReadFile(other + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, to *transport.Dest)
		class  transport.Class
		code   string
		text   string
	}{
		{"nobody listens", func(_ *testing.T, to *transport.Dest) { to.Port = closed.Addr().(*net.TCPAddr).Port }, transport.ClassConnect, codeConnect, "Connection refused"},
		{"nobody answers", func(_ *testing.T, to *transport.Dest) { to.Port, to.ConnectTimeout = silent.Port, time.Second }, transport.ClassTimeout, codeConnect, "timed out"},
		{"server does not continue", func(_ *testing.T, to *transport.Dest) { to.Port, to.ConnectTimeout = stuck.Port, time.Second }, transport.ClassTimeout, codeConnect, "did not continue within 1s"},
		{"says nothing of it", func(_ *testing.T, to *transport.Dest) {
			to.Port, to.Options = slammer.Port, with(to, "ssh", "-F", "none", "-q", "-o", "LogLevel=QUIET")
		}, transport.ClassConnect, codeConnect, "kex_exchange_identification"},
		{"hangs up", func(_ *testing.T, to *transport.Dest) { to.Port = slammer.Port }, transport.ClassConnect, codeConnect, "kex_exchange_identification"},
		{"no such name", func(_ *testing.T, to *transport.Dest) { to.Host = "nosuch.invalid" }, transport.ClassResolve, codeConnect, "Could not resolve"},
		{"wrong key", func(_ *testing.T, to *transport.Dest) { to.PrivateKey = other }, transport.ClassAuth, codeAuth, "Permission denied"},
		{"unknown host key", func(t *testing.T, to *transport.Dest) {
			to.HostKeyCheck, to.Options = transport.CheckStrict, with(to, known(t, "")...)
		}, transport.ClassHostKeyUnknown, codeHostKey, "known_hosts"},
		{"changed host key", func(t *testing.T, to *transport.Dest) {
			to.HostKeyCheck, to.Options = transport.CheckStrict, with(to, known(t, "["+s.Host+"]:"+strconv.Itoa(s.Port)+" "+string(changed))...)
		}, transport.ClassHostKeyChanged, codeHostKey, "ssh-keygen -R"},
		{"no ssh", func(_ *testing.T, to *transport.Dest) { to.Options = with(to, "nosuch-ssh") }, transport.ClassConnect, codeConnect, "ssh-command"},
		{"bad option", func(_ *testing.T, to *transport.Dest) {
			to.Options = with(to, "ssh", "-F", "none", "-o", "Nonsense=1")
		}, transport.ClassUnsupported, codeConnect, "Bad configuration option"},
		{"name that is an option", func(_ *testing.T, to *transport.Dest) { to.Host = "-oProxyCommand=touch x" }, transport.ClassResolve, codeConnect, "not a host name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := dest(s)
			c.change(t, &to)
			run(within(t, time.Minute), t, to, "echo no", nil).expectError(t, c.class, c.code, c.text)
		})
	}
}

// TestConnectTimeout checks that there is always a timeout, and that
// ssh_config's timeout applies.
func TestConnectTimeout(t *testing.T) {
	config := func(text string) string {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, c := range []struct {
		name, config string
		given, want  time.Duration
	}{
		{"nobody says", "none", 0, connectTimeout},
		{"ssh_config says", config("ConnectTimeout 70\n"), 0, 70 * time.Second},
		{"both say", config("ConnectTimeout 70\n"), 5 * time.Second, 5 * time.Second},
		{"ssh does not say", config("Nonsense 1\n"), 0, connectTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := transport.Dest{Protocol: Protocol, Host: "web", User: "root", ConnectTimeout: c.given,
				Options: Program{SSH: transport.NewWords([]string{"ssh", "-F", c.config})}}
			conn, err := NewDialer(Options{}).Dial(within(t, time.Minute), to)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := conn.(*Conn).starter.to.ConnectTimeout; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestServerDies checks that a command counts as lost if its server ends, and
// not as exited.
func TestServerDies(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	var once sync.Once
	got := run(within(t, time.Minute), t, dest(s), "echo up; sleep 100", func([]byte) { once.Do(s.Kill) })
	got.expectError(t, transport.ClassLost, "", "Lost the connection to "+s.Host)
}

// with returns the Program of a destination with another ssh.
func with(to *transport.Dest, ssh ...string) Program {
	p, _ := to.Options.(Program)
	p.SSH = transport.NewWords(ssh)
	return p
}

// TestSSHDies checks that a command whose ssh is killed counts as lost, and
// ends on the machine.
func TestSSHDies(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	to := dest(s)
	// A wrapper around ssh, as an organisation may have one.
	pidFile, gone := filepath.Join(t.TempDir(), "pid"), filepath.Join(t.TempDir(), "gone")
	to.Options = with(&to, append([]string{wrapper(t, `case "$*" in *" -T "*) echo $$ >`+pidFile+`;; esac; exec "$@"`)}, to.Options.(Program).SSH.List()...)...)
	kill := func([]byte) {
		pid, err := os.ReadFile(pidFile)
		if err == nil {
			err = exec.Command("kill", "-KILL", strings.TrimSpace(string(pid))).Run()
		}
		if err != nil {
			t.Error(err)
		}
	}
	var once sync.Once
	got := run(within(t, time.Minute), t, to, "exec 2>/dev/null; trap 'echo >"+gone+"; exit' TERM; echo up; while :; do sleep 0.05; done", func(p []byte) { once.Do(func() { kill(p) }) })
	got.expectError(t, transport.ClassLost, "", "ended by signal KILL")
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(gone); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command has not been told to end")
		}
	}
}

// wrapper returns a program that consists of a line of sh.
func wrapper(t *testing.T, line string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wrapper")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOddStatus checks that a status of 255 is the command's own if ssh prints
// no error, whatever the command prints.
func TestOddStatus(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	for _, line := range []string{"exit 255", "echo 'Connection to x closed by remote host.' >&2; exit 255", "echo 'Permission denied (publickey).' >&2; exit 255"} {
		if got := run(within(t, time.Minute), t, dest(s), line, nil); got.err != nil || got.status.Code != 255 {
			t.Errorf("%s: got %+v", line, got)
		}
	}
}

// TestMaster checks that commands open no connections if there is a master
// connection.
func TestMaster(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	dir, err := os.MkdirTemp("", "bolt-master") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The client's own configuration; bolt does not read it.
	config := filepath.Join(dir, "config")
	text := "Host *\n ControlPath " + dir + "/%C\n IdentityFile " + s.KeyFile + "\n User root\n Port " + strconv.Itoa(s.Port) +
		"\n UserKnownHostsFile /dev/null\n StrictHostKeyChecking no\n LogLevel ERROR\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	counted := &counter{}
	peer := sshtest.Listen(t, counted.forward(t, s.Addr))
	text = strings.Replace(text, "Port "+strconv.Itoa(s.Port), "Port "+strconv.Itoa(peer.Port), 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ssh := []string{"ssh", "-F", config}
	master := exec.Command(ssh[0], append(ssh[1:], "-M", "-N", "-f", peer.Host)...)
	if out, err := master.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer exec.Command(ssh[0], append(ssh[1:], "-O", "exit", peer.Host)...).Run()

	to := transport.Dest{Protocol: Protocol, Host: peer.Host, Options: Program{Batch: true, SSH: transport.NewWords(ssh)}}
	for _, c := range []struct {
		line string
		code int
	}{{"echo hi; echo err >&2; exit 3", 3}, {"echo hi; echo err >&2; exit 255", 255}} {
		if got := run(within(t, time.Minute), t, to, c.line, nil); got.err != nil || got.status.Code != c.code || got.out != "hi\n" || got.stderr != "err\n" {
			t.Errorf("got %+v", got)
		}
	}
	if n := peer.Connections(); n != 1 {
		t.Errorf("%d connections, want the master's alone", n)
	}
	var once sync.Once
	got := run(within(t, time.Minute), t, to, "echo up; sleep 100", func([]byte) { once.Do(s.Kill) })
	got.expectError(t, transport.ClassLost, "", "Lost the connection")
}

// counter forwards connections.
type counter struct{}

func (*counter) forward(t *testing.T, addr string) func(net.Conn) {
	return func(near net.Conn) {
		far, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			near.Close()
			return
		}
		var wg sync.WaitGroup
		pipe := func(to, from net.Conn) {
			buf := make([]byte, 32<<10)
			for {
				n, err := from.Read(buf)
				if n > 0 {
					if _, werr := to.Write(buf[:n]); werr != nil {
						err = werr
					}
				}
				if err != nil {
					to.Close()
					from.Close()
					return
				}
			}
		}
		wg.Go(func() { pipe(far, near) })
		pipe(near, far)
		wg.Wait()
	}
}

// TestCopyCommand checks that the configured program copies, and that files
// arrive at their destination.
func TestCopyCommand(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	to := dest(s)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	program := to.Options.(Program)
	program.Copy = transport.NewWords([]string{wrapper(t, `printf '%s\n' "$*" >>`+log+`; exec scp -r -F none -o UserKnownHostsFile=/dev/null "$@"`), "-q"})
	to.Options = program
	c, err := NewDialer(Options{}).Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	source, far, near := filepath.Join(dir, "a file"), filepath.Join(dir, "far"), filepath.Join(dir, "near")
	for _, err := range []error{os.WriteFile(source, []byte("text"), 0o640), os.Mkdir(far, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := within(t, time.Minute)
	if err := c.Put(ctx, transport.Tree{Path: source}, far, transport.FileOptions{TmpDir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(ctx, transport.Tree{Path: far}, filepath.Join(dir, "tree"), transport.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.WriteFile("host:file", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(ctx, transport.Tree{Path: "host:file"}, filepath.Join(far, "colon"), transport.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, filepath.Join(dir, "tree"), near, transport.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"far/a file", "far/colon", "tree/a file", "near/tree/a file"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "text" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	lines, err := os.ReadFile(log)
	if err != nil || strings.Count(string(lines), "\n") != 4 || !strings.HasPrefix(string(lines), "-q -o BatchMode=yes -o Port="+strconv.Itoa(s.Port)) {
		t.Errorf("%v\n%s", err, lines)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*-*-*"))
	if err != nil || len(entries) != 0 {
		t.Errorf("%v, left behind: %v", err, entries)
	}
	err = c.Get(ctx, filepath.Join(dir, "nosuch"), near, transport.FileOptions{Label: "web"})
	(outcome{err: err}).expectError(t, transport.ClassFile, "COPY_ERROR", "No such file")
	err = c.Put(ctx, transport.Tree{Path: filepath.Join(dir, "nosuch")}, far, transport.FileOptions{TmpDir: dir})
	(outcome{err: err}).expectError(t, transport.ClassFile, "COPY_ERROR", "nosuch")
}
