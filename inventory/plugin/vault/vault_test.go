package vault

import (
	"context"
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
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
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

// newPlugin has an environment and a home directory.
func newPlugin(t *testing.T, env map[string]string) *Plugin {
	t.Helper()
	return New(Options{Project: t.TempDir(), Home: t.TempDir(), Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Timeout: time.Minute})
}

// resolve returns the value as JSON.
func resolve(t *testing.T, p *Plugin, config, ref string) (string, error) {
	t.Helper()
	v, err := p.Resolve(t.Context(), parse(t, config), parse(t, ref))
	if err != nil {
		return "", err
	}
	text, err := ordered.Of("v", v).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}"), nil
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

const (
	byToken = `"auth":{"method":"token","token":"` + rootToken + `"}`
	byUser  = `"auth":{"method":"userpass","user":"bob","pass":"` + password + `"}`
	byRole  = `"auth":{"method":"approle","role_id":"role","secret_id":"` + secretID + `"}`
)

// secrets are what no message may have.
var secrets = []string{rootToken, tokenOfRole, tokenOfUser, password, secretID, "s3cret", "wr0ng"}

func silent(t *testing.T, err error) {
	t.Helper()
	all := err.Error()
	if f, ok := errors.AsType[*fault.Error](err); ok {
		all += f.Hint
	}
	for _, s := range secrets {
		if strings.Contains(all, s) {
			t.Errorf("%q says too much", all)
		}
	}
}

// TestSecrets: what is asked of which path, and what of the answer is returned.
func TestSecrets(t *testing.T) {
	vault := &fakeVault{}
	s := serve(t, vault)
	for _, tt := range []struct{ name, ref, want, asked string }{
		{"version 1", byToken + `,"path":"kv/web","field":"password","version":1`, `"kv1-s3cret"`, "GET kv/web"},
		{"version 1, where none is said", byToken + `,"path":"kv/web","field":"port"`, `8080`, "GET kv/web"},
		{"version 1, all of it", byToken + `,"path":"/kv/web/"`, `{"password":"kv1-s3cret","port":8080}`, "GET kv/web"},
		{"version 1, like version 2", byToken + `,"path":"kv/nested"`, `{"data":{"password":"inner"},"metadata":"mine"}`, "GET kv/nested"},
		{"version 2", byToken + `,"path":"secret/web","field":"password","version":2`, `"kv2-s3cret"`, "GET secret/data/web"},
		{"version 2, deeper", byToken + `,"path":"secret/a/b","field":"tree","version":2`, `{"a":[1,null]}`, "GET secret/data/a/b"},
		{"version 2, as the API has it", byToken + `,"path":"secret/data/web","field":"password","version":2`, `"kv2-s3cret"`, "GET secret/data/web"},
		{"version 2, seen", byToken + `,"path":"team/kv/data/web","field":"password"`, `"kv2-s3cret"`, "GET team/kv/data/web"},
		{"version 2, all of it", byToken + `,"path":"secret/web","version":2`, `{"password":"kv2-s3cret","tree":{"a":[1,null]},"empty":null}`, "GET secret/data/web"},
		{"characters", byToken + `,"path":"kv/a b/ü"`, `{"x":"strange"}`, "GET kv/a b/ü"},
		{"userpass", byUser + `,"path":"kv/web","field":"port"`, `8080`, "POST auth/userpass/login/bob, GET kv/web"},
		{"approle", byRole + `,"path":"kv/web","field":"port"`, `8080`, "POST auth/approle/login, GET kv/web"},
		{"approle, elsewhere", strings.Replace(byRole, `"role_id"`, `"mount":"ci/machines","role_id"`, 1) + `,"path":"kv/web","field":"port"`, `8080`, "POST auth/ci/machines/login, GET kv/web"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := resolve(t, newPlugin(t, nil), `{"server_url":"`+s.URL+`/"}`, "{"+tt.ref+"}")
			if asked := vault.took(); err != nil || got != tt.want || asked != tt.asked {
				t.Errorf("got %s, %v, asked %s\nwant %s, %s", got, err, asked, tt.want, tt.asked)
			}
		})
	}
}

// TestLogsInAndReadsOnce checks that concurrent and later references share one
// login and one read.
func TestLogsInAndReadsOnce(t *testing.T) {
	vault := &fakeVault{}
	s := serve(t, vault)
	p := newPlugin(t, nil)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for path, field := range map[string]string{"secret/web": "password", "secret/a/b": "tree"} {
				if _, err := resolve(t, p, `{"server_url":"`+s.URL+`",`+byUser+`}`, `{"version":2,"path":"`+path+`","field":"`+field+`"}`); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if asked := vault.took(); strings.Count(asked, "POST") != 1 || strings.Count(asked, "GET secret/data/web") != 1 || strings.Count(asked, "GET") != 2 {
		t.Errorf("asked %s", asked)
	}
	// Another who asks is another.
	if _, err := resolve(t, p, `{"server_url":"`+s.URL+`",`+byRole+`}`, `{"version":2,"path":"secret/web"}`); err != nil {
		t.Error(err)
	}
	if asked := vault.took(); asked != "POST auth/approle/login, GET secret/data/web" {
		t.Errorf("asked %s", asked)
	}
	// A wrong password is tried once.
	for range 3 {
		_, err := resolve(t, p, `{"server_url":"`+s.URL+`"}`, `{"auth":{"method":"userpass","user":"bob","pass":"wr0ng"},"path":"kv/web"}`)
		if err == nil || !strings.Contains(err.Error(), "the login (userpass): "+s.URL+"/v1/auth/userpass/login/bob: 400 Bad Request: invalid username or password") {
			t.Errorf("got %v", err)
		}
	}
	if asked := vault.took(); asked != "POST auth/userpass/login/bob" {
		t.Errorf("asked %s", asked)
	}
	// Who is stopped has asked nothing.
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	ref := parse(t, `{`+byToken+`,"path":"kv/web"}`)
	if _, err := p.Resolve(ctx, parse(t, `{"server_url":"`+s.URL+`"}`), ref); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if v, err := p.Resolve(t.Context(), parse(t, `{"server_url":"`+s.URL+`"}`), ref); err != nil || v == nil {
		t.Errorf("got %v, %v", v, err)
	}
}

// TestReferenceOverridesConfigAndEnvironment checks that the reference overrides
// the configuration, and that the configuration overrides the environment.
func TestReferenceOverridesConfigAndEnvironment(t *testing.T) {
	vault := &fakeVault{namespace: "team/a"}
	s := serve(t, vault)
	env := map[string]string{"VAULT_ADDR": s.URL, "VAULT_TOKEN": rootToken, "VAULT_NAMESPACE": "team/a"}
	check := func(p *Plugin, config, ref, says string) {
		t.Helper()
		got, err := resolve(t, p, config, ref)
		if says == "" && (err != nil || got != "8080") || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s %s: got %s, %v, want %s", config, ref, got, err, says)
		}
	}
	p := newPlugin(t, env)
	check(p, `{}`, `{"path":"kv/web","field":"port"}`, "")
	check(p, `{"field":"port","path":"kv/web"}`, `{}`, "")
	check(p, `{"auth":{"method":"token"}}`, `{"path":"kv/web","field":"port"}`, "")
	check(p, `{"namespace":"other"}`, `{"path":"kv/web","field":"port"}`, "403 Forbidden: permission denied (the token may have run out")
	check(p, `{"namespace":"other"}`, `{"path":"kv/web","field":"port","namespace":"team/a"}`, "")
	check(p, `{"server_url":"http://127.0.0.1:1"}`, `{"path":"kv/web"}`, "connection refused")
	delete(env, "VAULT_TOKEN")
	check(p, `{}`, `{"path":"kv/web"}`, "requires 'auth', or a token in VAULT_TOKEN or ~/.vault-token")
	if err := os.WriteFile(filepath.Join(p.o.Home, ".vault-token"), []byte(rootToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(p, `{}`, `{"path":"kv/web","field":"port"}`, "")
	delete(env, "VAULT_ADDR")
	check(p, `{}`, `{"path":"kv/web"}`, "requires a 'server_url'")
}

// TestErrorsNamePathWithoutSecret checks that each failure has one message, with
// the secret's path and without secrets.
func TestErrorsNamePathWithoutSecret(t *testing.T) {
	s := serve(t, &fakeVault{})
	for _, tt := range []struct{ ref, says string }{
		{byToken + `,"path":"kv/nope"`, "the secret 'kv/nope': URL/v1/kv/nope: 404 Not Found (the secret does not exist; "},
		{byToken + `,"path":"secret/web","field":"password"`, "URL/v1/secret/web: 404 Not Found: Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. (the engine keeps versions: set version: 2)"},
		{byToken + `,"path":"secret/deleted","version":2`, "URL/v1/secret/data/deleted: 404 Not Found (its last version was deleted)"},
		{byToken + `,"path":"secret/destroyed","version":2`, "404 Not Found (its last version was destroyed)"},
		{byToken + `,"path":"nomount/x"`, `404 Not Found: no handler for route "nomount/x". route entry not found.`},
		{byToken + `,"path":"kv/web","version":2`, "the response is not from version 2 of the key/value engine; remove 'version'"},
		{byToken + `,"path":"kv/web","field":"nope"`, "the secret 'kv/web': it has no field 'nope'"},
		{byToken + `,"path":"secret/web","version":2,"field":"empty"`, "it has no field 'empty'"},
		{byToken + `,"path":"kv/reference"`, "it contains the key _plugin; secrets cannot be plugin references"},
		{`"auth":{"method":"token","token":"wr0ng"},"path":"kv/web"`, "403 Forbidden: permission denied"},
		{strings.Replace(byRole, secretID, "wr0ng", 1) + `,"path":"kv/web"`, "the login (approle): URL/v1/auth/approle/login: 400 Bad Request: invalid role or secret ID"},
		{`"auth":{"method":"userpass","user":"mfa","pass":"wr0ng"},"path":"kv/web"`, "the response has no token; a second factor is not supported"},
	} {
		_, err := resolve(t, newPlugin(t, nil), `{"server_url":"`+s.URL+`"}`, "{"+tt.ref+"}")
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tt.says, "URL", s.URL)) {
			t.Errorf("%s: got %v", tt.ref, err)
			continue
		}
		silent(t, err)
	}
	for ref, says := range map[string]string{
		`{}`:                          "requires a 'path'",
		`{"path":"/"}`:                "'path' consists of names",
		`{"path":"kv/../sys/x"}`:      "'path' consists of names",
		`{"path":"kv/x","version":3}`: "versions 1 and 2",
		`{"path":"kv/x","server_url":"vault.example.com"}`:                             "cannot use 'server_url': it is not a URL",
		`{"path":"kv/x","server_url":"https://u:wr0ng@h"}`:                             "it contains a user",
		`{"path":"kv/x","auth":{}}`:                                                    "vault's auth requires a 'method'",
		`{"path":"kv/x","auth":{"method":"ldap","pass":"wr0ng"}}`:                      "has no method 'ldap'",
		`{"path":"kv/x","auth":{"method":"userpass","user":"bob"}}`:                    "requires a 'pass'",
		`{"path":"kv/x","auth":{"method":"approle","role":"wr0ng"}}`:                   "requires a 'role_id'",
		`{"path":"kv/x","auth":{"method":"approle","role_id":"r","secretid":"wr0ng"}}`: "has no option 'secretid'",
		`{"path":"kv/x","auth":"wr0ng"}`:                                               "'auth' is a Hash",
		`{"path":"kv/x","server":"x"}`:                                                 "has no option 'server'",
	} {
		_, err := resolve(t, newPlugin(t, map[string]string{"VAULT_ADDR": s.URL}), `{}`, ref)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != "bolt/validation-error" || !strings.Contains(f.Msg, says) {
			t.Errorf("%s: got %v", ref, err)
			continue
		}
		silent(t, err)
	}
}

// TestTokenFollowsRedirectOfStandby checks to which servers a redirect can send
// the token.
func TestTokenFollowsRedirectOfStandby(t *testing.T) {
	vault := &fakeVault{}
	active := serve(t, vault)
	standby := &fakeVault{active: active.URL}
	first := serve(t, standby)
	ask := func(url, ref string) (string, error) {
		return resolve(t, newPlugin(t, nil), `{"server_url":"`+url+`"}`, "{"+ref+"}")
	}
	got, err := ask(first.URL, byUser+`,"path":"secret/web","version":2,"field":"password"`)
	if asked := vault.took(); err != nil || got != `"kv2-s3cret"` || asked != "POST auth/userpass/login/bob, GET secret/data/web" {
		t.Errorf("got %s, %v, asked %s", got, err, asked)
	}
	// Not twice, not to another path, not out of an encrypted connection.
	second := serve(t, &fakeVault{active: first.URL})
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, active.URL+"/v1/kv/elsewhere?x=s3cret", http.StatusTemporaryRedirect)
	}))
	found := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, active.URL+r.URL.Path, http.StatusFound)
	}))
	encrypted := httptest.NewTLSServer(&fakeVault{active: active.URL})
	t.Cleanup(encrypted.Close)
	for url, says := range map[string]string{
		second.URL: "307 Temporary Redirect",
		other.URL:  "it redirects to " + active.URL + "/v1/kv/elsewhere, which is not followed",
		found.URL:  "302 Found: it redirects to " + active.URL + "/v1/kv/web, which is not followed",
	} {
		_, err := ask(url, byToken+`,"path":"kv/web"`)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
			continue
		}
		silent(t, err)
	}
	p := newPlugin(t, nil)
	if err := os.WriteFile(filepath.Join(p.o.Project, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encrypted.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = resolve(t, p, `{"server_url":"`+encrypted.URL+`","cacert":"ca.pem"}`, `{`+byToken+`,"path":"kv/web"}`)
	if err == nil || !strings.Contains(err.Error(), "it redirects to "+active.URL) {
		t.Errorf("got %v", err)
	}
	if asked := vault.took(); asked != "" {
		t.Errorf("asked %s", asked)
	}
}

// TestServers: bounded time and memory, and one message, whatever a server does.
func TestServers(t *testing.T) {
	big := strings.Repeat("s3cret", 1<<16)
	for _, tt := range []struct {
		name, says string
		handler    http.Handler
		encrypted  bool
	}{
		{"sealed", "503 Service Unavailable: Vault is sealed (it is sealed, or not ready)", &fakeVault{sealed: true}, false},
		{"silent", "no complete response within 300ms", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hold(r) }), false},
		{"silent in the middle", "no complete response within 300ms", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"data":{"x":"s3cret"`)
			http.NewResponseController(w).Flush()
			hold(r)
		}), false},
		{"half", "the connection closed before the whole response arrived", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"data":{"x":"s3cret"`)
		}), false},
		{"half, but well sent", "the response is not a JSON object", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":{"x":"s3cret"`) }), false},
		{"a page", "the response is not a JSON object", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>s3cret") }), false},
		{"another object", "the response has no data", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"x":"s3cret"}`) }), false},
		{"who echoes", "500 Internal Server Error: bad token [redacted]", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			fmt.Fprintf(w, `{"errors":["bad token %s \u001b[31m"]}`, r.Header.Get("X-Vault-Token"))
		}), false},
		{"too many", "429 Too Many Requests: request path rate limit quota exceeded", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			io.WriteString(w, `{"errors":["request path rate limit quota exceeded"]}`)
		}), false},
		{"a status of standbys", "473 status code 473", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(473) }), false},
		{"another authority", "certificate signed by unknown authority", &fakeVault{}, true},
		{"huge", "the response is larger than 8 MiB", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, big); err != nil {
					return
				}
			}
		}), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(tt.handler)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			if tt.encrypted {
				s.StartTLS()
			} else {
				s.Start()
			}
			t.Cleanup(s.Close)
			p := newPlugin(t, nil)
			if strings.Contains(tt.says, "300ms") {
				p.o.Timeout = 300 * time.Millisecond
			}
			_, err := resolve(t, p, `{"server_url":"`+s.URL+`"}`, `{`+byToken+`,"path":"kv/web"}`)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), s.URL) || !strings.Contains(err.Error(), "'kv/web'") || strings.Contains(err.Error(), "\x1b") {
				t.Fatalf("got %v", err)
			}
			silent(t, err)
		})
	}
}

// FuzzRead: no answer does harm, or is shown.
func FuzzRead(f *testing.F) {
	f.Add(`{"data":{"data":{"x":"y"},"metadata":{"version":1}}}`, `{"errors":["x"],"warnings":["a versioned"],"data":{"metadata":{"deletion_time":"x"}}}`)
	f.Add(`{"data":{"metadata":3,"data":[]}}`, `{"errors":{}}`)
	f.Fuzz(func(t *testing.T, answer, refusal string) {
		for version := range int64(3) {
			v, err := ordered.ParseJSON([]byte(answer))
			m, ok := v.(*ordered.Map)
			if err != nil || !ok {
				break
			}
			if _, err := unwrap(m, version); err != nil && len(err.Error()) > 200 {
				t.Errorf("%s", err)
			}
		}
		said := refused(answerOf(404, refusal), secretOf("hunter22"))
		if strings.Contains(said, "hunter22") || strings.ContainsAny(said, "\x1b\x00") || len(said) > 1000 {
			t.Errorf("%q", said)
		}
	})
}
