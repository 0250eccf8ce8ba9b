package drawing

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"bolt/catalog"
)

func drawn(t testing.TB, text string) (string, error) {
	t.Helper()
	c, err := catalog.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Of(c)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := d.WriteDot(&b); err != nil {
		t.Fatal(err)
	}
	return b.String(), checkDot(b.String())
}

var (
	dotString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	dotNode   = regexp.MustCompile(`^ *([np]\d+) \[[^\]]*\]$`)
	dotEdge   = regexp.MustCompile(`^ *([np]\d+) -> ([np]\d+)(?: \[[^\]]*\])?$`)
	dotFrame  = regexp.MustCompile(`^ *subgraph cluster_\d+ \{$`)
	dotOther  = regexp.MustCompile(`^ *(?:digraph S \{|graph \[[^\]]*\]|node \[[^\]]*\]|edge \[[^\]]*\]|\})$`)
)

// checkDot parses the subset of Graphviz that WriteDot writes: each line is a statement,
// strings are complete, and arrows join existing nodes.
func checkDot(text string) error {
	nodes, depth := map[string]bool{}, 0
	for line := range strings.Lines(text) {
		bare := dotString.ReplaceAllString(strings.TrimSuffix(line, "\n"), "S")
		depth += strings.Count(bare, "{") - strings.Count(bare, "}")
		node, edge := dotNode.FindStringSubmatch(bare), dotEdge.FindStringSubmatch(bare)
		switch {
		case edge != nil:
			if !nodes[edge[1]] || !nodes[edge[2]] {
				return fmt.Errorf("an end is missing: %s", line)
			}
		case node != nil:
			if nodes[node[1]] {
				return fmt.Errorf("%s is there twice", node[1])
			}
			nodes[node[1]] = true
		case !dotFrame.MatchString(bare) && !dotOther.MatchString(bare):
			return fmt.Errorf("not a statement: %q", line)
		}
	}
	if depth != 0 {
		return fmt.Errorf("%d braces are open", depth)
	}
	return nil
}

// statements returns the lines of a drawing after the styles, without indentation and
// tooltips.
func statements(dot string) string {
	lines := strings.Split(dot, "\n")
	for i, line := range lines {
		lines[i] = regexp.MustCompile(`, (labeljust=l, )?tooltip="(?:[^"\\]|\\.)*"`).ReplaceAllString(strings.TrimSpace(line), "")
	}
	return strings.Join(lines[4:len(lines)-2], "\n")
}

const begin = `{"name":"n","resources":[{"type":"Stage","title":"main","kind":"compilable_type"},{"type":"Class","title":"main","kind":"unknown"},` +
	`{"type":"Class","title":"Settings","kind":"unknown"}`

func TestWriteDot(t *testing.T) {
	const edges = `],"edges":[{"source":"Stage[main]","target":"Class[main]"},{"source":"Stage[main]","target":"Class[Settings]"}`
	tests := []struct{ name, resources, edges, want string }{
		{"nothing", "", "", ""},
		{"relations",
			`,{"type":"A","title":"a","kind":"compilable_type","parameters":{"before":"A[b]","notify":["A[c]","A[b]"]}},{"type":"A","title":"b","kind":"compilable_type"},{"type":"A","title":"c","kind":"compilable_type","parameters":{"require":"A[b]"}}`,
			`,{"source":"Class[main]","target":"A[a]"}`,
			`n4 [label="A[a]"]
n5 [label="A[b]"]
n6 [label="A[c]"]
n4 -> n5 [style=bold]
n4 -> n6 [style=bold]
n5 -> n6`},
		{"of types",
			`,{"type":"File","title":"/a/b","kind":"compilable_type"},{"type":"File","title":"/a","kind":"compilable_type"}`, "",
			`n4 [label="File[/a/b]"]
n5 [label="File[/a]"]
n5 -> n4 [style=dashed]`},
		{"frames",
			`,{"type":"Class","title":"Web","kind":"class","parameters":{"require":"Class[Base]"}},{"type":"Web::Vhost","title":"v","kind":"defined_type","parameters":{"before":"A[b]"}},` +
				`{"type":"A","title":"a","kind":"compilable_type"},{"type":"A","title":"b","kind":"compilable_type"},{"type":"Class","title":"Base","kind":"class"},{"type":"Class","title":"Empty","kind":"class"}`,
			`,{"source":"Stage[main]","target":"Class[Web]"},{"source":"Class[Web]","target":"Web::Vhost[v]"},{"source":"Web::Vhost[v]","target":"A[a]"},{"source":"Class[Web]","target":"A[b]"}`,
			`subgraph cluster_4 {
graph [label="Class[Web]"]
p4 [shape=point, style=invis, label="", width=0.01]
subgraph cluster_5 {
graph [label="Web::Vhost[v]"]
p5 [shape=point, style=invis, label="", width=0.01]
n6 [label="A[a]"]
}
n7 [label="A[b]"]
}
subgraph cluster_8 {
graph [label="Class[Base]"]
p8 [shape=point, style=invis, label="", width=0.01]
}
p8 -> p4 [ltail=cluster_8, lhead=cluster_4]
p5 -> n7 [ltail=cluster_5]`},
		{"stages",
			`,{"type":"Stage","title":"first","kind":"compilable_type","parameters":{"before":["Stage[main]"]}},{"type":"A","title":"a","kind":"compilable_type"}`,
			`,{"source":"Class[main]","target":"A[a]"}`,
			`subgraph cluster_1 {
graph [label="Stage[main]"]
p1 [shape=point, style=invis, label="", width=0.01]
n5 [label="A[a]"]
}
subgraph cluster_4 {
graph [label="Stage[first]"]
p4 [shape=point, style=invis, label="", width=0.01]
}
p4 -> p1 [ltail=cluster_4, lhead=cluster_1]`},
		{"odd titles",
			`,{"type":"A","title":"x\"]; evil [label=\\\n\u001b[31m\u202e&lt;","kind":"compilable_type"},{"type":"A","title":"` + strings.Repeat("y", 80) + `","kind":"compilable_type"}`, "",
			`n4 [label="A[x\"]; evil [label=\\\\n&amp;lt;]"]
n5 [label="A[` + strings.Repeat("y", 57) + `…"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dot, err := drawn(t, begin+tt.resources+edges+tt.edges+"]}")
			if err != nil {
				t.Fatalf("%v\n%s", err, dot)
			}
			if got := statements(dot); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// TestNoValues checks that a tooltip has the whole title and the position of the declaration,
// and that values of parameters and virtual resources are not drawn.
func TestNoValues(t *testing.T) {
	dot, err := drawn(t, begin+`,{"type":"User","title":"u","kind":"compilable_type","file":"site.pp","line":3,"parameters":{"password":"hush"},"sensitive_parameters":["password"]}]}`)
	if err != nil || strings.Contains(dot, "hush") || !strings.Contains(dot, `tooltip="User[u]\nsite.pp:3"`) {
		t.Errorf("%v\n%s", err, dot)
	}
	c := &catalog.Catalog{}
	if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "A", Title: "virtual"}, Virtual: true}); err != nil {
		t.Fatal(err)
	}
	if d, err := Of(c); err != nil || d.roots != nil {
		t.Errorf("%v, %v", d, err)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`,{"type":"A","title":"a","parameters":{"before":"A[b]"}},{"type":"A","title":"b","parameters":{"before":"A[a]"}}]}`: "wait for each other",
		`,{"type":"A","title":"a","parameters":{"before":"A[b]"}}]}`:                                                         "which the catalog does not have",
		`],"edges":[{"source":"Class[main]","target":"Stage[main]"},{"source":"Stage[main]","target":"Class[main]"}]}`:       "wait for each other",
	} {
		if _, err := drawn(t, begin+text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzWriteDot checks that a drawing is text that Graphviz can read.
func FuzzWriteDot(f *testing.F) {
	f.Add(`{"name":"\"","resources":[{"type":"File","title":"/a"},{"type":"File","title":"/a/\"\\","parameters":{"notify":"Class[x]"}},{"type":"Class","title":"x"}],"edges":[{"source":"Class[x]","target":"A[y]"}]}`)
	f.Add(begin + `,{"type":"File","title":"f","kind":"compilable_type"},{"type":"A","title":"a"}],"edges":[{"source":"Stage[main]","target":"Class[main]"},{"source":"File[f]","target":"A[a]"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := catalog.Parse([]byte(text))
		if err != nil {
			return
		}
		d, err := Of(c)
		if err != nil {
			return
		}
		var b strings.Builder
		if err := d.WriteDot(&b); err != nil {
			t.Fatal(err)
		}
		if err := checkDot(b.String()); err != nil {
			t.Errorf("%v:\n%s", err, &b)
		}
	})
}

func TestMark(t *testing.T) {
	c, err := catalog.Parse([]byte(`{"name":"n","resources":[{"type":"A","title":"a","kind":"compilable_type"},{"type":"A","title":"b","kind":"compilable_type"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Of(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Mark(catalog.Ref{Type: "A", Title: "a"}, Mark{Fill: "#ffffff", Line: "red", Note: "failed: no\nspace \x1b[1m"})
	var b strings.Builder
	if err := d.WriteDot(&b); err != nil {
		t.Fatal(err)
	}
	want := `n1 [label="A[a]", tooltip="A[a]\nfailed: no\\nspace ", fillcolor="#ffffff", color="red"]
  n2 [label="A[b]", tooltip="A[b]"]`
	if err := checkDot(b.String()); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v\n%s", err, b.String())
	}
}
