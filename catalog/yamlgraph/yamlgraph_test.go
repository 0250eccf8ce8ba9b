package yamlgraph

import (
	"errors"
	"strings"
	"testing"

	"bolt/puppet/check"
	"bolt/puppet/syntax"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, graph, want string }{
		{"nothing", "graph: g", ""},
		{"empty parts", "graph: g\ncomment:\nresources:\nedges:\ncollect: []\n", ""},
		{"values", "graph: g\nresources:\n  file:\n  - name: /x\n    mode: '0644'\n    recurse: true\n    max_files: 5\n    owner:\n    ignore: [a, 'b']\n",
			"file { '/x': mode => '0644', recurse => true, max_files => 5, owner => undef, ignore => ['a', 'b'] }"},
		{"a hash, a type of a module, interpolation", "graph: g\nresources:\n  web::vhost: [{name: 'a${b}', port: {x: 1.5}}]\n",
			"web::vhost { 'a${b}': port => { 'x' => 1.5 } }"},
		{"a class", "graph: g\nresources: {class: [{name: web}]}", "class { 'web': }"},
		{"edges", "graph: g\nresources: {notify: [{name: a}, {name: b}]}\nedges:\n- {name: e, from: {kind: notify, name: a}, to: {kind: notify, name: b}, notify: false}\n" +
			"- {from: {kind: web::vhost, name: a}, to: {kind: class, name: b}, notify: true}\n",
			"notify { 'a': }\nnotify { 'b': }\nNotify['a'] -> Notify['b']\nWeb::Vhost['a'] ~> Class['b']"},
		{"exports", "graph: g\nresources: {host: [{name: '@@h', ip: 10.0.0.1}]}\ncollect: [{kind: host}, {kind: user, pattern: '*'}, {kind: user, pattern: bob}]",
			"@@host { 'h': ip => '10.0.0.1' }\nHost <<| |>>\nUser <<| |>>\nUser <<| title == 'bob' |>>"},
		{"the edge of an export", "graph: g\nresources: {host: [{name: '@@h'}]}\nedges: [{from: {kind: host, name: '@@h'}, to: {kind: host, name: i}}]",
			"@@host { 'h': }\nHost['h'] -> Host['i']"},
		{"a received value, a kind with a colon", "graph: g\nresources:\n  http:check: [{name: 'http://h/'}]\n  web::vhost: []\n  file:\n  - name: /x\n    recv: {content: {kind: 'http:check', name: 'http://h/', key: content}}\n",
			"http_check { 'http://h/': }\nfile { '/x': recv => { 'content' => { 'kind' => 'http_check', 'name' => 'http://h/', 'key' => 'content' } } }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse("g.yaml", tt.graph)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := printed(t, p), printed(t, manifest(t, tt.want)); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func manifest(t *testing.T, text string) *syntax.Program {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("", strings.ReplaceAll(text, "'a${b}'", `"a\${b}"`)), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func printed(t testing.TB, p *syntax.Program) string {
	t.Helper()
	var b strings.Builder
	if err := syntax.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPositions checks that declarations and relations have their positions in the
// document.
func TestPositions(t *testing.T) {
	p, err := Parse("g.yaml", "graph: g\nresources:\n  notify:\n  - name: a\n  -\n    message: é\n    name: b\nedges:\n- from: {kind: notify, name: a}\n  to: {kind: notify, name: b}\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range p.Body.Exprs {
		got = append(got, p.File.Position(x.At().Off).String())
	}
	if want := "g.yaml:4:5 g.yaml:6:5 g.yaml:9:3"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	const edge = "graph: g\nedges: [{from: {kind: file, name: a}, to: "
	tests := []struct{ name, graph, want string }{
		{"no document", "", "g.yaml:1:1: a graph must be a mapping with the keys graph, comment, resources, edges, collect"},
		{"a list", "[]", "a graph must be a mapping"},
		{"no YAML", "graph: g\nx: [", "g.yaml:2:4: the graph is not valid YAML: did not find expected node content"},
		{"a wrong indentation", "graph: g\nresources:\n  file:\n  - name: a\n   mode: b\n", "g.yaml:5:4: the graph is not valid YAML: did not find expected key"},
		{"a bomb", "a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\ngraph: *c", "g.yaml:2:8: a graph cannot have aliases: alias *a"},
		{"an alias", "graph: &a g\ncomment: *a", "g.yaml:2:10: a graph cannot have aliases"},
		{"no name", "resources: {}", "a graph needs the key graph"},
		{"an unknown key", "graph: g\nresorces: {}", `g.yaml:2:1: a graph has the unknown key "resorces". Did you mean resources?`},
		{"another unknown key", "graph: g\nfoo: {}", `unknown key "foo": the known names are graph, comment, resources, edges, collect`},
		{"remote", "graph: g\nremote: ssh://h", "targets are chosen with --targets (-t)"},
		{"a key twice", "graph: g\ngraph: h", "g.yaml:2:1: a graph has the key graph twice"},
		{"resources as a list", "graph: g\nresources: []", "resources must be a mapping"},
		{"a kind of mgmt", "graph: g\nresources: {svc: []}", `g.yaml:2:13: the kind "svc" is unknown: use service`},
		{"no kind", "graph: g\nresources: {File: []}", `"File" cannot be a kind`},
		{"a kind twice", "graph: g\nresources: {file: [], file: []}", "resources has the kind file twice"},
		{"resources by name", "graph: g\nresources: {file: {a: 1}}", "the value of the kind file must be a list"},
		{"a resource as a string", "graph: g\nresources: {file: [a]}", "a resource of the kind file must be a mapping"},
		{"no title", "graph: g\nresources: {file: [{mode: '1'}]}", "a resource of the kind file needs the key name"},
		{"a number as the title", "graph: g\nresources: {file: [{name: 1}]}", "name of a resource of the kind file must be a string"},
		{"an unknown parameter", "graph: g\nresources: {file: [{name: a, contnt: b}]}", "g.yaml:2:30: file has no parameter contnt. Did you mean content?"},
		{"a parameter of mgmt", "graph: g\nresources: {file: [{name: a, state: exists}]}", "file has no parameter state: use ensure"},
		{"meta of the graph", "graph: g\nmeta: {noop: true}", `unknown key "meta": it is a key of resources`},
		{"a request", "graph: g\nresources: {'http:client': []}", "use http:check for a request"},
		{"a kind with a colon twice", "graph: g\nresources: {'http:check': [], http_check: []}", "resources has the kind http_check twice"},
		{"a colon at the end", "graph: g\nresources: {'http:': []}", `"http:" cannot be a kind`},
		{"recv as a list", "graph: g\nresources: {file: [{name: a, recv: []}]}", "g.yaml:2:36: recv of a resource of the kind file must be a mapping of parameters"},
		{"a received parameter twice", "graph: g\nresources: {file: [{name: a, recv: {content: {kind: value, name: b, key: any}, content: {}}}]}", "has the key content twice"},
		{"half a sender", "graph: g\nresources: {file: [{name: a, recv: {content: {kind: value, key: any}}}]}", "content in recv needs the key name"},
		{"an unknown key of a sender", "graph: g\nresources: {file: [{name: a, recv: {content: {kind: value, nam: b, key: any}}}]}", `content in recv has the unknown key "nam". Did you mean name?`},
		{"no parameter", "graph: g\nresources: {my::type: [{name: a, '*': {}}]}", `"*" cannot be a parameter`},
		{"a parameter twice", "graph: g\nresources: {file: [{name: a, mode: b, mode: c}]}", "has the key mode twice"},
		{"a merge", "graph: g\nresources: {file: [{name: a, <<: {mode: b}}]}", "file has no parameter <<"},
		{"a large number", "graph: g\nresources: {file: [{name: a, mode: 99999999999999999999}]}", "is larger than any integer"},
		{"a deep value", "graph: g\nresources: {file: [{name: a, mode: " + strings.Repeat("[", 120) + strings.Repeat("]", 120) + "}]}", "nests deeper than 100"},
		{"an edge as a string", "graph: g\nedges: [a]", "an edge must be a mapping with the keys name, from, to, notify"},
		{"half an edge", edge + "}]", "an edge needs the key to"},
		{"an edge to a name", edge + "b}]", "to of an edge must be a mapping with the keys kind, name"},
		{"an edge without a kind", edge + "{name: b}}]", "to of an edge needs the key kind"},
		{"perhaps notify", edge + "{kind: file, name: b}, notify: perhaps}]", "notify of an edge must be true or false"},
		{"collect as a mapping", "graph: g\ncollect: {kind: file}", "collect must be a list"},
		{"a pattern", "graph: g\ncollect: [{kind: file, pattern: 'a*'}]", "must be * or the name of a resource"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("g.yaml", tt.graph)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestAllErrors checks that all problems are reported, in the order of the text.
func TestAllErrors(t *testing.T) {
	_, err := Parse("g.yaml", "graph: g\nedges: [{}]\nresources:\n  file:\n  - mode: x\n")
	list, _ := errors.AsType[syntax.Errors](err)
	if len(list) != 3 || list[0].Position().Line != 2 || list[2].Position().Line != 5 {
		t.Errorf("got %v", err)
	}
	_, err = Parse("g.yaml", "graph: g\nedges: ["+strings.Repeat("a,", 1000)+"]")
	if list, _ := errors.AsType[syntax.Errors](err); len(list) != maxProblems {
		t.Errorf("got %d problems", len(list))
	}
}

// FuzzParse checks that a text becomes a program that can be printed and has no
// syntax error, or that there are errors with positions.
func FuzzParse(f *testing.F) {
	f.Add("graph: g\nresources:\n  file:\n  - name: /x\n    mode: '0644'\nedges:\n- {from: {kind: file, name: /x}, to: {kind: user, name: y}, notify: true}\ncollect: [{kind: host, pattern: '*'}]\n")
	f.Add("graph: g\nresources: {web::vhost: [{name: '@@a', x: {y: [1, 2.5, null, true]}}]}\nremote: x\n")
	f.Add("graph: g\nresources:\n  kv: [{name: k, recv: {value: {kind: 'http:check', name: u, key: content}}}]\n")
	f.Add("graph: g\nresources: {exec: [{name: a, meta: {noop: true, retry: -1, limit: 0.2, burst: 5, sema: ['a:2', b], hidden: false}}]}\n")
	f.Add("graph: &a g\r\ncomment: *a")
	f.Add("\ufeffgraph: g\u0085resources: {class: [{name: '::x'}]}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("g.yaml", text)
		if err != nil {
			list, is := errors.AsType[syntax.Errors](err)
			if !is || len(list) == 0 || len(list) > maxProblems {
				t.Fatalf("%T %v", err, err)
			}
			_ = err.Error()
			return
		}
		if err := check.Program(p, check.Options{}).Err(); err != nil {
			t.Errorf("%v:\n%s", err, printed(t, p))
		}
		_, err = syntax.Parse(syntax.NewFile("", printed(t, p)), syntax.Options{})
		if err != nil {
			t.Errorf("%v:\n%s", err, printed(t, p))
		}
	})
}
