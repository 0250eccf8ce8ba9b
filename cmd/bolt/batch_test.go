package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startBatch starts bolt puppet eval --batch in its own directory.
func startBatch(t *testing.T) (cmd *exec.Cmd, in io.WriteCloser, answers *bufio.Reader, said *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, said = exec.Command(self, "puppet", "eval", "--batch", "-"), &bytes.Buffer{}
	cmd.Args[0] = "bolt"
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "BOLT_PROJECT="+cmd.Dir)
	cmd.Stderr = said
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { late.Stop() })
	return cmd, in, bufio.NewReader(out), said
}

// TestBatchInterrupted checks that an answer comes as soon as its line is
// complete, also if a part of the next line has arrived, and that an
// interrupt ends the wait for the rest.
func TestBatchInterrupted(t *testing.T) {
	cmd, in, answers, said := startBatch(t)
	if _, err := io.WriteString(in, `{"expr": "1 + 1"}`+"\n"+`{"expr": `); err != nil {
		t.Fatal(err)
	}
	if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"value":2,`) {
		t.Errorf("the answer is %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(answers)
	err := cmd.Wait()
	if status, ok := errors.AsType[*exec.ExitError](err); !ok || status.ExitCode() != exitFailed || len(rest) > 0 {
		t.Errorf("it ended with %v, and said %q", err, rest)
	}
	if text := said.String(); !strings.Contains(text, "Stopping (interrupt). Press") || strings.Contains(text, "target") {
		t.Errorf("on standard error is %q", text)
	}
}

// TestBatchChanges checks that a changed, repaired or new file of a module
// takes effect from the next line on.
func TestBatchChanges(t *testing.T) {
	cmd, in, answers, _ := startBatch(t)
	functions := filepath.Join(cmd.Dir, "modules", "m", "functions")
	if err := os.MkdirAll(functions, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", `{"error":{"line":1,"column":1,"message":"unknown function m::f`},
		{"function m::f() { 1 }", `{"value":1,`},
		{"function m::f() { 2 }", `{"value":2,`},
		{"function m::f() {\n", `{"error":{"file":"` + filepath.Join(functions, "f.pp") + `","line":2,`},
		{"function m::f() { 3 }", `{"value":3,`},
	} {
		if c.text != "" {
			if err := os.WriteFile(filepath.Join(functions, "f.pp"), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(in, `{"expr": "m::f()"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, c.want) {
			t.Errorf("with %q the answer is %q, %v, want %q", c.text, line, err, c.want)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
