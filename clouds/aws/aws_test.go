package aws

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/clouds/cloud"
	"bolt/format/fault"
	"bolt/format/ordered"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// serve starts a server with TLS, and sets it as the endpoint of EC2. The environment
// has no other configuration of AWS.
func serve(t *testing.T, h http.Handler) (*Plugin, *httptest.Server, *[]string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	home := t.TempDir()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ENDPOINT_URL_EC2", s.URL)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	warnings := new([]string)
	return New(cloud.Options{Project: home, Home: home, Env: os.LookupEnv, Agent: "bolt/1", Timeout: 20 * time.Second, Pause: time.Millisecond, Roots: roots,
		Warn: func(_, text string) { *warnings = append(*warnings, text) }}), s, warnings
}

func parseJSON(t *testing.T, text string) *ordered.Map {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*ordered.Map)
}

// resolve returns the targets as JSON.
func resolve(t *testing.T, p *Plugin, ref string) (string, error) {
	t.Helper()
	v, err := p.Resolve(t.Context(), &ordered.Map{}, parseJSON(t, ref))
	if err != nil {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the secret: %v", err)
		}
		return "", err
	}
	text, err := ordered.Of("v", v).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}"), nil
}

const static = `"region": "eu-central-1", "aws_access_key_id": "` + keyID + `", "aws_secret_access_key": "` + secret + `"`

// TestTargets checks the data that mappings find in an instance, and the request.
func TestTargets(t *testing.T) {
	ec2 := &fakeEC2{region: "eu-central-1", instances: []string{full, private, stopped}}
	p, _, warnings := serve(t, ec2)
	for mapping, want := range map[string]string{
		`{"name": "tags.Name", "uri": "public_dns_name"}`: `[{"name":"web & 1","uri":"ec2-203-0-113-5.eu-central-1.compute.amazonaws.com"},{"name":"db"}]`,
		`{"name": "instance_id", "config": {"ssh": {"host": "public_ip_address", "user": "tags.user.ssh"}}, "vars": {"list": ["private_ip_address", "none"]}}`: `[{"name":"i-1","config":{"ssh":{"host":"203.0.113.5","user":"admin"}},"vars":{"list":["10.0.0.5"]}},{"name":"i-2","config":{"ssh":{}},"vars":{"list":["10.0.0.6"]}}]`,
		`{"name": "id", "vars": {"zone": "placement.availability_zone", "state": "state", "sg": "security_groups.0.group_name", "index": "ami_launch_index", "ebs": "ebs_optimized",
			"volume": "block_device_mappings.0.ebs.volume_id", "six": "network_interfaces.0.ipv_6_addresses.0.ipv_6_address", "nic": "network_interfaces.0.groups.0.group_id",
			"second": "network_interfaces.0.private_ip_addresses.1.private_ip_address", "owner": "network_interfaces.0.owner_id", "codes": "product_codes"}}`: `[{"name":"i-1","vars":{"zone":"eu-central-1a","state":{"code":16,"name":"running"},"sg":"web","index":0,"ebs":false,` +
			`"volume":"vol-1","six":"2001:db8::1","nic":"sg-1","second":"10.0.0.7","owner":"123456789012","codes":[]}},{"name":"i-2","vars":{"state":{"code":16,"name":"running"}}}]`,
	} {
		got, err := resolve(t, p, `{`+static+`, "target_mapping": `+mapping+`}`)
		if err != nil || got != want {
			t.Errorf("%s: got  %s, %v\nwant %s", mapping, got, err, want)
		}
	}
	if len(*warnings) > 0 {
		t.Errorf("warnings %q", *warnings)
	}
	got, err := resolve(t, p, `{`+static+`, "filters": [{"name": "tag:role", "values": ["web", "db"]}], "target_mapping": {"uri": "public_dns_name"}}`)
	if err != nil || got != `[{"uri":"ec2-203-0-113-5.eu-central-1.compute.amazonaws.com"}]` || len(*warnings) != 1 || !strings.Contains((*warnings)[0], "without a value for their name or uri (1): i-2") {
		t.Errorf("got %s, %v, %q", got, err, *warnings)
	}
	want := url.Values{"Action": {"DescribeInstances"}, "Version": {"2016-11-15"}, "MaxResults": {"1000"}, "Filter.1.Name": {"tag:role"}, "Filter.1.Value.1": {"web"}, "Filter.1.Value.2": {"db"},
		"Filter.2.Name": {"instance-state-name"}, "Filter.2.Value.1": {"running"}}
	if ec2.took().Encode() != want.Encode() {
		t.Errorf("got %v", ec2.took())
	}
	_, err = resolve(t, p, `{`+static+`, "filters": [{"name": "instance-state-name", "values": ["pending"]}], "target_mapping": {"uri": "id"}}`)
	if form := ec2.took(); err != nil || form.Has("Filter.2.Name") || form.Get("Filter.1.Value.1") != "pending" {
		t.Errorf("got %v, %v", form, err)
	}
}

// TestMany reads ten thousand instances on ten pages from a server that is sometimes
// busy.
func TestMany(t *testing.T) {
	var all []string
	for i := range 10_000 {
		all = append(all, strings.ReplaceAll(private, "<instanceId>i-2<", fmt.Sprintf("<instanceId>i-%d<", i)))
	}
	ec2 := &fakeEC2{region: "eu-central-1", instances: all, busy: 1}
	p, _, _ := serve(t, ec2)
	v, err := p.Resolve(t.Context(), &ordered.Map{}, parseJSON(t, `{`+static+`, "target_mapping": {"name": "id", "uri": "private_ip_address"}}`))
	if err != nil {
		t.Fatal(err)
	}
	list := v.([]any)
	if len(list) != 10_000 || list[9999].(*ordered.Map).Value("name") != "i-9999" {
		t.Errorf("%d targets, the last is %v", len(list), list[len(list)-1])
	}
}

// TestCredentials checks the sources of credentials.
func TestCredentials(t *testing.T) {
	ec2 := &fakeEC2{region: "eu-central-1", instances: []string{full}}
	p, s, _ := serve(t, ec2)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.o.Project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ok := func(name, ref string) {
		t.Helper()
		if got, err := resolve(t, p, `{`+ref+`"target_mapping": {"name": "id"}}`); err != nil || got != `[{"name":"i-1"}]` {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	keys := "aws_access_key_id = " + keyID + "\naws_secret_access_key = " + secret + "\n"
	write("mine", "[default]\n"+keys+"[other]\naws_access_key_id = x\naws_secret_access_key = y\n")
	t.Setenv("AWS_ACCESS_KEY_ID", "of the environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "which is wrong")
	ok("a file before the environment", `"region": "eu-central-1", "credentials": "mine", `)
	ok("a file in the home directory", `"region": "eu-central-1", "credentials": "~/mine", `)
	ok("the reference before the environment", static+", ")
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_REGION", "eu-central-1")
	ok("the environment", "")
	write("config", "[profile ours]\nregion = eu-central-1\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \""+keyID+"\", \"SecretAccessKey\": \""+secret+"\"}'\n")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_REGION", "")
	ok("a profile with a program", `"profile": "ours", `)
	write("credentials", "[default]\n"+keys)
	ok("the default profile", `"region": "eu-central-1", `)

	// The role of the machine.
	write("credentials", "")
	meta := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/latest/api/token" && r.Header.Get("X-Aws-Ec2-Metadata-Token") != "t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
			io.WriteString(w, "t")
		case "/latest/meta-data/iam/security-credentials/":
			io.WriteString(w, "role")
		case "/latest/meta-data/iam/security-credentials/role":
			fmt.Fprintf(w, `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":%q,"SecretAccessKey":%q,"Token":"of-session","Expiration":%q}`, keyID, secret, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer meta.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", meta.URL)
	ok("the role of the machine", `"region": "eu-central-1", `)
	if ec2.session != "of-session" {
		t.Errorf("the session is %q", ec2.session)
	}
	meta.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")

	// CA certificates from the environment.
	write("ca.pem", string(pemOf(s.Certificate())))
	t.Setenv("AWS_CA_BUNDLE", filepath.Join(p.o.Project, "ca.pem"))
	p.o.Roots = x509.NewCertPool()
	ok("authorities", static+", ")
}

// TestFailures checks that each failure has one clear message.
func TestFailures(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); io.WriteString(w, body) }
	}
	refuses := func(code int, kind string) http.HandlerFunc {
		return answer(code, `<?xml version="1.0"?><Response><Errors><Error><Code>`+kind+`</Code><Message>`+"no\x1b[31m "+secret+`</Message></Error></Errors><RequestID>r</RequestID></Response>`)
	}
	tests := []struct {
		name string
		h    http.HandlerFunc
		says string
		hint string
	}{
		{"403", answer(403, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You may not, `+secret+`</Message></Error></Errors></Response>`), "UnauthorizedOperation: You may not, [redacted]", "ec2:DescribeInstances"},
		{"control characters", refuses(401, "AuthFailure"), "401 Unauthorized", ""},
		{"wrong key", answer(401, `<Response><Errors><Error><Code>AuthFailure</Code><Message>no</Message></Error></Errors></Response>`), "AuthFailure: no", "is the reference"},
		{"expired", answer(400, `<Response><Errors><Error><Code>RequestExpired</Code><Message>old</Message></Error></Errors></Response>`), "RequestExpired: old", "Log in again"},
		{"throttled for ever", answer(503, `<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>wait</Message></Error></Errors></Response>`), "RequestLimitExceeded: wait", "_cache"},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "<DescribeInstancesResponse>")
		}, "closed before the whole response", ""},
		{"wrong XML", answer(200, "<DescribeInstancesResponse><a></b>"), "not XML, or ends too early", ""},
		{"no XML", answer(200, `{"a": 1}`), "not XML, or ends too early", ""},
		{"something else", answer(200, "<html></html>"), "not a response to DescribeInstances", ""},
		{"deep", answer(200, strings.Repeat("<a>", 100)), "too many elements", ""},
		{"for ever the same page", answer(200, "<DescribeInstancesResponse><nextToken>t</nextToken></DescribeInstancesResponse>"), "is its own successor", ""},
		{"1 GB", func(w http.ResponseWriter, _ *http.Request) {
			part := make([]byte, 1<<20)
			for range 1024 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, "larger than 64 MiB", ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/?x="+secret, http.StatusTemporaryRedirect)
		}, "redirects, which is not followed", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, s, _ := serve(t, tt.h)
			_, err := resolve(t, p, `{`+static+`, "target_mapping": {"name": "id"}}`)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), s.URL) && tt.hint == "" && tt.name != "for ever the same page" {
				t.Errorf("got %v", err)
			}
			if f, ok := errors.AsType[*fault.Error](err); tt.hint != "" && (!ok || !strings.Contains(f.Hint, tt.hint)) {
				t.Errorf("got %+v", f)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		p, _, _ := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }))
		p.o.Timeout = 100 * time.Millisecond
		if _, err := resolve(t, p, `{`+static+`, "target_mapping": {"name": "id"}}`); err == nil || !strings.Contains(err.Error(), "no complete response within 100ms") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		p, _, _ := serve(t, answer(503, ""))
		p.o.Pause = time.Hour
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(enough) })
		if _, err := p.Resolve(ctx, &ordered.Map{}, parseJSON(t, `{`+static+`, "target_mapping": {"name": "id"}}`)); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("wrong certificate", func(t *testing.T) {
		p, _, _ := serve(t, answer(200, ""))
		p.o.Roots = x509.NewCertPool()
		if _, err := resolve(t, p, `{`+static+`, "target_mapping": {"name": "id"}}`); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("down", func(t *testing.T) {
		p, s, _ := serve(t, answer(200, ""))
		s.Close()
		if _, err := resolve(t, p, `{`+static+`, "target_mapping": {"name": "id"}}`); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v", err)
		}
	})
}

// TestWrong checks invalid references, and a missing configuration.
func TestWrong(t *testing.T) {
	p, _, _ := serve(t, http.NotFoundHandler())
	for ref, says := range map[string]string{
		`{}`: "requires a 'name' or a 'uri'",
		`{"regoin": "x", "target_mapping": {"name": "id"}}`:                                          "has no option 'regoin'",
		`{"aws_access_key_id": "x", "target_mapping": {"name": "id"}}`:                               "both",
		`{"filters": {}, "target_mapping": {"name": "id"}}`:                                          "'filters' is an Array",
		`{"filters": [{"name": "x"}], "target_mapping": {"name": "id"}}`:                             "each of 'filters'",
		`{"filters": [{"name": "x", "values": [1]}], "target_mapping": {"name": "id"}}`:              "the filter 'x' are Strings",
		`{"uri": "public_dns_name"}`:                                                                 "uri to be set under 'target_mapping'",
		`{"credentials": "none", "target_mapping": {"name": "id"}}`:                                  "/none: no such file",
		`{"target_mapping": {"name": "id"}}`:                                                         "no region is set",
		`{"region": "eu-central-1", "target_mapping": {"name": "id"}}`:                               "no credentials for AWS were found",
		`{"profile": "nobody", "region": "eu-central-1", "target_mapping": {"name": "id"}}`:          "nobody",
		`{"aws_access_key_id": "x", "aws_secret_access_key": "y", "target_mapping": {"name": "id"}}`: "no region is set",
	} {
		if _, err := resolve(t, p, ref); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}
