package terraform

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
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a project directory with an environment.
type world struct {
	*Plugin
	dir      string
	env      map[string]string
	warnings []string
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), env: map[string]string{}}
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.Plugin = New(Options{Project: w.dir, Env: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		Warn: func(id, text string) { w.warnings = append(w.warnings, id+": "+text) }})
	return w
}

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

// resolve returns the targets as JSON.
func (w *world) resolve(t *testing.T, ref string) (string, error) {
	t.Helper()
	v, err := w.Resolve(t.Context(), &ordered.Map{}, parse(t, ref))
	if err != nil {
		return "", err
	}
	text, err := ordered.Of("v", v).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}"), nil
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tiny is a state with one resource, which is called by a name.
func tiny(name string) string {
	return fmt.Sprintf(`{"version":4,"resources":[{"mode":"managed","type":"vm","name":"x","instances":[{"attributes":{"name":%q}}]}]}`, name)
}

// TestResources: what states have. v4.tfstate is one that Terraform 1.11 wrote.
func TestResources(t *testing.T) {
	w := newWorld(t, map[string]string{
		"v4/terraform.tfstate": read(t, "v4.tfstate"), "v3/terraform.tfstate": read(t, "v3.tfstate"),
		"flat/terraform.tfstate":  `{"version":4,"resources":[{"type":"vm","name":"x","instances":[{"attributes_flat":{"id":"1","tags.Name":"n"}},{"deposed":"ab12","attributes":{"id":"old"}},{"index_key":7,"attributes":null}]}]}`,
		"empty/terraform.tfstate": "\n", "none/main.tf": "",
	})
	for _, tt := range []struct{ name, ref, want string }{
		{"count", `"dir":"v4","resource_type":"terraform_data.web.1","target_mapping":{"name":"input.value.tags.Name","uri":"input.value.nets.0.addr"}`, `[{"name":"web1","uri":"192.0.2.1"}]`},
		{"for_each", `"dir":"v4","resource_type":"^terraform_data\\.named","target_mapping":{"uri":"input.value.ip"}`, `[{"uri":"a"},{"uri":"b.c"}]`},
		{"a key", `"dir":"v4","resource_type":"named.b\\.c$","target_mapping":{"uri":"input.value.ip"}`, `[{"uri":"b.c"}]`},
		{"modules, too", `"dir":"v4","resource_type":"data.web$","target_mapping":{"uri":"input.value.ip"}`, `[{"uri":"10.1.0.1"}]`},
		{"one module", `"dir":"v4","resource_type":"^module.sub","target_mapping":{"uri":"input.value.ip"}`, `[{"uri":"10.1.0.1"}]`},
		{"look-around", `"dir":"v4","resource_type":"terraform_data.(?!web|named)","target_mapping":{"uri":"input.value.ip"}`, `[{"uri":"10.9.9.9"}]`},
		{"what is not there", `"dir":"v4","resource_type":"data.one","target_mapping":{"uri":"input.value.ip","name":"nope","vars":{"a":"nope.0"}}`, `[{"uri":"10.9.9.9","vars":{}}]`},
		{"version 3", `"dir":"v3","resource_type":"google_compute_instance.web.0","target_mapping":{"name":"name","uri":"network_interface.0.access_config.0.nat_ip","vars":{"l":"labels"}}`, `[{"name":"web-0","uri":"34.83.150.52","vars":{"l":{"%":"1","role":"web"}}}]`},
		{"version 3, all", `"dir":"v3","resource_type":"google_compute_instance","target_mapping":{"name":"name"}`, `[{"name":"web-0"},{"name":"web-1"},{"name":"db"}]`},
		{"version 3, a module", `"dir":"v3","resource_type":"module.db.","target_mapping":{"name":"name"}`, `[{"name":"db"}]`},
		{"what was version 3", `"dir":"flat","resource_type":"vm.x$","target_mapping":{"name":"tags.Name"}`, `[{"name":"n"}]`},
		{"an empty state", `"dir":"empty","resource_type":"x","target_mapping":{"name":"name"}`, `[]`},
		{"no state", `"dir":"none","resource_type":"x","target_mapping":{"name":"name"}`, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := w.resolve(t, "{"+tt.ref+"}"); err != nil || got != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
	if len(w.warnings) != 0 {
		t.Errorf("warned %q", w.warnings)
	}
	got, err := w.resolve(t, `{"dir":"v4","resource_type":".","target_mapping":{"name":"input.value.tags.Name"}}`)
	want := "terraform_nameless: Terraform state of " + w.dir + "/v4: 5 resources have no value for name or uri and are left out: terraform_remote_state.x, terraform_data.named.a, terraform_data.named.b.c and 2 more"
	if err != nil || got != `[{"name":"web0"},{"name":"web1"}]` || len(w.warnings) != 1 || w.warnings[0] != want {
		t.Errorf("got %s, %v, warned %q", got, err, w.warnings)
	}
}

// TestChoosesStateFileOrBackend checks the choice of the state file or the
// backend.
func TestChoosesStateFileOrBackend(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked++
		if u, p, _ := r.BasicAuth(); u != "tf" || p != "s3cret" || r.URL.RawQuery != "ref=1" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(rw, tiny("http"))
	}))
	t.Cleanup(server.Close)
	record := func(kind, config string) string {
		return fmt.Sprintf(`{"version":3,"backend":{"type":%q,"config":%s,"hash":1}}`, kind, config)
	}
	reached := fmt.Sprintf(`{"address":"%s/s?ref=1","username":"tf","password":"s3cret","skip_cert_verification":null}`, server.URL)
	w := newWorld(t, map[string]string{
		"local/terraform.tfstate": tiny("local"), "local/other.tfstate": tiny("other"), "local/terraform.tfstate.d/staging/terraform.tfstate": tiny("staging"),
		"selected/.terraform/environment": "staging\n", "selected/terraform.tfstate": tiny("default"), "selected/terraform.tfstate.d/staging/terraform.tfstate": tiny("selected"),
		"placed/.terraform/terraform.tfstate": record("local", `{"path":"deep/x.tfstate","workspace_dir":"spaces"}`), "placed/deep/x.tfstate": tiny("placed"), "placed/spaces/staging/terraform.tfstate": tiny("space"),
		"http/.terraform/terraform.tfstate": record("http", reached), "both/.terraform/terraform.tfstate": record("http", reached), "both/terraform.tfstate": tiny("both"),
		"bare/.terraform/terraform.tfstate": record("http", `{"address":null}`), "cloud/.terraform/terraform.tfstate": record("s3", `{"secret_key":"s3cret"}`),
		"moved/data/terraform.tfstate": record("http", reached), "moved/terraform.tfstate": "",
		"bin/terraform": "#!/bin/sh\n[ \"$1 $2 $TF_INPUT\" = 'state pull 0' ] || exit 1\n[ -d .terraform ] && exec printf '%s' '" + tiny("pulled") + "'\necho >&2 'Error: no configuration'; exit 1\n",
	})
	t.Setenv("PATH", filepath.Join(w.dir, "bin")+":/usr/bin:/bin")
	for _, tt := range []struct {
		name, ref string
		env       map[string]string
		want      string // a target, or what an error says
	}{
		{"a file", `"dir":"local"`, nil, "local"},
		{"another file", `"dir":"local","state":"other.tfstate"`, nil, "other"},
		{"another file, that is not there", `"dir":"local","state":"terafrom.tfstate"`, nil, "names a file that does not exist: " + w.dir + "/local/terafrom.tfstate"},
		{"the file of an absolute path", fmt.Sprintf(`"dir":"none","state":%q`, w.dir+"/local/other.tfstate"), nil, "other"},
		{"a workspace of the environment", `"dir":"local"`, map[string]string{"TF_WORKSPACE": "staging"}, "staging"},
		{"no workspace", `"dir":"local"`, map[string]string{"TF_WORKSPACE": "../x"}, `"../x" is not a valid name of a workspace`},
		{"a workspace that was selected", `"dir":"selected"`, nil, "selected"},
		{"the file, whatever is selected", `"dir":"selected","state":"terraform.tfstate"`, nil, "default"},
		{"a local backend", `"dir":"placed"`, nil, "placed"},
		{"a local backend's workspace", `"dir":"placed"`, map[string]string{"TF_WORKSPACE": "staging"}, "space"},
		{"http", `"dir":"http"`, nil, "http"},
		{"http, by name", `"dir":"both","backend":"http"`, nil, "http"},
		{"http, as remote", `"dir":"both","backend":"remote"`, nil, "http"},
		{"a file before http", `"dir":"both"`, nil, "both"},
		{"http of the environment", `"dir":"bare"`, map[string]string{"TF_HTTP_ADDRESS": server.URL + "/s?ref=1", "TF_HTTP_USERNAME": "tf", "TF_HTTP_PASSWORD": "s3cret"}, "http"},
		{"http, a wrong password", `"dir":"bare"`, map[string]string{"TF_HTTP_ADDRESS": server.URL + "/s?ref=1", "TF_HTTP_USERNAME": "tf", "TF_HTTP_PASSWORD": "wr0ng"}, "401 Unauthorized: the username or the password is wrong"},
		{"http, nowhere", `"dir":"bare"`, nil, "the address of the http backend: it is not a URL"},
		{"another directory of data", `"dir":"moved"`, map[string]string{"TF_DATA_DIR": "data"}, "http"},
		{"no http", `"dir":"local","backend":"http"`, nil, "no http backend is configured there"},
		{"local by name", `"dir":"http","backend":"local"`, nil, ""},
		{"another backend", `"dir":"cloud"`, nil, `it is in the backend "s3"; set 'backend: remote'`},
		{"pulled", `"dir":"cloud","backend":"remote"`, nil, "pulled"},
		{"not pulled", `"dir":"local","backend":"remote"`, nil, "terraform state pull: exit status 1: Error: no configuration"},
		{"no directory", `"dir":"none"`, nil, "the directory cannot be read"},
		{"no directory to pull in", `"dir":"none","backend":"remote"`, nil, "the directory cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.env = tt.env
			got, err := w.resolve(t, "{"+tt.ref+`,"resource_type":"vm","target_mapping":{"name":"name"}}`)
			want := `[{"name":"` + tt.want + `"}]`
			if tt.want == "" {
				want = "[]"
			}
			switch {
			case err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "the state of "+w.dir)):
				t.Errorf("got %v", err)
			case err == nil && got != want:
				t.Errorf("got %s, want %s", got, want)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "wr0ng")) {
				t.Errorf("%v says too much", err)
			}
		})
	}
	if asked == 0 {
		t.Error("nobody asked the server")
	}
	w.env = nil
	t.Setenv("PATH", w.dir)
	if _, err := w.resolve(t, `{"dir":"cloud","backend":"remote","resource_type":"vm","target_mapping":{"name":"name"}}`); err == nil || !strings.Contains(err.Error(), "neither terraform nor tofu is on PATH") {
		t.Errorf("got %v", err)
	}
}

// TestReferences: what is wrong with a reference is found before anything is read.
func TestReferences(t *testing.T) {
	w := newWorld(t, nil)
	for ref, says := range map[string]string{
		`{"resource_type":"x","target_mapping":{"name":"a"}}`:                           "requires a 'dir'",
		`{"dir":".","target_mapping":{"name":"a"}}`:                                     "requires a 'resource_type'",
		`{"dir":".","resource_type":"x"}`:                                               "requires a 'name' or a 'uri' in 'target_mapping'",
		`{"dir":".","resource_type":"x","uri":"a"}`:                                     "uri to be set under 'target_mapping'",
		`{"dir":".","resource_type":"(","target_mapping":{"name":"a"}}`:                 "'resource_type' is a regular expression",
		`{"dir":".","resource_type":"x","backend":"s3","target_mapping":{"name":"a"}}`:  "has no backend 's3'",
		`{"dir":".","resource_type":"x","statefile":"s","target_mapping":{"name":"a"}}`: "has no option 'statefile'",
	} {
		_, err := w.resolve(t, ref)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != "bolt/validation-error" || !strings.Contains(f.Msg, says) {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}

// TestBadStates: one message, which has nothing of what is in the state.
func TestBadStates(t *testing.T) {
	for text, says := range map[string]string{
		`{"version":4,"resources":[{"x":"s3cret"`: "it is not JSON, or ends too early, at byte 39",
		`<html>s3cret`:              "it is not JSON, or ends too early, at byte 1",
		`["s3cret"]`:                "it is JSON, but not a state",
		`{"s3cret":1}`:              "it has no version",
		`{"version":5,"s3cret":[]}`: "its version is 5",
		`{"version":"s3cret"}`:      "it is JSON, but not a state",
		`{"version":4,"serial":1,"encrypted_data":"s3cret","encryption_version":"v0"}`:                                "it is encrypted",
		`{"version":4,"resources":[{"type":"vm","name":"x","instances":[{"index_key":["s3cret"],"attributes":{}}]}]}`: "an index that is neither a number",
		`{"version":4,"resources":[{"type":"vm","name":"x","instances":[{"attributes":{"s3cret":1e999}}]}]}`:          "the attributes of vm.x cannot be read",
	} {
		w := newWorld(t, map[string]string{"terraform.tfstate": text})
		_, err := w.resolve(t, `{"dir":".","resource_type":"vm","target_mapping":{"name":"a"}}`)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "terraform.tfstate: ") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestServers: bounded time and memory, and one message, whatever a server does.
func TestServers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	big := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name, says string
		handler    http.HandlerFunc
		encrypted  bool
	}{
		{"silent", "no complete response within 300ms", func(_ http.ResponseWriter, r *http.Request) { hold(r) }, false},
		{"silent in the middle", "no complete response within 300ms", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"version":`)
			http.NewResponseController(w).Flush()
			hold(r)
		}, false},
		{"half", "the connection closed before the whole response arrived", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"version":`)
		}, false},
		{"a page", "it is not JSON", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, false},
		{"broken", "500 Internal Server Error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "s3cret", 500) }, false},
		{"elsewhere", "it redirects to " + elsewhere.URL + "/x, which is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/x?token=s3cret", http.StatusFound)
		}, false},
		{"another authority", "certificate signed by unknown authority", func(http.ResponseWriter, *http.Request) {}, true},
		{"huge", "the response is larger than 2 MiB", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, big); err != nil {
					return
				}
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(tt.handler)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			if s.Start(); tt.encrypted {
				s.Close()
				s = httptest.NewTLSServer(tt.handler)
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
			}
			t.Cleanup(s.Close)
			w := newWorld(t, map[string]string{".terraform/terraform.tfstate": fmt.Sprintf(`{"backend":{"type":"http","config":{"address":"%s/?k=s3cret","username":"u","password":"s3cret"}}}`, s.URL)})
			w.o.Timeout, w.o.limit = time.Minute, 2<<20
			if strings.Contains(tt.says, "300ms") {
				w.o.Timeout = 300 * time.Millisecond
			}
			_, err := w.resolve(t, `{"dir":".","resource_type":"vm","target_mapping":{"name":"a"}}`)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), s.URL) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestBackendNeedsTrustedCertificate checks the certificate of a backend with
// its own CA.
func TestBackendNeedsTrustedCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, tiny("tls")) }))
	defer s.Close()
	ca, err := ordered.Of("ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	authority := strings.TrimSuffix(strings.TrimPrefix(string(ca), `{"ca":`), "}")
	for _, more := range []string{`"skip_cert_verification":true`, `"client_ca_certificate_pem":` + authority} {
		w := newWorld(t, map[string]string{".terraform/terraform.tfstate": fmt.Sprintf(`{"backend":{"type":"http","config":{"address":%q,%s}}}`, s.URL, more)})
		if got, err := w.resolve(t, `{"dir":".","resource_type":"vm","target_mapping":{"name":"name"}}`); err != nil || got != `[{"name":"tls"}]` {
			t.Errorf("%s: got %s, %v", more[:20], got, err)
		}
	}
}

// TestPrograms: a program that does not end, or says too much, is ended with all
// that it has started.
func TestPrograms(t *testing.T) {
	for says, script := range map[string]string{
		"it took longer than 1s":       "sleep 1000 & echo $! >pid; wait",
		"it is larger than 2 MiB":      "sleep 1000 & echo $! >pid; exec cat /dev/zero",
		"exit status 3: Error: \\x80 ": "printf 'Error: \\200 \\033[31m%070000d' 0 >&2; exit 3",
	} {
		w := newWorld(t, map[string]string{"bin/tofu": "#!/bin/sh\n" + script + "\n"})
		t.Setenv("PATH", filepath.Join(w.dir, "bin")+":/usr/bin:/bin")
		w.o.Timeout, w.o.limit = 200*time.Millisecond, 2<<20
		if strings.Contains(says, "larger") {
			w.o.Timeout = time.Minute
		}
		_, err := w.resolve(t, `{"dir":".","backend":"remote","resource_type":"vm","target_mapping":{"name":"a"}}`)
		if err == nil || !strings.Contains(err.Error(), "tofu state pull: "+says) || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("got %.300v", err)
		}
		pid, err := os.ReadFile(filepath.Join(w.dir, "pid"))
		if err != nil || len(pid) == 0 {
			continue // it was ended before
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			cmdline, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline")
			if err != nil || len(cmdline) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: what it started still runs: %q", says, cmdline)
			}
		}
	}
	w := newWorld(t, map[string]string{"bin/terraform": "#!/bin/sh\nexec sleep 1000\n"})
	t.Setenv("PATH", filepath.Join(w.dir, "bin")+":/usr/bin:/bin")
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := w.Resolve(ctx, &ordered.Map{}, parse(t, `{"dir":".","backend":"remote","resource_type":"vm","target_mapping":{"name":"a"}}`)); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// TestReadsOnlyUsedAttributes checks that only the used attributes of a large
// state are read.
func TestReadsOnlyUsedAttributes(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"version":4,"resources":[`)
	for i := range 5_000 {
		fmt.Fprintf(&b, `{"mode":"managed","type":"vm","name":"n%d","instances":[{"attributes":{"name":"n%d","list":[%s1]}}]},`, i, i, strings.Repeat("1,", 500))
	}
	b.WriteString(`{"type":"db","name":"x","instances":[{"attributes":{"name":"x"}}]}]}`)
	data := []byte(b.String())
	n := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := resources(data, func(r resource) error {
		if r.name == "db.x" {
			n++
			_, err := r.attributes()
			return err
		}
		return nil
	})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || n != 1 || used > 3*uint64(len(data)) {
		t.Errorf("%d found, %v, %d bytes for a state of %d", n, err, used, len(data))
	}
}

// FuzzResources: no state does harm, or is shown.
func FuzzResources(f *testing.F) {
	for _, name := range []string{"v4.tfstate", "v3.tfstate"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"version":4,"resources":[{"instances":[{"index_key":"a"},{"attributes_flat":{"a.b":1,"a":2,".":3,"":4}}]}]}`))
	f.Add([]byte(`{"version":3,"modules":[{},{"path":["root","x"],"resources":{"a":{"primary":{"attributes":[1]}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := resources(data, func(r resource) error {
			_, err := r.attributes()
			return err
		})
		if err != nil && len(err.Error()) > len(data)+200 {
			t.Errorf("%d bytes: %.300s", len(data), err)
		}
	})
}
