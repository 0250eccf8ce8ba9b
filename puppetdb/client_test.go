package puppetdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bolt/format/ordered"
	"bolt/transport"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := ordered.Of("v", v).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(data), `{"v":`), "}")
}

// TestRequests: what is asked, and who says that it asks.
func TestRequests(t *testing.T) {
	a := newAuthority(t)
	var got string
	url := a.serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %s %s [%s] [%s] %s", r.Method, r.URL, body, r.Header.Get("Content-Type"), r.Header.Get("X-Authentication"), r.Header.Get("X-Org"), r.TLS.PeerCertificates[0].Subject.CommonName)
		switch r.URL.Path {
		case "/pdb/cmd/v1":
			io.WriteString(w, `{"uuid": "u-1", "processed": true, "timed_out": false}`)
		case "/status/v1/services/puppetdb-status":
			io.WriteString(w, `{"service_version":"7.12.1","state":"running","status":{"maintenance_mode?":false,"queue_depth":3,"read_db_up?":true,"write_db_up?":true}}`)
		default:
			io.WriteString(w, `[{"certname": "b", "facts": {"x": 1}}, {"certname": "a", "facts": {"y": 9007199254740993}}]`)
		}
	})
	o := a.options(t, url)
	o.Token = transport.NewSecret("not sent beside a certificate")
	o.Headers = map[string]transport.Secret{"X-Org": transport.NewSecret("ours")}
	c := client(t, o)
	ctx := t.Context()
	check := func(want string, v any, wantV string, err error) {
		t.Helper()
		if err != nil || got != want+" application/json [] [ours] client" && got != want+"  [] [ours] client" || asJSON(t, v) != wantV {
			t.Errorf("got %s %s, %v\nwant %s %s", got, asJSON(t, v), err, want, wantV)
		}
	}
	two := `[{"certname":"b","facts":{"x":1}},{"certname":"a","facts":{"y":9007199254740993}}]`

	v, err := c.Rows(ctx, Query{Text: "nodes { }"})
	check(`POST /pdb/query/v4 {"query":"nodes { }"}`, v, two, err)
	v, err = c.Rows(ctx, Query{Text: []any{"=", "certname", "a<b"}, Entity: "nodes", OrderBy: []order{{"certname", true}, {"x", false}}, Limit: 2, Offset: 1})
	check(`POST /pdb/query/v4/nodes {"query":["=","certname","a<b"],"order_by":[{"field":"certname","order":"desc"},{"field":"x","order":"asc"}],"limit":2,"offset":1}`, v, two, err)
	facts, err := c.facts(ctx, []string{"a", "gone", "b", "a"})
	check(`POST /pdb/query/v4/inventory {"query":["extract",["certname","facts"],["in","certname",["array",["a","gone","b","a"]]]]}`, facts, `{"a":{"y":9007199254740993},"b":{"x":1}}`, err)
	done, err := c.Submit(ctx, Command{Name: "replace_facts", Version: 5, Payload: ordered.Of("certname", "a b"), Wait: 30 * time.Second})
	check(`POST /pdb/cmd/v1?certname=a+b&checksum=2dfca7b04c2343fda8702323a58cc8cdf6f09b4e&command=replace_facts&secondsToWaitForCompletion=30&version=5 {"certname":"a b"}`,
		[]any{done.UUID, done.Processed}, `["u-1",true]`, err)
	s, err := c.status(ctx)
	if want := (Status{Version: "7.12.1", State: "running", Queue: 3, Read: true, Write: true}); s != want {
		t.Errorf("status %+v, want %+v", s, want)
	}
	check(`GET /status/v1/services/puppetdb-status `, true, "true", err)

	got = ""
	if facts, err := c.facts(ctx, nil); err != nil || facts.Len() != 0 || got != "" {
		t.Errorf("facts of nobody: %v, %v, asked %q", facts, err, got)
	}
	_, err = c.Submit(ctx, Command{Name: "replace_facts", Version: 5, Payload: ordered.Of("values", true)})
	if ofKind(t, err, "bolt/pdb-command"); got != "" {
		t.Errorf("a command without a node was sent: %s", got)
	}
}

// TestToken: without a certificate the token says who asks.
func TestToken(t *testing.T) {
	var got http.Header
	o := Options{ServerURLs: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		io.WriteString(w, "[]")
	})}, Token: transport.NewSecret("t0ken")}
	v, err := client(t, o).Rows(t.Context(), Query{Text: "nodes {}"})
	if err != nil || len(v) != 0 || v == nil || got.Get("X-Authentication") != "t0ken" {
		t.Errorf("got %v, %v, headers %v", v, err, got)
	}
}

// TestFailures: one message that names the server and the instance, and none of
// the secrets.
func TestFailures(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	asked := atomic.Int64{}
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	never := make(chan struct{})
	defer close(never)
	wait := func(r *http.Request) {
		select {
		case <-never:
		case <-r.Context().Done():
		}
	}
	plain := func(url string) Options { return Options{ServerURLs: []string{url}} }
	tests := []struct {
		name string
		o    Options
		msg  string // what it must say beside the server
		hint string
	}{
		{"down", plain(nobody(t)), "connection refused", "PuppetDB runs there"},
		{"silent", plain(serve(t, func(_ http.ResponseWriter, r *http.Request) { wait(r) })), "no answer within", "read_timeout"},
		{"no handshake", func() Options {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			o := a.options(t, "https://"+l.Addr().String())
			o.ConnectTimeout = 100 * time.Millisecond
			return o
		}(), "no connection within 100ms", "server_urls"},
		{"silent in the middle", plain(serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `[{"a":1},`)
			http.NewResponseController(w).Flush()
			wait(r)
		})), "the response was too slow", "read_timeout"},
		{"drops", plain(serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `[`)
			for r.Context().Err() == nil {
				io.WriteString(w, " ")
				http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		})), "the response was too slow", "read_timeout"},
		{"half", plain(serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `[{"a":1},`)
		})), "the connection closed before the whole response arrived", ""},
		{"half, but well sent", plain(serve(t, rows(`[{"a":1}, {"b":`))), "the connection closed before", ""},
		{"empty", plain(serve(t, rows(``))), "the connection closed before", ""},
		{"a page", plain(serve(t, rows(`<html>`))), "the answer is not JSON: invalid character '<'", ""},
		{"an object", plain(serve(t, rows(`{"a":1}`))), "is not a list of rows", ""},
		{"two lists", plain(serve(t, rows(`[] []`))), "something follows", ""},
		{"a number nobody has", plain(serve(t, rows(`[1e999]`))), "a row cannot be read: line 1: 1e999 is too large", ""},
		{"a bad query", plain(serve(t, status(400, "PQL parse error\x1b[31m at line 1"))), "400 Bad Request: PQL parse error at line 1", ""},
		{"a bad query, said in JSON", plain(serve(t, status(404, `{"error": "No information is known about x"}`))), "404 Not Found: No information is known about x", "server_urls"},
		{"broken", plain(serve(t, status(500, "Value does not match"))), "500 Internal Server Error: Value does not match", ""},
		{"wrong token", plain(serve(t, status(401, "the token s3cret is out of date"))), "401 Unauthorized: the token [redacted] is out of date", "token"},
		{"who echoes", plain(serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("X-Authentication")+" "+r.Header.Get("X-Api"), http.StatusForbidden)
		})), "403 Forbidden: [redacted] [redacted]", "certificate-allowlist"},
		{"elsewhere", plain(serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		})), "it redirects to " + elsewhere, "server_urls"},
		{"a server of somebody else", func() Options {
			o := a.options(t, other.serve(t, rows("[]")))
			return o
		}(), "certificate signed by unknown authority", "cacert"},
		{"a certificate of somebody else", func() Options {
			o := other.options(t, a.serve(t, rows("[]")))
			o.CACert = a.path("ca.pem")
			return o
		}(), "", ""},
		{"no certificate", func() Options {
			o := a.options(t, a.serve(t, rows("[]")))
			o.Cert, o.Key = "", ""
			return o
		}(), "", ""},
		{"not encrypted", func() Options {
			return a.options(t, strings.Replace(serve(t, rows("[]")), "http:", "https:", 1))
		}(), "server gave HTTP response to HTTPS client", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.o
			o.Name, o.ReadTimeout = "far", time.Minute
			switch {
			case strings.Contains(tt.msg, "no answer"):
				o.ReadTimeout = 100 * time.Millisecond
			case strings.Contains(tt.msg, "too slow"):
				o.ReadTimeout = time.Second
			}
			o.Token = transport.NewSecret("s3cret")
			o.Headers = map[string]transport.Secret{"X-Api": transport.NewSecret("k3y")}
			v, err := client(t, o).Rows(t.Context(), Query{Text: "nodes {}"})
			f := ofKind(t, err, "bolt/puppetdb-error")
			if want := fmt.Sprintf("PuppetDB (instance 'far'), %s: ", o.ServerURLs[0]); v != nil || !strings.HasPrefix(f.Msg, want) || !strings.Contains(f.Msg, tt.msg) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("got %v, %q, hint %q", v, f.Msg, f.Hint)
			}
			if all := f.Msg + f.Hint; strings.Contains(all, "s3cret") || strings.Contains(all, "k3y") || strings.Contains(all, "\x1b") {
				t.Errorf("%q says too much", all)
			}
		})
	}
	if asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestFailover: who is asked after whom.
func TestFailover(t *testing.T) {
	var count [3]atomic.Int64
	var answer [3]atomic.Pointer[http.HandlerFunc]
	var urls []string
	set := func(i int, h http.HandlerFunc) { answer[i].Store(&h) }
	for i := range count {
		urls = append(urls, serve(t, func(w http.ResponseWriter, r *http.Request) {
			count[i].Add(1)
			(*answer[i].Load())(w, r)
		}))
		set(i, rows(fmt.Sprintf("[%d]", i)))
	}
	asked := func() (n [3]int64) {
		for i := range count {
			n[i] = count[i].Swap(0)
		}
		return n
	}
	c := client(t, Options{ServerURLs: append([]string{nobody(t)}, urls...)})
	query := func(want string, wantAsked [3]int64) {
		t.Helper()
		v, err := c.Rows(t.Context(), Query{Text: "nodes {}"})
		if n := asked(); err != nil || asJSON(t, v) != want || n != wantAsked {
			t.Errorf("got %s, %v, asked %v, want %s, %v", asJSON(t, v), err, n, want, wantAsked)
		}
	}
	query("[0]", [3]int64{1, 0, 0})
	set(0, status(503, "not yet"))
	query("[1]", [3]int64{1, 1, 0})
	query("[1]", [3]int64{0, 1, 0}) // it is asked first now
	set(1, rows("[1"))              // half
	query("[2]", [3]int64{0, 1, 1})

	// A mistake is the asker's.
	set(2, status(400, "no"))
	_, err := c.Rows(t.Context(), Query{Text: "nodes {}"})
	if n := asked(); n != [3]int64{0, 0, 1} {
		t.Errorf("asked %v about a mistake", n)
	}
	ofKind(t, err, kind)

	set(2, status(502, "<b>"))
	_, err = c.Rows(t.Context(), Query{Text: "nodes {}"})
	if f := ofKind(t, err, kind); !strings.Contains(f.Msg, "PuppetDB (default instance), none of its servers answered: "+urls[2]+": 502 Bad Gateway") ||
		!strings.Contains(f.Msg, urls[0]+": 503 Service Unavailable: not yet; ") || !strings.Contains(f.Msg, "connection refused") {
		t.Errorf("got %q", f.Msg)
	}

	// Rows that are known do not come a second time.
	set(2, rows(`[1, 2`))
	set(0, rows(`[3]`))
	asked()
	var got []any
	err = c.query(t.Context(), Query{Text: "nodes {}"}, func(v any) error { got = append(got, v); return nil })
	if n := asked(); n != [3]int64{0, 0, 1} || asJSON(t, got) != "[1,2]" {
		t.Errorf("asked %v, got %v", n, got)
	}
	ofKind(t, err, kind)
}

// TestSink: who takes rows can end the query.
func TestSink(t *testing.T) {
	c := client(t, Options{ServerURLs: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "[0")
		for r.Context().Err() == nil {
			io.WriteString(w, ", 1")
		}
	})}})
	enough := errors.New("enough")
	n := 0
	err := c.query(t.Context(), Query{Text: "nodes {}"}, func(any) error {
		if n++; n == 10_000 {
			return enough
		}
		return nil
	})
	if err != enough || n != 10_000 {
		t.Errorf("got %v after %d rows", err, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = c.query(ctx, Query{Text: "nodes {}"}, func(any) error { cancel(); return nil })
	if err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// TestPages: no request asks for more than a page, and none for too few.
func TestPages(t *testing.T) {
	const there = 7
	var asked []string
	c := client(t, Options{ServerURLs: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Limit, Offset int }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked = append(asked, fmt.Sprintf("%d+%d", q.Offset, q.Limit))
		var list []int
		for i := q.Offset; i < min(there, q.Offset+q.Limit); i++ {
			list = append(list, i)
		}
		json.NewEncoder(w).Encode(append([]int{}, list...))
	})}})
	for _, tt := range []struct {
		limit, offset, size int64
		rows, asked         string
	}{
		{0, 0, 3, "[0,1,2,3,4,5,6]", "0+3 3+3 6+3"},
		{0, 0, 7, "[0,1,2,3,4,5,6]", "0+7 7+7"},
		{4, 1, 3, "[1,2,3,4]", "1+3 4+1"},
		{6, 0, 3, "[0,1,2,3,4,5]", "0+3 3+3"},
		{100, 5, 5, "[5,6]", "5+5"},
	} {
		asked = nil
		got := []any{}
		err := c.pages(t.Context(), Query{Text: "x", OrderBy: []order{{Field: "n"}}, Limit: tt.limit, Offset: tt.offset}, tt.size, func(v any) error { got = append(got, v); return nil })
		if s := strings.Join(asked, " "); err != nil || asJSON(t, got) != tt.rows || s != tt.asked {
			t.Errorf("limit %d, offset %d, size %d: %s, %v, asked %s", tt.limit, tt.offset, tt.size, asJSON(t, got), err, s)
		}
	}
	ofKind(t, c.pages(t.Context(), Query{Text: "x"}, 3, nil), kind)
}

// TestLarge: what an answer may take of memory.
func TestLarge(t *testing.T) {
	row := `{"certname": "` + strings.Repeat("x", 100_000) + `"}`
	c := client(t, Options{ServerURLs: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "["+row)
		for i := 1; i < 40 && r.Context().Err() == nil; i++ { // 4 MB
			io.WriteString(w, ","+row)
		}
		io.WriteString(w, "]")
	})}})
	var before, now runtime.MemStats
	var most uint64
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	err := c.query(t.Context(), Query{Text: "nodes {}"}, func(any) error {
		if n++; n%10 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return nil
	})
	if err != nil || n != 40 || most > before.HeapAlloc+(2<<20) {
		t.Errorf("%d rows, %v, %d bytes in memory", n, err, most-before.HeapAlloc)
	}
	c.maxRows = 1 << 20
	_, err = c.Rows(t.Context(), Query{Text: "nodes {}"})
	f := ofKind(t, err, kind)
	if e, ok := errors.AsType[*largeError](err); !ok || e.Limit != 1<<20 || !strings.Contains(f.Msg, "the answer is larger than 1 MiB") || !strings.Contains(f.Hint, "fewer columns") {
		t.Errorf("got %q, hint %q", f.Msg, f.Hint)
	}
	c.maxRow = 1 << 10
	err = c.query(t.Context(), Query{Text: "nodes {}"}, func(any) error { return nil })
	if e, ok := errors.AsType[*largeError](err); !ok || e.What != "a row" {
		t.Errorf("got %v", err)
	}
}

// TestWait: a command that was not carried out in time is no failure of the server.
func TestWait(t *testing.T) {
	handler := status(503, `{"uuid":"u-2","processed":false,"timed_out":true}`)
	c := client(t, Options{ServerURLs: []string{serve(t, func(w http.ResponseWriter, r *http.Request) { handler(w, r) })}})
	cmd := Command{Name: "replace_facts", Version: 5, Payload: ordered.Of("certname", "a"), Wait: time.Second}
	got, err := c.Submit(t.Context(), cmd)
	if diff := cmp.Diff(Submitted{UUID: "u-2"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	handler = status(503, "PuppetDB is currently down for maintenance")
	_, err = c.Submit(t.Context(), cmd)
	if f := ofKind(t, err, kind); !strings.Contains(f.Msg, "503 Service Unavailable") {
		t.Errorf("got %q", f.Msg)
	}
	handler = rows(`{}`)
	_, err = c.Submit(t.Context(), cmd)
	if f := ofKind(t, err, kind); !strings.Contains(f.Msg, "no uuid") {
		t.Errorf("got %q", f.Msg)
	}
}
