package azure

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
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

const (
	token  = "eyJ0.t0ken"
	secret = "cl13nt~s3cret"
	tenant = "00000000-0000-0000-0000-00000000000a"
	client = "00000000-0000-0000-0000-00000000000b"
)

// A fakeAzure is an authority that issues tokens for a client's secret, and a
// resource manager with many machines. A page has two machines.
//
// Source:
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
type fakeAzure struct {
	url   string
	many  int
	page  int
	busy  int
	list  http.HandlerFunc // replaces lists, if it is set
	login http.HandlerFunc // replaces tokens, if it is set

	mu      sync.Mutex
	refused int
	asked   []string
}

func (f *fakeAzure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/"+tenant+"/v2.0/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"token_endpoint":"%[1]s/%[2]s/oauth2/v2.0/token","authorization_endpoint":"%[1]s/%[2]s/oauth2/v2.0/authorize","issuer":"%[1]s/%[2]s/v2.0"}`, f.url, tenant)
	case r.URL.Path == "/"+tenant+"/oauth2/v2.0/token":
		if f.login != nil {
			f.login(w, r)
			return
		}
		_ = r.ParseForm()
		if r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("client_id") != client || r.Form.Get("client_secret") != secret || !strings.HasPrefix(r.Form.Get("scope"), "https://management.azure.com/.default") {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: %s.\r\nTrace ID: x","error_codes":[7000215]}`, r.Form.Get("client_secret"))
			return
		}
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":%q}`, token)
	case r.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"code":"AuthenticationFailed","message":"Authentication failed."}}`)
	case f.list != nil:
		f.list(w, r)
	case f.refused < f.busy:
		f.refused++
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		f.refused = 0
		f.resources(w, r)
	}
}

const prefix = "/subscriptions/s1/resourceGroups/web/providers/"

func (f *fakeAzure) resources(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.URL.Path+"?"+r.URL.Query().Get("api-version"))
	var form string
	switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
	case "virtualMachines":
		form = `{"name":"vm-%[1]d","id":"` + prefix + `Microsoft.Compute/virtualMachines/vm-%[1]d","location":"westeurope","tags":{"Role":"web","n":"%[1]d"},"properties":{"networkProfile":{"networkInterfaces":[` +
			`{"id":"` + prefix + `Microsoft.Network/networkInterfaces/second-%[1]d","properties":{"primary":false}},{"id":"` + prefix + `Microsoft.Network/networkInterfaces/NIC-%[1]d","properties":{"primary":true}}]}}}`
	case "networkInterfaces":
		form = `{"name":"nic-%[1]d","id":"` + prefix + `Microsoft.Network/networkInterfaces/nic-%[1]d","properties":{"ipConfigurations":[{"properties":{"privateIPAddress":"10.0.0.%[1]d","publicIPAddress":{"id":"` + prefix + `Microsoft.Network/publicIPAddresses/IP-%[1]d"}}}]}}`
	case "publicIPAddresses":
		form = `{"name":"ip-%[1]d","id":"` + prefix + `Microsoft.Network/publicIPAddresses/ip-%[1]d","properties":{"ipAddress":"203.0.113.%[1]d"%[2]s}}`
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":"ResourceGroupNotFound","message":"Resource group 'x' could not be found."}}`)
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("$skiptoken"))
	to := min(from+f.page, f.many)
	io.WriteString(w, `{"value":[`)
	for i := from; i < to; i++ {
		if i > from {
			io.WriteString(w, ",")
		}
		dns := ""
		if i == 0 {
			dns = `,"dnsSettings":{"fqdn":"web0.westeurope.cloudapp.azure.com"}`
		}
		switch text := form; {
		case strings.Contains(r.URL.Path, "publicIP") && i == 2: // has no address
			fmt.Fprintf(w, `{"id":"other"}`)
		case strings.Contains(r.URL.Path, "publicIP"):
			fmt.Fprintf(w, text, i, dns)
		default:
			fmt.Fprintf(w, text, i)
		}
	}
	io.WriteString(w, "]")
	if to < f.many {
		fmt.Fprintf(w, `,"nextLink":"%s%s?api-version=%s&$skiptoken=%d"`, f.url, r.URL.Path, r.URL.Query().Get("api-version"), to)
	}
	io.WriteString(w, "}")
}

func serve(t *testing.T, f *fakeAzure) (*Plugin, *httptest.Server) {
	t.Helper()
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	f.url = s.URL
	for _, name := range []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_SUBSCRIPTION_ID", "AZURE_TOKEN_CREDENTIALS", "AZURE_FEDERATED_TOKEN_FILE", "MSI_ENDPOINT", "IDENTITY_ENDPOINT"} {
		t.Setenv(name, "") // which is restored at the end
		os.Unsetenv(name)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AZURE_AUTHORITY_HOST", s.URL)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	p := New(cloud.Options{Env: os.LookupEnv, Agent: "bolt/1", Timeout: 20 * time.Second, Pause: time.Millisecond, Roots: roots, Warn: func(_, text string) { t.Errorf("warning: %s", text) }})
	p.api = s.URL
	return p, s
}

func resolve(t *testing.T, p *Plugin, ref string) (string, error) {
	t.Helper()
	m, err := ordered.ParseJSON([]byte(ref))
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Resolve(t.Context(), &ordered.Map{}, m.(*ordered.Map))
	if err != nil {
		if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), secret) {
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

const reference = `"tenant_id": "` + tenant + `", "client_id": "` + client + `", "client_secret": "` + secret + `", "subscription_id": "s1"`

func TestTargets(t *testing.T) {
	for _, tt := range []struct{ name, ref, want, asked string }{
		{"as the module", ``, `[{"name":"web0.westeurope.cloudapp.azure.com","uri":"203.0.113.0"},{"name":"vm-1","uri":"203.0.113.1"}]`, "/subscriptions/s1/providers/Microsoft.Compute/virtualMachines?2019-07-01"},
		{"a group", `, "resource_group": "web", "target_mapping": {"name": "name", "uri": "private_ip_address", "vars": {"n": "tags.n", "nic": "network_interfaces.0.name", "public": "public_ip_addresses.0.name", "fqdn": "fqdn"}}`,
			`[{"name":"vm-0","uri":"10.0.0.0","vars":{"n":"0","nic":"nic-0","public":"ip-0","fqdn":"web0.westeurope.cloudapp.azure.com"}},{"name":"vm-1","uri":"10.0.0.1","vars":{"n":"1","nic":"nic-1","public":"ip-1"}},{"name":"vm-2","uri":"10.0.0.2","vars":{"n":"2","nic":"nic-2"}}]`,
			"/subscriptions/s1/resourceGroups/web/providers/Microsoft.Compute/virtualMachines?2019-07-01"},
		{"a scale set", `, "resource_group": "web", "scale_set": "front", "tags": {"ROLE": "web", "N": "1"}, "location": "westeurope"`, `[{"name":"vm-1","uri":"203.0.113.1"}]`,
			"/subscriptions/s1/resourceGroups/web/providers/Microsoft.Compute/virtualMachineScaleSets/front/virtualMachines?2017-03-30"},
		{"other tags", `, "tags": {"role": "WEB"}`, `[]`, "/subscriptions/s1/providers/Microsoft.Compute/virtualMachines?2019-07-01"},
		{"another tag", `, "tags": {"role": "web", "none": ""}`, `[]`, "/subscriptions/s1/providers/Microsoft.Compute/virtualMachines?2019-07-01"},
		{"another location", `, "location": "eastus"`, `[]`, "/subscriptions/s1/providers/Microsoft.Compute/virtualMachines?2019-07-01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeAzure{many: 3, page: 2, busy: 1}
			p, _ := serve(t, f)
			got, err := resolve(t, p, `{`+reference+tt.ref+`}`)
			if err != nil || got != tt.want || f.asked[0] != tt.asked {
				t.Errorf("got  %s, %v\nwant %s\nasked %q", got, err, tt.want, f.asked)
			}
		})
	}
}

// TestMany reads ten thousand machines.
func TestMany(t *testing.T) {
	p, _ := serve(t, &fakeAzure{many: 10_000, page: 1000})
	got, err := resolve(t, p, `{`+reference+`, "target_mapping": {"name": "name", "uri": "public_ip_address"}}`)
	if n := strings.Count(got, `"name"`); err != nil || n != 10_000 {
		t.Errorf("got %d targets, %v", n, err)
	}
}

func TestEnvironment(t *testing.T) {
	p, _ := serve(t, &fakeAzure{many: 1, page: 1})
	t.Setenv("AZURE_TENANT_ID", tenant)
	t.Setenv("AZURE_CLIENT_ID", client)
	t.Setenv("AZURE_CLIENT_SECRET", secret)
	t.Setenv("AZURE_SUBSCRIPTION_ID", "s1")
	if got, err := resolve(t, p, `{"target_mapping": {"uri": "name"}}`); err != nil || got != `[{"uri":"vm-0"}]` {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestCLI uses the login of 'az login'.
func TestCLI(t *testing.T) {
	p, _ := serve(t, &fakeAzure{many: 1, page: 1})
	dir := t.TempDir()
	script := `#!/bin/sh
case "$*" in *get-access-token*management.azure.com*) echo '{"accessToken": "` + token + `", "expiresOn": "2099-01-01 00:00:00.000000", "expires_on": 4070908800, "tenant": "t", "tokenType": "Bearer"}';; *) echo "$*" >&2; exit 1;; esac
`
	if err := os.WriteFile(dir+"/az", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "AzureCLICredential")
	if got, err := resolve(t, p, `{"subscription_id": "s1", "target_mapping": {"uri": "name"}}`); err != nil || got != `[{"uri":"vm-0"}]` {
		t.Errorf("got %s, %v", got, err)
	}
	if err := os.WriteFile(dir+"/az", []byte("#!/bin/sh\necho Please run az login >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := resolve(t, p, `{"subscription_id": "s1", "target_mapping": {"uri": "name"}}`)
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Msg, "no credentials for Azure were found") || !strings.Contains(f.Msg, "az login") {
		t.Errorf("got %v", err)
	}
}

// TestManagedIdentity uses the identity that App Service provides to its
// programs.
func TestManagedIdentity(t *testing.T) {
	identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-IDENTITY-HEADER") != "h" || r.URL.Query().Get("resource") != "https://management.azure.com" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"expires_on":"4070908800","resource":"x","token_type":"Bearer"}`, token)
	}))
	defer identity.Close()
	p, _ := serve(t, &fakeAzure{many: 1, page: 1})
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
	t.Setenv("IDENTITY_ENDPOINT", identity.URL)
	t.Setenv("IDENTITY_HEADER", "h")
	if got, err := resolve(t, p, `{"subscription_id": "s1", "target_mapping": {"uri": "name"}}`); err != nil || got != `[{"uri":"vm-0"}]` {
		t.Errorf("got %s, %v", got, err)
	}
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
		name        string
		list, login http.HandlerFunc
		says, hint  string
	}{
		{"403", answer(403, `{"error":{"code":"AuthorizationFailed","message":"The client may not, `+token+`"}}`), nil, "403 Forbidden: AuthorizationFailed: The client may not, [redacted]", "Reader"},
		{"expired", answer(401, `{"error":{"code":"ExpiredAuthenticationToken","message":"old"}}`), nil, "ExpiredAuthenticationToken: old", "az login"},
		{"not there", answer(404, `{"error":{"code":"ResourceGroupNotFound","message":"x"}}`), nil, "ResourceGroupNotFound: x", "resource_group"},
		{"throttled for ever", answer(429, ``), nil, "429 Too Many Requests", "_cache"},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"value":`)
		}, nil, "closed before the whole response", ""},
		{"wrong JSON", answer(200, `{"value": `), nil, "is not a JSON object", ""},
		{"something else", answer(200, `{"value": {}}`), nil, "is not a list of resources", ""},
		{"machines of another form", answer(200, `{"value": [{"properties": {"networkProfile": []}}, 1, null]}`), nil, "", ""},
		{"a list that goes on elsewhere", answer(200, `{"value": [], "nextLink": "https://elsewhere.example/x"}`), nil, "on another server, which bolt does not query", ""},
		{"1 GB", large, nil, "larger than 64 MiB", ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/"+token, http.StatusFound)
		}, nil, "redirects, which is not followed", ""},
		{"a login that is refused", nil, answer(401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret `+secret+`.\r\nTrace ID: x"}`), "refused with status 401: AADSTS7000215: Invalid client secret [redacted].", "AZURE_TENANT_ID"},
		{"a login with other JSON", nil, answer(200, `{`), "no credentials for Azure were found", ""},
		{"a login of 1 GB", nil, large, "no credentials for Azure were found", ""},
		{"a login that is busy", nil, answer(503, ``), "refused with status 503", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := serve(t, &fakeAzure{list: tt.list, login: tt.login})
			_, err := resolve(t, p, `{`+reference+`}`)
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
			if f, ok := errors.AsType[*fault.Error](err); tt.hint != "" && (!ok || !strings.Contains(f.Hint, tt.hint)) {
				t.Errorf("got %+v", f)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		p, _ := serve(t, &fakeAzure{list: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
		p.o.Timeout = 100 * time.Millisecond
		if _, err := resolve(t, p, `{`+reference+`}`); err == nil || !strings.Contains(err.Error(), "no complete response within 100ms") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("wrong certificate", func(t *testing.T) {
		p, _ := serve(t, &fakeAzure{})
		p.o.Roots = x509.NewCertPool()
		if _, err := resolve(t, p, `{`+reference+`}`); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWrong(t *testing.T) {
	p, _ := serve(t, &fakeAzure{})
	for ref, says := range map[string]string{
		`{}`: "requires a 'subscription_id'",
		`{"subscription_id": "s", "scale_set": "x"}`:               "requires a 'resource_group' beside",
		`{"subscription_id": "s", "client_secret": "x"}`:           "'tenant_id' and 'client_id' beside",
		`{"subscription_id": "s", "tags": {"a": 1}}`:               "the tag 'a' is a String",
		`{"subscription_id": "s", "target_mapping": {"vars": {}}}`: "requires a 'name' or a 'uri'",
		`{"subscription_id": "s", "name": "x"}`:                    "name to be set under",
		`{"subscription_id": "s", "resource_groups": "x"}`:         "has no option 'resource_groups'",
		`{` + reference + `, "resource_group": ".."}`:              "not the name of a resource",
		`{` + strings.Replace(reference, tenant, "a b", 1) + `}`:   "no credentials for Azure were found",
		`{` + strings.Replace(reference, secret, "wr0ng", 1) + `}`: "Invalid client secret provided: [redacted].",
	} {
		if _, err := resolve(t, p, ref); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}

// TestClouds checks that the environment selects the cloud.
func TestClouds(t *testing.T) {
	for host, want := range map[string]string{"": "https://management.azure.com", "https://login.microsoftonline.us": "https://management.usgovcloudapi.net", "https://login.chinacloudapi.cn/": "https://management.chinacloudapi.cn"} {
		p := New(cloud.Options{Env: func(string) (string, bool) { return host, host != "" }})
		if c := p.where(); c.Services["resourceManager"].Endpoint != want || c.Services["resourceManager"].Audience != want || host != "" && c.ActiveDirectoryAuthorityHost != host {
			t.Errorf("%s: got %+v", host, c)
		}
	}
}
