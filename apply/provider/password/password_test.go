package password

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/notify"
	"bolt/apply/provider/value"
	"bolt/apply/resource"
)

var known = map[string]resource.Type{"Password": Type(), "Notify": notify.Type(), "Value": value.Type()}

const receiver = `Value[v] {"recv":{"any":{"kind":"password","name":"p","key":"password"}}}`

// saved returns the content of the only file in the state directory, which must have mode 0600.
func saved(t *testing.T, h *resource.Host) string {
	t.Helper()
	names, err := filepath.Glob(h.State + "/*")
	if err != nil || len(names) != 1 {
		t.Fatalf("files are %v", names)
	}
	info, err := os.Stat(names[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSaved(t *testing.T) {
	h := hosttest.Host(t)
	run := func(noop bool, more ...string) string {
		return hosttest.Apply(t, h, known, noop, append([]string{`Password[p] {"saved":true,"length":20}`, receiver}, more...)...)
	}
	if got, want := run(true), "Password[p] noop password(absent -> present)\nValue[v] noop: any would be known after Password[p] has run\n"; got != want {
		t.Errorf("noop: %s", got)
	}
	if names, _ := filepath.Glob(h.State + "/*"); names != nil {
		t.Errorf("noop made %v", names)
	}
	if got, want := run(false), "Password[p] changed password(absent -> present)\n"; got != want {
		t.Errorf("first run: %s", got)
	}
	first := saved(t, h)
	if !regexp.MustCompile(`^[A-Za-z0-9]{20}\n$`).MatchString(first) {
		t.Errorf("saved %q", first)
	}
	if got := run(false); got != "" || saved(t, h) != first {
		t.Errorf("second run: %s", got)
	}
	const trigger = `Notify[n] {"notify":"Password[p]"}`
	if got := run(true, trigger); !strings.Contains(got, "Value[v] noop: any would be known after Password[p] has run") || saved(t, h) != first {
		t.Errorf("noop refresh: %s", got)
	}
	got := run(false, trigger, `Notify[m] {"recv":{"message":{"kind":"value","name":"v","key":"any"}}}`)
	second := saved(t, h)
	if second == first || len(second) != 21 || !strings.Contains(got, "Password[p] changed refresh") || !strings.Contains(got, "[redacted]") || strings.Contains(got, strings.TrimSpace(second)) {
		t.Errorf("refresh: %s, saved %q then %q", got, first, second)
	}
}

// TestNotSaved checks that only an empty file remains of a password that is not saved, and that it is sent once.
func TestNotSaved(t *testing.T) {
	h := hosttest.Host(t)
	if got, want := hosttest.Apply(t, h, known, false, `Password[p]`, receiver), "Password[p] changed password(absent -> present)\n"; got != want || saved(t, h) != "" {
		t.Errorf("first run: %s, saved %q", got, saved(t, h))
	}
	if got, want := hosttest.Apply(t, h, known, false, `Password[p]`, receiver), "Value[v] skipped: it receives any from Password[p], which sent no password in this run\n"; got != want {
		t.Errorf("second run: %s", got)
	}
	if got := hosttest.Apply(t, h, known, false, `Password[p] {"saved":true}`); got != "Password[p] changed password(absent -> present)\n" || len(saved(t, h)) != without+1 {
		t.Errorf("it is not made again to be saved: %s", got)
	}
	if got := hosttest.Apply(t, h, known, false, `Password[p]`); got != "Password[p] changed password(absent -> present)\n" || saved(t, h) != "" {
		t.Errorf("it stays saved: %s", got)
	}
}

func TestDamaged(t *testing.T) {
	for text, want := range map[string]string{
		"short\n":                        "has another length than 20",
		strings.Repeat("é", 10) + "\n":   "has a character that passwords cannot have",
		strings.Repeat("x", 1<<20):       "has another length than 20",
		"\x00" + strings.Repeat("x", 19): "has a character that passwords cannot have",
	} {
		h := hosttest.Host(t)
		hosttest.Apply(t, h, known, false, `Password[p] {"saved":true,"length":20}`)
		names, _ := filepath.Glob(h.State + "/*")
		if err := os.WriteFile(names[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := hosttest.Apply(t, h, known, false, `Password[p] {"saved":true,"length":20}`); !strings.Contains(got, "failed FAILED the saved password "+want) || saved(t, h) != text {
			t.Errorf("%.20q: %s", text, got)
		}
		if got := hosttest.Apply(t, h, known, false, `Password[p] {"saved":true,"length":20,"check_recovery":true}`); !strings.Contains(got, "changed") || len(saved(t, h)) != 21 {
			t.Errorf("%.20q: recovery: %s", text, got)
		}
	}
	h := hosttest.Host(t)
	hosttest.Apply(t, h, known, false, `Password[p] {"saved":true}`)
	names, _ := filepath.Glob(h.State + "/*")
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", names[0]); err != nil {
		t.Fatal(err)
	}
	if got := hosttest.Apply(t, h, known, false, `Password[p] {"saved":true,"check_recovery":true}`); !strings.Contains(got, "symbolic link") {
		t.Errorf("a link: %s", got)
	}
	h.State = ""
	if got := hosttest.Apply(t, h, known, false, `Password[p]`); !strings.Contains(got, "no state directory") {
		t.Errorf("no state directory: %s", got)
	}
}

func TestErrors(t *testing.T) {
	for params, want := range map[string]string{
		`{"length":0}`:        "length must be from 1 to 65535",
		`{"length":70000}`:    "length must be from 1 to 65535",
		`{"length":"x"}`:      "length must be a whole number",
		`{"saved":"perhaps"}`: `saved cannot be "perhaps"`,
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), known, false, `Password[p] `+params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// TestRandom checks that two passwords differ and that all characters occur.
func TestRandom(t *testing.T) {
	text := random(100000)
	for _, c := range alphabet {
		if !strings.ContainsRune(text, c) {
			t.Errorf("%c does not occur", c)
		}
	}
	if a, b := random(16), random(16); a == b {
		t.Error("two passwords are equal")
	}
}
