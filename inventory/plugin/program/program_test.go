package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes a program into a new project.
func script(t *testing.T, text string) (project, path string) {
	t.Helper()
	project = t.TempDir()
	path = filepath.Join(project, "prog")
	// A process that is started while the file is open for writing would inherit it,
	// and the kernel refuses to run such a file (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return project, path
}

func resolve(t *testing.T, text string, pairs ...any) (any, error) {
	t.Helper()
	project, _ := script(t, text)
	p := &program.Plugin{Project: project, Environ: []string{"PATH=" + os.Getenv("PATH"), "CALLER=yes"}}
	ref := ordered.Of("_plugin", "exec", "command", []any{"./prog", "a b", "$HOME"}).Merge(ordered.Of(pairs...))
	return p.Resolve(t.Context(), &ordered.Map{}, ref)
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name, text string
		opts       []any
		want       any
	}{
		{"JSON", "#!/bin/sh\necho '{\"value\": [1, \"x\"]}'", nil, ordered.Of("value", []any{int64(1), "x"})},
		{"YAML", "#!/bin/sh\nprintf 'a: yes\\nb: [1]\\n'", []any{"format", "yaml"}, ordered.Of("a", true, "b", []any{int64(1)})},
		{"text", "#!/bin/sh\nprintf ' secret \\n\\n'", []any{"format", "text"}, " secret \n"},
		{"arguments", "#!/bin/sh\nprintf '%s|' \"$@\"", []any{"format", "text"}, "a b|$HOME|"},
		{"environment", "#!/bin/sh\necho $CALLER $MORE $N", []any{"format", "text", "environment", ordered.Of("MORE", "x", "N", int64(3))}, "yes x 3"},
		{"the project is where it runs", "#!/bin/sh\nls", []any{"format", "text"}, "prog"},
		{"dir", "#!/bin/sh\npwd", []any{"format", "text", "dir", "/"}, "/"},
		{"no input", "#!/bin/sh\ncat; echo 1", nil, int64(1)},
		{"what it says on standard error is not looked at", "#!/bin/sh\necho oops >&2; echo 1", nil, int64(1)},
		{"children that hold its output", "#!/bin/sh\nsleep 100 &\necho 1", nil, int64(1)},
		{"it goes on after its output", "#!/bin/sh\necho 1; exec >&-; sleep 0.1", nil, int64(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := resolve(t, tt.text, tt.opts...)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, %v, want %#v", got, err, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, text string
		opts       []any
		says       string
	}{
		{"status", "#!/bin/sh\necho one >&2; printf 'no \\033[31mkey' >&2; exit 3", nil, "the program 'PROG' failed (exit status 3): one\nno key"},
		{"silent", "#!/bin/sh\nkill -9 $$", nil, "failed (signal: killed), and said nothing about it"},
		{"long complaint", "#!/bin/sh\ni=0; while [ $i -lt 900 ]; do echo line $i >&2; i=$((i+1)); done; exit 1", nil, ": … line 8"},
		{"late", "#!/bin/sh\nsleep 100", []any{"timeout", int64(1)}, "did not finish within 1s"},
		{"late and deaf", "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done", []any{"timeout", int64(1)}, "did not finish within 1s"},
		{"endless", "#!/bin/sh\nexec yes", nil, "wrote more than 64 MiB"},
		{"no JSON", "#!/bin/sh\necho hunter2", nil, "the output of the program './prog' is not JSON"},
		{"no YAML", "#!/bin/sh\necho 'a: [hunter2'", []any{"format", "yaml"}, "is not YAML that can be read (line 1)"},
		{"no text", "#!/bin/sh\nprintf '\\377'", []any{"format", "text"}, "is not text in UTF-8"},
		{"not there", "", []any{"command", "./none"}, "none' was not found"},
		{"no directory", "#!/bin/sh\necho 1", []any{"dir", "none"}, "the directory '"},
		{"not on PATH", "", []any{"command", "bolt-no-such --list all"}, "The command is not run by a shell: write a list, command: [bolt-no-such, --list, all]"},
		{"no first line", "echo 1", nil, "its first line does not name an interpreter"},
		{"format", "", []any{"format", "xml"}, "'format' is json, yaml or text"},
		{"no command", "", []any{"command", []any{}}, "requires a 'command'"},
		{"environment", "", []any{"environment", ordered.Of("A=B", "x")}, "names of variables"},
		{"environment of lists", "", []any{"environment", ordered.Of("A", []any{})}, "values of 'environment'"},
		{"unknown", "", []any{"comand", "x"}, "has no option 'comand'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			v, err := resolve(t, tt.text, tt.opts...)
			if err == nil {
				t.Fatalf("got %v", v)
			}
			got := err.Error()
			if i := strings.Index(got, "/prog'"); i >= 0 && !strings.Contains(tt.says, "./prog") {
				got = got[:strings.Index(got, "'")+1] + "PROG" + got[i+len("/prog"):]
			}
			if !strings.Contains(got, tt.says) || strings.Contains(got, "hunter2") || len(got) > 900 {
				t.Errorf("got %q", got)
			}
			if d := time.Since(begin); d > time.Minute {
				t.Errorf("took %v", d)
			}
		})
	}
	if _, err := resolve(t, "", "format", "xml"); !errors.As(err, new(*fault.Error)) {
		t.Errorf("a bad reference is %T", err)
	}
}

// TestCancelStopsProgramAndChildren checks that the end of the context stops
// the program and its children.
func TestCancelStopsProgramAndChildren(t *testing.T) {
	_, path := script(t, "#!/bin/sh\nsleep 1000 &\necho $! >$0.pid.new; mv $0.pid.new $0.pid\nwait")
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		for {
			if _, err := os.Stat(path + ".pid"); err == nil {
				stop(why)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := program.Run(ctx, program.Command{Argv: []string{path}}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	pid, err := os.ReadFile(path + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(gone); err != nil || len(b) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a child of the program goes on")
		}
	}
}
