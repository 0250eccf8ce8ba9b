package measure

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/format/ordered"
	"bolt/rollout/gate"
)

// hostile are names that would do harm if they were written without care.
var hostile = []string{
	"web1", "web1.example.com", "ssh://root@h:22", "a b", "it's", `say "x"`, "$(touch harm)", "`touch harm`", "a; touch harm", "a' ; touch harm; '",
	`a" ; touch harm; "`, `a\' ; touch harm #`, `\`, `a\`, "a\ntouch harm", "*", "~", "a&b=c", "ä", "#x", "!x", "${HOME}", "fe80::1%eth0", `' " \ $ ` + "`", "%s",
}

func yes() bool { return true }

func no() bool { return false }

// TestShell runs commands with all names in the shells of this machine: each name arrives as one unchanged argument, or
// it is refused.
func TestShell(t *testing.T) {
	for _, shell := range []string{"sh", "bash"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		for _, name := range hostile {
			for text, refused := range map[string]bool{
				"printf '<%s>' {{node}}":                              false,
				"printf '<%s>' '{{node}}'":                            false,
				`printf '<%s>' "{{ node }}"`:                          false,
				`printf "<%s>" "it\"s" >&2; printf '<%s>' "{{node}}"`: false,
				`printf '<%s>' ''"{{node}}"''`:                        false,
				"printf '<%s>' $(printf %s '{{node}}')":               true,
				"printf '<%s>' `printf %s {{node}}`":                  true,
				`printf '<%s>' \{{node}}`:                             true,
				`printf '<%s>' $'{{node}}'`:                           true,
				"cat <<EOF\n{{node}}\nEOF\n":                          true,
				"printf '<%s>' ok # {{node}}":                         true,
			} {
				line, err := words{node: name}.replace(text, inCommand(yes))
				if refused && !tame(name) {
					if err == nil {
						t.Errorf("%s: %q is written as %s", text, name, line)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", text, err)
					continue
				}
				if refused {
					continue
				}
				cmd := exec.CommandContext(t.Context(), shell, "-c", line)
				cmd.Dir = t.TempDir()
				out, err := cmd.Output()
				if err != nil || string(out) != "<"+name+">" {
					t.Errorf("%s: %s: %q, %v", shell, line, out, err)
				}
			}
		}
	}
}

func TestOtherShells(t *testing.T) {
	for name, want := range map[string]string{"web1.example.com": "check 'web1.example.com'", "a b": "", "x';y": "", "-x": "check '-x'"} {
		line, err := words{node: name}.replace("check '{{node}}'", inCommand(no))
		if name == "-x" { // programs read it as an option
			want = ""
		}
		if line != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, line, err)
		}
	}
	if line, err := (words{node: "-x"}).replace("check --host={{node}}", inCommand(yes)); line != "check --host=-x" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

func TestPQL(t *testing.T) {
	for _, name := range hostile {
		for text, quote := range map[string]string{
			`nodes { certname = "{{node}}" }`:                   `"`,
			`nodes { certname = {{node}} }`:                     "",
			`nodes { certname = '{{node}}' }`:                   `'`,
			`nodes { a = 'it\'s "' and certname = "{{node}}" }`: `"`,
		} {
			pql, err := words{node: name}.replace(text, inPQL)
			if quote == "'" && strings.Contains(name, `\`) {
				if err == nil {
					t.Errorf("%s: %q is written as %s", text, name, pql)
				}
				continue
			}
			before, after, _ := strings.Cut(text, "{{node}}")
			literal := strings.TrimSuffix(strings.TrimPrefix(pql, before), after)
			var read string
			switch quote {
			case "'": // PuppetDB has only one escape in such strings
				read = strings.ReplaceAll(literal, `\'`, "'")
				if strings.Contains(strings.ReplaceAll(literal, `\'`, ""), "'") {
					t.Errorf("%s ends its string", pql)
				}
			default:
				if quote == `"` {
					literal = `"` + literal + `"`
				}
				if err := json.Unmarshal([]byte(literal), &read); err != nil {
					t.Errorf("%s: %v", pql, err)
				}
			}
			if read != name || err != nil {
				t.Errorf("%s: %q, %v", pql, read, err)
			}
		}
	}
}

// TestRequests makes a request for each name. The server finds the name unchanged in the path, the query and the body.
func TestRequests(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string][]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var data struct{ A, B string }
		if r.Header.Get("Content-Type") == "" {
			if err := json.Unmarshal(body, &data); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		} else if form, err := url.ParseQuery(string(body)); err == nil && len(form) == 2 {
			data.A, data.B = form.Get("a"), form.Get("b")
		}
		rest, _ := strings.CutPrefix(r.URL.Path, "/n/")
		mu.Lock()
		defer mu.Unlock()
		got[r.Method] = append(got[r.Method], rest)
		if q := r.URL.Query(); len(q) != 2 || q.Get("name") != rest || data.A != rest || data.B != rest {
			t.Errorf("%s: %v, %s", r.URL, q, body)
		}
	}))
	defer server.Close()
	m := means(nil, nil, nil, new([]string))
	for method, h := range map[string]gate.HTTP{
		"POST": {Body: `{"a": "{{node}}", "b": {{node}}}`},
		"PUT":  {Body: "a={{node}}&b={{node}}", Headers: map[string]string{"content-type": "application/x-www-form-urlencoded"}},
	} {
		h.Method, h.URL = method, server.URL+"/n/{{node}}?name={{node}}&x=1"
		v := m.Gate(t.Context(), &gate.Spec{HTTP: &h}, &Subject{Place: gate.Wave, Nodes: hostile})
		if v.Outcome != gate.Successful || len(got[method]) != len(hostile) {
			t.Errorf("%+v, %d requests", v, len(got[method]))
		}
		for _, name := range hostile {
			if !slices.Contains(got[method], name) {
				t.Errorf("there is no request for %q", name)
			}
		}
	}
	v := m.Gate(t.Context(), &gate.Spec{HTTP: &gate.HTTP{URL: server.URL, Headers: map[string]string{"X-Node": "{{node}}"}}}, &Subject{Place: gate.Wave, Nodes: []string{"a\r\nX-Admin: 1"}})
	if v.Outcome != gate.Error {
		t.Errorf("a header with a line break: %+v", v)
	}
}

func TestURL(t *testing.T) {
	for _, c := range [][3]string{
		{"https://{{host}}/", "::1", "https://[::1]/"},
		{"https://[{{host}}]:8443/", "::1", "https://[::1]:8443/"},
		{"https://{{host}}:1/", "fe80::1%eth0", "https://[fe80::1%25eth0]:1/"},
		{"https://{{node}}/", "h:22", "https://h:22/"},
		{"https://good.example.com/{{node}}", "../@evil/?x#y", "https://good.example.com/..%2F%40evil%2F%3Fx%23y"},
	} {
		got, err := words{node: c[1]}.replace(c[0], inURL)
		if got != c[2] || err != nil {
			t.Errorf("%s with %s: %s, %v", c[0], c[1], got, err)
		}
		if u, err := url.Parse(got); err != nil || strings.Contains(u.Host, "evil") {
			t.Errorf("%s: %v", got, err)
		}
	}
}

// TestPerNode checks that a gate of a wave that names a node is measured once for each node, and another one once.
func TestPerNode(t *testing.T) {
	for name, c := range map[string]struct {
		gate   gate.Spec
		want   []string
		reason string
	}{
		"on the nodes":      {gate.Spec{Command: "check {{node}}"}, []string{"run check a a", "run check b b"}, "b: no"},
		"on the controller": {gate.Spec{Command: "check '{{host}}'", On: gate.OnController}, []string{"run check 'a.example.com' ", "run check 'b.example.com' "}, "a: b: no"},
		"no name":           {gate.Spec{Command: "check {{start}}"}, []string{"run check 2026-01-02T03:04:05Z a,b"}, "b: no"},
		"a task":            {gate.Spec{Task: "t", Params: map[string]any{"n": map[string]any{"x": []any{"{{node}}"}}}}, []string{"run t a", "run t b"}, "b: no"},
		"a query":           {gate.Spec{PQL: "nodes { a = '{{node}}' }", OK: "result == 1"}, []string{"query nodes { a = 'a' }", "query nodes { a = 'b' }"}, "a: the value is 0, and result == 1 is not true"},
		"a plan":            {gate.Spec{Plan: "p", Params: map[string]any{"targets": "{{node}}"}}, []string{"plan p", "plan p"}, ""},
	} {
		var mu sync.Mutex
		var seen []string
		plain := means([]Output{{Machine: "b", Ran: true, Reason: "no"}}, []any{ordered.Of("count", int64(0))}, nil, &seen)
		m := *plain
		m.Run = func(ctx context.Context, a *Action, nodes []string) ([]Output, error) {
			mu.Lock()
			defer mu.Unlock()
			return plain.Run(ctx, a, nodes)
		}
		m.Query = func(ctx context.Context, pql string) ([]any, error) {
			mu.Lock()
			defer mu.Unlock()
			return plain.Query(ctx, pql)
		}
		m.Plan = func(ctx context.Context, name string, params map[string]any) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			if params["targets"] != "a" && params["targets"] != "b" {
				t.Errorf("%s: %v", name, params)
			}
			return plain.Plan(ctx, name, params)
		}
		v := m.Gate(t.Context(), &c.gate, &Subject{Place: gate.Wave, Nodes: []string{"a", "b"}, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
		slices.Sort(seen)
		if !slices.Equal(seen, c.want) || v.Reason != c.reason {
			t.Errorf("%s: %q, %+v", name, seen, v)
		}
		if c.gate.On != "" && m.Gate(t.Context(), &c.gate, &Subject{Place: gate.Background}).Reason != "no node to measure yet" {
			t.Errorf("%s: it was measured without nodes", name)
		}
	}
	m := means(nil, nil, nil, new([]string))
	m.Posix = func(node string) bool { return node == "" }
	for on, want := range map[gate.Machine]gate.Outcome{gate.OnNode: gate.Error, gate.OnController: gate.Successful} {
		if v := m.Gate(t.Context(), &gate.Spec{Command: "check {{node}}", On: on}, &Subject{Place: gate.Node, Nodes: []string{"a b"}}); v.Outcome != want {
			t.Errorf("%s: %+v", on, v)
		}
	}
}
