package lookup_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/environment"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/lookup"
	"bolt/modules"
	"bolt/transport/all"
)

// search makes one in a project with data for each operating system.
func search(t *testing.T, o lookup.Options) (s *lookup.Search, warned *[]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hiera.yaml":       "version: 5\nhierarchy:\n  - {name: os, path: \"%{facts.os}.yaml\"}\n  - {name: all, path: common.yaml}\n",
		"data/common.yaml": "port: 80\n",
		"data/linux.yaml":  "port: 8080\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	warned = new([]string)
	o.Config, o.Source = filepath.Join(dir, "hiera.yaml"), "inventory.yaml"
	o.Environment = environment.New(environment.Options{Modules: modules.NewPath(modules.Module{}), Hiera: o.Config, Keys: dir})
	o.Warn = func(id, text string) { *warned = append(*warned, id+": "+text) }
	o.Logger = slog.New(slog.DiscardHandler)
	return lookup.New(o), warned
}

func TestOnTargets(t *testing.T) {
	s, warned := search(t, lookup.Options{Key: "port", JSON: true})
	data := ordered.Of("targets", []any{
		ordered.Of("name", "a", "uri", "a.example", "facts", ordered.Of("os", "linux")), ordered.Of("name", "b", "uri", "b.example"),
	})
	inv, err := inventory.New(t.Context(), data, inventory.Options{Transports: all.Tables(all.List()), Transport: "ssh"})
	if err != nil {
		t.Fatal(err)
	}
	targets, err := inv.Targets(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": int64(8080), "b": int64(80)}
	for r := range s.OnTargets(t.Context(), targets) {
		if v, _ := r.Value.Get("value"); !r.OK() || v != want[r.Target.Name] || r.Action != event.Lookup {
			t.Errorf("%s: %v, %v; want %v", r.Target.Name, v, r.Err, want[r.Target.Name])
		}
	}
	if len(*warned) != 1 || !strings.HasPrefix((*warned)[0], "lookup_no_facts: inventory.yaml has no facts for 1 target (b)") {
		t.Errorf("warned %q", *warned)
	}
}

func TestInPlan(t *testing.T) {
	s, _ := search(t, lookup.Options{Key: "port", JSON: true})
	if a, err := s.InPlan(t.Context()); err != nil || a.Text != "80\n" || a.Data != int64(80) {
		t.Errorf("got %+v, %v", a, err)
	}
	s, _ = search(t, lookup.Options{Key: "absent"})
	if a, err := s.InPlan(t.Context()); err == nil || a.Data != nil {
		t.Errorf("what is not there: %+v, %v", a, err)
	}
}

func TestParseVariables(t *testing.T) {
	given, ignored, err := lookup.ParseVariables([]string{"a=1", "word", "b=x=y"})
	if err != nil || len(given) != 2 || given["a"] != "1" || given["b"] != "x=y" || len(ignored) != 1 || ignored[0] != "word" {
		t.Errorf("%v, %q, %v", given, ignored, err)
	}
	if _, _, err := lookup.ParseVariables([]string{"A-b=1"}); err == nil {
		t.Error("A-b is a variable")
	}
}
