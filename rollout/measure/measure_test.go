package measure

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bolt/format/ordered"
	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// means returns functions whose results are fixed. seen gets what they were called with.
func means(out []Output, rows []any, err error, seen *[]string) *Means {
	note := func(s ...string) { *seen = append(*seen, strings.Join(s, " ")) }
	return &Means{
		Run: func(_ context.Context, a *Action, nodes []string) ([]Output, error) {
			note("run", a.Command+a.Task+a.Script, strings.Join(nodes, ","))
			return out, err
		},
		Plan: func(_ context.Context, name string, _ map[string]any) (any, error) {
			note("plan", name)
			return int64(7), err
		},
		Query: func(_ context.Context, pql string) ([]any, error) {
			note("query", pql)
			return rows, err
		},
		Host: func(node string) string { return node + ".example.com" },
	}
}

func TestGate(t *testing.T) {
	good, bad := Output{Machine: "a", Ran: true, OK: true, Value: "12"}, Output{Machine: "b", Ran: true, Reason: "exit code 1"}
	away := Output{Machine: "c", Reason: "not reached"}
	count := []any{ordered.Of("count", int64(4))}
	for name, c := range map[string]struct {
		gate   gate.Spec
		out    []Output
		err    error
		want   gate.Outcome
		reason string
		seen   string
	}{
		"success":                     {gate: gate.Spec{Command: "id"}, out: []Output{good, good}, want: gate.Successful, seen: "run id a"},
		"one fails":                   {gate: gate.Spec{Command: "id"}, out: []Output{good, away, bad}, want: gate.Failed, reason: "b: exit code 1"},
		"one is not reached":          {gate: gate.Spec{Task: "t"}, out: []Output{good, away}, want: gate.Error, reason: "c: not reached"},
		"on the controller":           {gate: gate.Spec{Command: "check {{node}}", On: gate.OnController}, out: []Output{good}, want: gate.Successful, seen: "run check a "},
		"a condition holds":           {gate: gate.Spec{Command: "n", OK: "result > 5"}, out: []Output{good}, want: gate.Successful},
		"a condition does not hold":   {gate: gate.Spec{Command: "n", OK: "result > 50"}, out: []Output{good}, want: gate.Failed, reason: `a: the value is "12", and result > 50 is not true`},
		"neither condition":           {gate: gate.Spec{Command: "n", OK: "result > 50", Bad: "result < 5"}, out: []Output{good}, want: gate.Inconclusive},
		"bad":                         {gate: gate.Spec{Command: "n", OK: "result < 5", Bad: "result > 5"}, out: []Output{good}, want: gate.Failed},
		"a condition without value":   {gate: gate.Spec{Command: "n", OK: "result > 5"}, out: []Output{bad}, want: gate.Error},
		"a condition of a wrong kind": {gate: gate.Spec{PQL: "x", OK: "result =~ [1]"}, want: gate.Error},
		"a query":                     {gate: gate.Spec{PQL: `r { c = "{{node}}" and t > "{{start}}" }`, OK: "result < 5"}, want: gate.Successful, seen: `query r { c = "a" and t > "2026-01-02T03:04:05Z" }`},
		"a query is refused":          {gate: gate.Spec{PQL: "x", OK: "result < 5"}, err: errors.New("refused"), want: gate.Error, reason: "refused"},
		"a plan":                      {gate: gate.Spec{Plan: "p", OK: "result == 7"}, want: gate.Successful, seen: "plan p"},
		"a plan fails":                {gate: gate.Spec{Plan: "p"}, err: errors.New("no"), want: gate.Failed, reason: "no"},
	} {
		var seen []string
		v := means(c.out, count, c.err, &seen).Gate(t.Context(), &c.gate, &Subject{Place: gate.Node, Nodes: []string{"a"}, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
		if v.Outcome != c.want || c.reason != "" && v.Reason != c.reason || c.seen != "" && strings.Join(seen, ";") != c.seen {
			t.Errorf("%s: %+v, %q", name, v, seen)
		}
	}
}

func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = w.Write([]byte(`{"up": true, "n": 3}`))
		case "/web1", "/web2.example.com":
			_, _ = w.Write([]byte("fine"))
		case "/slow", "/hang/web1":
			<-r.Context().Done()
		case "/moved":
			http.Redirect(w, r, "/json", http.StatusFound)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		url, match, ok string
		status         int
		late           bool
		want           gate.Outcome
	}{
		"status":             {url: "/json", want: gate.Successful},
		"other status":       {url: "/none", want: gate.Failed},
		"wanted status":      {url: "/none", status: 503, want: gate.Successful},
		"redirect":           {url: "/moved", want: gate.Failed},
		"of each node":       {url: "/{{node}}", want: gate.Failed},
		"one hangs":          {url: "/hang/{{node}}", want: gate.Failed},
		"body":               {url: "/web1", match: "^fi", want: gate.Successful},
		"other body":         {url: "/web1", match: "^bad", want: gate.Failed},
		"value of JSON":      {url: "/json", ok: "result.up and result.n >= 3", want: gate.Successful},
		"bad value of JSON":  {url: "/json", ok: "result.n > 3", want: gate.Failed},
		"time-out":           {url: "/slow", late: true, want: gate.Error},
		"nothing listens":    {url: closed.URL, want: gate.Failed},
		"no such host":       {url: "http://nowhere.invalid/", want: gate.Error},
		"an address of none": {url: "http://user:secret@[", want: gate.Error},
		"a bad address":      {url: "http://a/?key=secret%{{node}}\x7f", want: gate.Error},
	} {
		if strings.HasPrefix(c.url, "/") {
			c.url = server.URL + c.url
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.late {
			go cancel()
		}
		m := means(nil, nil, nil, new([]string))
		v := m.Gate(ctx, &gate.Spec{HTTP: &gate.HTTP{URL: c.url, Status: c.status, Match: c.match}, OK: c.ok}, &Subject{Place: gate.Wave, Nodes: []string{"web1", "web2"}})
		cancel()
		if v.Outcome != c.want || strings.Contains(v.Reason, "secret") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestHook(t *testing.T) {
	var seen []string
	m := means([]Output{{Machine: "localhost", Ran: true, Reason: "exit code 1"}}, nil, nil, &seen)
	err := m.Hook(t.Context(), &strategy.Hook{Command: "drain {{node}}", On: gate.OnController}, "it's", time.Time{})
	if err == nil || err.Error() != "localhost: exit code 1" || seen[0] != `run drain 'it'\''s' ` {
		t.Errorf("%v, %q", err, seen)
	}
}

func TestShort(t *testing.T) {
	if v := short(strings.Repeat("ä", maxValue)); len(v.(string)) > maxValue+len("…") || strings.ContainsRune(v.(string), '�') {
		t.Errorf("%d bytes", len(v.(string)))
	}
	if v := short(int64(3)); v != int64(3) {
		t.Error(v)
	}
}
