package forge

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bolt/transport"
)

// tarball makes the archive of a release from names and texts.
func tarball(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{Name: pairs[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(pairs[i+1]))}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entry is a release in the API's form.
func entry(module, version string, archive []byte, change func(map[string]any)) map[string]any {
	owner, name, _ := strings.Cut(module, "/")
	sha, md := sha256.Sum256(archive), md5.Sum(archive)
	r := map[string]any{
		"version": version,
		"module":  map[string]any{"name": name, "owner": map[string]any{"username": owner, "slug": owner}},
		"metadata": map[string]any{"name": owner + "-" + name, "version": version,
			"dependencies": []any{map[string]any{"name": "puppetlabs-stdlib", "version_requirement": ">= 4.0.0 < 9.0.0"}}},
		"file_uri":    "/v3/files/" + owner + "-" + name + "-" + version + ".tar.gz",
		"file_md5":    hex.EncodeToString(md[:]),
		"file_sha256": hex.EncodeToString(sha[:]),
		"deleted_at":  nil,
	}
	if change != nil {
		change(r)
	}
	return r
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// serve starts a server and a client of it.
func serve(t *testing.T, o Options, mux *http.ServeMux) *Client {
	t.Helper()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.BaseURL = server.URL + o.BaseURL
	o.Backoff, o.Agent = time.Millisecond, "test/1"
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestReleases(t *testing.T) {
	// The API is behind a prefix, as that of repository managers.
	mux := http.NewServeMux()
	mux.HandleFunc("/repo/v3/releases", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") != "test/1" || r.FormValue("module") != "me-extra" {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		next := "/v3/releases?module=me-extra&offset=2"
		results := []any{entry("me/extra", "2.0.0", nil, nil),
			entry("me/extra", "1.5.0", nil, func(r map[string]any) { r["deleted_at"] = "2020-01-01" })}
		if r.FormValue("offset") == "2" {
			send(w, map[string]any{"pagination": map[string]any{"next": nil}, "results": []any{
				entry("me/extra", "1.0.0", nil, func(r map[string]any) { r["file_sha256"] = nil }), entry("me/other", "9.0.0", nil, nil)}})
			return
		}
		send(w, map[string]any{"pagination": map[string]any{"next": next}, "results": results})
	})
	c := serve(t, Options{BaseURL: "/repo/"}, mux)
	for _, name := range []string{"me/extra", "me-extra"} {
		list, err := c.Releases(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0].Version != "2.0.0" || list[1].Version != "1.0.0" || list[0].Module != "me/extra" {
			t.Errorf("releases: %+v", list)
		}
		if d := list[0].Dependencies; len(d) != 1 || d[0] != (Dependency{"puppetlabs/stdlib", ">= 4.0.0 < 9.0.0"}) {
			t.Errorf("dependencies: %+v", d)
		}
	}
	for _, bad := range []string{"extra", "../x", "me/Extra", "me/extra/x", "me/extra?x"} {
		if _, err := c.Releases(t.Context(), bad); err == nil {
			t.Errorf("%q is a module", bad)
		}
	}
}

// TestListOnly: a server that does not tell of single releases.
func TestListOnly(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/releases", func(w http.ResponseWriter, r *http.Request) {
		send(w, map[string]any{"results": []any{entry("me/extra", "2.0.0", nil, nil), entry("me/extra", "1.0.0", nil, nil)}})
	})
	c := serve(t, Options{}, mux)
	if r, err := c.Release(t.Context(), "me/extra", "1.0.0"); err != nil || r.Version != "1.0.0" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Release(t.Context(), "me/extra", "3.0.0"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestFetch(t *testing.T) {
	good := tarball(t, "me-extra-1.0.0/metadata.json", "{}", "me-extra-1.0.0/tasks/init.sh", "x")
	hostile := tarball(t, "me-extra-1.0.0/metadata.json", "{}", "me-extra-1.0.0/../../evil", "x")
	tests := []struct {
		name    string
		archive []byte
		change  func(map[string]any)
		want    string // of the error
	}{
		{"good", good, nil, ""},
		{"MD5 only", good, func(r map[string]any) { delete(r, "file_sha256") }, ""},
		{"upper-case digest", good, func(r map[string]any) { r["file_sha256"] = strings.ToUpper(r["file_sha256"].(string)) }, ""},
		{"wrong SHA-256", good, func(r map[string]any) { r["file_sha256"] = strings.Repeat("0", 64) }, "does not have the SHA-256"},
		{"wrong MD5", good, func(r map[string]any) { r["file_sha256"], r["file_md5"] = "", strings.Repeat("0", 32) }, "does not have the MD5"},
		{"no digest", good, func(r map[string]any) { delete(r, "file_sha256"); delete(r, "file_md5") }, "does not list a digest"},
		{"hostile", hostile, nil, "not a path inside"},
		{"not compressed", []byte("no gzip"), nil, "not compressed with gzip"},
		{"cut before packing", good[:len(good)/2], nil, "damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("/v3/releases/me-extra-1.0.0", func(w http.ResponseWriter, r *http.Request) {
				send(w, entry("me/extra", "1.0.0", tt.archive, tt.change))
			})
			mux.HandleFunc("/v3/files/me-extra-1.0.0.tar.gz", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip") // as some servers have it
				_, _ = w.Write(tt.archive)
			})
			c := serve(t, Options{}, mux)
			release, err := c.Release(t.Context(), "me-extra", "1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			digest, err := c.Fetch(t.Context(), release, dir)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "me/extra 1.0.0: ") {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				if _, err := os.Stat(filepath.Join(dir, "..", "evil")); err == nil {
					t.Error("a file outside was written")
				}
				return
			}
			sum := sha256.Sum256(tt.archive)
			if err != nil || digest != hex.EncodeToString(sum[:]) {
				t.Fatalf("digest %s, %v", digest, err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 || entries[0].Name() != "metadata.json" || entries[1].Name() != "tasks" {
				t.Errorf("unpacked: %v, %v", entries, err)
			}
		})
	}
}

// TestTriesAgain: busy, broken and cut answers are asked for again.
func TestTriesAgain(t *testing.T) {
	archive := tarball(t, "m-1/metadata.json", "{}")
	var n atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/files/", func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			w.Header().Set("Content-Length", strconv.Itoa(len(archive)))
			_, _ = w.Write(archive[:len(archive)/2])
		default:
			_, _ = w.Write(archive)
		}
	})
	c := serve(t, Options{Jitter: func() float64 { return 0.5 }}, mux)
	sum := sha256.Sum256(archive)
	release := Release{Module: "me/m", Version: "1", file: "/v3/files/x", sha256: hex.EncodeToString(sum[:])}
	begin := time.Now()
	if _, err := c.Fetch(t.Context(), release, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if n.Load() != 4 || time.Since(begin) < time.Second {
		t.Errorf("%d tries in %v", n.Load(), time.Since(begin))
	}
}

func TestRefusals(t *testing.T) {
	var n atomic.Int32
	mux := http.NewServeMux()
	answer := func(path string, code int, header, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		})
	}
	answer("/v3/releases/me-missing-1.0.0", 404, "", `{"message":"404 Not Found","errors":["gone"]}`)
	answer("/v3/releases/me-broken-1.0.0", 500, "", "a page")
	answer("/v3/releases/me-busy-1.0.0", 429, "7200", "")
	answer("/v3/releases/me-secret-1.0.0", 403, "", `{"message":"403 Forbidden","errors":["no \u001b[2Jentry"]}`)
	answer("/v3/releases/me-page-1.0.0", 200, "", "<html>")
	c := serve(t, Options{}, mux)
	for name, want := range map[string]struct {
		tries int32
		text  string
	}{
		"missing": {1, "me/missing 1.0.0: the Forge does not have it"}, "broken": {tries, "500 Internal Server Error (tried 4 times)"},
		"busy": {1, "its Retry-After is 2h0m0s"}, "secret": {1, "403 Forbidden; no entry (a token can be set"}, "page": {1, "is not a response of"},
	} {
		n.Store(0)
		_, err := c.Release(t.Context(), "me/"+name, "1.0.0")
		if err == nil || !strings.Contains(err.Error(), want.text) || n.Load() != want.tries {
			t.Errorf("%s: %d tries, %v; want %d, %q", name, n.Load(), err, want.tries, want.text)
		}
		if errors.Is(err, ErrNotFound) != (name == "missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestToken: only the server that the token is for ever sees it.
func TestToken(t *testing.T) {
	archive := tarball(t, "m-1/metadata.json", "{}")
	var leaked, seen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
		_, _ = w.Write(archive)
	}))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/files/x", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer hunter2" {
			seen.Add(1)
		}
		http.Redirect(w, r, other.URL+"/x", http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	c := serve(t, Options{Token: transport.NewSecret("Bearer hunter2")}, mux)
	sum := sha256.Sum256(archive)
	for _, file := range []string{"/v3/files/x", other.URL + "/y"} {
		if _, err := c.Fetch(t.Context(), Release{file: file, sha256: hex.EncodeToString(sum[:])}, t.TempDir()); err != nil {
			t.Error(err)
		}
	}
	if seen.Load() != 1 || leaked.Load() != 0 {
		t.Errorf("seen %d times, leaked %d times", seen.Load(), leaked.Load())
	}
	if _, err := c.Fetch(t.Context(), Release{file: "/loop", sha256: hex.EncodeToString(sum[:])}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "redirects too often") {
		t.Errorf("a circle: %v", err)
	}
	if _, err := c.Fetch(t.Context(), Release{file: "file:///etc/passwd", sha256: hex.EncodeToString(sum[:])}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a URL that begins with") {
		t.Errorf("a file: %v", err)
	}
}

func TestNoDowngrade(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.http.Transport.(*http.Transport).TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := c.Release(t.Context(), "me/x", "1.0.0"); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("error %v", err)
	}
}

// TestDistrusted: a certificate that nobody vouches for is not asked for again.
func TestDistrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, Backoff: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Release(t.Context(), "me/x", "1.0.0"); err == nil || !strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "tried") {
		t.Errorf("error %v", err)
	}
}

func TestProxy(t *testing.T) {
	var through atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "forge.invalid" {
			through.Add(1)
		}
		send(w, entry("me/x", "1.0.0", nil, nil))
	}))
	defer proxy.Close()
	c, err := New(Options{BaseURL: "http://forge.invalid", Proxy: proxy.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Release(t.Context(), "me/x", "1.0.0"); err != nil || through.Load() != 1 {
		t.Errorf("%v, %d times", err, through.Load())
	}
}

func TestStopped(t *testing.T) {
	hold := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/releases/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		<-hold
	})
	c := serve(t, Options{}, mux)
	defer close(hold)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	if _, err := c.Release(ctx, "me/x", "1.0.0"); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{BaseURL: "ftp://x"}, {BaseURL: "forge"}, {BaseURL: "http://me:hunter2@[x"}, {Proxy: "x:1"}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	h := http.Header{"Date": {"Mon, 01 Jan 2024 00:00:00 GMT"}}
	for text, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "-1": 0, "x": 0,
		"Mon, 01 Jan 2024 00:00:09 GMT": 9 * time.Second, "Sun, 31 Dec 2023 00:00:00 GMT": 0} {
		h.Set("Retry-After", text)
		if got := retryAfter(h); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// FuzzReleases: whatever a server answers, there is a release or an error.
func FuzzReleases(f *testing.F) {
	good, _ := json.Marshal(map[string]any{"results": []any{entry("me/extra", "1.0.0", nil, nil)}})
	f.Add(string(good))
	f.Add(`{"results":[null,{}],"pagination":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(body)) }))
		defer server.Close()
		if strings.Contains(body, "next") {
			return // it could lead to other servers
		}
		c, err := New(Options{BaseURL: server.URL, Backoff: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		list, err := c.Releases(t.Context(), "me/extra")
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%v, %v", list, err)
		}
	})
}
