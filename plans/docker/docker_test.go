package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// standIn replaces docker with a shell script. $DIR is a directory of the test.
func standIn(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DIR", dir)
	return dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRun(t *testing.T) {
	dir := standIn(t, `printf '%s\n' "$@" >"$DIR/arguments"; echo "secret: $TOKEN"; echo words >&2; exit 3`)
	got, err := Run(t.Context(), &Container{
		Image: "img", Command: []string{"sh", "-c", "exit $X"}, Workdir: "/w", Remove: true,
		Env:     []Variable{{"X", "a b", false}, {"TOKEN", "hush", true}},
		Volumes: []Volume{{"/h", "/c"}}, Ports: []Port{{80, 8080}},
	})
	if err != nil || got.ExitCode != 3 || string(got.Stdout) != "secret: hush\n" || string(got.Stderr) != "words\n" {
		t.Fatalf("got %+v, %v", got, err)
	}
	args := strings.Split(strings.TrimSuffix(read(t, filepath.Join(dir, "arguments")), "\n"), "\n")
	if len(args) < 3 || !strings.HasPrefix(args[2], "bolt-") {
		t.Fatalf("arguments %q", args)
	}
	args[2] = "NAME"
	want := []string{"run", "--name", "NAME", "--env", "X=a b", "--env", "TOKEN", "-v", "/h:/c", "-p", "80:8080", "--rm", "-w", "/w", "img", "sh", "-c", "exit $X"}
	if !reflect.DeepEqual(args, want) {
		t.Errorf("arguments %q, want %q", args, want)
	}
}

// TestCancelKillsContainer checks that a cancelled container is first asked to end
// and then killed.
func TestCancelKillsContainer(t *testing.T) {
	dir := standIn(t, `echo "$1" >>"$DIR/calls"
[ "$1" = run ] || exit 0
sleep 60 >/dev/null 2>&1 &
trap 'echo TERM >>"$DIR/calls"; kill $!; exit 143' TERM
echo up >"$DIR/up"
wait`)
	up := filepath.Join(dir, "up")
	if err := syscall.Mkfifo(up, 0o600); err != nil {
		t.Fatal(err)
	}
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, err := os.ReadFile(up) // the container runs
		cancel(errors.Join(why, err))
	}()
	if _, err := Run(ctx, &Container{Image: "img"}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if got, want := read(t, filepath.Join(dir, "calls")), "run\nTERM\nkill\n"; got != want {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// TestOutputLimit checks that a container with endless output is ended.
func TestOutputLimit(t *testing.T) {
	standIn(t, `[ "$1" = run ] || exit 0; exec yes`)
	if _, err := Run(t.Context(), &Container{Image: "img"}); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestNoDocker(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Run(t.Context(), &Container{Image: "img"}); err == nil || !strings.Contains(err.Error(), "Install it") {
		t.Errorf("got %v", err)
	}
}

// TestKilledDocker checks that a killed docker is an error.
func TestKilledDocker(t *testing.T) {
	standIn(t, `kill -9 $$`)
	if _, err := Run(t.Context(), &Container{Image: "img"}); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
}
