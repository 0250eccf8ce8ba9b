package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/transport"
)

// TestConfigIsReadAgain checks that a changed ssh_config takes effect for the
// next View, and that an unchanged one is not read again. A View does not
// change.
func TestConfigIsReadAgain(t *testing.T) {
	l := newLab(t, nil)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(l.home, ".ssh", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// Older than the resolution of file times, as real files are.
		old := time.Now().Add(-time.Hour).Add(time.Duration(len(text)) * time.Second)
		if err := os.Chtimes(filepath.Join(l.home, ".ssh", name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"WHERE=10"}
	view := func() *View { return l.as(func(c *Caller) { c.Environ = environ }) }
	port := func(v *View) int {
		t.Helper()
		e, err := v.resolve(t.Context(), transport.Dest{Host: "web", LoadConfig: true})
		if err != nil {
			t.Fatal(err)
		}
		return e.port
	}
	write("config", "Include conf.d/* more.${WHERE}\nPort 1\n")
	for _, step := range []struct {
		name   string
		change func()
		port   int
		same   bool // not parsed again
	}{
		{"first", func() {}, 1, false},
		{"unchanged", func() {}, 1, true},
		{"written anew", func() { write("config", "Include conf.d/* more.${WHERE}\n\nPort 2\n") }, 2, false},
		{"a directory to include from", func() { os.Mkdir(filepath.Join(l.home, ".ssh", "conf.d"), 0o700) }, 2, true},
		{"a file to include", func() { write("conf.d/a", "Port 3\n") }, 3, false},
		{"included file written anew", func() { write("conf.d/a", "\nPort 4\n") }, 4, false},
		{"unchanged with includes", func() {}, 4, true},
		{"included file refused", func() { os.Chmod(filepath.Join(l.home, ".ssh", "conf.d", "a"), 0o666) }, 2, false},
		{"included file allowed", func() { os.Chmod(filepath.Join(l.home, ".ssh", "conf.d", "a"), 0o600) }, 4, false},
		{"included file gone", func() { os.Remove(filepath.Join(l.home, ".ssh", "conf.d", "a")) }, 2, false},
		{"file that the environment names", func() { write("more.10", "Port 5\n") }, 5, false},
		{"other environment", func() { environ = []string{"WHERE=20"} }, 2, false},
		{"environment that is not asked for", func() { environ = []string{"WHERE=20", "X=y"} }, 2, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			before := view()
			was := port(before)
			parsed, _ := before.files(true)
			step.change()
			after := view()
			if got := port(after); got != step.port {
				t.Errorf("port %d, want %d", got, step.port)
			}
			if got := port(before); got != was {
				t.Errorf("port %d for the View of before, want %d", got, was)
			}
			again, _ := after.files(true)
			if same := again == parsed; same != step.same && step.name != "first" {
				t.Errorf("not read again: %v, want %v", same, step.same)
			}
		})
	}
}

// TestConfigByEnvironment checks that values from one caller's environment do
// not reach another caller, even if both ask for the same host.
func TestConfigByEnvironment(t *testing.T) {
	l := newLab(t, nil)
	l.configure(t, "Host web\n IdentityFile /keys/${WHO}\n")
	if err := os.Chtimes(l.config, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
		t.Fatal(err) // old enough to be read only once
	}
	var work sync.WaitGroup
	for i := range 4 {
		v := l.as(func(c *Caller) { c.Environ = []string{fmt.Sprintf("WHO=%d", i)} })
		work.Go(func() {
			for range 200 {
				e, err := v.resolve(t.Context(), transport.Dest{Host: "web", LoadConfig: true})
				if want := fmt.Sprintf("/keys/%d", i); err != nil || e.conf.IdentityFiles[0] != want {
					t.Errorf("%v, %v, want %s", e, err, want)
					return
				}
			}
		})
	}
	work.Wait()
	if _, err := l.as(nil).resolve(t.Context(), transport.Dest{Host: "web", LoadConfig: true}); transport.ClassOf(err) != transport.ClassUnsupported {
		t.Errorf("without the variable: %v", err)
	}
}

// TestCallersAreWarnedOfUnusedConfig checks that each caller is warned about
// unused lines of ssh_config, even if the file is not read again.
func TestCallersAreWarnedOfUnusedConfig(t *testing.T) {
	l := newLab(t, nil)
	l.configure(t, "Port x\nMatch tagged true\n User x\n")
	if err := os.Chtimes(l.config, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var warned []string
		v := l.as(func(c *Caller) { c.Warn = func(id, text string) { warned = append(warned, id+" "+text) } })
		for range 2 {
			if _, err := v.Route(t.Context(), transport.Dest{Host: "web", LoadConfig: true}); err != nil {
				t.Fatal(err)
			}
		}
		if len(warned) != 1 {
			t.Errorf("warned %q", warned)
		}
		wantText(t, "warning", strings.Join(warned, ""), "ssh_config ", l.config+":1: port", l.config+":2: Match tagged: this setting is not evaluated")
	}
}
