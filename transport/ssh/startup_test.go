package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/shell"
)

// startUp starts a server and returns an account on it with a .bashrc that
// sshd's bash reads.
func startUp(t *testing.T, name, bashrc string) (l *lab, to transport.Dest, home string) {
	t.Helper()
	return startUpWith(t, name, bashrc, false)
}

func startUpWith(t *testing.T, name, bashrc string, eager bool) (l *lab, to transport.Dest, home string) {
	t.Helper()
	s := sshtest.Start(t, sshtest.Options{Config: "SetEnv BOLT_TEST=1\n"})
	l = newLab(t, func(o *Options) { o.Keep, o.eager = true, eager }, s)
	to = dest(s)
	to.User, home = account(t, name, "/bin/bash")
	maySudo(t, to.User)
	writeStartUp(t, home, bashrc)
	return l, to, home
}

func writeStartUp(t *testing.T, home, bashrc string) {
	t.Helper()
	if err := os.WriteFile(home+"/.bashrc", []byte(bashrc+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStartUpFiles checks start-up files that change the streams: a command
// that runs is reported correctly, and a command that cannot run is an error.
func TestStartUpFiles(t *testing.T) { startUpFiles(t, false) }

// TestStartUpFilesReady checks the same with ready shells, as on a slow link.
func TestStartUpFilesReady(t *testing.T) { startUpFiles(t, true) }

func startUpFiles(t *testing.T, eager bool) {
	t.Parallel()
	script := []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\necho out\nsleep 0.1\necho err >&2\nexit $1\n")}}
	sudo := transport.RunAs{User: "root"}
	cmds := map[string]transport.Cmd{
		"plain":       {Line: "echo out; sleep 0.1; echo err >&2; true"},
		"environment": {Line: "echo $A; sleep 0.1; echo err >&2; true", Env: []string{"A=out", "B=x"}},
		"script":      {Argv: []string{"./x", "0"}, Files: script},
		"failing":     {Argv: []string{"./x", "4"}, Files: script},
		"run-as":      {Argv: []string{"./x", "0"}, Files: script, RunAs: sudo},
		"sudo line":   {Line: "echo out; sleep 0.1; echo err >&2; true", RunAs: sudo},
	}
	type outcome struct{ out, errs string }
	apart, merged, silent := outcome{"out\n", "err\n"}, outcome{"out\nerr\n", ""}, outcome{"out\n", ""}
	for i, k := range []struct {
		name, bashrc string
		want         outcome
		fails        string // commands that must fail with an error
		text         string // text of the error
		noCopy       bool
	}{
		{name: "nothing", want: apart},
		{name: "stderr is thrown away", bashrc: "exec 2>/dev/null", want: silent},
		{name: "stderr is closed", bashrc: "exec 2>&-", want: silent},
		{name: "stderr goes to stdout", bashrc: "exec 2>&1", want: merged},
		{name: "both go through a process", bashrc: "exec > >(cat) 2>&1", want: merged},
		{name: "TMOUT is read-only", bashrc: "readonly TMOUT=60; export TMOUT", want: apart},
		{name: "no printf", bashrc: "printf() { :; }", want: apart},
		{name: "stdin is empty", bashrc: "exec </dev/null", want: apart, fails: "environment, script, failing, run-as", text: "arrive", noCopy: true},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			l, to, home := startUpWith(t, fmt.Sprintf("su%d%.1t", i, eager), k.bashrc, eager)
			if out, err := exec.Command("install", "-d", "-m", "1777", home+"/tmp").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			c := l.mustDial(t, to)
			for _, first := range []bool{true, false} {
				for name, cmd := range cmds {
					if first {
						c.Close()
						c = l.mustDial(t, to)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					var out, errs bytes.Buffer
					cmd.Stdout, cmd.Stderr, cmd.TmpDir = &out, &errs, home+"/tmp"
					st, err := c.Run(ctx, &cmd)
					cancel()
					if strings.Contains(k.fails, name) {
						if transport.ClassOf(err) != transport.ClassBootstrap || !strings.Contains(err.Error(), k.text) {
							t.Errorf("%s: %+v, %v", name, st, err)
						}
						continue
					}
					code := 0
					if name == "failing" {
						code = 4
					}
					want := k.want
					if err != nil || st != (transport.Status{Code: code}) || out.String() != want.out || errs.String() != want.errs {
						t.Errorf("%s, first %v: %+v, %v, %q, %q, want %q", name, first, st, err, out.String(), errs.String(), want)
					}
				}
			}
			src := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(src, []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := c.Put(ctx, transport.Tree{Path: src}, home+"/file", transport.FileOptions{TmpDir: home + "/tmp"})
			if k.noCopy {
				if transport.ClassOf(err) != transport.ClassFile || !strings.Contains(err.Error(), "arrive") {
					t.Errorf("put: %v", err)
				}
			} else if text, rerr := os.ReadFile(home + "/file"); err != nil || string(text) != "text" {
				t.Errorf("put: %v, %q, %v", err, text, rerr)
			}
			if !k.noCopy {
				back := t.TempDir()
				err = c.Get(ctx, home+"/file", back, transport.FileOptions{})
				if text, rerr := os.ReadFile(back + "/file"); err != nil || string(text) != "text" {
					t.Errorf("get: %v, %q, %v", err, text, rerr)
				}
			}
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				left, _ := filepath.Glob(home + "/tmp/*")
				if len(left) == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("left behind: %s", left)
				}
			}
		})
	}
}

// TestStartUpFileTraces checks start-up files that print executed lines or
// export all variables: they print no data of a command, and the command gets
// none of bolt's variables.
func TestStartUpFileTraces(t *testing.T) {
	t.Parallel()
	for i, bashrc := range []string{"set -x", "set -v", "set -a", "trap 'echo \"$BASH_COMMAND\" >&2' DEBUG"} {
		t.Run(bashrc, func(t *testing.T) {
			t.Parallel()
			l, to, _ := startUp(t, fmt.Sprintf("tr%d", i), bashrc)
			c := l.mustDial(t, to)
			for n, file := range []string{"#!/bin/sh\ncat >/dev/null; env\n", "#!/bin/sh\n: $0; cat >/dev/null; env\n"} {
				for range 4 {
					var out, errs bytes.Buffer
					st, err := c.Run(t.Context(), &transport.Cmd{Interpreter: []string{"/bin/sh"}, Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte(file)}},
						Env: []string{"PT_a=hunter2"}, Stdin: []byte("s3cret"), Stdout: &out, Stderr: &errs})
					if err != nil || !st.OK() || !strings.Contains(out.String(), "PT_a=hunter2\n") || strings.Contains(out.String(), "_bolt") ||
						strings.Contains(errs.String(), "hunter2") || strings.Contains(errs.String(), "s3cret") {
						t.Errorf("%d: %+v, %v, %q, %q", n, st, err, out.String(), errs.String())
					}
				}
			}
		})
	}
}

// TestStartUpFilePrints checks that the output of a start-up file is shown
// once.
func TestStartUpFilePrints(t *testing.T) {
	t.Parallel()
	l, to, _ := startUp(t, "prt", "echo noise; echo more >&2; shopt -s expand_aliases")
	c := l.mustDial(t, to)
	for n := range 3 {
		var out, errs bytes.Buffer
		st, err := c.Run(t.Context(), &transport.Cmd{Interpreter: []string{"/bin/sh"}, Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte("echo $PT_a\n")}},
			Env: []string{"PT_a=ran"}, Stdout: &out, Stderr: &errs})
		if err != nil || !st.OK() || out.String() != "noise\nran\n" || errs.String() != "more\n" {
			t.Errorf("run %d: %+v, %v, %q, %q", n+1, st, err, out.String(), errs.String())
		}
	}
}

// TestStartUpFileChanges checks that a start-up file that changes between two
// commands is detected in time: no text of bolt is shown, and nothing runs
// twice.
func TestStartUpFileChanges(t *testing.T) {
	t.Parallel()
	l, to, home := startUp(t, "cng", "")
	c := l.mustDial(t, to)
	run := func(want string) {
		t.Helper()
		var out, errs bytes.Buffer
		st, err := c.Run(t.Context(), &transport.Cmd{Interpreter: []string{"/bin/sh"}, Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte("echo $PT_a; cat\n")}},
			Env: []string{"PT_a=ran"}, Stdin: []byte("in\n"), Stdout: &out, Stderr: &errs})
		if err != nil || !st.OK() || out.String() != want || errs.Len() > 0 {
			t.Errorf("%+v, %v, %q, %q", st, err, out.String(), errs.String())
		}
	}
	for range 4 {
		run("ran\nin\n")
	}
	for _, bashrc := range []string{"exec 2>/dev/null", "set -e", "exec 2>&1", "readonly TMOUT=60"} {
		writeStartUp(t, home, bashrc)
		run("ran\nin\n")
		run("ran\nin\n")
		c.warm.proof = shell.Proof{} // as after some minutes
		run("ran\nin\n")
	}
}

// TestStartUpFileHidesAll checks the error for a start-up file that hides all
// output: it is unknown whether a command has run.
func TestStartUpFileHidesAll(t *testing.T) {
	t.Parallel()
	l, to, _ := startUp(t, "hid", "exec >/dev/null 2>&1")
	_, err := l.mustDial(t, to).Run(t.Context(), &transport.Cmd{Line: "true"})
	if transport.ClassOf(err) != transport.ClassBootstrap || !strings.Contains(err.Error(), "may have run") {
		t.Error(err)
	}
}

// TestStartUpFileTakesInput checks that a program that replaces the shell in a
// start-up file does not get bytes that it could take for commands, and that a
// truncated environment is an error.
func TestStartUpFileTakesInput(t *testing.T) {
	t.Parallel()
	for i, bashrc := range []string{"exec dash", "read x", "exec sh -s"} {
		t.Run(bashrc, func(t *testing.T) {
			t.Parallel()
			l, to, home := startUp(t, fmt.Sprintf("in%d", i), bashrc)
			c := l.mustDial(t, to)
			src := filepath.Join(t.TempDir(), "file")
			evil := []byte("touch " + home + "/executed\n")
			if err := os.WriteFile(src, evil, 0o644); err != nil {
				t.Fatal(err)
			}
			for name, do := range map[string]func(context.Context) error{
				"put": func(ctx context.Context) error {
					return c.Put(ctx, transport.Tree{Path: src}, home+"/file", transport.FileOptions{})
				},
				"script": func(ctx context.Context) error {
					st, err := c.Run(ctx, &transport.Cmd{Argv: []string{"true"}, Stdin: evil})
					if err == nil && !st.OK() {
						err = fmt.Errorf("%+v", st)
					}
					return err
				},
				"environment": func(ctx context.Context) error {
					_, err := c.Run(ctx, &transport.Cmd{Line: "echo $A$B >" + home + "/executed", Env: []string{"A=1", "B=2"}})
					return err
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				if err := do(ctx); err == nil {
					t.Errorf("%s: no error", name)
				}
				cancel()
				if text, err := os.ReadFile(home + "/executed"); err == nil {
					t.Errorf("%s: it was run: %q", name, text)
				}
			}
		})
	}
}

// TestStartUpFileAndStream checks that a stream that a start-up file has taken
// away is an error, and that other streams arrive completely.
func TestStartUpFileAndStream(t *testing.T) {
	t.Parallel()
	for i, k := range []struct {
		bashrc string
		class  transport.Class
	}{{"echo noise; exec 2>&1", ""}, {"exec 2>/dev/null", ""}, {"exec </dev/null", transport.ClassBootstrap}, {"exec <&-", transport.ClassBootstrap}, {"exec </etc/passwd", transport.ClassBootstrap}} {
		t.Run(k.bashrc, func(t *testing.T) {
			t.Parallel()
			l, to, _ := startUp(t, fmt.Sprintf("str%d", i), k.bashrc)
			c := l.mustDial(t, to)
			for _, cmd := range []transport.Cmd{{Line: "cat"}, {Line: "cat", Env: []string{"A=b"}}, {Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\ncat\n")}}}} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				var out bytes.Buffer
				cmd.Input, cmd.Stdout = strings.NewReader("stream\n"), &out
				st, err := c.Run(ctx, &cmd)
				cancel()
				if transport.ClassOf(err) != k.class || err == nil && (!st.OK() || !strings.HasSuffix(out.String(), "stream\n")) {
					t.Errorf("%+v: %+v, %v, %q", cmd, st, err, out.String())
				}
				if e, ok := errors.AsType[*transport.Error](err); ok && !strings.Contains(e.Hint, "start-up file") {
					t.Errorf("%+v: the hint of %v is %q", cmd, e, e.Hint)
				}
			}
		})
	}
}

// TestFishWithoutLoginShellSetting checks that fish does not run a line with a
// watcher in it if login-shell is not set.
func TestFishWithoutLoginShellSetting(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	to := dest(s)
	user, home := account(t, "fis", "/usr/bin/fish")
	to.User = user
	c := l.mustDial(t, to)
	for range 2 {
		st, err := c.Run(t.Context(), &transport.Cmd{Line: "touch " + home + "/x"})
		_, there := os.Stat(home + "/x")
		if (err == nil && st.OK()) != (there == nil) {
			t.Errorf("%+v, %v; the file: %v", st, err, there)
		}
	}
}

// TestStuckSessions checks that sessions that were closed and do not end do not
// count as places, and that a connection without any place reports it.
func TestStuckSessions(t *testing.T) {
	t.Parallel()
	for i, k := range []struct {
		name, bashrc, config string
		sessions             int
	}{
		{"sleeping", "sleep 777", "", 3},
		{"sleeping, and shells ahead as well", "sleep 777", "", 5},
		{"stopped", "kill -STOP $$", "MaxSessions 3\n", 3},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: "SetEnv BOLT_TEST=1\n" + k.config})
			l := newLab(t, func(o *Options) { o.Keep, o.eager, o.MaxSessions = true, true, k.sessions }, s)
			to := dest(s)
			user, home := account(t, fmt.Sprintf("st%d", i), "/bin/bash")
			to.User = user
			t.Cleanup(func() { exec.Command("pkill", "-KILL", "-u", user).Run() })
			c := l.mustDial(t, to)
			seen(t, c, transport.Cmd{Line: "id"})
			writeStartUp(t, home, k.bashrc)
			for end := time.Now().Add(30 * time.Second); k.sessions > 3 && !c.warm.starts(); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("no shell is started ahead")
				}
			}
			before := c.Stats().Sessions
			for range before {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				if _, err := c.Run(ctx, &transport.Cmd{Line: "id", Grace: 100 * time.Millisecond}); transport.ClassOf(err) != transport.ClassTimeout {
					t.Errorf("a command that cannot begin: %v", err)
				}
				cancel()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := c.Run(ctx, &transport.Cmd{Line: "id"}); transport.ClassOf(err) != transport.ClassConnect {
				t.Fatal(err)
			}
			if n := c.Stats().Sessions; n != 0 {
				t.Errorf("%d sessions, all of which are stuck", n)
			}
			writeStartUp(t, home, "")
			exec.Command("pkill", "-KILL", "-u", user, "sleep|bash").Run()
			for end := time.Now().Add(30 * time.Second); c.Stats().Sessions != before; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d sessions, want %d", c.Stats().Sessions, before)
				}
			}
			if got := seen(t, c, transport.Cmd{Line: "echo a"}); !strings.Contains(got, `stdout "a\n"`) {
				t.Error(got)
			}
		})
	}
}

// TestStartUpFilesPreventReadyShells checks the cases in which no shell may be
// started in advance.
func TestStartUpFilesPreventReadyShells(t *testing.T) {
	t.Parallel()
	program := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		for dir := filepath.Dir(file); dir != "/tmp"; dir = filepath.Dir(dir) {
			os.Chmod(dir, 0o755)
		}
		return file
	}
	child := program("bash", "#!/bin/bash\nexport SHELL=/bin/bash\nPATH=/bin\nbash \"$@\"\n")
	named := program("bash", "#!/bin/bash\nexport SHELL=/bin/bash\nexec -a bash /bin/bash \"$@\"\n")
	wrapper := program("bash", "#!/bin/bash\nexport SHELL=/bin/bash\nexec /bin/bash \"$@\"\n")
	force := program("force", "#!/bin/sh\ncmd=$SSH_ORIGINAL_COMMAND; unset SSH_ORIGINAL_COMMAND\nexec /bin/bash -c \"$cmd\"\n")
	under := program("under", "#!/bin/sh\ncmd=$SSH_ORIGINAL_COMMAND; unset SSH_ORIGINAL_COMMAND\nPATH=/bin; bash -c \"$cmd\"; exit $?\n")
	for i, k := range []struct{ name, config, loginShell, bashrc string }{
		{name: "wrapper", loginShell: wrapper},
		{name: "wrapper with a child", loginShell: child},
		{name: "wrapper that takes the name", loginShell: named},
		{name: "forced command", config: "ForceCommand " + force + "\n"},
		{name: "forced command with a child", config: "ForceCommand " + under + "\n"},
		{name: "a message on each start", config: "SetEnv LC_ALL=xx_XX.UTF-8\n"},
		{name: "a function [", bashrc: "[() { :; }"},
		{name: "a function exit", bashrc: "exit() { :; }"},
		{name: "a function read", bashrc: "read() { :; }"},
		{name: "functions that come from the environment", config: "SetEnv \"BASH_FUNC_[%%=() { :; }\"\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if k.config == "" {
				k.config = "SetEnv BOLT_TEST=1\n"
			}
			s := sshtest.Start(t, sshtest.Options{Config: k.config})
			kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
			if k.loginShell == "" {
				k.loginShell = "/bin/bash"
			}
			user, home := account(t, fmt.Sprintf("sw%d", i), k.loginShell)
			if k.bashrc != "" {
				writeStartUp(t, home, k.bashrc)
			}
			to := dest(s)
			to.User = user
			c := kept.mustDial(t, to)
			for range 2 {
				seen(t, c, scriptCmd)
				warmed(t, c)
			}
			if c.warm.waits() {
				t.Errorf("%+v", c.warm.ready)
			}
		})
	}
}

// TestWarmSeesParents checks that a directory above the home directory that
// becomes a link is detected.
func TestWarmSeesParents(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	user, first := account(t, "par", "/bin/bash")
	base, err := os.MkdirTemp("/tmp", "bolt-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("usermod", "-d", first, user).Run() // the first directory is removed with the account
		os.RemoveAll(base)
	})
	os.Chmod(base, 0o755)
	home := base + "/a/home"
	for _, cmd := range [][]string{{"mkdir", base + "/a"}, {"install", "-d", "-o", user, home}, {"usermod", "-d", home, user}} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd, err, out)
		}
	}
	to := dest(s)
	to.User = user
	c := kept.mustDial(t, to)
	warmUp(t, c)
	if !c.warm.waits() {
		t.Fatal("nothing waits")
	}
	if err := os.Rename(base+"/a", base+"/b"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", base+"/a"); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []transport.Cmd{{Line: "pwd"}, {Line: "pwd", Env: []string{"A=b"}}} {
		if got := seen(t, c, cmd); !strings.Contains(got, fmt.Sprintf("stdout %q", base+"/b/home\n")) {
			t.Errorf("%+v: %s", cmd, got)
		}
	}
}
