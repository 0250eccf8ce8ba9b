package transporttest

import (
	"os"
	"strings"
	"testing"
	"time"

	"bolt/transport"
)

func runAsCases() []testCase {
	ok := transport.Status{}
	return []testCase{
		{"without a password", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Free)
			dir := worldDir(t)
			as := transport.RunAs{User: "root"}
			run(t, c, transport.Cmd{Line: "id -un; echo $HOME; echo e >&2; exit 3", RunAs: as}).expect(t, transport.Status{Code: 3}, "root\n/root\n", "e\n")
			run(t, c, transport.Cmd{Line: "kill -KILL $$", RunAs: as}).expectStatus(t, m.killedBy("KILL")) // sudo sends itself the same signal
			r := run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x", "a b"}, Env: []string{"A=b c"}, Stdin: []byte("in"), RunAs: as,
				Files: []transport.File{script("x", `id -un; echo "$1 $A"; stat -c '%U %a' "$0"; cat`)}})
			r.expect(t, ok, "root\na b b c\nroot 744\nin", "")
			expectEmpty(t, dir)
		}},
		{"with a password", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Asked)
			as := transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)}
			dir := worldDir(t)
			run(t, c, transport.Cmd{Line: "id -un; cat; echo e >&2", RunAs: as}).expect(t, ok, "root\n", "e\n")
			run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Stdin: []byte("in"), RunAs: as, Files: []transport.File{script("x", "id -un; cat")}}).
				expect(t, ok, "root\nin", "")
			expectEmpty(t, dir)
		}},
		{"as a user that is not root", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dial(t)
			dir := worldDir(t)
			where, err := os.Getwd()
			if m.env.StartsHome {
				where, err = "/home/"+u.Denied.Name, nil
			}
			if err != nil {
				t.Fatal(err)
			}
			run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, RunAs: transport.RunAs{User: u.Denied.Name},
				Files: []transport.File{script("x", `id -un; pwd; stat -c '%U %a' "$(dirname "$0")"`)}}).
				expect(t, ok, u.Denied.Name+"\n"+where+"\n"+u.Denied.Name+" 700\n", "")
			expectEmpty(t, dir)
		}},
		{"as the login user", func(t *testing.T, m *machine) {
			u := Users(t)
			run(t, m.dialAs(t, u.Denied), transport.Cmd{Line: "id -un", RunAs: transport.RunAs{User: u.Denied.Name}}).expect(t, ok, u.Denied.Name+"\n", "")
		}},
		{"wrong password", func(t *testing.T, m *machine) {
			u := Users(t)
			_, err := try(testContext(t), m.dialAs(t, u.Asked), transport.Cmd{Line: "echo no", RunAs: transport.RunAs{User: "root", Password: transport.NewSecret("wr0ng")}})
			e := expectError(t, err, transport.ClassRunAs, "BAD_PASSWORD")
			if !strings.HasPrefix(e.Msg, "Sudo password for user "+u.Asked.Name+" not recognized on ") || strings.Contains(e.Msg, "wr0ng") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"no password", func(t *testing.T, m *machine) {
			u := Users(t)
			_, err := try(testContext(t), m.dialAs(t, u.Asked), transport.Cmd{Line: "echo no", RunAs: transport.RunAs{User: "root"}})
			e := expectError(t, err, transport.ClassRunAs, "NO_PASSWORD")
			if !strings.HasPrefix(e.Msg, "Sudo password for user "+u.Asked.Name+" was not provided for ") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"denied", func(t *testing.T, m *machine) {
			// sudo refuses a user who may run only one command without asking
			// for a password.
			u := Users(t)
			as := transport.RunAs{User: "root", Executable: fakeSudo(t, "cat >/dev/null & echo '"+u.Denied.Name+" is not in the sudoers file.' >&2; exit 1")}
			_, err := try(testContext(t), m.dialAs(t, u.Denied), transport.Cmd{Line: "echo no", RunAs: as})
			e := expectError(t, err, transport.ClassRunAs, "SUDO_DENIED")
			if !strings.HasPrefix(e.Msg, "User "+u.Denied.Name+" does not have sudo permission on ") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"terminal required", func(t *testing.T, m *machine) {
			as := transport.RunAs{User: "cargo", Executable: fakeSudo(t, "echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1")}
			Users(t)
			_, err := try(testContext(t), m.dial(t), transport.Cmd{Line: "echo no", RunAs: as})
			if e := expectError(t, err, transport.ClassRunAs, "SUDO_DENIED"); !strings.Contains(e.Hint, "tty") {
				t.Errorf("got hint %q", e.Hint)
			}
		}},
		{"user that is unknown", func(t *testing.T, m *machine) {
			Users(t)
			r := run(t, m.dial(t), transport.Cmd{Line: "echo no", RunAs: transport.RunAs{User: "nosuchuser"}})
			if r.status.Code != 1 || !strings.Contains(r.stderr, "unknown user") {
				t.Errorf("got %+v", r)
			}
		}},
		{"sudo that is missing", func(t *testing.T, m *machine) {
			r := run(t, m.dial(t), transport.Cmd{Line: "echo no", RunAs: transport.RunAs{User: "cargo", Executable: "/nonexistent/sudo"}})
			if r.status.Code != 127 || !strings.Contains(r.stderr, "/nonexistent/sudo") {
				t.Errorf("got %+v", r)
			}
		}},
		{"command instead of sudo", func(t *testing.T, m *machine) {
			u := Users(t)
			as := transport.RunAs{User: u.Free.Name, Password: transport.NewSecret("never sent"), Command: []string{"sudo", "-n", "-H", "-u"}}
			run(t, m.dial(t), transport.Cmd{Line: "id -un; cat", RunAs: as, Stdin: []byte("in")}).expect(t, ok, u.Free.Name+"\nin", "")
		}},
		{"a prompt that comes later gets nothing", func(t *testing.T, m *machine) {
			u := Users(t)
			text := "[sudo] password for x: \nSorry, try again.\n" + u.Asked.Name + " is not in the sudoers file.\n"
			as := transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)}
			run(t, m.dialAs(t, u.Asked), transport.Cmd{Line: "printf '%s' '" + text + "' >&2; tr '\\0' ' ' </proc/$PPID/cmdline | grep -o 'bolt%%[0-9a-f]*?' | sed 's/%%/%/' | head -n 1 >&2; cat", RunAs: as}).
				expectPrompt(t, text)
		}},
		{"a shell that shows its lines is not sudo", func(t *testing.T, m *machine) {
			u := Users(t)
			as := transport.RunAs{User: "root", Password: transport.NewSecret("never " + u.Asked.Password)}
			noisy := fakeSudo(t, "set -x; : \"$@\"; exec sudo -n \"$@\"")
			as.Executable = noisy
			r := run(t, m.dialAs(t, u.Free), transport.Cmd{Line: "cat; id -un", RunAs: as})
			if r.stdout != "root\n" || !r.status.OK() {
				t.Errorf("got %+v", r)
			}
		}},
		{"password in no command line", func(t *testing.T, m *machine) {
			u := Users(t)
			expectUnseen(t, m.dialAs(t, u.Asked), transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)})
		}},
		{"cancel", func(t *testing.T, m *machine) {
			u := Users(t)
			s := newSleeper(t)
			cmd := transport.Cmd{Line: "trap '' TERM; " + s.line() + "; " + s.line(), Grace: time.Second,
				RunAs: transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)}}
			d, to := m.env.As(t, u.Asked)
			(&machine{dialer: d, dest: to, env: m.env}).expectCancelled(t, cmd, s)
		}},
		{"terminal", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Asked)
			dir := worldDir(t)
			as := transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)}
			run(t, c, transport.Cmd{TTY: true, Line: "id -un; test -t 0 && echo yes", RunAs: as}).expect(t, ok, "root\r\nyes\r\n", "")
			run(t, c, transport.Cmd{TTY: true, TmpDir: dir, Argv: []string{"./x"}, Stdin: []byte("in\n"), Env: []string{"A=b"}, RunAs: as,
				Files: []transport.File{script("x", "id -un; cat; echo $A")}}).expect(t, ok, "root\r\nin\r\nb\r\n", "")
			expectEmpty(t, dir)
			as.Password = transport.NewSecret("wr0ng")
			_, err := try(testContext(t), c, transport.Cmd{TTY: true, Line: "echo no", RunAs: as})
			expectError(t, err, transport.ClassRunAs, "BAD_PASSWORD")
		}},
		{"upload and download", runAsCopies},
	}
}

// expectUnseen checks that no process shows the password while a command runs.
func expectUnseen(t *testing.T, c transport.Conn, as transport.RunAs) {
	t.Helper()
	dir := worldDir(t)
	done := make(chan error, 1)
	go func() {
		_, err := try(testContext(t), c, transport.Cmd{Line: "echo >" + dir + "/up; while [ ! -e " + dir + "/go ]; do sleep 0.05; done", RunAs: as})
		done <- err
	}()
	eventually(t, "the command runs", func() bool { return !isEmpty(t, dir) })
	if runs(t, as.Password.Reveal()) {
		t.Error("a process shows the password in its command line")
	}
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// expectPrompt checks that a forged prompt was passed on as text.
func (r result) expectPrompt(t *testing.T, text string) {
	t.Helper()
	rest, ok := strings.CutPrefix(r.stderr, text)
	if !ok || r.stdout != "" || !strings.HasPrefix(rest, "bolt%") || !strings.HasSuffix(rest, "?\n") {
		t.Errorf("got %+v stdout %q stderr %q", r.status, r.stdout, r.stderr)
	}
}

// fakeSudo returns a program that refuses like some versions of sudo.
func fakeSudo(t *testing.T, text string) string {
	t.Helper()
	file := worldDir(t) + "/sudo"
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func runAsCopies(t *testing.T, m *machine) {
	u := Users(t)
	c := m.dialAs(t, u.Asked)
	o := transport.FileOptions{RunAs: transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)}}
	closed := t.TempDir() // only root can enter it
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	src := worldDir(t) + "/src"
	writeFiles(t, src, map[string]string{"a": "A", "sub/b": "B"})
	if err := c.Put(testContext(t), transport.Tree{Path: src}, closed+"/up", o); err != nil {
		t.Fatalf("Put: %v", err)
	}
	expectFiles(t, closed+"/up", map[string]string{"a": "A", "sub/b": "B"})
	if err := c.Put(testContext(t), transport.Tree{Path: src + "/a"}, closed+"/file", o); err != nil {
		t.Fatalf("Put: %v", err)
	}
	got := t.TempDir()
	if err := c.Get(testContext(t), closed, got, o); err != nil {
		t.Fatalf("Get: %v", err)
	}
	base := closed[strings.LastIndexByte(closed, '/')+1:]
	expectFiles(t, got+"/"+base, map[string]string{"file": "A", "up/a": "A", "up/sub/b": "B"})

	err := c.Put(testContext(t), transport.Tree{Path: src + "/a"}, closed+"/file", transport.FileOptions{})
	expectError(t, err, transport.ClassFile, "MV_ERROR")
	err = c.Get(testContext(t), closed+"/file", got, transport.FileOptions{})
	expectError(t, err, transport.ClassFile, m.env.downloadCode())
	o.RunAs.Password = transport.NewSecret("wr0ng")
	err = c.Get(testContext(t), closed+"/file", got, o)
	expectError(t, err, transport.ClassRunAs, "BAD_PASSWORD")
}
