package httprequest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"bolt/format/ordered"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do runs a request and returns the result as JSON.
func do(t *testing.T, pairs ...any) string {
	t.Helper()
	result, err := Run(t.Context(), ordered.Of(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	text, err := result.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s|%s", r.Method, r.URL.RequestURI(), body, r.Header.Get("Content-Type"))
}

// server starts a server that is gone when the test is.
func server(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRequests(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", echo)
	answer := func(path, kind, body string, status int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	answer("/json", "application/json", `{"b":[1,2.5,null],"a":"ü"}`, 200)
	answer("/nojson", "application/json", `{"b":`, 200)
	answer("/empty", "application/json", ``, 200)
	answer("/missing", "text/plain", `gone`, 404)
	answer("/latin", "text/plain; charset=ISO-8859-1", "\xfcber", 200)
	answer("/bytes", "application/octet-stream", "a\xffb", 200)
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		mux.HandleFunc(fmt.Sprintf("/to/%d", status), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "../end?x=1")
			w.WriteHeader(status)
		})
	}
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(302)
	})
	s := server(t, mux.ServeHTTP)
	base := s.URL + "/"

	for _, tt := range []struct {
		name   string
		params []any
		want   string
	}{
		{"plain", []any{}, `{"body":"GET / |","status_code":200}`},
		{"path", []any{"path", "a/b?c=d"}, `{"body":"GET /a/b?c=d |","status_code":200}`},
		{"absolute path", []any{"base_url", base + "x/y", "path", "/z"}, `{"body":"GET /z |","status_code":200}`},
		{"relative path", []any{"base_url", base + "x/y", "path", "z"}, `{"body":"GET /x/z |","status_code":200}`},
		{"put", []any{"method", "put", "body", "text <&>"}, `{"body":"PUT / text <&>|","status_code":200}`},
		{"delete", []any{"method", "delete"}, `{"body":"DELETE / |","status_code":200}`},
		{"patch with a header", []any{"method", "patch", "body", "x", "headers", ordered.Of("Content-Type", "text/x")}, `{"body":"PATCH / x|text/x","status_code":200}`},
		{"null counts as absent", []any{"method", nil, "body", nil, "path", nil, "headers", nil, "max_redirects", nil}, `{"body":"GET / |","status_code":200}`},
		{"not found is a result", []any{"path", "missing"}, `{"body":"gone","status_code":404}`},
		{"latin-1", []any{"path", "latin"}, `{"body":"über","status_code":200}`},
		{"no text", []any{"path", "bytes"}, `{"body":"a` + "\uFFFD" + `b","status_code":200}`},
		{"nothing", []any{"path", "none"}, `{"body":null,"status_code":204}`},
		{"nothing in JSON", []any{"path", "empty", "json_endpoint", true}, `{"body":null,"status_code":200}`},
		{"JSON", []any{"path", "json", "json_endpoint", true}, `{"body":{"b":[1,2.5,null],"a":"ü"},"status_code":200}`},
		{"JSON as text", []any{"path", "json"}, `{"body":"{\"b\":[1,2.5,null],\"a\":\"ü\"}","status_code":200}`},
		{"302 keeps the method", []any{"path", "to/302", "method", "post", "body", "x"}, `{"body":"POST /end?x=1 x|","status_code":200}`},
		{"303 does not", []any{"path", "to/303", "method", "post", "body", "x"}, `{"body":"GET /end?x=1 |","status_code":200}`},
		{"308", []any{"path", "to/308", "method", "put", "body", "x"}, `{"body":"PUT /end?x=1 x|","status_code":200}`},
		{"not followed", []any{"path", "to/301", "follow_redirects", false}, `{"body":"","status_code":301}`},
		{"one redirect of one", []any{"path", "to/307", "max_redirects", int64(1)}, `{"body":"GET /end?x=1 |","status_code":200}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := do(t, append([]any{"base_url", base}, tt.params...)...); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}

	for _, tt := range []struct {
		name   string
		params []any
		kind   string
	}{
		{"loop", []any{"path", "loop", "max_redirects", int64(3)}, "http_request/too-many-redirects-error"},
		{"redirect to a file", []any{"path", "file"}, "http_request/connect-error"},
		{"bad JSON", []any{"path", "nojson", "json_endpoint", true}, "http_request/json-parse-error"},
		{"body of data", []any{"body", ordered.Of("a", int64(1))}, "http_request/body-type-error"},
		{"nobody there", []any{"base_url", "http://127.0.0.1:1/"}, "http_request/connect-error"},
		{"no URL", []any{"base_url", "ftp://x/"}, "http_request/parameter-error"},
		{"no base_url", []any{"base_url", nil}, "http_request/parameter-error"},
		{"no method", []any{"method", "trace"}, "http_request/parameter-error"},
		{"bad header", []any{"headers", ordered.Of("X", "a\r\nY: b")}, "http_request/connect-error"},
		{"key alone", []any{"key", "/nonexistent"}, "http_request/parameter-error"},
		{"no cacert", []any{"cacert", "/nonexistent"}, "http_request/parameter-error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := Run(t.Context(), ordered.Of(append([]any{"base_url", base}, tt.params...)...))
			if err != nil {
				t.Fatal(err)
			}
			e, ok := result.Value("_error").(*ordered.Map)
			if !ok || result.Len() != 1 || e.Value("kind") != tt.kind || e.Value("msg") == "" {
				t.Errorf("got %v, want an error of kind %s", result, tt.kind)
			}
		})
	}
}

// TestJSONBody: with json_endpoint, data becomes JSON and a string stays.
func TestJSONBody(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode([]string{string(body), r.Header.Get("Content-Type")})
	})
	for _, tt := range []struct {
		body any
		want string
	}{
		{ordered.Of("b", int64(1), "a", []any{"<", nil}), `{"body":["{\"b\":1,\"a\":[\"<\",null]}","application/json"],"status_code":200}`},
		{"{}", `{"body":["{}","application/json"],"status_code":200}`},
	} {
		if got := do(t, "base_url", s.URL, "method", "post", "json_endpoint", true, "body", tt.body); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestSecretsStay: headers go to the server that was asked for and, after a
// redirect, to no other one. A message never holds what the URL hides.
func TestSecretsStay(t *testing.T) {
	show := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Header.Get("Authorization"), r.Header.Get("X-Token"), r.Header.Get("Accept"))
	}
	other := server(t, show)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			show(w, r)
		}
	})
	headers := ordered.Of("Authorization", "Bearer s3cret", "X-Token", "s3cret", "Accept", "text/x")
	if got, want := do(t, "base_url", s.URL, "path", "/here", "headers", headers), `{"body":"Bearer s3cret s3cret text/x","status_code":200}`; got != want {
		t.Errorf("on the same server: got %s, want %s", got, want)
	}
	if got, want := do(t, "base_url", s.URL, "path", "/away", "headers", headers), `{"body":"  text/x","status_code":200}`; got != want {
		t.Errorf("on another server: got %s, want %s", got, want)
	}
	for _, base := range []string{"http://u:s3cret@127.0.0.1:1/x?token=s3cret", "http://u:s3cret@[/"} {
		if got := do(t, "base_url", base); strings.Contains(got, "s3cret") || !strings.Contains(got, "_error") {
			t.Errorf("%s: got %s", base, got)
		}
	}
}

// TestTLS: the authority is ours to name; a client's certificate is shown to
// the server that was asked for, and not to where it redirects.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir)
	start := func(h http.HandlerFunc) (*httptest.Server, string) {
		s := httptest.NewUnstartedServer(h)
		s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		s.StartTLS()
		t.Cleanup(s.Close)
		ca := filepath.Join(dir, "ca.pem")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		if err := os.WriteFile(ca, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return s, ca
	}
	count := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.TLS.PeerCertificates)) }
	other, _ := start(count)
	s, ca := start(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		count(w, r)
	})
	if got := do(t, "base_url", s.URL); !strings.Contains(got, "http_request/connect-error") {
		t.Errorf("without cacert: got %s", got)
	}
	if got := do(t, "base_url", s.URL, "cacert", ca); got != `{"body":"0","status_code":200}` {
		t.Errorf("with cacert: got %s", got)
	}
	if got := do(t, "base_url", s.URL, "cacert", ca, "cert", cert, "key", key); got != `{"body":"1","status_code":200}` {
		t.Errorf("with cert: got %s", got)
	}
	if got := do(t, "base_url", s.URL, "path", "/away", "cacert", ca, "cert", cert, "key", key); got != `{"body":"0","status_code":200}` {
		t.Errorf("after a redirect: got %s", got)
	}
}

// pair writes a client's certificate and key.
func pair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", raw), write("key.pem", "PRIVATE KEY", der)
}

// TestBodyIsBounded: a small answer that unpacks to a large one is an error.
func TestBodyIsBounded(t *testing.T) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range maxBody>>20 + 1 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	s := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	})
	if got := do(t, "base_url", s.URL); !strings.Contains(got, "http_request/body-size-error") {
		t.Errorf("got %.200s", got)
	}
}

// TestStop: a request that waits ends with its context.
func TestStop(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	go func() {
		c, err := l.Accept()
		cancel(stop)
		if err == nil {
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	if result, err := Run(ctx, ordered.Of("base_url", "http://"+l.Addr().String())); err != stop {
		t.Errorf("got %v, %v, want the cause", result, err)
	}
}

// FuzzText: whatever a server sends becomes a string in UTF-8.
func FuzzText(f *testing.F) {
	f.Add([]byte("\xfc"), "text/plain; charset=latin1")
	f.Add([]byte("\xff{"), "application/json")
	f.Add([]byte(""), ";;")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		if s := text(body, kind); !utf8.ValidString(s) {
			t.Errorf("%q as %q is no UTF-8: %q", body, kind, s)
		}
	})
}
