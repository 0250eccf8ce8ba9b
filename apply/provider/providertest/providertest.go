// Package providertest applies resources to disposable roots and to scripted hosts, with the engine, for
// tests of providers.
package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/internal/roottest"
)

// A Machine is a host of a test.
type Machine struct {
	Root  string
	Host  *resource.Host
	Types map[string]resource.Type
	Graph bool // the catalogs come from graphs, without an order
	// Argv has the command lines of the last Apply, with the names of the programs only.
	Argv []string
	// Logs has the messages of the last Apply that are not changes.
	Logs []string

	t *testing.T
}

// New is a machine on an overlay of a directory, such as "/", after a script has run in it.
func New(t *testing.T, lower, setup string, types map[string]resource.Type) *Machine {
	t.Helper()
	m := newMachine(t, roottest.New(t, lower), types)
	m.Host.Env = roottest.Env()
	roottest.Shell(t, m.Root, setup)
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		m.record(c)
		in := *c
		in.Argv = roottest.Argv(m.Root, c.Argv)
		return resource.Exec(ctx, &in)
	}
	return m
}

// OtherRoot returns the root with the programs of other systems that scripts/roots.sh makes. Tests that need it have the build
// tag roots.
func OtherRoot(t *testing.T) string {
	t.Helper()
	const variable = "BOLT_TEST_ROOT"
	root := os.Getenv(variable)
	if root == "" {
		t.Fatalf("%s names no root. Run make roots", variable)
	}
	return root
}

func newMachine(t *testing.T, root string, types map[string]resource.Type) *Machine {
	m := &Machine{Root: root, Host: resource.NewHost(), Types: types, t: t}
	m.Host.Root, m.Host.State = root, t.TempDir()
	m.Host.Log = func(r catalog.Ref, level report.Level, text string) {
		m.Logs = append(m.Logs, fmt.Sprintf("%s %s: %s", r, level, text))
	}
	return m
}

func (m *Machine) record(c *resource.Command) string {
	line := filepath.Base(c.Argv[0]) + " " + strings.Join(c.Argv[1:], " ")
	if len(c.Stdin) > 0 {
		line += " < " + strings.ReplaceAll(strings.TrimSpace(string(c.Stdin)), "\n", "; ")
	}
	m.Argv = append(m.Argv, line)
	return line
}

// An Answer is the output of a scripted program for command lines with a prefix.
type Answer struct {
	Begin string
	Out   resource.Output
}

// Scripted is a machine whose programs do nothing. They print the first answer that fits, which is then used up unless it is the
// last one with its beginning; nothing if there is none.
func Scripted(t *testing.T, programs string, types map[string]resource.Type, answers ...Answer) *Machine {
	t.Helper()
	m := newMachine(t, t.TempDir(), types)
	for p := range strings.FieldsSeq(programs) {
		m.Write("usr/bin/"+p, "", 0o755)
	}
	m.Host.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		line := m.record(c)
		for i, a := range answers {
			if !strings.HasPrefix(line, a.Begin) {
				continue
			}
			if slices.ContainsFunc(answers[i+1:], func(b Answer) bool { return b.Begin == a.Begin }) {
				answers = slices.Delete(answers, i, i+1)
			}
			return &a.Out, nil
		}
		return &resource.Output{}, nil
	}
	return m
}

// Write writes a file in the root.
func (m *Machine) Write(name, text string, mode os.FileMode) {
	m.t.Helper()
	path := filepath.Join(m.Root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

// Shell runs a script in the root and returns its output.
func (m *Machine) Shell(script string) string {
	m.t.Helper()
	return roottest.Shell(m.t, m.Root, script)
}

// Apply applies resources in the form of: Type[title] {"parameter":"value"}. It returns a line for each resource, sorted: the
// status, and the names of the events, with the message of a failure. A sensitive parameter has the
// value {"sensitive":"value"}.
func (m *Machine) Apply(noop bool, resources ...string) string {
	m.t.Helper()
	m.Argv, m.Logs = nil, nil
	run, err := apply.Prepare(m.catalog(resources), m.Host, apply.Options{Types: m.Types, Noop: noop})
	if err != nil {
		return "refused: " + err.Error()
	}
	var lines []string
	if _, err := run.Apply(m.t.Context(), func(r *report.Result) {
		line := fmt.Sprintf("%s %s", r.Ref, r.Status)
		for _, e := range r.Events {
			if e.Name != "" {
				line += " " + e.Name
			}
			if e.Outcome == report.Failure {
				line += ": " + e.Message
			}
		}
		lines = append(lines, strings.TrimSpace(line))
	}); err != nil {
		m.t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (m *Machine) catalog(resources []string) *catalog.Catalog {
	m.t.Helper()
	top := catalog.Ref{Type: "Class", Title: "main"}.String()
	list, edges := []any{map[string]any{"type": "Class", "title": "main", "kind": "unknown", "exported": false, "tags": []any{}}}, []any{}
	for _, r := range resources {
		ref, text, given := strings.Cut(r, " {")
		if !given {
			text = "}"
		}
		typ, title, _ := strings.Cut(strings.TrimSuffix(ref, "]"), "[")
		var params map[string]any
		if err := json.Unmarshal([]byte("{"+text), &params); err != nil {
			m.t.Fatalf("%s: %v", r, err)
		}
		sensitive := []string{}
		for name, v := range params {
			if wrapped, is := v.(map[string]any); is && wrapped["sensitive"] != nil {
				params[name] = wrapped["sensitive"]
				sensitive = append(sensitive, name)
			}
		}
		list = append(list, map[string]any{"type": typ, "title": title, "kind": "compilable_type", "exported": false, "tags": []any{}, "parameters": params, "sensitive_parameters": sensitive})
		edges = append(edges, map[string]any{"source": top, "target": ref})
	}
	data, err := json.Marshal(map[string]any{"name": "node", "version": "1", "catalog_format": 2, "environment": "production", "resources": list, "edges": edges, "graph": m.Graph, "classes": []any{}, "tags": []any{}})
	if err != nil {
		m.t.Fatal(err)
	}
	c, err := catalog.Parse(data)
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// Want compares texts.
func (m *Machine) Want(what, got, want string) {
	m.t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		m.t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// Step applies resources with noop, then really, and then again one by one. want has a line of the second run for each resource.
func (m *Machine) Step(want []string, resources ...string) {
	m.t.Helper()
	slices.Sort(want)
	text := strings.Join(want, "\n")
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(text, " changed ", " noop "))
	m.Want("result", m.Apply(false, resources...), text)
	for _, r := range resources {
		ref, _, _ := strings.Cut(r, " {")
		m.Want("again", m.Apply(false, r), ref+" unchanged")
	}
}
