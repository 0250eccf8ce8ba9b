package here

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/modules"
	"bolt/puppet/value"
	"bolt/tasks"
)

var (
	_ plugin.Tasks     = (*Tasks)(nil)
	_ plugin.Describer = (*Tasks)(nil)
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"say.json": `{"description": "Says it.", "parameters": {"word": {"type": "String"}}}`,
		"say.zz":   "echo \"{\\\"said\\\": \\\"$PT_word\\\"}\"\n",
	} {
		path := filepath.Join(dir, "modules", "m", "tasks", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	library := tasks.NewLibrary(tasks.Options{
		Modules: modules.NewPath(modules.Module{}, filepath.Join(dir, "modules")),
		Type:    func(_ context.Context, text string) (value.Type, error) { return value.ParseType(text) },
		Warn:    func(id, text string) { t.Error(id, text) },
	})
	x := New(Options{
		Library: library, Project: dir, Home: dir, Warn: func(id, text string) { t.Error(id, text) },
		Settings: func(context.Context) []*ordered.Map {
			return []*ordered.Map{ordered.Of("interpreters", ordered.Of(".zz", "/bin/false")), nil, ordered.Of("interpreters", ordered.Of(".zz", "/bin/sh"))}
		},
	})
	if names, any, ok, err := x.Parameters(t.Context(), "m::say"); err != nil || !ok || any || len(names) != 1 {
		t.Errorf("parameters: %q, %v, %v, %v", names, any, ok, err)
	}
	if _, _, ok, err := x.Parameters(t.Context(), "m::none"); ok || err != nil {
		t.Errorf("an unknown task: %v, %v", ok, err)
	}
	if text, err := x.Description(t.Context(), "m::say"); text != "Says it." || err != nil {
		t.Errorf("description: %q, %v", text, err)
	}
	got, err := x.Run(t.Context(), "m::say", ordered.Of("word", "hi"), "")
	if err != nil || got.Value("said") != "hi" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := x.Run(t.Context(), "m::say", &ordered.Map{}, ""); err == nil {
		t.Error("a parameter is missing, and the task runs")
	}
}
