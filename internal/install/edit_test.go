package install

import (
	"errors"
	"strings"
	"testing"

	"bolt/internal/ordered"
)

func orderedOf(pairs ...any) *ordered.Map { return ordered.Of(pairs...) }

func TestAddModule(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"no list", "name: x\n", "name: x\nmodules:\n- a/b\n"},
		{"no line end", "name: x", "name: x\nmodules:\n- a/b\n"},
		{"empty", "", "modules:\n- a/b\n"},
		{"comments only", "# a project\n", "# a project\nmodules:\n- a/b\n"},
		{"start and end", "---\nname: x\n...\n", "---\nname: x\nmodules:\n- a/b\n...\n"},
		{"empty list", "modules: []\nname: x\n", "modules:\n- a/b\nname: x\n"},
		{"empty list, comment", "modules: [ ]  # none\nname: x\n", "modules: # none\n- a/b\nname: x\n"},
		{"nothing", "modules:\nname: x\n", "modules:\n- a/b\nname: x\n"},
		{"null", "modules: ~\n", "modules:\n- a/b\n"},
		{"block", "modules:\n- c/d\nname: x\n", "modules:\n- c/d\n- a/b\nname: x\n"},
		{"block, indented", "name: x\nmodules:\n    - c/d # why\n    # commented: out\n\n# end\ncolor: true\n", "name: x\nmodules:\n    - c/d # why\n    - a/b\n    # commented: out\n\n# end\ncolor: true\n"},
		{"block, last line without end", "modules:\n- c/d", "modules:\n- c/d\n- a/b\n"},
		{"hashes", "modules:\n  - name: c/d\n    version_requirement: 1.x\n\n  - git: https://h/x # here\n    # and\n    ref: main\n\nname: x\n", "modules:\n  - name: c/d\n    version_requirement: 1.x\n\n  - git: https://h/x # here\n    # and\n    ref: main\n  - a/b\n\nname: x\n"},
		{"hash in braces", "modules:\n- {name: c/d}\n- { git: u,\n    ref: v }\n", "modules:\n- {name: c/d}\n- { git: u,\n    ref: v }\n- a/b\n"},
		{"flow", "modules: [c/d, \"e/f\"] # two\nname: x\n", "modules: [c/d, \"e/f\", a/b] # two\nname: x\n"},
		{"flow over lines", "modules: [\n  c/d, # ]\n  {name: e/f, version_requirement: '] x'}\n]\n", "modules: [\n  c/d, # ]\n  {name: e/f, version_requirement: '] x'}, a/b\n]\n"},
		{"flow with a comma at the end", "modules: [c/d,]\n", "modules: [c/d, a/b]\n"},
		{"Windows", "name: x\r\nmodules:\r\n- c/d\r\n", "name: x\r\nmodules:\r\n- c/d\r\n- a/b\r\n"},
		{"quoted key", "\"modules\": []\n", "\"modules\":\n- a/b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := addModule([]byte(tt.before), "bolt-project.yaml", "a/b")
			if err != nil || string(got) != tt.after {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, tt.after)
			}
		})
	}
	for name, text := range map[string]string{
		"flow mapping":          "{name: x, modules: []}\n",
		"comment in front of ]": "modules: [c/d # ]\n ]\n",
		"two documents":         "name: x\n---\nname: y\n",
		"a text":                "modules: none\n",
	} {
		if got, err := addModule([]byte(text), "bolt-project.yaml", "a/b"); !errors.Is(err, errLayout) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// FuzzAddModule: a file either gets one module more and nothing else, or is
// refused.
func FuzzAddModule(f *testing.F) {
	f.Add("modules:\n- a/b # x\n\nname: y\n")
	f.Add("modules: [a/b, {name: c/d}]\n")
	f.Add("a: |\n  modules: []\nmodules: # x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := addModule([]byte(text), "x", "new/module")
		if err != nil {
			return
		}
		if !strings.Contains(string(got), "new/module") || len(got) <= len(text) && !strings.Contains(text, "modules") {
			t.Errorf("%q became %q", text, got)
		}
	})
}
