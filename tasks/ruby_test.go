package tasks

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/format/fault"
)

// TestRuby checks which program runs tasks in Ruby on this machine.
func TestRuby(t *testing.T) {
	dir := t.TempDir()
	here, missing := filepath.Join(dir, "ruby"), filepath.Join(dir, "none/ruby")
	if err := os.WriteFile(here, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	var warns []string
	found, lookErr := "/usr/local/bin/ruby", error(nil)
	l := NewLibrary(Options{
		Warn:     func(id, text string) { warns = append(warns, id+": "+text) },
		LookPath: func(name string) (string, error) { return found, lookErr },
	})
	l.puppetRuby, l.boltRuby = here, missing
	task := &Task{Name: "m::t"}
	for _, tt := range []struct {
		file        string
		interpreter []string
		want        []string
	}{
		{"t.rb", []string{here, "-w"}, []string{here, "-w"}},
		{"t.rb", []string{missing, "-w"}, []string{found, "-w"}},
		{"t", []string{missing}, []string{found}},
		{"t.rb", nil, []string{found}},
		{"t.sh", nil, nil},
		{"t.rb", []string{"/usr/bin/env", "ruby"}, []string{"/usr/bin/env", "ruby"}},
		{"t.rb", []string{"/elsewhere/ruby"}, []string{"/elsewhere/ruby"}},
	} {
		got, err := l.ruby(task, tt.file, tt.interpreter)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s with %q: got %q, %v, want %q", tt.file, tt.interpreter, got, err, tt.want)
		}
	}
	if len(warns) != 1 || !strings.HasPrefix(warns[0], "local_ruby: ") || !strings.Contains(warns[0], found) || !strings.Contains(warns[0], missing) {
		t.Errorf("warnings %q, want one that names %s and %s", warns, found, missing)
	}

	lookErr = errors.New("not found")
	_, err := l.ruby(task, "t.rb", []string{missing})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || !strings.Contains(f.Msg, missing+" does not exist") || !strings.Contains(f.Msg, "ruby is not in PATH") || !strings.Contains(f.Hint, "interpreters") {
		t.Errorf("without a ruby: %#v", err)
	}
	l.puppetRuby, l.boltRuby = missing, here
	if got, err := l.ruby(task, "t.rb", nil); err != nil || !slices.Equal(got, []string{here}) {
		t.Errorf("without a first line, and Bolt's Ruby is there: %q, %v", got, err)
	}
}
