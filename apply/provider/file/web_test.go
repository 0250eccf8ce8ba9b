package file_test

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"bolt/apply/provider/file"
	"bolt/apply/resource"
	"bolt/catalog"
)

const webText = "from the web\n"

// A web is a server that records requests. The first part of a path selects the behaviour of the server.
type web struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newWeb(t *testing.T, start func(http.Handler) *httptest.Server) *web {
	w := &web{}
	w.Server = start(w)
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(w.Close)
	return w
}

func (w *web) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.seen = append(w.seen, r.Method+" "+r.URL.Path)
	w.mu.Unlock()
	to.Header().Set("Content-Type", "text/plain")
	digest := sha256.Sum256([]byte(webText))
	sum := md5.Sum([]byte(webText))
	_, kind, _ := strings.Cut(r.URL.Path, "/")
	kind, _, _ = strings.Cut(kind, "/")
	switch kind {
	case "sha256":
		to.Header().Set("X-Checksum-Sha256", hex.EncodeToString(digest[:]))
	case "md5":
		to.Header().Set("X-Checksum-Md5", strings.ToUpper(hex.EncodeToString(sum[:])))
	case "content-md5":
		to.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	case "wrong":
		to.Header().Set("X-Checksum-Sha256", strings.Repeat("0", 64))
	case "old":
		to.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
	case "future":
		to.Header().Set("Last-Modified", "Fri, 01 Jan 2100 00:00:00 GMT")
	case "get-only":
		to.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		if r.Method == http.MethodHead {
			to.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
	case "moved":
		http.Redirect(to, r, "/sha256", http.StatusFound)
		return
	case "circle":
		http.Redirect(to, r, r.URL.Path, http.StatusFound)
		return
	case "to-file":
		to.Header().Set("Location", "file:///etc/passwd")
		to.WriteHeader(http.StatusFound)
		return
	case "private":
		if user, password, _ := r.BasicAuth(); user != "me" || password != "hidden" {
			to.WriteHeader(http.StatusUnauthorized)
			return
		}
	case "cut":
		to.Header().Set("Content-Length", "1000")
	case "plain":
	default:
		to.WriteHeader(http.StatusNotFound)
		return
	}
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(to, webText)
	}
}

// requests returns the requests since the last call.
func (w *web) requests() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.seen = nil }()
	return strings.Join(w.seen, " ")
}

// TestWeb checks which requests a source on a web server needs, and when the file counts as changed.
func TestWeb(t *testing.T) {
	sum := sha256.Sum256([]byte(webText))
	for name, c := range map[string]struct {
		source   any
		more     []any
		first    string // requests
		again    string
		outcome  string // of the second run
		problem  string
		contents string
	}{
		"sha256":         {source: "/sha256/f", first: "HEAD /sha256/f GET /sha256/f", again: "HEAD /sha256/f"},
		"slash":          {source: "/sha256/f/", first: "HEAD /sha256/f GET /sha256/f", again: "HEAD /sha256/f"},
		"md5":            {source: "/md5/f", first: "HEAD /md5/f GET /md5/f", again: "HEAD /md5/f"},
		"content-md5":    {source: "/content-md5/f", more: []any{"checksum", "md5"}, first: "HEAD /content-md5/f GET /content-md5/f", again: "HEAD /content-md5/f"},
		"time":           {source: "/old/f", first: "HEAD /old/f GET /old/f", again: "HEAD /old/f"},
		"time in future": {source: "/future/f", first: "HEAD /future/f GET /future/f", again: "HEAD /future/f GET /future/f", outcome: "changed content"},
		"asked for time": {source: "/sha256/f", more: []any{"checksum", "mtime"}, first: "HEAD /sha256/f GET /sha256/f", again: "HEAD /sha256/f"},
		"HEAD refused":   {source: "/get-only/f", first: "HEAD /get-only/f GET /get-only/f GET /get-only/f", again: "HEAD /get-only/f GET /get-only/f"},
		"redirect":       {source: "/moved/f", first: "HEAD /moved/f HEAD /sha256 GET /moved/f GET /sha256", again: "HEAD /moved/f HEAD /sha256"},
		"second source":  {source: []any{"/none", "/sha256/f"}, first: "HEAD /none HEAD /sha256/f GET /sha256/f", again: "HEAD /none HEAD /sha256/f"},
		"space":          {source: "/sha256/a b", first: "HEAD /sha256/a b GET /sha256/a b", again: "HEAD /sha256/a b"},
		"value":          {source: "/plain/f", more: []any{"checksum_value", hex.EncodeToString(sum[:])}, first: "GET /plain/f"},
		"value, second":  {source: []any{"/none", "/plain/f"}, more: []any{"checksum_value", hex.EncodeToString(sum[:])}, first: "HEAD /none GET /plain/f"},
		"wrong value":    {source: "/plain/f", more: []any{"checksum_value", strings.Repeat("0", 64)}, first: "GET /plain/f", problem: "instead of {sha256}00"},
		"wrong header":   {source: "/wrong/f", first: "HEAD /wrong/f GET /wrong/f", problem: "instead of {sha256}00"},
		"none":           {source: "/none", first: "HEAD /none", problem: "the source URL/none does not exist"},
		"cut":            {source: "/cut/f", more: []any{"checksum_value", hex.EncodeToString(sum[:])}, first: "GET /cut/f", problem: "the source URL/cut/f: curl"},
		"to a file":      {source: "/to-file", first: "HEAD /to-file", problem: "the source URL/to-file: curl"},
		"password":       {source: "/private/f", first: "HEAD /private/f", problem: "the source URL/private/f does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := newWeb(t, httptest.NewServer), newMachine(t)
			source := c.source
			if one, is := source.(string); is {
				source = w.URL + one
			} else {
				source = []any{w.URL + c.source.([]any)[0].(string), w.URL + c.source.([]any)[1].(string)}
			}
			r := res("f", append([]any{"ensure", "file", "source", source}, c.more...)...)
			if c.problem != "" {
				m.write("f", "kept\n", 0o640)
				results := m.run(r)
				if text := strings.ReplaceAll(messages(results["f"]), w.URL, "URL"); !strings.Contains(text, c.problem) {
					t.Errorf("%s, want %s", text, c.problem)
				}
				if text := m.read("f"); text != "kept\n" || strings.Count(m.tree(), "\n") != 1 {
					t.Errorf("the files are %s", m.tree())
				}
				if got := w.requests(); got != c.first {
					t.Errorf("requests: %s, want %s", got, c.first)
				}
				return
			}
			m.noop = true
			m.check(m.run(r), map[string]string{"f": "noop ensure"})
			m.noop = false
			w.requests()
			m.check(m.run(r), map[string]string{"f": "changed ensure"})
			if got := w.requests(); got != c.first {
				t.Errorf("requests: %s, want %s", got, c.first)
			}
			if got := m.read("f"); got != webText {
				t.Errorf("the content is %q", got)
			}
			again := c.outcome
			if again == "" {
				again = "unchanged"
			}
			m.check(m.run(r), map[string]string{"f": again})
			if got := w.requests(); got != c.again {
				t.Errorf("requests of the second run: %s, want %s", got, c.again)
			}
		})
	}
}

// TestWebSecret checks that a password of a URL is sent, and is neither in a message nor in an argument of curl.
func TestWebSecret(t *testing.T) {
	w, m := newWeb(t, httptest.NewServer), newMachine(t)
	var argv []string
	m.host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		argv = append(argv, c.Argv...)
		return resource.Exec(ctx, c)
	}
	at := strings.Replace(w.URL, "://", "://me:hidden@", 1)
	m.check(m.run(res("f", "ensure", "file", "source", at+"/private/f")), map[string]string{"f": "changed ensure"})
	results := m.run(res("g", "ensure", "file", "source", at+"/none"))
	if all := messages(results["g"]) + strings.Join(argv, " "); strings.Contains(all, "hidden") || !strings.Contains(all, "does not exist") {
		t.Error(all)
	}
}

// TestWebTLS checks that the certificate of a server is verified, and that the CA certificates of the environment are used.
func TestWebTLS(t *testing.T) {
	w, m := newWeb(t, httptest.NewTLSServer), newMachine(t)
	r := res("f", "ensure", "file", "source", w.URL+"/sha256/f")
	if text := messages(m.run(r)["f"]); !strings.Contains(text, "certificate") {
		t.Errorf("an unknown certificate: %s", text)
	}
	m.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})), 0o644)
	m.host.Env = append(m.host.Env, "SSL_CERT_FILE="+m.path("ca.pem"))
	m.check(m.run(r), map[string]string{"f": "changed ensure"})
}

// TestWebProxy checks that the proxy of the environment is used.
func TestWebProxy(t *testing.T) {
	w, m := newWeb(t, httptest.NewServer), newMachine(t)
	m.host.Env = append(m.host.Env, "http_proxy="+w.URL)
	m.check(m.run(res("f", "ensure", "file", "source", "http://elsewhere.example/sha256/f")), map[string]string{"f": "changed ensure"})
}

// TestWebCurl checks a missing curl, a curl that prints noise, and a curl that is ended.
func TestWebCurl(t *testing.T) {
	r := res("f", "ensure", "file", "source", "http://localhost/f")
	m := newMachine(t)
	m.host.Env = []string{"PATH=" + m.dir}
	if text := messages(m.run(r)["f"]); !strings.Contains(text, "the program curl is missing") {
		t.Error(text)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	m.write("curl", "#!/bin/sh\nprintf '\\000\\377noise\\033[2J'\n", 0o755)
	if text := messages(m.run(r)["f"]); !strings.Contains(text, "instead of an answer of a server") || strings.ContainsAny(text, "\x00\x1b") {
		t.Errorf("%q", text)
	}
	m.write("curl", "#!/bin/sh\nexec /bin/sleep 1000\n", 0o755)
	ctx, cancel := context.WithCancelCause(t.Context())
	ran := resource.Exec
	m.host.Run = func(c context.Context, cmd *resource.Command) (*resource.Output, error) {
		cancel(errors.New("ended by the test"))
		return ran(c, cmd)
	}
	m.apply(ctx, r)
	if _, err := os.Lstat(m.path("f")); err == nil {
		t.Error("the file was made")
	}
}

// TestWebRefused checks sources that are refused before anything is applied.
func TestWebRefused(t *testing.T) {
	for _, params := range [][]any{
		{"source", "http:/f"}, {"source", "http:///f"}, {"source", "https://h/a\nb"}, {"source", "http://h/d", "recurse", true}, {"source", "ftp://h/f"},
	} {
		r := res("f", params...)
		if _, err := file.New().New(&resource.Resource{Ref: catalog.Ref{Type: "File", Title: "/f"}, Params: r.Params}); err == nil {
			t.Errorf("%v was not refused", params)
		}
	}
}
