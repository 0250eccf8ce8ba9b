package httpcheck

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/notify"
	"bolt/apply/resource"
)

var known = map[string]resource.Type{"Http_check": Type(), "Notify": notify.Type()}

// site is a server. Its path /flaky fails twice.
func site(t *testing.T, start func(http.Handler) *httptest.Server) *httptest.Server {
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "state: ready\n") })
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method+" "+r.Header.Get("X-Key")) })
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "\x00\xff\x1b[31m\n404\n") })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			w.Write(make([]byte, 1<<20))
		}
	})
	s := start(mux)
	t.Cleanup(s.Close)
	return s
}

// host is a host that runs the curl of this machine.
func host(t *testing.T) *resource.Host {
	h := hosttest.Host(t)
	h.Root = ""
	return h
}

func TestAnswers(t *testing.T) {
	s := site(t, httptest.NewServer)
	const receive = "\n" + `Notify[n] {"recv":{"message":{"kind":"http:check","name":"c","key":"content"}}}`
	const receiveStatus = "\n" + `Notify[n] {"recv":{"message":{"kind":"http:check","name":"c","key":"status"}}}`
	for _, c := range []struct{ name, resources, want string }{
		{"a page", `Http_check[c] {"url":"URL/"}`, ""},
		{"a text", `Http_check[c] {"url":"URL/","status":200,"contains":"ready"}`, ""},
		{"another text", `Http_check[c] {"url":"URL/","contains":"b\"usy"}`, `Http_check[c] failed FAILED GET URL/: the answer with the status 200 does not contain the expected text "b\"usy"` + "\n"},
		{"a secret text", `Http_check[c] {"url":"URL/","contains":{"sensitive":"hunter2"}}`, "Http_check[c] failed FAILED GET URL/: the answer with the status 200 does not contain the expected text\n"},
		{"a redirect", `Http_check[c] {"url":"URL/moved"}`, "Http_check[c] failed FAILED GET URL/moved: the status is 302, not from 200 to 299\n"},
		{"one of several", `Http_check[c] {"url":"URL/moved","status":[301,"302"]}`, ""},
		{"another status", `Http_check[c] {"url":"URL/","status":[301,302]}`, "Http_check[c] failed FAILED GET URL/: the status is 200, not 301 or 302\n"},
		{"too few tries", `Http_check[c] {"url":"URL/flaky","tries":2,"try_sleep":0}`, "Http_check[c] failed FAILED GET URL/flaky: the status is 503, not from 200 to 299\n"},
		{"enough tries", `Http_check[c] {"url":"URL/flaky","tries":2,"try_sleep":0}`, ""},
		{"no text", `Http_check[c] {"url":"URL/echo","method":"HEAD"}` + receive, "Notify[n] changed message(absent -> )\n"},
		{"a method and a header", `Http_check[c] {"url":"URL/echo","method":"OPTIONS","headers":["X-Key: a\\b \"c\""]}` + receive, `Notify[n] changed message(absent -> OPTIONS a\b "c")` + "\n"},
		{"a secret header", `Http_check[c] {"url":"URL/echo","headers":{"sensitive":["X-Key: hunter2"]}}` + receive, "Notify[n] changed message([redacted] -> [redacted])\n"},
		{"the status is sent", `Http_check[c] {"url":"URL/"}` + receiveStatus, "Notify[n] changed message(absent -> 200)\n"},
		{"a user and a password", `Http_check[c] {"url":"http://me:pass@HOST/moved"}`, "Http_check[c] failed FAILED GET URL/moved: the status is 302, not from 200 to 299\n"},
		{"binary", `Http_check[c] {"url":"URL/binary","status":200}`, ""},
		{"a large answer", `Http_check[c] {"url":"URL/large"}`, "MiB"},
		{"no server", `Http_check[c] {"url":"http://127.0.0.1:1/"}` + receive, "curl: exit code 7"},
		{"globs", `Http_check[c] {"url":"URL/[1-3]{a,b}"}`, ""},
	} {
		replace := strings.NewReplacer("URL", s.URL, "HOST", strings.TrimPrefix(s.URL, "http://"))
		got := hosttest.Apply(t, host(t), known, c.name == "a page", strings.Split(replace.Replace(c.resources), "\n")...)
		if want := replace.Replace(c.want); got != want && (want == "" || strings.HasSuffix(want, "\n") || !strings.Contains(got, want)) {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
		}
	}
}

func TestCertificates(t *testing.T) {
	s := site(t, httptest.NewTLSServer)
	cert := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{
		``:                          "curl: exit code 60",
		`,"insecure":true`:          "",
		`,"cacert":"` + cert + `"`:  "",
		`,"cacert":"/no/such/file"`: "curl: exit code 77",
	} {
		got := hosttest.Apply(t, host(t), known, false, `Http_check[`+s.URL+`/] {"timeout":60`+params+`}`)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %s", params, got)
		}
	}
}

// TestCurl has hosts whose curl is missing, hangs, or prints something else.
func TestCurl(t *testing.T) {
	scripted := func(script string) func(context.Context, *resource.Command) (*resource.Output, error) {
		return func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
			in := *c
			in.Argv, in.Timeout = []string{"/bin/sh", "-c", script}, 1
			if !strings.Contains(script, "sleep") {
				in.Timeout = 0
			}
			return resource.Exec(ctx, &in)
		}
	}
	for name, c := range map[string]struct {
		change func(h *resource.Host)
		want   string
	}{
		"missing": {func(h *resource.Host) { h.Env = []string{"PATH=/none"} }, "the program curl is missing"},
		"hanging": {func(h *resource.Host) { h.Run = scripted("sleep 1000 & wait") }, "timed out"},
		"noise":   {func(h *resource.Host) { h.Run = scripted(`printf '\377\033[31m' >&2; exit 3`) }, "curl: exit code 3: [31m"},
		"silent":  {func(h *resource.Host) { h.Run = scripted(`:`) }, "curl printed no status"},
		"garbage": {func(h *resource.Host) { h.Run = scripted(`printf 'x\nyes'`) }, "curl printed no status"},
	} {
		h := host(t)
		c.change(h)
		if got := hosttest.Apply(t, h, known, false, `Http_check[http://h/]`); !strings.Contains(got, "failed FAILED") || !strings.Contains(got, c.want) || strings.ContainsAny(got, "\x1b\u00ff") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestArguments checks that neither the URL nor headers are among the arguments of curl.
func TestArguments(t *testing.T) {
	h := host(t)
	h.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		if got := strings.Join(c.Argv[1:], " "); got != "--disable --config -" {
			t.Errorf("arguments are %s", got)
		}
		return &resource.Output{Stdout: []byte("\n200")}, nil
	}
	if got := hosttest.Apply(t, h, known, false, `Http_check[http://me:hunter2@h/] {"headers":["A: b"]}`); got != "" {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	for params, want := range map[string]string{
		`{"url":"ftp://h/"}`:                       `url must be a URL with http or https, and is "ftp://h/"`,
		`{"url":"http:///x"}`:                      "url must be a URL with http or https",
		`{"method":"POST"}`:                        `method cannot be "POST": it can be GET, HEAD or OPTIONS`,
		`{"status":99}`:                            `status must be a status from 100 to 599, or a list of them, and is "99"`,
		`{"status":"2xx"}`:                         "status must be a status",
		`{"timeout":0}`:                            "timeout must be from 1 to 3600",
		`{"tries":0}`:                              "tries must be from 1 to",
		`{"try_sleep":-1}`:                         "try_sleep must be from 0 to",
		`{"tries":"x"}`:                            "tries must be a whole number",
		`{"headers":["A: b\nurl = \"file:///\""]}`: "headers must be one line",
		`{"cacert":"ca.pem"}`:                      "cacert must be an absolute path",
		`{"cacert":"/a\nb"}`:                       "cacert must be one line",
		`{"method":"HEAD","contains":"x"}`:         "contains cannot be used with the method HEAD",
	} {
		if _, err := hosttest.Try(t, host(t), known, false, `Http_check[http://h/] `+params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}
