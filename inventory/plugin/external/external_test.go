package external_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/external"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write writes a program.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A process that is started while the file is open for writing would inherit it,
	// and the kernel refuses to run such a file (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A heard is what a program said beside its response.
type heard struct {
	mu       sync.Mutex
	lines    []string
	warnings []string
}

// programs are those of a directory, as the only ones on PATH.
func programs(dir string, h *heard) *external.Programs {
	note := func(to *[]string) func(a, b string) {
		return func(a, b string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			*to = append(*to, a+": "+b)
		}
	}
	return external.New(external.Options{
		Path: dir + ":relative::.", Environ: []string{"PATH=" + os.Getenv("PATH"), "WHO=bolt"}, Project: "/srv/project",
		Log: note(&h.lines), Warn: note(&h.warnings),
	})
}

// resolve resolves a reference by the program mine with this text.
func resolve(t *testing.T, text string, config, ref *ordered.Map) (any, *heard, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "bolt-plugin-mine", text)
	h := &heard{}
	n, ok := programs(dir, h).Plugin("mine")
	if !ok {
		t.Fatal("no such plugin")
	}
	v, err := n.Resolve(t.Context(), config, ref)
	return v, h, err
}

func TestResolveSendsRequest(t *testing.T) {
	// The request comes back as the value.
	const echo = "#!/bin/sh\nread -r request\nprintf '{\"protocol\": 1, \"value\": {\"request\": %s, \"arguments\": %d, \"who\": \"%s\", \"others\": \"%s\"}}' \"$request\" $# \"$WHO\" \"$(tr '\\0' '\\n' </proc/self/environ | grep -c hunter2)\"\n"
	ref := ordered.Of("_plugin", "mine", "_cache", ordered.Of("ttl", int64(1)), "key", "hunter2", "n", []any{int64(1), 1.5, nil})
	v, _, err := resolve(t, echo, ordered.Of("timeout", int64(30), "site", "berlin"), ref)
	if err != nil {
		t.Fatal(err)
	}
	want := ordered.Of("request", ordered.Of("protocol", int64(1), "request", "resolve_reference", "plugin", "mine",
		"reference", ordered.Of("key", "hunter2", "n", []any{int64(1), 1.5, nil}),
		"config", ordered.Of("site", "berlin"), "project", "/srv/project", "timeout", int64(30)),
		"arguments", int64(0), "who", "bolt", "others", "0")
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got %v, want %v", v, want)
	}
}

func TestLogAndWarnings(t *testing.T) {
	const text = `#!/bin/sh
printf 'one\n\ntwo \033[31mred\nlast' >&2
echo '{"protocol": 1, "value": 1, "warnings": [{"id": "w", "message": "careful"}]}'`
	v, h, err := resolve(t, text, &ordered.Map{}, &ordered.Map{})
	if err != nil || v != int64(1) {
		t.Fatal(v, err)
	}
	if want := []string{"mine: one", "mine: two red", "mine: last"}; !reflect.DeepEqual(h.lines, want) {
		t.Errorf("log: %q", h.lines)
	}
	if want := []string{"w: careful"}; !reflect.DeepEqual(h.warnings, want) {
		t.Errorf("warnings: %q", h.warnings)
	}
	_, h, err = resolve(t, "#!/bin/sh\nyes long | tr -d '\\n' | head -c 100000 >&2\nyes >&2", ordered.Of("timeout", int64(1)), &ordered.Map{})
	if err == nil || len(h.lines) != 1000 || len(h.lines[0]) > 520 {
		t.Errorf("endless: %v, %d lines, the first has %d bytes", err, len(h.lines), len(h.lines[0]))
	}
}

func TestProgramErrors(t *testing.T) {
	tests := []struct{ name, text, says, kind, hint string }{
		{"an error", `echo '{"protocol": 1, "error": {"message": "no", "hint": "go"}}'`, "no", "bolt/plugin-error", "go"},
		{"of a kind, with a status", `echo '{"protocol": 1, "error": {"message": "no", "kind": "bolt/validation-error"}}'; exit 3`, "no", "bolt/validation-error", ""},
		{"a status", `echo 'no key' >&2; exit 3`, "bolt-plugin-mine' failed (exit status 3): no key", "", ""},
		{"a status beside a value", `echo '{"protocol": 1, "value": "hunter2"}'; exit 3`, "failed (exit status 3), and said nothing", "", ""},
		{"a status beside rubbish", `echo 'hunter2'; echo oops >&2; exit 3`, "failed (exit status 3): oops", "", ""},
		{"nothing", `exit 0`, "wrote no response", "", ""},
		{"rubbish", `echo hunter2`, "cannot be used: it is not one JSON document", "", ""},
		{"endless", `exec yes hunter2`, "wrote more than 64 MiB", "", ""},
		{"deep", `yes '[' | head -c 1000000 | tr -d '\n'`, "more than 100 levels", "", ""},
		{"many values", `echo '{"protocol": 1, "value": ['; yes '{},' | head -c 20000000; echo '1]}'`, "more than 4194304 values", "", ""},
		{"late", `exec sleep 100`, "did not finish within 1s", "", ""},
		{"does not read", `exec <&-; sleep 100`, "did not finish within 1s", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := &ordered.Map{}
			if strings.Contains(tt.says, "within") {
				config.Set("timeout", int64(1))
			}
			begin := time.Now()
			v, _, err := resolve(t, "#!/bin/sh\n"+tt.text, config, ordered.Of("large", strings.Repeat("x", 1<<20)))
			if err == nil {
				t.Fatalf("got %v", v)
			}
			if s := err.Error(); !strings.Contains(s, tt.says) || strings.Contains(s, "hunter2") || len(s) > 900 {
				t.Errorf("got %q", s)
			}
			if f, ok := errors.AsType[*fault.Error](err); ok != (tt.kind != "") || ok && (f.Kind != tt.kind || f.Hint != tt.hint) {
				t.Errorf("got %#v", err)
			}
			if d := time.Since(begin); d > 60*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	if _, _, err := resolve(t, "", ordered.Of("timeout", "x"), &ordered.Map{}); err == nil || !strings.Contains(err.Error(), "'timeout' is an Integer") {
		t.Errorf("a bad time limit: %v", err)
	}
}

// TestIgnoredRequest: a program that does not read a large request can answer.
func TestIgnoredRequest(t *testing.T) {
	v, _, err := resolve(t, "#!/bin/sh\necho '{\"protocol\": 1, \"value\": 1}'", &ordered.Map{}, ordered.Of("large", strings.Repeat("x", 10<<20)))
	if err != nil || v != int64(1) {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestCancelStopsProgram(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bolt-plugin-mine", "#!/bin/sh\necho begun >&2\nsleep 1000")
	h := &heard{}
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	o := external.Options{Path: dir, Environ: os.Environ(), Log: func(string, string) { stop(why) }, Warn: func(string, string) {}}
	n, _ := external.New(o).Plugin("mine")
	if _, err := n.Resolve(ctx, &ordered.Map{}, &ordered.Map{}); !errors.Is(err, why) {
		t.Errorf("got %v, %v", err, h)
	}
}

func TestFindsProgramsInProjectAndPath(t *testing.T) {
	base := t.TempDir()
	project, bin := filepath.Join(base, "plugins"), filepath.Join(base, "bin")
	describes := func(text string) string {
		return "#!/bin/sh\necho '{\"protocol\": 1, \"description\": \"" + text + "\", \"capabilities\": [\"resolve_reference\"]}'"
	}
	write(t, bin, "bolt-plugin-both", describes("on PATH"))
	write(t, bin, "bolt-plugin-one", describes("one"))
	write(t, project, "bolt-plugin-both", describes("of the project"))
	write(t, project, "bolt-plugin-Upper", "")
	write(t, project, "bolt-plugin-", "")
	write(t, project, "other", "")
	if err := os.Chmod(write(t, project, "bolt-plugin-plain", ""), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(project, "bolt-plugin-folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, project, "bolt-plugin-incapable", "#!/bin/sh\necho '{\"protocol\": 1, \"capabilities\": [\"other\"]}'")
	p := external.New(external.Options{
		Dirs: func() []string { return []string{project, filepath.Join(base, "none")} }, Path: bin + ":" + filepath.Join(base, "none2"),
	})
	if got, want := p.Names(), []string{"both", "incapable", "one"}; !reflect.DeepEqual(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	for name, want := range map[string]string{"both": "of the project", "one": "one"} {
		n, ok := p.Plugin(name)
		if !ok {
			t.Fatalf("no plugin %s", name)
		}
		if got, err := n.Describe(t.Context()); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	n, _ := p.Plugin("incapable")
	if _, err := n.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "does not have the capability resolve_reference") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"plain", "folder", "Upper", "", "none", "../bin/bolt-plugin-one", "x/../../bin/bolt-plugin-one"} {
		if n, ok := p.Plugin(name); ok {
			t.Errorf("%q is %v", name, n)
		}
	}
}

// TestFindsProgramOfSeveralPlugins checks that bolt searches the program of
// several plugins beside bolt, in libexec and in PATH.
func TestFindsProgramOfSeveralPlugins(t *testing.T) {
	base := t.TempDir()
	bin, libexec, other := filepath.Join(base, "bin"), filepath.Join(base, "libexec", "bolt"), filepath.Join(base, "other")
	o := external.Options{Beside: bin, Path: other, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	resolve := func(p plugin.Native) (any, error) {
		return p.Resolve(t.Context(), &ordered.Map{}, &ordered.Map{})
	}
	part := external.New(o).Part("bolt-several", "one", "Be one.")
	_, err := resolve(part)
	f, ok := errors.AsType[*fault.Error](err)
	if want := "the program bolt-several, which provides the plugin one, was not found in " + bin + ", in " + libexec + " or on PATH"; !ok || f.Msg != want || !strings.Contains(f.Hint, "make install") {
		t.Errorf("got %#v, want %s", err, want)
	}
	for _, dir := range []string{other, libexec, bin} { // the last is the first that is looked at
		write(t, dir, "bolt-several", "#!/bin/sh\nread -r r\ncase $r in *'\"plugin\":\"one\"'*) echo '{\"protocol\": 1, \"value\": \""+dir+"\"}' ;; esac")
		if v, err := resolve(part); err != nil || v != dir {
			t.Errorf("got %v, %v, want %s", v, err, dir)
		}
	}
	if part.About != "Be one." || part.Name != "one" {
		t.Errorf("got %v", part)
	}
}
