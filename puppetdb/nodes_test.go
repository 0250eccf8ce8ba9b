package puppetdb

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"bolt/format/ordered"
)

func TestColumns(t *testing.T) {
	for paths, want := range map[string]string{
		"":                                   "",
		"facts.os.name facts.os.name":        "facts.os.name",
		"facts.disks.0.size facts.disks.1":   "facts.disks",
		"facts.os facts.os.name facts":       "facts",
		"facts.mountpoints./mnt/1.device":    "facts.mountpoints",
		`facts.a"b.c`:                        "facts",
		"facts.my-fact.x_1 facts.os[0].name": "facts",
		"facts.os.name[0].x facts.2x.y":      "facts.os,facts.2x.y",
	} {
		if got := strings.Join(columns(strings.Fields(paths)), ","); got != want {
			t.Errorf("%s: got %s, want %s", paths, got, want)
		}
	}
}

// nodesAsJSON is what was found, as JSON.
func nodesAsJSON(t *testing.T, nodes []Node) string {
	t.Helper()
	m := &ordered.Map{}
	for _, n := range nodes {
		m.Set(n.Certname, n.Facts)
	}
	return asJSON(t, m)
}

// A listing is a server that has nodes with the fact n, and says what it was
// asked.
type listing struct {
	total int
	first string // the answer to the user's query
	asked []string
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Query any }
	text, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(text, &body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	say := func(s string) { l.asked = append(l.asked, s) }
	q, _ := body.Query.([]any)
	row := func(name string) string {
		return fmt.Sprintf(`{"certname":%q,"facts.n":%q}`, name, strings.TrimPrefix(name, "n"))
	}
	switch {
	case q == nil:
		say("query")
		io.WriteString(w, l.first)
	case strings.HasSuffix(r.URL.Path, "/nodes"):
		say("count")
		fmt.Fprintf(w, `[{"count": %d}]`, l.total)
	case len(q) == 2:
		say("all")
		rows := []string{row("other")}
		for i := 1; i < l.total; i++ { // the first has no facts
			rows = append(rows, row(fmt.Sprintf("n%d", i)))
		}
		io.WriteString(w, "["+strings.Join(rows, ",")+"]")
	default:
		names := q[2].([]any)[2].([]any)[1].([]any)
		say(fmt.Sprint(len(names)))
		rows := []string{}
		for _, n := range names {
			if n != "n0" {
				rows = append(rows, row(n.(string)))
			}
		}
		io.WriteString(w, "["+strings.Join(rows, ",")+"]")
	}
}

// TestNodesAsked: what is asked how often.
func TestNodesAsked(t *testing.T) {
	rows := func(n int, more string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"certname":"n%d"%s}`, i, more)
		}
		return "[" + strings.Join(append(list, list[:min(n, 1)]...), ",") + "]" // one twice
	}
	for _, tt := range []struct {
		name  string
		l     listing
		paths []string
		asked string
		n     int
		has   string // what the node n1 has; "" is not looked at
	}{
		{"nothing wanted", listing{first: rows(2, "")}, nil, "query", 2, "null"},
		{"of nobody", listing{first: rows(0, "")}, []string{"facts.n"}, "query", 0, ""},
		{"of few", listing{total: 9, first: rows(2, "")}, []string{"facts.n"}, "query 2", 2, `{"facts.n":"1"}`},
		{"of some", listing{total: 50_000, first: rows(1200, "")}, []string{"facts.n"}, "query count 500 500 200", 1200, `{"facts.n":"1"}`},
		{"of most, of which one has no facts", listing{total: 1000, first: rows(900, "")}, []string{"facts.n"}, "query count all 1", 900, `{"facts.n":"1"}`},
		{"columns that are there", listing{first: rows(2, `,"facts.n":7,"facts":{"n":8}`)}, []string{"facts.n"}, "query", 2, `{"facts.n":7}`},
		{"all facts are there", listing{first: rows(2, `,"facts":{"n":{"a":[1]},"big":1}`)}, []string{"facts.n.a.0", "facts.no.x"}, "query", 2, `{"facts.n.a":[1],"facts.no.x":null}`},
		{"all facts are wanted, and there", listing{first: rows(2, `,"facts":{"n":1}`)}, []string{"facts"}, "query", 2, `{"facts":{"n":1}}`},
		{"a factset", listing{first: rows(2, `,"facts":{"href":"/x","data":[{"name":"n","value":9}]}`)}, []string{"facts.n"}, "query 2", 2, `{"facts.n":"1"}`},
		{"a column is missing", listing{first: rows(2, `,"facts.m":7`)}, []string{"facts.m", "facts.n"}, "query 2", 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, Options{ServerURLs: []string{serve(t, tt.l.ServeHTTP)}})
			nodes, err := c.nodes(t.Context(), "x", tt.paths)
			if asked := strings.Join(tt.l.asked, " "); err != nil || asked != tt.asked || len(nodes) != tt.n {
				t.Fatalf("got %d nodes, %v, asked %s", len(nodes), err, asked)
			}
			if tt.has != "" {
				if got := asJSON(t, nodes[1].Facts); got != tt.has {
					t.Errorf("got %s, want %s", got, tt.has)
				}
			}
			for i, n := range nodes {
				if n.Certname != fmt.Sprintf("n%d", i) {
					t.Fatalf("node %d is %s", i, n.Certname)
				}
			}
		})
	}
}

// TestNodesFail: an answer that breaks off is asked of the next server, from its
// beginning; what cannot be targets is an error.
func TestNodesFail(t *testing.T) {
	half := serve(t, rows(`[{"certname":"a","facts.n":1},{"certname":"b",`))
	whole := serve(t, rows(`[{"certname":"c","facts.n":2}]`))
	nodes, err := client(t, Options{ServerURLs: []string{half, whole}}).nodes(t.Context(), "x", []string{"facts.n"})
	if got := nodesAsJSON(t, nodes); err != nil || got != `{"c":{"facts.n":2}}` {
		t.Errorf("got %s, %v", got, err)
	}
	one := func(text string, paths ...string) error {
		c := client(t, Options{ServerURLs: []string{serve(t, rows(text))}})
		c.maxKept = 1000
		_, err := c.nodes(t.Context(), []any{"from", "nodes"}, paths)
		return err
	}
	for _, tt := range []struct {
		err  error
		says string
	}{
		{one(`[{"x":1}]`), "the query that is a syntax tree must return a certname for each row, but one row has x"},
		{one(`[{"certname":"a,b"}]`), `the certname "a,b" is not a valid name of a target`},
		{one(`[{"certname":"a","facts":{"x":"`+strings.Repeat("y", 1000)+`"}}]`, "facts.x"), "need more than 0 MiB of memory"},
	} {
		if f := ofKind(t, tt.err, kind); !strings.Contains(f.Msg, tt.says) {
			t.Errorf("got %q", f.Msg)
		}
	}
	var count atomic.Int64
	endless := client(t, Options{ServerURLs: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "[")
		for r.Context().Err() == nil {
			if _, err := fmt.Fprintf(w, `{"certname":"n%d","facts":{"x":"%01000d"}},`, count.Add(1), 0); err != nil {
				return
			}
		}
	})}})
	endless.maxKept = 1 << 20
	_, err = endless.nodes(t.Context(), "x", []string{"facts"})
	if f := ofKind(t, err, kind); !strings.Contains(f.Msg, "more than 1 MiB of memory") || !strings.Contains(f.Hint, "request fewer facts") {
		t.Errorf("got %q", f.Msg)
	}
}
