package listing

import (
	"bytes"
	"io"
	"testing"

	"bolt/output/layout"
)

func TestProjectLists(t *testing.T) {
	tests := []struct {
		name       string
		print      func(w io.Writer, o Options) error
		text, json string
	}{
		{"created", func(w io.Writer, o Options) error {
			return PrintNewPlan(w, o, "a::b", "/p/\x1b[31mb.yaml")
		}, "Created plan 'a::b' at '/p/b.yaml'\n\nShow this plan with:\n    bolt plan show a::b\nRun this plan with:\n    bolt plan run a::b\n", `{"name":"a::b","path":"/p/\u001b[31mb.yaml"}` + "\n"},
		{"policies", func(w io.Writer, o Options) error {
			return PrintPolicies(w, o, &Policies{Names: []string{"a::*", "b"}, Modulepath: []string{"/x", "/y"}})
		}, "Policies\n  a::*\n  b\n\nModulepath\n  /x:/y\n", `{"policies":["a::*","b"],"modulepath":["/x","/y"]}` + "\n"},
		{"no policies", func(w io.Writer, o Options) error {
			return PrintPolicies(w, o, &Policies{Names: []string{}, Modulepath: []string{"/x"}})
		}, "Policies\n  No policies\n\nModulepath\n  /x\n", `{"policies":[],"modulepath":["/x"]}` + "\n"},
		{"topics", func(w io.Writer, o Options) error { return PrintTopics(w, o, []string{"a", "b"}) },
			"Topics\n  a\n  b\n\nAdditional information\n  Read one of them with 'bolt guide <TOPIC>'\n", `{"topics":["a","b"]}` + "\n"},
		{"guide", func(w io.Writer, o Options) error {
			return PrintGuide(w, o, "a", "One.\n\n    two\n", []string{"docs/x.md", "docs/y.md"})
		}, "a\n  One.\n\n      two\n\nDocumentation\n  docs/x.md\n  docs/y.md\n", `{"topic":"a","guide":"One.\n\n    two\n","documentation":["docs/x.md","docs/y.md"]}` + "\n"},
	}
	for _, tt := range tests {
		for format, want := range map[layout.Format]string{layout.Human: tt.text, layout.JSON: tt.json} {
			var b bytes.Buffer
			if err := tt.print(&b, Options{Format: format}); err != nil || b.String() != want {
				t.Errorf("%s, %s: %q, %v; want %q", tt.name, format, b.String(), err, want)
			}
		}
	}
}
