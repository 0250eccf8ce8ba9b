package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// shells run every task: what a target has as sh is one of them, or like one.
var shells = []string{"dash", "bash", "busybox sh", "ksh", "mksh", "zsh"}

// applets are the programs that tasks need, and that busybox has.
var applets = []string{
	"awk", "cat", "cp", "cut", "date", "grep", "head", "hostname", "id", "ip", "ls", "mktemp", "mv", "od", "printf", "readlink",
	"rm", "sed", "setsid", "sleep", "sync", "tail", "tr", "uname",
}

// A host is where tasks are run: the modules laid out as they are on a target,
// and the environment.
type host struct {
	dir   string // _installdir
	shell []string
	env   []string
	// around is a command that the shell is an argument of.
	around []string
}

// eachShell runs a test with each shell.
func eachShell(t *testing.T, test func(t *testing.T, h *host)) {
	for _, name := range shells {
		t.Run(strings.Fields(name)[0], func(t *testing.T) {
			t.Parallel()
			test(t, newHost(t, name))
		})
	}
}

// someShells runs the test of case i with two of the shells, so that all of them
// have their turn in a row of cases.
func someShells(t *testing.T, i int, test func(t *testing.T, h *host)) {
	for _, name := range []string{shells[i%len(shells)], shells[(i+3)%len(shells)]} {
		t.Run(strings.Fields(name)[0], func(t *testing.T) {
			t.Parallel()
			test(t, newHost(t, name))
		})
	}
}

func newHost(t *testing.T, shell string) *host {
	t.Helper()
	words := strings.Fields(shell)
	program, err := exec.LookPath(words[0])
	if err != nil {
		t.Fatalf("%v (scripts/setup.sh test installs it)", err)
	}
	words[0] = program
	h := &host{dir: filepath.Join(t.TempDir(), "install"), shell: words}
	if err := os.CopyFS(h.dir, Files()); err != nil {
		t.Fatal(err)
	}
	h.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PT__installdir=" + h.dir}
	if words[0] = filepath.Base(program); words[0] == "busybox" {
		// Where busybox is the shell, it is the rest, too.
		bin := t.TempDir()
		for _, name := range applets {
			if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
		h.env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
	}
	words[0] = program
	return h
}

// with returns the host with more in its environment.
func (h *host) with(env ...string) *host {
	c := *h
	c.env = append(append([]string{}, h.env...), env...)
	return &c
}

// value is a variable of the host's environment.
func (h *host) value(name string) string {
	v := ""
	for _, e := range h.env {
		if text, ok := strings.CutPrefix(e, name+"="); ok {
			v = text // the last one counts
		}
	}
	return v
}

// run runs a task's file ("package/tasks/linux.sh") with parameters
// ("name=bash") and returns what it printed and its exit status.
func (h *host) run(t *testing.T, file string, params ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv := append(append(append([]string{}, h.around...), h.shell...), filepath.Join(h.dir, file))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append([]string{}, h.env...)
	for _, p := range params {
		cmd.Env = append(cmd.Env, "PT_"+p)
	}
	cmd.WaitDelay = 10 * time.Second // a task that leaves its output open is found here
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%s: %v", argv, exit)
	}
	if stderr.Len() > 0 {
		t.Errorf("%s %q: standard error: %s", file, params, stderr.String())
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// result runs a task that has to succeed and returns its result.
func (h *host) result(t *testing.T, file string, params ...string) map[string]any {
	t.Helper()
	text, status := h.run(t, file, params...)
	m := parse(t, text)
	if status != 0 || m["_error"] != nil {
		t.Errorf("%s %q ended with status %d: %s", file, params, status, text)
	}
	return m
}

// wants runs a task that has to succeed with a result, which is JSON.
func (h *host) wants(t *testing.T, want, file string, params ...string) {
	t.Helper()
	got, err := json.Marshal(h.result(t, file, params...))
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := json.Marshal(parse(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(wanted) {
		t.Errorf("%s %q\ngot  %s\nwant %s", file, params, got, wanted)
	}
}

// fails runs a task that has to fail with a message that has the text in it.
func (h *host) fails(t *testing.T, status int, text, file string, params ...string) {
	t.Helper()
	out, got := h.run(t, file, params...)
	e, _ := parse(t, out)["_error"].(map[string]any)
	msg, _ := e["msg"].(string)
	kind, _ := e["kind"].(string)
	_, details := e["details"].(map[string]any)
	if got != status || kind == "" || !details || !strings.Contains(msg, text) {
		t.Errorf("%s %q ended with status %d: %s\nwant status %d and an error with %q", file, params, got, out, status, text)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil || !utf8.ValidString(text) {
		t.Fatalf("no object in JSON: %v\n%s", err, text)
	}
	return m
}

// write makes a file, and the directories above it.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bin makes a directory for programs that stand in for others, which come
// before all others on the host's PATH.
func (h *host) bin(t *testing.T) (*host, string) {
	t.Helper()
	dir := t.TempDir()
	return h.with("PATH=" + dir + ":" + h.value("PATH")), dir
}

// hardTexts are texts that are hard to write as JSON.
var hardTexts = []string{
	"", "plain", "a b", "-n", "-e x", `\`, `\\n`, `"`, "'", "$HOME `id` $(id)", "%s %d", "*", "/etc/*", "a/b",
	"line\nline\n", "\n", "\t\r\b\f\v\x01\x1b[0m\x7f", "é", "é\u2028", "日本語", "😀", "\U0010ffff", "\u0800\uffff\ufffd\ud7ff",
	strings.Repeat("x\"y ", 2000), "<&>", "a\u0000"[:1],
	// no UTF-8
	"\xff", "a\xc3", "\xc3(", "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "a\x80b", "\xe2\x28\xa1",
}

// TestJSON: any text becomes a string in JSON, and comes out of it as it was if
// it is UTF-8.
func TestJSON(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		write(t, filepath.Join(h.dir, "json.sh"), `. "$PT__installdir/sh_task_helper/files/task_helper.sh"
json_object text "$PT_text" other "$PT_text"
`, 0o644)
		for _, locale := range []string{"C", "C.UTF-8"} {
			for _, text := range hardTexts {
				m := h.with("LC_ALL="+locale).result(t, "json.sh", "text="+text)
				got, _ := m["text"].(string)
				if got != m["other"] || utf8.ValidString(text) && got != text {
					t.Errorf("%s: %q became %q", locale, text, got)
				}
				if !utf8.ValidString(text) && !strings.Contains(got, "\ufffd") {
					t.Errorf("%s: %q became %q, without a mark", locale, text, got)
				}
			}
		}
	})
}

// TestFailure: what a command had to say is the error's message, whatever that
// is, and its end where it is long. A daemon that it starts is not waited for.
func TestFailure(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		write(t, filepath.Join(h.dir, "fail.sh"), `. "$PT__installdir/sh_task_helper/files/task_helper.sh"
must sh -c "$PT_command"
json_object status ok
`, 0o644)
		h.fails(t, 1, "no \"such\"\tthing", "fail.sh", "command=printf 'no \"such\"\\tthing\\n' >&2; exit 3")
		h.fails(t, 1, "only this", "fail.sh", "command=echo only this; exit 3")
		h.fails(t, 1, "sh ended with status 3", "fail.sh", "command=exit 3")
		h.fails(t, 1, "Error: not [1] there", "fail.sh", `command=printf '\033[1;31mError: \033[0mnot\033(B\033[m [1] there\033[K\n' >&2; exit 3`)
		h.fails(t, 1, "the end", "fail.sh", "command=yes | head -c 100000 >&2; echo the end >&2; exit 3")
		h.wants(t, `{"status":"ok"}`, "fail.sh", "command=cat; sleep 20 & echo $! >"+h.dir+"/pid")
		if err := exec.CommandContext(t.Context(), "sh", "-c", "kill $(cat "+h.dir+"/pid)").Run(); err != nil {
			t.Error(err)
		}
	})
}

// TestShellcheck: the scripts are clean for shellcheck, where that is installed.
func TestShellcheck(t *testing.T) {
	program, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Log(err)
		return
	}
	const forBash = "bash_task_helper/files/task_helper.sh"
	var names []string
	for _, pattern := range []string{"*/tasks/*.sh", "*/files/*.sh"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		names = append(names, slices.DeleteFunc(found, func(name string) bool { return name == forBash })...)
	}
	for shell, names := range map[string][]string{"sh": names, "bash": {forBash}} {
		// Files that others read have variables that seem unused and are set elsewhere.
		args := append([]string{"--shell=" + shell, "--exclude=SC1091,SC2154,SC2034"}, names...)
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// link makes a program of this machine one of a directory.
func link(t *testing.T, dir, name string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
