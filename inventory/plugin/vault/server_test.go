package vault

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"bolt/inventory/plugin/fetch"
	"bolt/transport"
)

// A fakeVault answers as HashiCorp Vault 1.15 does what its client asks: two
// engines of keys and values, "kv" of version 1, "secret" and "team/kv" of
// version 2, and logins by userpass and approle.
//
// Source: https://developer.hashicorp.com/vault/api-docs, and the answers that
// its http package, its key/value engines and their back ends write.
type fakeVault struct {
	namespace string // that all is in
	sealed    bool
	active    string // the address of the active node, of a standby that does not ask it

	mu    sync.Mutex
	asked []string // "POST auth/userpass/login/bob"
}

const (
	tokenOfUser = "hvs.CAESIuser"
	tokenOfRole = "hvs.CAESIrole"
	rootToken   = "hvs.root"
	password    = "pa55w0rd"
	secretID    = "5ecret-1d"
)

// took returns what was asked since the last time.
func (f *fakeVault) took() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := strings.Join(f.asked, ", ")
	f.asked = nil
	return s
}

func (f *fakeVault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+path)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	fail := func(code int, errors ...string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": append([]string{}, errors...)})
	}
	data := func(data string) {
		fmt.Fprintf(w, `{"request_id":"6cd8ee44","lease_id":"","renewable":false,"lease_duration":2764800,"data":%s,"wrap_info":null,"warnings":null,"auth":null}`+"\n", data)
	}
	login := func(token string) {
		fmt.Fprintf(w, `{"request_id":"a","lease_id":"","renewable":false,"lease_duration":0,"data":null,"wrap_info":null,"warnings":["a warning"],"auth":{"client_token":%q,"accessor":"x","policies":["default"],"lease_duration":2764800,"renewable":true}}`+"\n", token)
	}
	var body map[string]string
	_ = json.NewDecoder(r.Body).Decode(&body)
	token := r.Header.Get("X-Vault-Token")
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case f.sealed:
		fail(http.StatusServiceUnavailable, "Vault is sealed")
		return
	case f.active != "":
		w.Header().Set("Location", f.active+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	case r.Header.Get("X-Vault-Namespace") != f.namespace:
		fail(http.StatusForbidden, "permission denied")
		return
	case r.Method == http.MethodPost && path == "auth/userpass/login/bob":
		if body["password"] != password {
			fail(http.StatusBadRequest, "invalid username or password")
			return
		}
		login(tokenOfUser)
		return
	case r.Method == http.MethodPost && path == "auth/userpass/login/mfa":
		io.WriteString(w, `{"data":null,"auth":{"client_token":"","mfa_requirement":{"mfa_request_id":"x"}}}`)
		return
	case r.Method == http.MethodPost && slices.Contains([]string{"auth/approle/login", "auth/ci/machines/login"}, path):
		if body["role_id"] != "role" || body["secret_id"] != secretID {
			fail(http.StatusBadRequest, "invalid role or secret ID")
			return
		}
		login(tokenOfRole)
		return
	case token == "":
		fail(http.StatusBadRequest, "missing client token")
		return
	case !slices.Contains([]string{tokenOfUser, tokenOfRole, rootToken}, token):
		fail(http.StatusForbidden, "permission denied")
		return
	case r.Method != http.MethodGet:
		fail(http.StatusMethodNotAllowed, "unsupported operation")
		return
	}
	metadata := `"metadata":{"created_time":"2026-11-20T12:00:00.1Z","custom_metadata":null,"deletion_time":%q,"destroyed":%v,"version":3}`
	second := func(secret, deleted string, destroyed bool) string {
		return fmt.Sprintf(`{"data":%s,`+metadata+`}`, secret, deleted, destroyed)
	}
	switch path {
	case "kv/web", "kv/data/web":
		data(`{"password":"kv1-s3cret","port":8080}`)
	case "kv/nested":
		data(`{"data":{"password":"inner"},"metadata":"mine"}`)
	case "kv/a b/ü":
		data(`{"x":"strange"}`)
	case "kv/reference":
		data(`{"x":{"_plugin":"task"}}`)
	case "secret/data/web", "team/kv/data/web", "secret/data/a/b":
		data(second(`{"password":"kv2-s3cret","tree":{"a":[1,null]},"empty":null}`, "", false))
	case "secret/data/deleted":
		w.WriteHeader(http.StatusNotFound)
		data(second("null", "2026-11-21T12:00:00Z", false))
	case "secret/data/destroyed":
		w.WriteHeader(http.StatusNotFound)
		data(second("null", "", true))
	case "secret/web":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errors":[],"warnings":["Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use."]}`)
	default:
		mount, _, _ := strings.Cut(path, "/")
		if !slices.Contains([]string{"kv", "secret", "team"}, mount) {
			fail(http.StatusNotFound, fmt.Sprintf("no handler for route %q. route entry not found.", path))
			return
		}
		fail(http.StatusNotFound)
	}
}

func answerOf(code int, body string) *fetch.Answer {
	return &fetch.Answer{Code: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Body: []byte(body)}
}

func secretOf(text string) transport.Secret { return transport.NewSecret(text) }
