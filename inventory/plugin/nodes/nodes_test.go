package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/nodes"
	"bolt/puppetdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hold answers nothing until the client has gone.
func hold(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is seen behind it
	<-r.Context().Done()
}

func parse(t *testing.T, text string) *ordered.Map {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*ordered.Map)
}

// A listing is a Database with nodes, each with the fact n.
type listing struct {
	n     int
	asked []any // query, instance, paths
}

func (l *listing) Nodes(_ context.Context, query any, instance string, paths []string) ([]puppetdb.Node, error) {
	l.asked = []any{query, instance, paths}
	found := make([]puppetdb.Node, l.n)
	for i := range found {
		found[i] = puppetdb.Node{Certname: fmt.Sprintf("n%d", i), Facts: ordered.Of("facts.n", int64(i), "facts.no", nil)}
	}
	return found, nil
}

// TestTargets: what is asked, what targets are made, what is warned of: a fact
// that all nodes lack is one warning.
func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		ref, asked, want string
		warned           []string
	}{
		{`{"query":"q"}`, "[q  []]", `[{"uri":"n0"},{"uri":"n1"}]`, nil},
		{`{"query":["from","nodes"],"instance":"i","target_mapping":{"name":"certname","vars":{"n":"facts.n"}}}`, "[[from nodes] i [facts.n]]", `[{"name":"n0","vars":{"n":0}},{"name":"n1","vars":{"n":1}}]`, nil},
		{`{"query":"q","target_mapping":{"name":"facts.no","vars":{"a":["facts.n","facts.no"],"b":"facts.no"}}}`, "[q  [facts.no facts.n]]", `[{"vars":{"a":[0]},"uri":"n0"},{"vars":{"a":[1]},"uri":"n1"}]`,
			[]string{"puppetdb_missing_fact: Could not find fact facts.no for 2 nodes: n0, n1"}},
	} {
		l := &listing{n: 2}
		var warned []string
		p := &nodes.Plugin{Database: l, Warn: func(id, text string) { warned = append(warned, id+": "+text) }}
		v, err := p.Resolve(t.Context(), &ordered.Map{}, parse(t, tt.ref))
		text, merr := ordered.Of("v", v).MarshalJSON()
		if errors.Join(err, merr) != nil || string(text) != `{"v":`+tt.want+`}` || fmt.Sprint(l.asked) != tt.asked || !reflect.DeepEqual(warned, tt.warned) {
			t.Errorf("%s: got %s, %v, asked %v, warned %q", tt.ref, text, err, l.asked, warned)
		}
	}
	var warned []string
	p := &nodes.Plugin{Database: &listing{n: 25_000}, Warn: func(_, text string) { warned = append(warned, text) }}
	if _, err := p.Resolve(t.Context(), &ordered.Map{}, parse(t, `{"query":"q","target_mapping":{"vars":{"a":"facts.no","b":"facts.none"}}}`)); err != nil {
		t.Fatal(err)
	}
	want := []string{"Could not find fact facts.no for 25000 nodes: n0, n1, n2 and 24997 more", "Could not find fact facts.none for 25000 nodes: n0, n1, n2 and 24997 more"}
	if !reflect.DeepEqual(warned, want) {
		t.Errorf("warned %q", warned)
	}
}

// TestWrongReferencesSendNoQuery checks that an invalid reference does not send
// a query.
func TestWrongReferencesSendNoQuery(t *testing.T) {
	for ref, says := range map[string]string{
		`{}`:           "The plugin puppetdb requires a 'query'",
		`{"query": 5}`: "'query' is a String or an Array",
		`{"query":"q","target_mapping":{"name":"os.name"}}`:          "cannot map 'os.name': facts begin with 'facts.'",
		`{"query":"q","target_mapping":{"vars":{"x":["facts."]}}}`:   "cannot map 'facts.'",
		`{"query":"q","target_mapping":{"vars":{"x":"facts..a"}}}`:   "cannot map 'facts..a'",
		`{"query":"q","target_mapping":{"vars":{"x":"certname.x"}}}`: "cannot map 'certname.x'",
		`{"query":"q","uri":"certname"}`:                             "uri to be set under 'target_mapping'",
		`{"query":"q","target-mapping":{}}`:                          "has no option 'target-mapping'",
	} {
		l := &listing{}
		_, err := (&nodes.Plugin{Database: l}).Resolve(t.Context(), &ordered.Map{}, parse(t, ref))
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != "bolt/validation-error" || !strings.Contains(f.Msg, says) || l.asked != nil {
			t.Errorf("%s: got %v, asked %v", ref, err, l.asked)
		}
	}
}

// TestPuppetDBFailuresHaveOneMessage checks that each failure of PuppetDB has
// one message with the plugin and the query, in bounded time.
func TestPuppetDBFailuresHaveOneMessage(t *testing.T) {
	for _, tt := range []struct {
		name, says, hint string
		handler          http.HandlerFunc
	}{
		{"silent", "no answer within 1s", "read_timeout", func(_ http.ResponseWriter, r *http.Request) { hold(r) }},
		{"half", "the connection closed before the whole response arrived", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `[{"certname":"a"},`)
		}},
		{"no JSON", "the answer is not JSON", "", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }},
		{"refused", "403 Forbidden: [redacted]", "certificate-allowlist", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("X-Key"), http.StatusForbidden)
		}},
		{"elsewhere", "it redirects to http://elsewhere/, which is not followed", "server_urls", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere/", http.StatusFound)
		}},
		{"a row that is huge", "a row is larger than 64 MiB", "fewer columns", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `[{"certname":"`)
			for big := strings.Repeat("x", 1<<20); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, big); err != nil {
					return
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(tt.handler)
			t.Cleanup(s.Close)
			timeout := 60
			if tt.name == "silent" {
				timeout = 1
			}
			db := puppetdb.NewInstances(puppetdb.Settings{Named: parse(t, `{"far":{"server_urls":["`+s.URL+`"],"read_timeout":`+fmt.Sprint(timeout)+`,"headers":{"X-Key":"s3cret"}}}`)})
			t.Cleanup(db.Close)
			all := plugin.New(plugin.Options{Natives: []plugin.Native{{Name: nodes.Name, Resolve: (&nodes.Plugin{Database: db}).Resolve}}})
			began := time.Now()
			_, err := all.Resolve(t.Context(), nodes.Name, parse(t, `{"query":"nodes[certname] { }","instance":"far","target_mapping":{"name":"certname"}}`))
			f, ok := errors.AsType[*fault.Error](err)
			want := "Error executing plugin puppetdb from resolve_reference in puppetdb: the query 'nodes[certname] { }': PuppetDB (instance 'far'), " + s.URL + ": "
			if !ok || f.Kind != "bolt/plugin-error" || !strings.HasPrefix(f.Msg, want) || !strings.Contains(f.Msg, tt.says) || !strings.Contains(f.Hint, tt.hint) || strings.Contains(f.Msg, "s3cret") {
				t.Errorf("got %v, hint %q", err, f.Hint)
			}
			if d := time.Since(began); timeout == 1 && d > 20*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}
