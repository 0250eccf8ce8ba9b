package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/shell"
)

// account creates a user with a login shell. The user is removed at the end of
// the test.
func account(t *testing.T, name, loginShell string) (user, home string) {
	t.Helper()
	user = fmt.Sprintf("b%d%s", os.Getpid(), name)
	home = "/home/" + user
	if out, err := exec.Command("useradd", "-m", "-d", home, "-p", "*", "-s", loginShell, user).CombinedOutput(); err != nil {
		t.Fatalf("useradd: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		// A command that has killed its whole session has left its directory.
		if out, err := exec.Command("find", "/tmp", "-maxdepth", "1", "-user", user, "-exec", "rm", "-rf", "{}", "+").CombinedOutput(); err != nil {
			t.Logf("find: %v\n%s", err, out)
		}
		if out, err := exec.Command("userdel", "-f", "-r", user).CombinedOutput(); err != nil {
			t.Logf("userdel: %v\n%s", err, out)
		}
	})
	return user, home
}

// shells returns the login shells to compare, and the shells that can be
// started in advance in them.
func shells(t *testing.T) map[string]struct {
	path   string
	family string
	ready  bool
} {
	t.Helper()
	bin := t.TempDir()
	for dir := bin; dir != "/"; dir = filepath.Dir(dir) { // so that other users can run it
		if err := os.Chmod(dir, 0o755); err != nil && dir != "/tmp" {
			t.Fatal(err)
		}
		if filepath.Dir(dir) == "/tmp" {
			break
		}
	}
	ash := filepath.Join(bin, "ash")
	if err := os.Symlink("/usr/bin/busybox", ash); err != nil {
		t.Fatal(err)
	}
	return map[string]struct {
		path   string
		family string
		ready  bool
	}{
		"bash": {"/bin/bash", "", true},
		"dash": {"/bin/dash", "", true},
		"ash":  {ash, "", true},
		"ksh":  {"/bin/ksh", "", false},
		"mksh": {"/bin/mksh", "", true},
		"zsh":  {"/bin/zsh", "", false},
		"fish": {"/usr/bin/fish", "fish", false},
		"tcsh": {"/bin/tcsh", "tcsh", false},
	}
}

// seen returns everything that a command makes visible.
func seen(t *testing.T, c *Conn, cmd transport.Cmd) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	st, err := c.Run(ctx, &cmd)
	text := fmt.Sprintf("%+v, %v\nstdout %q\nstderr %q", st, err, out.String(), errs.String())
	for _, r := range volatile {
		text = r.ReplaceAllString(text, "…")
	}
	return text
}

// difference returns the first difference between two texts.
func difference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-100)
	return fmt.Sprintf("got  %.300s\nwant %.300s", got[from:], want[from:])
}

// volatile matches text that differs between any two sessions: process IDs, the
// client's port, and the names of sockets, pipes and private directories.
var volatile = []*regexp.Regexp{
	regexp.MustCompile(`socket:\[\d+\]`), regexp.MustCompile(`pipe:\[\d+\]`),
	regexp.MustCompile(`bolt%[0-9a-f]{32}`), regexp.MustCompile(`127\.0\.0\.1 \d+`), regexp.MustCompile(`/tmp/[0-9a-f-]{36}`),
	regexp.MustCompile(`/proc/\d+`), regexp.MustCompile(`(?m)^\[1\] \d+$`), regexp.MustCompile(`\[1\] \d+`), regexp.MustCompile(`\[?\b\d{2,7}\]? (?:Killed|Terminated)`),
}

// waits reports whether a ready shell waits.
func (w *warm) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ready.shell != nil
}

// starts reports whether a shell is being started.
func (w *warm) starts() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ready.starting != nil
}

var scriptCmd = transport.Cmd{Argv: []string{"true"}, Stdin: []byte("x")}

// warmUp starts everything that can be started in advance.
func warmUp(t *testing.T, c *Conn) {
	t.Helper()
	seen(t, c, scriptCmd)
	warmed(t, c)
}

// sessionLines would show that a shell belongs to another session, or would
// change the shell for the next command.
var sessionLines = []string{
	"cd /; pwd", "export A=1; env | grep ^A=", "umask 077; umask", "umask", "exit 3", "kill -9 $$", "kill -TERM $$", "exec sh -c 'exit 5'",
	"nosuchcommand_x", "cat </nonexistent", "echo ok >&2", "cat", "sleep 0.2 & echo started >&2", "trap 'echo bye' EXIT; echo hi", "env | sort | grep -v ^_=",
	"ulimit -a", "jobs", "echo $0", "echo $-", "echo $#", "echo (", "set -e; false; echo no",
	"ls -l /proc/self/fd | sed 's/.*[0-9] \\(.\\) ->/\\1/; s/.* //' | grep -v /proc",
	"head -c 1048576 /dev/zero | tr '\\0' x | cksum", "printf '\\000\\377'", "ps -o comm= -p $PPID", "grep -E 'SigBlk|SigIgn|SigCgt|CapEff|Groups|Umask' /proc/self/status",
	"ps -o pid=,pgid=,sid= -p $$ | tr -s ' ' '\\n' | sort -u | grep -c .", "cat /proc/self/limits", "(exit 7)", "sh -c 'kill -KILL $$'",
	"cat /proc/self/oom_score_adj; nice", "echo $SHLVL $OLDPWD", "readlink /proc/$$/cwd", "readlink /proc/$$/exe", "kill -9 0",
}

// scripts end in every possible way, and print the state that a process
// inherits.
func scripts() []transport.Cmd {
	var all strings.Builder
	for _, line := range sessionLines {
		if strings.Contains(line, "kill") || strings.HasSuffix(line, "(") || strings.HasPrefix(line, "exec") {
			continue
		}
		fmt.Fprintf(&all, "( %s\n) 2>&1\necho \"= $?\"\n", line)
	}
	script := func(text string) []transport.File {
		return []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\n" + text + "\n")}}
	}
	env := []string{"GREETING=hello", "a.b=c"}
	task := []string{"PT_a=b", "PT_c=it's \\n"}
	// Small files are written by a ready shell itself if their modes allow it.
	const odd = "-n '\\\\ $x %s `id` \"\n\t.\n\n_bolt_\n+é\\"
	texts := []transport.File{
		{Name: "d/x", Mode: 0o600, Data: []byte("umask; cd \"${0%/*}\"; stat -c '%a %n' . x ../e/y ../e/z p; cat ../e/y; od -c ../e/z | tail -1; cat p | tail -c 20; cat; env | grep PT_; set | grep -c _bolt_; exec ./p")},
		{Name: "e/y", Mode: 0o640, Data: []byte(odd)},
		{Name: "e/z", Mode: 0o444, Data: []byte("\x01no text\n\n")},
		{Name: "d/p", Mode: 0o750, Data: []byte("#!/bin/sh\n[ ! -w x ] || echo \"= $0\" | tail -c 4\n")},
	}
	// One file alone, for a shell.
	lone := []transport.File{{Name: "t/lone.sh", Mode: 0o750, Data: []byte("#!/bin/sh\numask; pwd; printf '[%s]' \"$@\"; env | grep PT_ | sort; cat; set | grep -c _bolt_; nosuchprogram_x; ls /dev/fd | grep -c .\nexit 7\n")}}
	shell := []string{"/bin/sh", "-e"}
	return []transport.Cmd{
		{Argv: []string{"./t/lone.sh", "a b", "\n.\n"}, Interpreter: shell[:1], Files: lone, Env: task, Stdin: []byte(odd)},
		{Argv: []string{"./t/lone.sh"}, Interpreter: shell, Files: lone},
		{Argv: []string{"./t/lone.sh"}, Interpreter: shell[:1], Files: lone, Env: task, Dir: "/usr"},
		{Argv: []string{"./t/lone.sh"}, Interpreter: shell[:1], Files: lone, Env: env, Stdin: []byte("in")},
		{Argv: []string{"./t/lone.sh"}, Interpreter: shell[:1], Files: lone, Dir: "/nonexistent"},
		{Argv: []string{"./d/x", "a"}, Interpreter: []string{"/bin/sh"}, Files: texts, Env: task, Stdin: []byte(odd)},
		{Argv: []string{"./d/x"}, Interpreter: []string{"/bin/sh"}, Files: texts[:1]},
		{Argv: []string{"./x"}, Files: []transport.File{ // which their owner may not write to
			{Name: "x", Mode: 0o444, Data: []byte("#!/bin/sh\nstat -c '%a %s' x y \"$0\" \"${0%x}y\" 2>&1 | tail -n +3; md5sum <\"${0%x}y\"\n")},
			{Name: "y", Mode: 0o400, Data: bytes.Repeat([]byte("0123456789abcde\n"), 100_000)}}},
		{Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o444, Data: []byte("#!/bin/sh\nstat -c '%a %s' \"$0\"\n")}}},
		{Argv: []string{"./x"}, Interpreter: []string{"/nonexistent/x"}, Files: []transport.File{{Name: "x", Mode: 0o600, Data: []byte("text")}}, Env: task},
		{Line: all.String(), Env: env},
		{Argv: []string{"./x", "a b", "\n.\n", ".", "\\"}, Files: script(all.String() + `printf '[%s]' "$@"`)},
		{Argv: []string{"./x"}, Files: script("kill -9 $$")},
		{Argv: []string{"./x"}, Files: script("kill -9 0")},
		{Argv: []string{"./x"}, Files: script("cat; exit 141"), Stdin: []byte("in\n")},
		{Argv: []string{"nosuchprogram_x"}, Env: env},
		{Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o600, Data: []byte("#!/nonexistent/x\n")}}},
		{Argv: []string{"nosuchprogram_x"}, Env: task, Stdin: []byte("{}")},
		{Argv: []string{"./x", "a b"}, Files: script(`printf '[%s]' "$@"; env | grep PT_; cat`), Env: task, Stdin: []byte("é '\\\\ $x\n\tend")},
		{Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o600, Data: []byte("#!/nonexistent/x\n")}}, Env: task, Stdin: []byte("{}")},
		{Argv: []string{"./x"}, Files: script("kill -9 $$"), Env: task},
		{Argv: []string{"./x"}, Files: script(all.String()), Env: task},
		{Line: all.String(), Env: env, RunAs: transport.RunAs{User: "nobody"}},
		{Argv: []string{"./x"}, Files: script("kill -TERM $$"), RunAs: transport.RunAs{User: "nobody"}},
		{Line: "pwd", Env: env, Dir: "/usr"},
		{Line: "pwd", Env: env, Dir: "/nonexistent"},
		{Line: "true", Env: env, RunAs: transport.RunAs{User: "nobody", Executable: "/nonexistent/sudo"}},
		{Line: "id -un", Env: env, RunAs: transport.RunAs{User: "nobody", Command: []string{"sudo", "-u"}}},
	}
}

// TestWarmIsFresh compares the environment of commands on their own connection
// with the environment on a connection with ready shells.
func TestWarmIsFresh(t *testing.T) {
	t.Parallel()
	// bash must read its start-up files, which it does not if SHLVL is set.
	s := sshtest.Start(t, sshtest.Options{Config: "SetEnv BOLT_TEST=1\n"})
	cold := newLab(t, nil, s)
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	for name, k := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := dest(s)
			to.User, _ = account(t, name, k.path)
			to.LoginShell = k.family
			maySudo(t, to.User)
			fresh, warm := cold.mustDial(t, to), kept.mustDial(t, to)
			warmUp(t, warm)
			if got := warm.warm.waits(); got != k.ready {
				t.Errorf("a shell for scripts waits: %v, want %v", got, k.ready)
			}
			same := func(cmd transport.Cmd) {
				t.Helper()
				want, got := seen(t, fresh, cmd), seen(t, warm, cmd)
				if got != want {
					t.Errorf("%.200s: %s", fmt.Sprintf("%+v", cmd), difference(got, want))
				}
			}
			for _, line := range sessionLines {
				same(transport.Cmd{Line: line})
			}
			for _, cmd := range scripts() {
				// The first command on a cached connection has no ready shell.
				if h := warm.warm.take(); h != nil {
					warm.warm.drop(h)
				}
				same(cmd)
				if k.ready {
					warmed(t, warm)
					if !warm.warm.waits() {
						t.Fatalf("%+v: nothing waits: %+v", cmd, warm.warm.ready)
					}
				}
				same(cmd)
				warm.warm.learn(true) // a sudo that is missing is declined
			}
		})
	}
}

// TestReadOnlyFiles stages files that their owner cannot write to, for a user
// who is not root.
func TestReadOnlyFiles(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	to := dest(s)
	to.User, _ = account(t, "ro", "/bin/bash")
	c := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s).mustDial(t, to)
	const size = 1_600_000 // is written in two pieces
	for range 5 {
		var out bytes.Buffer
		st, err := c.Run(t.Context(), &transport.Cmd{Argv: []string{"./x"}, Stdout: &out, Stderr: &out, Files: []transport.File{
			{Name: "x", Mode: 0o444, Data: []byte("#!/bin/sh\ncd \"${0%x}\" && stat -c '%a %s' x y\n")},
			{Name: "y", Mode: 0o400, Data: make([]byte, size)},
		}})
		if want := fmt.Sprintf("544 45\n400 %d\n", size); err != nil || !st.OK() || out.String() != want {
			t.Fatalf("%v, %v: %q, want %q", st, err, out.String(), want)
		}
	}
}

// maySudo allows a user to become any user.
func maySudo(t *testing.T, user string) {
	t.Helper()
	file := "/etc/sudoers.d/" + user
	if err := os.WriteFile(file, []byte("Defaults:"+user+" !lecture\n"+user+" ALL=(ALL:ALL) NOPASSWD: ALL\n"), 0o440); err != nil {
		t.Fatal(err)
	}
	sudoers.Store(file, nil)
}

// sudoers are files that are removed after all tests have ended: sudo complains
// about a file that disappears while it reads the directory.
var sudoers sync.Map

func removeSudoers() {
	sudoers.Range(func(file, _ any) bool {
		os.Remove(file.(string))
		return true
	})
}

// TestWarmSeesChanges checks that changes on the machine take effect for the
// next command.
func TestWarmSeesChanges(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "SetEnv BOLT_TEST=1\n"})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	user, home := account(t, "chg", "/bin/bash")
	to := dest(s)
	to.User = user
	c := kept.mustDial(t, to)
	write := func(file, text string) func() {
		return func() {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	rename := func(from, to string) func() {
		return func() {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	guard, err := os.ReadFile(home + "/.bashrc")
	if err != nil {
		t.Fatal(err)
	}
	env := transport.Cmd{Line: `echo "$A"; pwd`, Env: []string{"B=c"}}
	plain := transport.Cmd{Line: "pwd; echo x"}
	for _, k := range []struct {
		name       string
		change     func()
		undo       func()
		env, plain string
		before     func()
	}{
		{"start-up file", write(home+"/.bashrc", "echo noise\nexport A=new\n"), write(home+"/.bashrc", string(guard)),
			"noise\nnew\n" + home + "\n", "noise\n" + home + "\nx\n", nil},
		{"start-up file with an old date", func() {
			write(home+"/.new", "export A=new\n")()
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(home+"/.new", old, old); err != nil {
				t.Fatal(err)
			}
			rename(home+"/.new", home+"/.bashrc")()
		}, write(home+"/.bashrc", string(guard)), "new\n" + home + "\n", home + "\nx\n", nil},
		{"home directory replaced", func() {
			rename(home, home+".old")()
			if out, err := exec.Command("install", "-d", "-o", user, home).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}, func() { os.Remove(home); rename(home+".old", home)() }, "\n" + home + "\n", home + "\nx\n", nil},
		{"home directory moved away", func() {
			rename(home, home+".old")()
			if err := os.Symlink(home+".old", home); err != nil {
				t.Fatal(err)
			}
		}, func() { os.Remove(home); rename(home+".old", home)() }, "\n" + home + ".old\n", home + ".old\nx\n", nil},
		{"home directory is another link", func() {
			os.Remove(home)
			if err := os.Symlink("/usr", home); err != nil {
				t.Fatal(err)
			}
		}, func() { os.Remove(home); rename(home+".old", home)() }, "\n/usr\n", "/usr\nx\n", func() {
			c.Close() // so that the shells start behind the link
			rename(home, home+".old")()
			if err := os.Symlink(home+".old", home); err != nil {
				t.Fatal(err)
			}
			c = kept.mustDial(t, to)
		}},
	} {
		t.Run(k.name, func(t *testing.T) {
			if k.before != nil {
				k.before()
			}
			warmed(t, c)       // no shell is being started in the old state
			c.warm.learn(true) // the end of that shell is not a failure here
			warmUp(t, c)
			if !c.warm.waits() {
				t.Fatal("nothing waits")
			}
			k.change()
			defer k.undo()
			for _, r := range []struct {
				cmd  transport.Cmd
				want string
			}{{env, k.env}, {plain, k.plain}} {
				var out bytes.Buffer
				r.cmd.Stdout = &out
				if st, err := c.Run(t.Context(), &r.cmd); err != nil || !st.OK() || out.String() != r.want {
					t.Errorf("%+v, %v: %q, want %q", st, err, out.String(), r.want)
				}
			}
		})
	}
}

// TestNothingIsStartedAhead checks that no shell is started in advance in
// accounts where it would be visible, or where it would do less than a session.
func TestNothingIsStartedAhead(t *testing.T) {
	t.Parallel()
	wrapper := filepath.Join(t.TempDir(), "bash")
	if err := os.WriteFile(wrapper, []byte("#!/bin/bash\nexec /bin/bash \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(wrapper); dir != "/tmp"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	for i, k := range []struct {
		name, config, loginShell string
		file, text               string
	}{
		{name: "forced command", config: "ForceCommand exec /bin/bash -c \"$SSH_ORIGINAL_COMMAND\"\n"},
		{name: "shell that is a script", loginShell: wrapper},
		{name: "shell that runs nothing", loginShell: "/usr/sbin/nologin"},
		{name: "sshrc", file: ".ssh/rc", text: "true\n"},
		{name: "environment file", file: ".ssh/environment", text: "A=b\n"},
		{name: "start-up file with effects", file: ".bashrc", text: "A=b\n[ -z \"$PS1\" ] && return\n"},
		{name: "start-up file that writes", file: ".bashrc", text: "echo hello\n"},
		{name: "BASH_ENV", config: "SetEnv BASH_ENV=/dev/null\n"},
		{name: "function of a builtin's name", config: "SetEnv \"BASH_FUNC_echo%%=() { builtin echo mine; }\"\n"},
		{name: "two sessions", config: "MaxSessions 2\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: k.config + "SetEnv BOLT_TEST=1\n"})
			kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
			if k.loginShell == "" {
				k.loginShell = "/bin/bash"
			}
			user, home := account(t, fmt.Sprintf("no%d", i), k.loginShell)
			if k.file != "" {
				os.Mkdir(home+"/.ssh", 0o755)
				if err := os.WriteFile(filepath.Join(home, k.file), []byte(k.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			to := dest(s)
			to.User = user
			c := kept.mustDial(t, to)
			for range 2 {
				seen(t, c, scriptCmd)
				warmedBut(t, c, k.name == "two sessions")
			}
			if k.name != "two sessions" && c.warm.waits() {
				t.Errorf("%+v", c.warm.ready)
			}
		})
	}
}

// warmedBut waits as warmed does, or for a fixed time if unknown is set.
func warmedBut(t *testing.T, c *Conn, unknown bool) {
	if unknown {
		time.Sleep(5 * warmSettles)
		return
	}
	warmed(t, c)
}

// TestWaitingShellsEnd checks that waiting shells end with the connection,
// however it ends, and after a long time without use.
func TestWaitingShellsEnd(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	user, _ := account(t, "end", "/bin/bash")
	count := func() int {
		out, _ := exec.Command("pgrep", "-u", user, "-f", "_bolt_ok").Output() // status 1: no process
		return len(strings.Fields(string(out)))
	}
	for _, k := range []struct {
		name string
		end  func(c *Conn, l *sshtest.Link)
	}{
		{"close", func(c *Conn, _ *sshtest.Link) { c.Close() }},
		{"cut", func(_ *Conn, l *sshtest.Link) { l.Cut() }},
		{"unused", func(c *Conn, _ *sshtest.Link) {
			c.warm.mu.Lock()
			c.warm.ready.wanted = time.Now().Add(-2 * warmLasts)
			c.warm.mu.Unlock()
			c.warm.tend()
		}},
		{"places run short", func(c *Conn, _ *sshtest.Link) { c.warm.yield() }},
	} {
		t.Run(k.name, func(t *testing.T) {
			link := sshtest.Delay(t, s.Addr, 0)
			to := dest(s)
			to.Host, to.Port, to.User, to.HostKeyCheck = link.Host, link.Port, user, transport.CheckNone
			c := kept.mustDial(t, to)
			warmUp(t, c)
			if n := count(); n != 1 {
				t.Fatalf("%d shells wait, want 1", n)
			}
			k.end(c, link)
			for end := time.Now().Add(30 * time.Second); count() > 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d shells are left", count())
				}
			}
		})
	}
}

// TestWaitingShellsYield checks that waiting shells do not take places from
// commands.
func TestWaitingShellsYield(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"", "MaxSessions 4\n", "MaxSessions 3\n", "MaxSessions 2\n", "MaxSessions 1\n"} {
		t.Run(strings.TrimSpace(config), func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: config})
			kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
			c := kept.mustDial(t, dest(s))
			for range 3 {
				seen(t, c, scriptCmd)
				time.Sleep(3 * warmSettles)
				errs := make(chan error, 8)
				for i := range cap(errs) {
					go func() {
						cmd := transport.Cmd{Line: "sleep 0.05; echo x", Env: []string{fmt.Sprintf("A=%d", i)}}
						if i%2 == 0 {
							cmd.Env = nil
						}
						st, err := c.Run(t.Context(), &cmd)
						if err == nil && !st.OK() {
							err = errors.New(fmt.Sprint(st))
						}
						errs <- err
					}()
				}
				for range cap(errs) {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
			}
			if config == "" && c.places.taught {
				t.Error("the server refused a session")
			}
		})
	}
}

// TestWaitingShellsTakeNoRoom checks that a connection has room for as many
// commands as without waiting shells.
func TestWaitingShellsTakeNoRoom(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	c := kept.mustDial(t, dest(s))
	warmUp(t, c)
	barrier(t, c)
}

// TestReadyKilled checks that a session replaces a waiting shell that was
// killed.
func TestReadyKilled(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	user, _ := account(t, "res", "/bin/bash")
	to := dest(s)
	to.User = user
	c := kept.mustDial(t, to)
	warmUp(t, c)
	if out, err := exec.Command("pkill", "-KILL", "-u", user, "-f", "_bolt_ok").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if got := seen(t, c, transport.Cmd{Line: "echo $A", Env: []string{"A=a"}}); !strings.Contains(got, `stdout "a\n"`) {
		t.Error(got)
	}
}

var _ shell.Warmer = (*Conn)(nil)

// TestWaitingShellIsSmall checks that a waiting shell costs no goroutine and
// little memory.
func TestWaitingShellIsSmall(t *testing.T) {
	const n = 40
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 1000\n"})
	kept := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	measure := func() (int, float64) {
		runtime.GC()
		runtime.GC() // memory held by pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), float64(m.HeapAlloc + m.StackInuse)
	}
	var conns []*Conn
	for range n {
		c := kept.mustDial(t, dest(s))
		c.warm.mu.Lock()
		c.warm.ready.fails(maxWarmFailures)
		c.warm.mu.Unlock()
		conns = append(conns, c)
	}
	use := func() {
		for _, c := range conns {
			seen(t, c, scriptCmd)
		}
		for _, c := range conns {
			warmed(t, c)
		}
	}
	use()
	goroutines, memory := measure()
	for _, c := range conns {
		c.warm.learn(true)
	}
	use()
	for _, c := range conns {
		if !c.warm.waits() {
			t.Fatal("nothing waits")
		}
	}
	g, m := measure()
	perMemory := (m - memory) / n / 1024
	t.Logf("%d goroutines more in all, %.1f KB for each connection", g-goroutines, perMemory)
	if g > goroutines+n/4 {
		t.Errorf("%d goroutines more, want none", g-goroutines)
	}
	if perMemory > 20 {
		t.Errorf("%.1f KB for each connection, want less than 20", perMemory)
	}
}

// TestProofOfPlainLine checks that a plain line in an account whose shell runs
// nothing does not succeed, and that the proof does not appear in the messages
// of any shell.
func TestProofOfPlainLine(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	t.Run("shell that runs nothing", func(t *testing.T) {
		nothing := filepath.Join(t.TempDir(), "nothing")
		if err := os.WriteFile(nothing, []byte("#!/bin/sh\necho This account is not available.\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		for dir := filepath.Dir(nothing); dir != "/tmp"; dir = filepath.Dir(dir) {
			os.Chmod(dir, 0o755)
		}
		to := dest(s)
		to.User, _ = account(t, "nil", nothing)
		c := l.mustDial(t, to)
		for range 2 {
			st, err := c.Run(t.Context(), &transport.Cmd{Line: "touch /x"})
			if transport.ClassOf(err) != transport.ClassBootstrap {
				t.Errorf("%+v, %v", st, err)
			}
		}
	})
	for name, startup := range map[string]string{"stderr is thrown away": "exec 2>/dev/null\n", "stderr goes to stdout": "exec 2>&1\n"} {
		t.Run(name, func(t *testing.T) {
			s := sshtest.Start(t, sshtest.Options{Config: "SetEnv BOLT_TEST=1\n"})
			l := newLab(t, nil, s)
			to := dest(s)
			user, home := account(t, "err", "/bin/bash")
			to.User = user
			if err := os.WriteFile(home+"/.bashrc", []byte(startup), 0o644); err != nil {
				t.Fatal(err)
			}
			c := l.mustDial(t, to)
			for range 2 {
				if got := seen(t, c, transport.Cmd{Line: "echo a"}); got != "{Code:0 Signal:}, <nil>\nstdout \"a\\n\"\nstderr \"\"" {
					t.Error(got)
				}
			}
		})
	}
	for name, k := range shells(t) {
		if k.family != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := dest(s)
			to.User, _ = account(t, "p"+name, k.path)
			for _, line := range []string{"echo a; echo b >&2; exit 3", "echo (", "echo 'a", "\nif", "nosuchcommand_x", "kill -TERM $$", "exit 0", "set -x; echo a"} {
				c := l.mustDial(t, to) // the first line has the proof
				raw, rawErr, rawStatus, err := output(t.Context(), c, line, "", false)
				if err != nil {
					t.Fatal(err)
				}
				for _, way := range []string{"first", "second"} {
					var out, errs bytes.Buffer
					st, err := c.Run(t.Context(), &transport.Cmd{Line: line, Stdout: &out, Stderr: &errs})
					if err != nil || st != rawStatus || out.String() != raw || errs.String() != rawErr {
						t.Errorf("%q, %s: %+v %v %q %q, want %+v %q %q", line, way, st, err, out.String(), errs.String(), rawStatus, raw, rawErr)
					}
				}
				if line == "exit 0" && !c.warm.proof.Fresh() {
					t.Error("a line that runs is no proof")
				}
			}
		})
	}
}

// TestServerWithoutShell checks that bolt works as usual with a server on which
// no shell runs the lines.
func TestServerWithoutShell(t *testing.T) {
	_, to := fleet(t, 1)
	l := newLab(t, func(o *Options) { o.Keep, o.eager = true, true })
	c := l.mustDial(t, to[0])
	for range 3 {
		for _, line := range []string{"true", "show version"} {
			if got := seen(t, c, transport.Cmd{Line: line}); !strings.HasPrefix(got, "{Code:0 Signal:}, <nil>\n") || !strings.Contains(got, line) {
				t.Error(got)
			}
		}
		warmed(t, c)
	}
	if c.warm.waits() || c.warm.ready.failures == 0 {
		t.Errorf("%+v", c.warm.ready)
	}
}
