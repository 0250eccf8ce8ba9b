package gcloud

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/clouds/cloud"
	"bolt/format/fault"
	"bolt/format/ordered"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "ya29.t0ken"

// A fakeGoogle issues tokens for assertions of its service account, and lists
// of instances for tokens.
//
// Source:
// https://developers.google.com/identity/protocols/oauth2/service-account
type fakeGoogle struct {
	url  string
	key  *rsa.PrivateKey
	many int
	busy int
	list http.HandlerFunc // replaces lists, if it is set
	auth http.HandlerFunc // replaces tokens, if it is set

	mu      sync.Mutex
	refused int
	query   string
}

func (f *fakeGoogle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/token" && f.auth != nil:
		f.auth(w, r)
	case r.URL.Path == "/token":
		if why := f.wrong(r); why != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":%q}`, why)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3599,"token_type":"Bearer"}`, token)
	case r.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`)
	case f.list != nil:
		f.list(w, r)
	case r.URL.Path != "/compute/v1/projects/shop/zones/europe-west3-a/instances":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":404,"message":"The resource was not found"}}`)
	case f.refused < f.busy:
		f.refused++
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		f.refused = 0
		f.query = r.URL.Query().Get("filter")
		from, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
		most, _ := strconv.Atoi(r.URL.Query().Get("maxResults"))
		to := min(from+most, f.many)
		io.WriteString(w, `{"kind":"compute#instanceList","id":"x"`)
		if to < f.many {
			fmt.Fprintf(w, `,"nextPageToken":"%d"`, to)
		}
		if to > from { // an empty list has no items
			io.WriteString(w, `,"items":[`)
			for i := from; i < to; i++ {
				if i > from {
					io.WriteString(w, ",")
				}
				fmt.Fprintf(w, `{"kind":"compute#instance","id":"%d","name":"web-%d","status":"RUNNING","labels":{"role":"web"},"networkInterfaces":[{"network":"n","networkIP":"10.0.%d.%d","accessConfigs":[{"type":"ONE_TO_ONE_NAT","natIP":"203.0.113.%d"}]}]}`, i, i, i/256, i%256, i%256)
			}
			io.WriteString(w, "]")
		}
		io.WriteString(w, "}")
	}
}

// wrong returns the error in an assertion.
func (f *fakeGoogle) wrong(r *http.Request) string {
	if err := r.ParseForm(); err != nil || r.Form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		return "not the grant"
	}
	signed, signature, _ := cutLast(r.Form.Get("assertion"))
	sum := sha256.Sum256([]byte(signed))
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || rsa.VerifyPKCS1v15(&f.key.PublicKey, crypto.SHA256, sum[:], raw) != nil {
		return "Invalid JWT Signature."
	}
	_, claims, _ := strings.Cut(signed, ".")
	text, err := base64.RawURLEncoding.DecodeString(claims)
	var c struct {
		Iss, Scope, Aud string
		Exp             int64
	}
	if err != nil || json.Unmarshal(text, &c) != nil || c.Iss != "bolt@shop.iam.gserviceaccount.com" || c.Scope != scope || c.Aud != f.url+"/token" || c.Exp < time.Now().Unix() {
		return "claims " + string(text)
	}
	return ""
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func serve(t *testing.T, f *fakeGoogle) (*Plugin, *httptest.Server, *[]string) {
	t.Helper()
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	f.url = s.URL
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f.key = key
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLOUDSDK_CONFIG", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", s.URL+"/compute/v1/")
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]string{"type": "service_account", "project_id": "shop", "private_key_id": "1", "client_email": "bolt@shop.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": s.URL + "/token"})
	write(t, home, "account.json", string(text))
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	warnings := new([]string)
	return New(cloud.Options{Project: home, Env: os.LookupEnv, Agent: "bolt/1", Timeout: 20 * time.Second, Pause: time.Millisecond, Roots: roots,
		Warn: func(_, text string) { *warnings = append(*warnings, text) }}), s, warnings
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func resolve(t *testing.T, p *Plugin, ref string) (string, error) {
	t.Helper()
	m, err := ordered.ParseJSON([]byte(ref))
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Resolve(t.Context(), &ordered.Map{}, m.(*ordered.Map))
	if err != nil {
		if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("the error has a secret: %v", err)
		}
		return "", err
	}
	text, err := ordered.Of("v", v).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}"), nil
}

const reference = `"project": "shop", "zone": "europe-west3-a", "credentials": "account.json"`

func TestTargets(t *testing.T) {
	f := &fakeGoogle{many: 2}
	p, _, warnings := serve(t, f)
	got, err := resolve(t, p, `{`+reference+`, "filter": "labels.role=web", "target_mapping": {"name": "name", "uri": "networkInterfaces.0.accessConfigs.0.natIP", "vars": {"role": "labels.role", "none": "x"}}}`)
	if want := `[{"name":"web-0","uri":"203.0.113.0","vars":{"role":"web"}},{"name":"web-1","uri":"203.0.113.1","vars":{"role":"web"}}]`; err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if f.query != "labels.role=web" {
		t.Errorf("the filter was %q", f.query)
	}
	got, err = resolve(t, p, `{`+reference+`, "target_mapping": {"uri": "networkInterfaces.1.networkIP"}}`)
	if err != nil || got != "[]" || len(*warnings) != 1 || !strings.Contains((*warnings)[0], "without a value for their name or uri (2)") {
		t.Errorf("got %s, %v, %q", got, err, *warnings)
	}
	f.many = 0
	if got, err = resolve(t, p, `{`+reference+`, "target_mapping": {"uri": "name"}}`); err != nil || got != "[]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestMany reads ten thousand instances from a server that is busy before each
// page.
func TestMany(t *testing.T) {
	f := &fakeGoogle{many: 10_000, busy: 1}
	p, _, _ := serve(t, f)
	got, err := resolve(t, p, `{`+reference+`, "target_mapping": {"name": "name"}}`)
	if n := strings.Count(got, `"name"`); err != nil || n != 10_000 {
		t.Errorf("got %d targets, %v", n, err)
	}
}

func TestCredentials(t *testing.T) {
	f := &fakeGoogle{many: 1}
	p, _, _ := serve(t, f)
	ref := `{"project": "shop", "zone": "europe-west3-a", "target_mapping": {"name": "name"}}`
	ok := func(name string) {
		t.Helper()
		if got, err := resolve(t, p, ref); err != nil || got != `[{"name":"web-0"}]` {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(p.o.Project, "account.json"))
	ok("the environment")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	if err := os.MkdirAll(filepath.Join(p.o.Project, ".config", "gcloud"), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(p.o.Project, "account.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.o.Project, ".config/gcloud/application_default_credentials.json", string(data))
	ok("the login of gcloud")
}

func TestFailures(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); io.WriteString(w, body) }
	}
	large := func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat(" ", 1<<20))
		for range 1024 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
	tests := []struct {
		name       string
		list, auth http.HandlerFunc
		says, hint string
	}{
		{"403", answer(403, `{"error":{"code":403,"message":"Required 'compute.instances.list' permission, `+token+`"}}`), nil, "403 Forbidden: Required 'compute.instances.list' permission, [redacted]", "Compute Viewer"},
		{"expired", answer(401, `{"error":{"message":"old"}}`), nil, "401 Unauthorized: old", "Log in again"},
		{"throttled for ever", answer(429, ``), nil, "429 Too Many Requests", "_cache"},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"kind":`)
		}, nil, "closed before the whole response", ""},
		{"wrong JSON", answer(200, `{"kind": `), nil, "is not a JSON object", ""},
		{"something else", answer(200, `{"kind": "x"}`), nil, "is not a list of instances", ""},
		{"the same page", answer(200, `{"kind":"compute#instanceList","nextPageToken":"t"}`), nil, "is its own successor", ""},
		{"1 GB", large, nil, "larger than 64 MiB", ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/"+token, http.StatusFound)
		}, nil, "redirects, which is not followed", ""},
		{"a login that is refused", nil, answer(400, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`), "refused with status 400: invalid_grant: Invalid JWT Signature.", "application-default"},
		{"a login with other JSON", nil, answer(200, `{`), "no credentials for Google Cloud were found", "application-default"},
		{"a login of 1 GB", nil, large, "no credentials for Google Cloud were found", ""},
		{"a login that redirects", nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusTemporaryRedirect)
		}, "refused with status 307", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, _ := serve(t, &fakeGoogle{list: tt.list, auth: tt.auth})
			_, err := resolve(t, p, `{`+reference+`, "target_mapping": {"name": "name"}}`)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
			if f, ok := errors.AsType[*fault.Error](err); tt.hint != "" && (!ok || !strings.Contains(f.Hint, tt.hint)) {
				t.Errorf("got %+v", f)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		p, _, _ := serve(t, &fakeGoogle{list: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
		p.o.Timeout = 100 * time.Millisecond
		if _, err := resolve(t, p, `{`+reference+`, "target_mapping": {"name": "name"}}`); err == nil || !strings.Contains(err.Error(), "no complete response within 100ms") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("wrong certificate", func(t *testing.T) {
		p, s, _ := serve(t, &fakeGoogle{})
		p.o.Roots = x509.NewCertPool()
		if _, err := resolve(t, p, `{`+reference+`, "target_mapping": {"name": "name"}}`); err == nil || !strings.Contains(err.Error(), s.URL+"/token\": tls: failed to verify certificate") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWrong(t *testing.T) {
	p, _, _ := serve(t, &fakeGoogle{})
	write(t, p.o.Project, "no.json", "x")
	write(t, p.o.Project, "type.json", `{"type": "PRIVATE"}`)
	write(t, p.o.Project, "half.json", `{"type": "service_account", "private_key": "PRIVATE", "client_email": 1}`)
	for ref, says := range map[string]string{
		`{"zone": "z", "target_mapping": {"name": "name"}}`:                                                "requires a 'project'",
		`{"project": "p", "target_mapping": {"name": "name"}}`:                                             "requires a 'zone'",
		`{"project": "p/..", "zone": "z", "target_mapping": {"name": "name"}}`:                             "a valid name in 'project'",
		`{"project": "p", "zone": "z"}`:                                                                    "requires a 'name' or a 'uri'",
		`{"project": "p", "zone": "z", "credentials": "none", "target_mapping": {"name": "name"}}`:         "/none: no such file",
		`{"project": "p", "zone": "z", "credentials": "no.json", "target_mapping": {"name": "name"}}`:      "no.json: it is not a JSON object",
		`{"project": "p", "zone": "z", "credentials": "type.json", "target_mapping": {"name": "name"}}`:    "have an unknown type",
		`{"project": "p", "zone": "z", "credentials": "half.json", "target_mapping": {"name": "name"}}`:    "are incomplete",
		`{"project": "p", "zone": "z", "credential": "x", "target_mapping": {"name": "name"}}`:             "has no option 'credential'",
		`{"project": "other", "zone": "z", "credentials": "account.json", "target_mapping": {"uri": "x"}}`: "404 Not Found: The resource was not found",
	} {
		if _, err := resolve(t, p, ref); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	p := New(cloud.Options{Env: func(string) (string, bool) { return "", false }})
	for universe, want := range map[string]string{"googleapis.com": "https://compute.googleapis.com/compute/v1", "apis.example": "https://compute.apis.example/compute/v1", "a/b": "", "": ""} {
		u, err := p.endpoint(universe)
		if (err != nil) != (want == "") || err == nil && u.String() != want {
			t.Errorf("%s: got %v, %v", universe, u, err)
		}
	}
}
