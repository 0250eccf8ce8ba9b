package shell

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// posixShells returns programs that can be a machine's /bin/sh, by name.
func posixShells(t *testing.T) map[string]string {
	t.Helper()
	bin := t.TempDir()
	all := make(map[string]string)
	for name, path := range map[string]string{"bash": "/bin/bash", "dash": "/bin/dash", "ksh": "/bin/ksh93", "mksh": "/bin/mksh", "zsh": "/bin/zsh", "busybox": "/usr/bin/busybox"} {
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(bin, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		all[name] = filepath.Join(dir, "sh") // bash and zsh behave like sh if they are called sh
		if err := os.Symlink(path, all[name]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestWatcher checks that the watcher ends the command when its input ends, and
// that nothing else ends the watcher.
func TestWatcher(t *testing.T) {
	t.Parallel()
	const grace = time.Second
	const limit, never = 40 * time.Second, time.Minute // a command that waits for the watcher does not end before never
	for _, k := range []struct {
		name, before, after string
		env                 []string
		dir                 bool
		cancel              bool // a while after want
		want                string
	}{
		{name: "it does nothing", after: "sleep 0.2; echo done", want: "done\n"},
		{name: "it cancels", after: "sleep 120; echo done", cancel: true},
		{name: "TMOUT", after: "sleep 2; echo done", env: []string{"TMOUT=1"}, want: "done\n"},
		{name: "TMOUT, with a directory", after: "sleep 2; echo done", env: []string{"TMOUT=1"}, dir: true, want: "done\n"},
		{name: "kill 0", after: "kill 0", dir: true},
		{name: "kill 0, then a cancel", after: "trap : TERM HUP INT; kill 0; kill -INT 0; kill -HUP 0; echo done; while :; do sleep 0.1; done", dir: true, cancel: true, want: "done\n"},
		{name: "kill 0 at once, then a cancel", after: "trap : TERM HUP INT; kill 0; kill -INT 0; kill -HUP 0; echo done; while :; do sleep 0.1; done", cancel: true, want: "done\n"},
		{name: "the command's children", after: `wait; jobs; case $! in ''|0) echo none;; esac`, want: "none\n"},
		{name: "no stderr", before: "exec 2>&-; ", after: "echo done", dir: true, want: "done\n"},
		{name: "no stdin", before: "exec <&-; ", after: "echo done", dir: true, want: "done\n"},
		{name: "empty stdin", before: "exec </dev/null; ", after: "sleep 0.3; echo done", want: "done\n"},
		{name: "empty stdin, with a directory", before: "exec </dev/null; ", after: "sleep 0.3; echo done", dir: true, want: "done\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			defer all.Wait()
			for name, sh := range posixShells(t) {
				private := filepath.Join(t.TempDir(), "private")
				all.Go(func() {
					dir := ""
					if k.dir {
						dir = private
					}
					start := watcher(grace, stdinAlive)
					if dir != "" {
						start = tend(&staging{token: testToken, dir: dir}, grace, false, stdinAlive) + ` || exit 1`
					}
					line := k.before + strings.ReplaceAll(start, "/bin/sh", sh) + "; exec </dev/null; " + k.after
					cmd := exec.Command(sh, "-c", line)
					cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, k.env...)
					cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
					var out bytes.Buffer
					printed := make(chan struct{})
					cmd.Stdout = &awaited{&out, k.want, printed}
					stdin, err := cmd.StdinPipe()
					began := time.Now()
					if err == nil {
						err = cmd.Start()
					}
					if err != nil {
						t.Error(err)
						return
					}
					late := time.AfterFunc(never, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
					if k.cancel {
						if k.want != "" {
							select {
							case <-printed:
							case <-time.After(never):
							}
						}
						time.Sleep(500 * time.Millisecond)
						stdin.Close()
					}
					err = cmd.Wait()
					late.Stop()
					stdin.Close() // sshd does this when the leader has ended
					if took := time.Since(began); out.String() != k.want || took > limit {
						t.Errorf("%s: %q after %v: %v", name, out.String(), took, err)
					}
					if dir == "" {
						return
					}
					for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
						if _, err := os.Stat(dir); os.IsNotExist(err) {
							return
						}
						if time.Now().After(end) {
							t.Errorf("%s: the private directory is left", name)
							return
						}
					}
				})
			}
		})
	}
}

// An awaited is a writer to a buffer, with a channel that is closed when the buffer
// holds a text.
type awaited struct {
	to     *bytes.Buffer
	want   string
	closed chan struct{}
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.to.Write(p)
	if a.to.String() == a.want {
		close(a.closed)
	}
	return n, err
}

// TestReadBlock checks that a block is read completely or not at all.
func TestReadBlock(t *testing.T) {
	t.Parallel()
	env := []string{"A=1 '\n\\x", "B=2"}
	block := block(strings.Join(assignments(env), "\n"), testToken)
	line := readBlock(testToken) + "; " + obey + `; printf '%s|%s' "$A" "$B"; read -r l; printf '|%s' "$l"`
	for name, sh := range posixShells(t) {
		run := func(in string) (string, error) {
			cmd := exec.Command(sh, "-c", line)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			cmd.Stdin = strings.NewReader(in)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		slow := exec.Command("sh", "-c", `sleep 1.5; cat`)
		slow.Stdin = strings.NewReader(block + "rest\n")
		in, err := slow.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := slow.Start(); err != nil {
			t.Fatal(err)
		}
		late := exec.Command(sh, "-c", line)
		late.Env, late.Stdin = []string{"PATH=/usr/bin:/bin", "TMOUT=1"}, in
		out, err := late.CombinedOutput()
		if ok := err == nil && string(out) == "1 '\n\\x|2|rest"; !ok && (name != "ksh" || err == nil) { // ksh may stop, but must not go on
			t.Errorf("%s, TMOUT: %q, %v", name, out, err)
		}
		if err := slow.Wait(); err != nil {
			t.Error(err)
		}
		if out, err := run(block + "rest\n"); err != nil || out != "1 '\n\\x|2|rest" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		for n, eaten := 0, block; eaten != ""; n++ {
			_, eaten, _ = strings.Cut(eaten, "\n")
			if out, err := run(eaten); err == nil || out != testToken+"#"+stepInput+" "+testToken+".\n" {
				t.Errorf("%s, %d lines missing: %q, %v", name, n+1, out, err)
			}
		}
		for n := range len(block) - 1 {
			if out, err := run(block[:n]); err == nil || out != testToken+"#"+stepInput+" "+testToken+".\n" {
				t.Errorf("%s, cut: %q, %v", name, out, err)
			}
		}
	}
	if err := stagingError(parseFailed([]byte(stepInput+" ")), "bootstrap", "", "web"); err.Code != "EXEC_ERROR" || !strings.Contains(err.Msg, "nothing was run") {
		t.Errorf("%+v", err)
	}
}
