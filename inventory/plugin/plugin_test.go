package plugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/transport"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.yaml": "- a\n- b: 1\n", "bad.yaml": "a: [\n", "empty.yaml": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"SET": "value", "EMPTY": "", "JSON": `{"x": [1, true]}`, "BROKEN": `{"sesame"`}
	p := plugin.New(plugin.Options{
		Project: dir,
		Env:     func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	const invalid, failed = "bolt/validation-error", "bolt/plugin-error"
	tests := []struct {
		name       string
		ref        *ordered.Map
		want       any
		kind, says string
	}{
		{"set", ordered.Of("_plugin", "env_var", "var", "SET"), "value", "", ""},
		{"set to nothing", ordered.Of("_plugin", "env_var", "var", "EMPTY", "default", "d"), "", "", ""},
		{"default", ordered.Of("_plugin", "env_var", "var", "NONE", "default", int64(5)), int64(5), "", ""},
		{"optional", ordered.Of("_plugin", "env_var", "var", "NONE", "optional", true), nil, "", ""},
		{"optional with default", ordered.Of("_plugin", "env_var", "var", "NONE", "optional", true, "default", "d"), "d", "", ""},
		{"json", ordered.Of("_plugin", "env_var", "var", "JSON", "json", true), ordered.Of("x", []any{int64(1), true}), "", ""},
		{"json of a default", ordered.Of("_plugin", "env_var", "var", "NONE", "json", true, "default", "{"), "{", "", ""},
		{"bad json", ordered.Of("_plugin", "env_var", "var", "BROKEN", "json", true), nil, failed, "Error executing plugin env_var from resolve_reference in env_var: the value of the variable 'BROKEN' is not JSON"},
		{"not set", ordered.Of("_plugin", "env_var", "var", "NONE"), nil, invalid, "env_var plugin requires that the var 'NONE' be set"},
		{"no var", ordered.Of("_plugin", "env_var"), nil, invalid, "env_var plugin requires that the 'var' is specified"},
		{"var of another type", ordered.Of("_plugin", "env_var", "var", int64(1)), nil, invalid, "is a String"},
		{"file", ordered.Of("_plugin", "yaml", "filepath", "good.yaml"), []any{"a", ordered.Of("b", int64(1))}, "", ""},
		{"absolute file", ordered.Of("_plugin", "yaml", "filepath", filepath.Join(dir, "empty.yaml")), nil, "", ""},
		{"missing file", ordered.Of("_plugin", "yaml", "filepath", "none.yaml"), nil, failed, "none.yaml: no such file"},
		{"bad file", ordered.Of("_plugin", "yaml", "filepath", "bad.yaml"), nil, failed, "bad.yaml, line 1"},
		{"no filepath", ordered.Of("_plugin", "yaml"), nil, invalid, "'filepath'"},
		{"prompt without terminal", ordered.Of("_plugin", "prompt", "message", "Say"), nil, failed, "prompting requires a terminal"},
		{"prompt without message", ordered.Of("_plugin", "prompt"), nil, invalid, "'message'"},
		{"unknown", ordered.Of("_plugin", "nosuch"), nil, "bolt/unknown-plugin", "Unknown plugin: 'nosuch'"},
		{"not built in", ordered.Of("_plugin", "choria"), nil, failed, "Error executing plugin choria from resolve_reference in choria: this plugin is not built in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := p.Resolve(t.Context(), tt.ref.Value("_plugin").(string), tt.ref)
			if tt.kind == "" {
				if err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got %v, %v, want %v", got, err, tt.want)
				}
				return
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != tt.kind || !strings.Contains(f.Msg, tt.says) {
				t.Errorf("got %v", err)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Error("the message has the variable's value")
			}
		})
	}
}

func TestPromptOnce(t *testing.T) {
	var asked []string
	fail := errors.New("end of file")
	p := plugin.New(plugin.Options{Prompt: func(_ context.Context, q string) (transport.Secret, error) {
		asked = append(asked, q)
		if strings.HasPrefix(q, "Bad") {
			return transport.Secret{}, fail
		}
		return transport.NewSecret("re: " + q), nil
	}})
	for range 2 {
		for _, m := range []string{"One", "Two"} {
			if got, err := p.Resolve(t.Context(), "prompt", ordered.Of("message", m)); inventory.Reveal(got) != "re: "+m+": " || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		}
	}
	if want := []string{"One: ", "Two: "}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if _, err := p.Resolve(t.Context(), "prompt", ordered.Of("message", "Bad")); !errors.Is(err, fail) || !isPluginError(err) {
		t.Errorf("got %v", err)
	}
}

func isPluginError(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == "bolt/plugin-error"
}

func TestNativePluginResolves(t *testing.T) {
	down := errors.New("connection refused")
	p := plugin.New(plugin.Options{
		Config: ordered.Of("cmdb", ordered.Of("url", "here")),
		Natives: []plugin.Native{{Name: "cmdb", About: "Ask the CMDB.", Configures: func(key string) bool { return key == "url" },
			Resolve: func(_ context.Context, config, ref *ordered.Map) (any, error) {
				switch ref.Value("key") {
				case "wrong":
					return nil, fault.New("bolt/validation-error", "no such key")
				case "down":
					return nil, down
				}
				return config.Value("url"), nil
			}}},
	})
	if got, err := p.Resolve(t.Context(), "cmdb", &ordered.Map{}); got != "here" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := p.Resolve(t.Context(), "cmdb", ordered.Of("key", "wrong")); err == nil || err.Error() != "no such key" {
		t.Errorf("got %v", err)
	}
	if _, err := p.Resolve(t.Context(), "cmdb", ordered.Of("key", "down")); !errors.Is(err, down) || !isPluginError(err) {
		t.Errorf("got %v", err)
	}
	list, err := p.List(t.Context())
	if err != nil || !slices.Contains(list[1].Plugins, plugin.Entry{Name: "cmdb", Description: "Ask the CMDB."}) {
		t.Errorf("got %v, %v", list, err)
	}
}
