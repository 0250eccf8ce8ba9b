package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/transport/all"
)

// world is a file system with a home, a system directory and a working
// directory. Names in tests begin with one of these.
type world struct {
	t   *testing.T
	dir string
}

func newWorld(t *testing.T, files map[string]string) world {
	t.Helper()
	w := world{t, t.TempDir()}
	for _, dir := range []string{"home", "system", "cwd"} {
		w.check(os.Mkdir(w.path(dir), 0o755))
	}
	for name, text := range files {
		path := w.path(name)
		if strings.HasSuffix(name, "/") {
			w.check(os.MkdirAll(path, 0o755))
			continue
		}
		w.check(os.MkdirAll(filepath.Dir(path), 0o755))
		w.check(os.WriteFile(path, []byte(text), 0o644))
	}
	return w
}

func (w world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

// strip takes the temporary directory out of a text.
func (w world) strip(text string) string { return strings.ReplaceAll(text, w.dir+"/", "") }

func (w world) sources() Sources {
	return Sources{Transports: all.Tables(all.List()), Formats: []string{"human", "json", "rainbow"}, OwnFormats: []string{"ndjson"}, Cwd: w.path("cwd"), Home: w.path("home"), SystemDir: w.path("system")}
}

// load finds and loads, and returns the IDs of the warnings.
func (w world) load(s Sources, flags *ordered.Map) (*Config, []string, error) {
	w.t.Helper()
	var ids []string
	warn := func(id, text string) {
		if text == "" || strings.Contains(text, "%!") {
			w.t.Errorf("warning %s: %q", id, text)
		}
		ids = append(ids, id)
	}
	p, err := Find(w.t.Context(), s, warn)
	if err != nil {
		return nil, ids, err
	}
	c, err := Load(w.t.Context(), p, s, flags, warn)
	return c, ids, err
}

// wantError checks kind and text; parts of the text are enough.
func (w world) wantError(err error, kind string, parts ...string) {
	w.t.Helper()
	if err == nil {
		w.t.Fatalf("no error, want %s", kind)
	}
	if kindOf(err) != kind {
		w.t.Errorf("kind %q, want %q: %v", kindOf(err), kind, err)
	}
	for _, part := range parts {
		if !strings.Contains(w.strip(err.Error()), part) {
			w.t.Errorf("error %q does not say %q", w.strip(err.Error()), part)
		}
	}
}

// kindOf is the kind of an error, "" if it has none.
func kindOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Kind
	}
	return ""
}
