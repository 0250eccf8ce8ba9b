package terraformcli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bolt/format/ordered"
)

// fake is a program with the part of terraform's documented command line that the
// tasks use. It replaces terraform, whose providers need a network.
const fake = `#!/bin/sh
printf '%s\n' "$PWD" "$@" >"$LOG"
case $1 in
init) mkdir .terraform; echo initialized ;;
output) if [ -e bad ]; then echo not json; else echo '{"ip": {"value": "1.2.3.4", "sensitive": false}}'; fi ;;
refresh) echo 'Error: no state' >&2; exit 1 ;;
destroy) exit 3 ;;
apply) if [ -e slow ]; then cut -d' ' -f5 /proc/$$/stat >group; trap 'echo interrupted >"$LOG"; exit 1' INT; echo >started; while :; do sleep 0.05; done; fi; echo applied ;;
esac
`

// setUp puts the fake program on PATH and returns a configuration's directory
// and the file that the program writes its arguments to.
func setUp(t *testing.T) (dir, log string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "terraform"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(bin, "log")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("LOG", log)
	return t.TempDir(), log
}

func params(t *testing.T, text string) *ordered.Map {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*ordered.Map)
}

// run runs a task and returns its result as JSON.
func run(t *testing.T, name, text string) string {
	t.Helper()
	result, err := Tasks()[name](t.Context(), params(t, text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTasks(t *testing.T) {
	dir, log := setUp(t)
	t.Chdir(filepath.Dir(dir))
	here := filepath.Base(dir)
	for _, tt := range []struct{ task, params, want, words string }{
		{"terraform_apply", `{}`, `{"stdout":"applied\n"}`, "apply -no-color -auto-approve -input=false"},
		{"terraform_apply", `{"state": "s.tfstate", "state_out": "/out", "target": "a.b", "var": {"x": "it's", "n": 1, "l": ["a", {"b": true}]}, "var_file": ["a.tfvars", "/b.tfvars"]}`,
			`{"stdout":"applied\n"}`, "apply -no-color -auto-approve -input=false -state=DIR/s.tfstate -state-out=/out -target=a.b -var x=it's -var n=1 -var l=[\"a\",{\"b\":true}] -var-file=DIR/a.tfvars -var-file=/b.tfvars"},
		{"terraform_apply", `{"target": ["a.b", "c.d"], "var_file": "one"}`, `{"stdout":"applied\n"}`, "apply -no-color -auto-approve -input=false -target=a.b -target=c.d -var-file=DIR/one"},
		{"terraform_destroy", `{"state": "s"}`, `{"_error":{"kind":"terraform/destroy-error","msg":"terraform destroy failed: exit status 3","details":{}}}`, "destroy -no-color -auto-approve -input=false -state=DIR/s"},
		{"terraform_refresh", `{"var": {"x": null}}`, `{"_error":{"kind":"terraform/refresh-error","msg":"Error: no state\n","details":{}}}`, "refresh -no-color -var x=null"},
		{"terraform_output", `{"state": "s"}`, `{"ip":{"value":"1.2.3.4","sensitive":false}}`, "output -no-color -json -state=DIR/s"},
		{"terraform_initialize", `{}`, `{"stdout":"initialized\n"}`, "init -no-color"},
	} {
		all := params(t, tt.params)
		all.Set("dir", here)
		text, _ := json.Marshal(all)
		if got := run(t, tt.task, string(text)); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.task, tt.params, got, tt.want)
		}
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		where, words, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
		if got := strings.ReplaceAll(strings.ReplaceAll(words, "\n", " "), dir, "DIR"); got != tt.words || where != dir {
			t.Errorf("%s %s: ran %q in %s, want %q", tt.task, tt.params, got, where, tt.words)
		}
	}

	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if got, want := run(t, "terraform_initialize", `{"dir": "`+here+`"}`), `{"stdout":"Terraform directory already initialized"}`; got != want {
		t.Errorf("a second initialize: got %s", got)
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a second initialize ran terraform")
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "terraform_output", `{"dir": "`+here+`"}`); !strings.Contains(got, "terraform/output-error") || !strings.Contains(got, "did not print valid JSON") {
		t.Errorf("output that is not JSON: got %s", got)
	}
}

// TestCannotStart checks the errors of a command that cannot be started.
func TestCannotStart(t *testing.T) {
	dir, _ := setUp(t)
	if got := run(t, "terraform_apply", `{"dir": "`+dir+`/none"}`); !strings.Contains(got, `"terraform/validation-error"`) || !strings.Contains(got, dir+"/none does not exist") {
		t.Errorf("without the directory: got %s", got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := run(t, "terraform_apply", `{"dir": "`+dir+`"}`); !strings.Contains(got, `"terraform/validation-error"`) || !strings.Contains(got, "The program 'terraform' was not found on PATH") {
		t.Errorf("without terraform: got %s", got)
	}
}

// TestInterrupted checks that terraform is interrupted, so that it can release
// its lock, when the task is ended.
func TestInterrupted(t *testing.T) {
	dir, log := setUp(t)
	if err := os.WriteFile(filepath.Join(dir, "slow"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = os.ReadFile(started) // until terraform has written to it
		cancel(stopped)
	}()
	_, err := Tasks()["terraform_apply"](ctx, params(t, `{"dir": "`+dir+`"}`))
	if !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(log); err != nil || string(text) != "interrupted\n" {
		t.Errorf("terraform was not interrupted: %q, %v", text, err)
	}
	group, err := os.ReadFile(filepath.Join(dir, "group"))
	if err != nil || strings.TrimSpace(string(group)) == strconv.Itoa(syscall.Getpgrp()) {
		t.Errorf("terraform is in the process group of its caller: %q, %v", group, err)
	}
}
