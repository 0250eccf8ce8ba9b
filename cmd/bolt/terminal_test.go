package main

import (
	"os/exec"
	"strings"
	"testing"

	"bolt/internal/sshtest"
)

// TestTerminals runs a command with deceptive output, and one that fails, on
// terminals and to a pipe.
func TestTerminals(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	dir := t.TempDir()
	if err := writeHome(dir+"/home", server); err != nil {
		t.Fatal(err)
	}
	pool := ownPool(t)
	const command = `printf "a\033]0;title\007\033[31mred\033[0m\342\200\256b\302\2331mc\177\n"`
	run := func(cmd *exec.Cmd, env ...string) string {
		t.Helper()
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", cmd.Args, err, out)
		}
		return string(out)
	}
	args := []string{"bolt", "command", "run", command, "-t", "host1,host2,host3,host4"}
	inTerminal := func(env string, more ...string) string {
		t.Helper()
		line := append(append([]string{}, args...), more...)
		for i, a := range line {
			line[i] = strings.ReplaceAll(a, "'", `'\''`)
		}
		return run(terminalCommand(t, dir, pool, line...), env)
	}

	for _, text := range []string{inTerminal("TERM=xterm"), inTerminal("TERM=xterm", "--stream"), inTerminal("TERM=dumb"), inTerminal("TERM=xterm", "--format", "json")} {
		for _, bad := range []string{"\x1b]0", "\x07", "\u202e", "\u009b", "\x7f"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is on the terminal:\n%q", bad, text)
			}
		}
	}
	if text := inTerminal("TERM=xterm"); !strings.Contains(text, "\x1b[32mStarted") || !strings.Contains(text, "\x1b[31mred\x1b[0m") {
		t.Errorf("no colours on a terminal:\n%q", text)
	}
	dumb := inTerminal("TERM=dumb")
	if strings.Contains(dumb, "\x1b") || strings.Contains(strings.ReplaceAll(dumb, "\r\n", "\n"), "\r") || !strings.Contains(dumb, "aredb1mc") {
		t.Errorf("TERM=dumb:\n%q", dumb)
	}
	if text := inTerminal("TERM=dumb", "--log-level", "debug"); strings.Contains(text, "\x1b") {
		t.Errorf("the log with TERM=dumb:\n%q", text)
	}

	cmd := startBoltIn(t, dir, server, nil, "--version")
	_ = cmd.Wait()
	piped := exec.Command(cmd.Path, args[1:]...)
	piped.Args[0] = "bolt"
	piped.Dir, piped.Env = dir, append(cmd.Env, pool)
	if text := run(piped); !strings.Contains(text, "a\x1b]0;title\x07\x1b[31mred\x1b[0m\u202eb\u009b1mc\x7f\n") || strings.Contains(text, "\x1b[32m") {
		t.Errorf("to a pipe, output is not as it came:\n%q", text)
	}
}
