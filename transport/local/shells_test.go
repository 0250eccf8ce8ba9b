package local

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/transport"
	"bolt/transport/shell"
)

// loginShells are the shells that are tested as the login shell of a machine if
// they are installed. sh and bash must be installed.
var loginShells = []string{"sh", "bash", "dash", "busybox sh", "ksh", "zsh", "mksh", "tcsh", "fish"}

// eachShell runs a test with each login shell.
func eachShell(t *testing.T, test func(t *testing.T, s shell.Starter, o shell.Options)) {
	for _, name := range loginShells {
		words := strings.Fields(name)
		path, err := exec.LookPath(words[0])
		if err != nil {
			if name == "sh" || name == "bash" {
				t.Fatal(err)
			}
			t.Logf("%s is not installed", name)
			continue
		}
		t.Run(words[0], func(t *testing.T) {
			if len(words) == 1 { // sshd does the same
				t.Setenv("SHELL", path)
			}
			words[0] = path
			test(t, starter{shell: words}, shell.Options{Host: "localhost", User: "root", LoginShell: words[len(words)-1][strings.LastIndexByte(words[len(words)-1], '/')+1:]})
		})
	}
}

func runIn(t *testing.T, s shell.Starter, o shell.Options, c transport.Cmd) (st transport.Status, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	st, err := shell.Run(ctx, s, &c, o)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return st, out.String(), errs.String()
}

func TestLoginShells(t *testing.T) {
	script := []transport.File{{Name: "it's", Mode: 0o644, Data: []byte("#!/bin/sh\nprintf '[%s]' \"$@\"; cat; echo $A; exit 3\n")}}
	odd := []string{"a b", "'", `"`, `\`, `\\`, "$x", "!", "!!", "*", "~", "\n", "é", "", "`id`", "{a,b}", "%s"}
	want := "[" + strings.Join(odd, "][") + "]"
	eachShell(t, func(t *testing.T, s shell.Starter, o shell.Options) {
		for _, c := range []struct {
			name string
			cmd  transport.Cmd
			st   transport.Status
			out  string
		}{
			{"plain", transport.Cmd{Line: "echo a; exit 7"}, transport.Status{Code: 7}, "a\n"},
			{"stdin is empty", transport.Cmd{Line: "cat; echo end"}, transport.Status{}, "end\n"},
			{"signal", transport.Cmd{Line: "exec sh -c 'kill -KILL $$'"}, transport.Status{Code: -1, Signal: "KILL"}, ""},
			{"wait", transport.Cmd{Line: "sleep 0.1 & wait; echo done"}, transport.Status{}, "done\n"},
			{"comment", transport.Cmd{Line: "echo a # b"}, transport.Status{}, "a\n"},
			{"words", transport.Cmd{Argv: append([]string{"printf", "[%s]"}, odd...)}, transport.Status{}, want},
			{"script", transport.Cmd{Argv: append([]string{"./it's"}, odd...), Files: script}, transport.Status{Code: 3}, want + "\n"},
			{"script with stdin and environment", transport.Cmd{Argv: append([]string{"./it's"}, odd...), Files: script, Stdin: []byte("in\x00!"), Env: []string{"A='!\n\\"}},
				transport.Status{Code: 3}, want + "in\x00!" + "'! \\\n"},
			{"task", transport.Cmd{Argv: append([]string{"./it's"}, odd...), Files: script, Stdin: []byte("in"), Env: []string{"PT_a='!\n\\", "PT_b=x"}},
				transport.Status{Code: 3}, want + "in\n"},
			{"environment of a task", transport.Cmd{Argv: []string{"sh", "-c", `printf '%s|%s' "$PT_a" "$PT_b"`}, Env: []string{"PT_a='!\n\\", "PT_b=x"}},
				transport.Status{}, "'!\n\\|x"},
			{"line with stdin", transport.Cmd{Line: "cat; echo end", Stdin: []byte("in\n")}, transport.Status{}, "in\nend\n"},
			{"line with environment", transport.Cmd{Line: `printf %s "$A"`, Env: []string{"A='!\n\\"}}, transport.Status{}, "'!\n\\"},
			{"run-as", transport.Cmd{Line: `printf '[%s]' '!' "\\" 'a  b'`, RunAs: transport.RunAs{User: "nobody"}}, transport.Status{}, `[!][\][a  b]`},
			{"directory", transport.Cmd{Line: "pwd", Dir: "/usr/../usr"}, transport.Status{}, "/usr\n"},
		} {
			t.Run(c.name, func(t *testing.T) {
				st, stdout, stderr := runIn(t, s, o, c.cmd)
				if c.name == "directory" {
					stdout = strings.Replace(stdout, "/usr/../usr", "/usr", 1) // the form depends on the shell
				}
				switch {
				case c.name == "run-as": // the home directory of nobody is missing
					stderr = ""
				case c.name == "wait" && o.LoginShell == "tcsh": // it tells of its jobs
					stdout, stderr = stdout[strings.Index(stdout, "\n")+1:], ""
				}
				if st != c.st || stdout != c.out || stderr != "" {
					t.Errorf("got %+v stdout %q stderr %q, want %+v %q", st, stdout, stderr, c.st, c.out)
				}
			})
		}
	})
}

// TestMessagesOfTheLoginShell checks that a shell's messages about a line are
// the same as without bolt.
func TestMessagesOfTheLoginShell(t *testing.T) {
	lines := []string{"nosuchcommand_x", "echo )", "\nif", "echo 'a", "/nonexistent/x", "echo a\nnosuchcommand_x", "cat <nosuchfile"}
	eachShell(t, func(t *testing.T, s shell.Starter, o shell.Options) {
		words := s.(starter).shell
		for _, line := range lines {
			raw := exec.Command(words[0], append(words[1:len(words):len(words)], "-c", line)...)
			raw.Args[0] = words[0]
			var want bytes.Buffer
			raw.Stderr = &want
			_ = raw.Run() // the status is compared
			st, _, got := runIn(t, s, o, transport.Cmd{Line: line})
			if st.Code != raw.ProcessState.ExitCode() || got != want.String() {
				t.Errorf("%q: got %d %q, raw: %d %q", line, st.Code, got, raw.ProcessState.ExitCode(), want.String())
			}
		}
	})
}

func TestCancelUnderEachLoginShell(t *testing.T) {
	eachShell(t, func(t *testing.T, s shell.Starter, o shell.Options) {
		for _, line := range []string{"sleep 100; echo no", "sleep 100 & sleep 100; echo no", "exec sleep 100"} {
			if o.LoginShell == "tcsh" && strings.Contains(line, "&") {
				continue // each of its jobs has its own process group, which cannot be ended
			}
			dir := t.TempDir()
			for _, c := range []transport.Cmd{
				{Line: "echo up; " + line},
				{Argv: []string{"./x"}, TmpDir: dir, Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\necho up\n" + line)}}},
			} {
				ctx, cancel := context.WithCancel(context.Background())
				c.Stdout = onWrite(cancel)
				start := time.Now()
				_, err := shell.Run(ctx, s, &c, o)
				if transport.ClassOf(err) != transport.ClassCancelled || !strings.Contains(err.Error(), "has ended") {
					t.Errorf("%s: got %v", line, err)
				}
				if d := time.Since(start); d > transport.DefaultGrace+30*time.Second {
					t.Errorf("%s: took %v", line, d)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		}
	})
}

// onWrite calls a function at the first output.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestNoisyLoginShell copies with a login shell whose start-up files print.
func TestNoisyLoginShell(t *testing.T) {
	dir := t.TempDir()
	noisy := dir + "/noisy"
	if err := os.WriteFile(noisy, []byte("#!/bin/sh\necho welcome; echo careful >&2\nexec /bin/sh \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/a", []byte("A"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, o := starter{shell: []string{noisy}}, shell.Options{Host: "localhost"}
	if err := shell.Put(t.Context(), s, transport.Tree{Path: dir + "/a"}, dir+"/b", transport.FileOptions{}, o); err != nil {
		t.Fatal(err)
	}
	if err := shell.Get(t.Context(), s, dir+"/b", dir+"/got", transport.FileOptions{}, o); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(dir + "/got/b"); err != nil || string(text) != "A" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestBusyboxCopies copies with busybox's programs instead of GNU's.
func TestBusyboxCopies(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Logf("not tested: %v", err)
		return
	}
	dir := t.TempDir()
	bin := dir + "/bin"
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(busybox, "--install", "-s", bin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", bin)
	long := dir + "/src/" + strings.Repeat("x/", 70) + "y"
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{dir + "/src/a", long + "/b"} {
		if err := os.WriteFile(file, bytes.Repeat([]byte("AB\x00"), 10_000), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	s, o := starter{shell: []string{bin + "/sh"}}, shell.Options{Host: "localhost"}
	st, stdout, _ := runIn(t, s, o, transport.Cmd{Line: "cat; cat " + dir + "/t/p/a", TmpDir: dir, ScriptDir: "t2", Stdin: []byte("in")})
	if st.Code != 1 || stdout != "in" {
		t.Errorf("got %+v %q", st, stdout)
	}
	for _, src := range []string{"/src", "/src/a"} {
		if err := shell.Put(t.Context(), s, transport.Tree{Path: dir + src}, dir+"/up"+src[len(src)-1:], transport.FileOptions{}, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := shell.Get(t.Context(), s, dir+"/upc", dir+"/got", transport.FileOptions{}, o); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(busybox, "diff", "-r", dir+"/src", dir+"/got/upc").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNoTar copies on a machine without tar.
func TestNoTar(t *testing.T) {
	dir := t.TempDir()
	bin := dir + "/bin"
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rm", "mkdir", "mv", "dd", "chmod", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, bin+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	s, o := starter{}, shell.Options{Host: "localhost"}
	one := dir + "/one" // a file of the machine may change while it is sent
	if err := os.WriteFile(one, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shell.Put(t.Context(), s, transport.Tree{Path: one}, dir+"/file", transport.FileOptions{TmpDir: dir}, o); err != nil {
		t.Errorf("a file needs no tar, but: %v", err)
	}
	if err := shell.Put(t.Context(), s, transport.Tree{Path: bin}, dir+"/x", transport.FileOptions{TmpDir: dir}, o); !isNoTar(err) {
		t.Errorf("Put: got %v", err)
	}
	if err := shell.Get(t.Context(), s, "/etc/passwd", dir, transport.FileOptions{}, o); !isNoTar(err) {
		t.Errorf("Get: got %v", err)
	}
}

// TestOurDeathEndsCommands kills a process that runs a command, like a crash of
// bolt.
func TestOurDeathEndsCommands(t *testing.T) {
	dir := t.TempDir()
	if child := os.Getenv("BOLT_TEST_CHILD"); child != "" {
		_, _ = shell.Run(context.Background(), starter{}, &transport.Cmd{Line: "echo $$ >" + child + "; sleep 100; sleep 100"}, shell.Options{Local: true})
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestOurDeathEndsCommands$")
	cmd.Env = append(os.Environ(), "BOLT_TEST_CHILD="+dir+"/pid", "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	waitFor(t, "the command runs", func() bool {
		text, err := os.ReadFile(dir + "/pid")
		pid = strings.TrimSpace(string(text))
		return err == nil && pid != ""
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	waitFor(t, "the command has ended", func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("waited for: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func isNoTar(err error) bool {
	e, ok := err.(*transport.Error)
	return ok && e.Class == transport.ClassFile && e.Err == shell.ErrNoTar
}

func BenchmarkRun(b *testing.B) {
	file := []transport.File{{Name: "x", Mode: 0o700, Data: bytes.Repeat([]byte("#!/bin/sh\nexit 0\n"), 1200)}}
	for _, c := range []struct {
		name string
		cmd  transport.Cmd
	}{
		{"plain", transport.Cmd{Line: "true"}},
		{"env", transport.Cmd{Line: "true", Env: []string{"A=b", "C=d"}}},
		{"script", transport.Cmd{Argv: []string{"./x"}, Files: file}},
		{"script and stdin", transport.Cmd{Argv: []string{"./x"}, Files: file, Stdin: []byte("{}")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := shell.Run(context.Background(), starter{}, &c.cmd, shell.Options{Local: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestParallelSessions starts and ends sessions at the same time, for the race
// detector.
func TestParallelSessions(t *testing.T) {
	c, err := NewDialer(Options{}).Dial(t.Context(), transport.Dest{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if st, err := c.Run(t.Context(), &transport.Cmd{Line: "echo a; exit 3"}); err == nil && st.Code != 3 || err != nil && transport.ClassOf(err) != transport.ClassCancelled {
				t.Errorf("got %+v, %v", st, err)
			}
		})
	}
	c.Close() // some have ended, some are running, some have not begun
	wg.Wait()
}
