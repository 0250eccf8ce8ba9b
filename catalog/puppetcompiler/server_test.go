package puppetcompiler

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/catalog/site"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/puppetdb/server"
)

// serve starts a server that requires a certificate, and returns the settings for it.
func serve(t *testing.T, h http.HandlerFunc) *ordered.Map {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"ca": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return ordered.Of("server_urls", []any{s.URL}, "cacert", filepath.Join(dir, "ca"), "cert", filepath.Join(dir, "ca"), "key", filepath.Join(dir, "key"))
}

func compiler(t *testing.T, settings *ordered.Map, prefer bool) *Server {
	t.Helper()
	s, err := NewServer(t.Context(), ServerOptions{Settings: server.Settings{Values: settings, Project: t.TempDir()}, Environment: "prod", Prefer: prefer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestServer checks the requests, and the results of answers.
func TestServer(t *testing.T) {
	var got string
	settings := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %d [%s] %s", r.Method, r.URL, len(r.TLS.PeerCertificates), r.Header.Get("X-Authentication"), body)
		io.WriteString(w, `{"catalog":{"name":"n.x","resources":[{"type":"Notify","title":"a"}]},"logs":[{"level":"warning","message":"careful","source":"Puppet","tags":["warning"],"time":"t","file":"/e/s.pp","line":3},{"level":"notice","message":"Scope(Class[main]): hi","source":"Puppet","file":null,"line":null}]}`)
	})
	facts, err := value.FromJSON([]byte(`{"os":{"name":"Debian"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var logs []string
	n := site.Node{Name: "n.x", Facts: value.NewHash(), Log: func(l eval.Log) {
		logs = append(logs, fmt.Sprintf("%v %s %s %s", l.Level, l.Scope, l.Msg, l.Pos))
	}}
	begin := "POST /puppet/v4/catalog 1 [] "
	tests := []struct {
		facts  *value.Hash
		env    string
		prefer bool
		want   string
	}{
		{value.NewHash(), "", false, begin + `{"certname":"n.x","environment":"prod","persistence":{"facts":false,"catalog":false},"options":{"prefer_requested_environment":false,"capture_logs":true,"log_level":"info"}}`},
		{facts.(*value.Hash), "test", true, begin + `{"certname":"n.x","environment":"test","persistence":{"facts":false,"catalog":false},"options":{"prefer_requested_environment":true,"capture_logs":true,"log_level":"info"},` +
			`"facts":{"values":{"os":{"name":"Debian"}}},"trusted_facts":{"values":{"authenticated":"remote","certname":"n.x","hostname":"n","domain":"x","extensions":{},"external":{}}}}`},
	}
	for _, tt := range tests {
		logs, n.Facts, n.Environment = nil, tt.facts, tt.env
		c, err := compiler(t, settings, tt.prefer).Compile(t.Context(), n)
		if err != nil || c.Catalog.Name != "n.x" || len(c.Catalog.Resources()) != 1 {
			t.Fatalf("got %v, %v", c, err)
		}
		if got != tt.want {
			t.Errorf("asked %s\nwant %s", got, tt.want)
		}
		if l := strings.Join(logs, "|"); l != "warning Puppet careful /e/s.pp:3|notice Scope(Class[main]) hi " {
			t.Errorf("logged %q", l)
		}
	}
	// A token replaces a certificate.
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := ordered.Of("server_urls", settings.Value("server_urls"), "cacert", settings.Value("cacert"), "token", token)
	if _, err := compiler(t, with, false).Compile(t.Context(), n); err != nil || !strings.HasPrefix(got, "POST /puppet/v4/catalog 0 [t0ken] ") {
		t.Errorf("asked %s, %v", got, err)
	}
}

// TestServerFailures checks that each error names its cause, and comes in bounded time.
func TestServerFailures(t *testing.T) {
	says := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	const plain = "text/plain;charset=utf-8"
	evaluation := "Internal Server Error: org.jruby.exceptions.RuntimeError: (PreformattedError) Evaluation Error: Error while evaluating a Function Call, nope (file: /e/site.pp, line: 7, column: 28) on node n"
	tests := []struct {
		name      string
		h         http.HandlerFunc
		msg, hint string
	}{
		{"the code", says(500, plain, evaluation), "/e/site.pp:7:28: Evaluation Error: Error while evaluating a Function Call, nope", ""},
		{"an error in JSON", says(500, "application/json", `{"message":"no class x","issue_kind":"RUNTIME_ERROR"}`), "no class x", ""},
		{"broken", says(500, "text/html", "<html>"), "500 Internal Server Error", ""},
		{"a bad request", says(400, plain, `Invalid input: {"persistence" missing-required-key}`), "400 Bad Request: Invalid input", ""},
		{"not allowed", says(403, plain, "Forbidden request"), "403 Forbidden: Forbidden request", "auth.conf"},
		{"another service", says(404, plain, "Not Found"), "404 Not Found", "server_urls"},
		{"starting", says(503, plain, "no JRuby"), "503 Service Unavailable: no JRuby", ""},
		{"no JSON", says(200, plain, "hello"), "the answer is not the JSON of a catalog", ""},
		{"half", says(200, plain, `{"catalog":{`), "the answer is not the JSON of a catalog", ""},
		{"no catalog", says(200, plain, `{"logs":[]}`), "the answer has no catalog", ""},
		{"a bad catalog", says(200, plain, `{"catalog":{"name":1}}`), "is not a catalog: ", ""},
		{"large", says(200, plain, strings.Repeat(" ", 2<<20)), "the answer is larger than 1 MiB", ""},
		{"slow", func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "no answer within 1s", "read_timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			settings := serve(t, tt.h)
			if tt.name == "slow" {
				settings.Set("read_timeout", int64(1))
			}
			s := compiler(t, settings, false)
			s.max = 1 << 20
			_, err := s.Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()})
			if err == nil || !strings.Contains(err.Error(), tt.msg) {
				t.Fatalf("got %v", err)
			}
			f, is := errors.AsType[*fault.Error](err)
			if own := tt.name == "the code" || tt.name == "an error in JSON"; own && is || is && (f.Kind != kind || !strings.Contains(f.Hint, tt.hint)) || !is && tt.hint != "" {
				t.Errorf("got %#v", err)
			}
		})
	}

	settings := serve(t, says(200, plain, "{}"))
	other := serve(t, says(200, plain, "{}"))
	unknown := settings.Clone()
	unknown.Set("server_urls", []any{"https://127.0.0.1:1"})
	fails := func(name, msg string, m *ordered.Map) {
		t.Helper()
		began := time.Now()
		_, err := compiler(t, m, false).Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()})
		if err == nil || !strings.Contains(err.Error(), msg) || time.Since(began) > 30*time.Second { // less than the time limit of connecting
			t.Errorf("%s: got %v", name, err)
		}
	}
	fails("down", "Puppet Server, https://127.0.0.1:1: ", unknown)
	wrong := settings.Clone()
	wrong.Set("server_urls", []any{strings.Replace(settings.Value("server_urls").([]any)[0].(string), "127.0.0.1", "localhost", 1)})
	fails("another name", "certificate is valid for", wrong)
	if _, err := NewServer(t.Context(), ServerOptions{}); err == nil || !strings.Contains(err.Error(), "server_urls must be specified") {
		t.Errorf("got %v", err)
	}
	// The compiler uses the next server.
	two := other.Clone()
	two.Set("server_urls", []any{"https://127.0.0.1:1", other.Value("server_urls").([]any)[0]})
	fails("the second", "the answer has no catalog", two)
}
