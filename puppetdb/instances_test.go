package puppetdb

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/transport"
)

func object(t *testing.T, text string) *ordered.Map {
	t.Helper()
	if text == "" {
		return nil
	}
	m := &ordered.Map{}
	if err := m.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSettings: what configures an instance.
func TestSettings(t *testing.T) {
	tests := []struct {
		name              string
		byDefault, named  string
		files             map[string]string // below the directory of all
		which             string
		urls, ca, who     string
		token             string
		connect, read     time.Duration
		err, hint, logged string
	}{
		{name: "the project's", byDefault: `{"server_urls": ["https://a", "http://b:1/x/"], "cacert": "ca", "cert": "/c", "key": "~/k", "connect_timeout": 5, "read_timeout": 7}`,
			urls: "https://a http://b:1/x/", ca: "project/ca", who: "/c home/k", connect: 5 * time.Second, read: 7 * time.Second},
		{name: "the user's, under the project's", byDefault: `{"cacert": "mine"}`,
			files: map[string]string{"home/.puppetlabs/client-tools/puppetdb.conf": `{"puppetdb": {"server_urls": "https://a:1", "cacert": "/theirs", "read_timeout": 3}}`, "system/puppetdb.conf": `{"puppetdb": {"connect_timeout": 3}}`},
			urls:  "https://a:1", ca: "project/mine", read: 3 * time.Second},
		{name: "the system's", files: map[string]string{"system/puppetdb.conf": `{"puppetdb": {"server_urls": ["http://s"]}}`}, urls: "http://s"},
		{name: "not for those with names", named: `{"n": {"server_urls": ["http://n"]}}`, which: "n",
			files: map[string]string{"system/puppetdb.conf": `{"puppetdb": {"connect_timeout": 9}}`}, urls: "http://n"},
		{name: "a file that is damaged", byDefault: `{"server_urls": ["http://a"]}`, files: map[string]string{"system/puppetdb.conf": `{"puppetdb": `}, urls: "http://a", logged: "system/puppetdb.conf: line 1"},
		{name: "a file of another kind", byDefault: `{"server_urls": ["http://a"]}`, files: map[string]string{"system/puppetdb.conf": `{"x": 1}`}, urls: "http://a", logged: "an object under"},

		{name: "a token", byDefault: `{"server_urls": ["http://a"], "token": "t"}`, files: map[string]string{"project/t": "one\n"}, urls: "http://a", token: "one"},
		{name: "the user's token", named: `{"n": {"server_urls": ["http://a"]}}`, which: "n", files: map[string]string{"home/.puppetlabs/token": "two"}, urls: "http://a", token: "two"},
		{name: "no token", byDefault: `{"server_urls": ["http://a"], "token": null}`, files: map[string]string{"home/.puppetlabs/token": "two"}, urls: "http://a"},
		{name: "a certificate and a token", byDefault: `{"server_urls": ["http://a"], "cert": "/c", "key": "/k"}`, files: map[string]string{"home/.puppetlabs/token": "two"}, urls: "http://a", who: "/c /k"},
		{name: "a token that is not there", byDefault: `{"server_urls": ["http://a"], "token": "t"}`, err: "project/t: no such file"},
		{name: "a token of two lines", byDefault: `{"server_urls": ["http://a"], "token": "t"}`, files: map[string]string{"project/t": "s3cret\nX: y"}, err: "must hold one line"},

		{name: "an instance that is not there", named: `{"n": {}, "m": {}}`, which: "o", err: "The PuppetDB instance 'o' has not been configured.", hint: "has n, m"},
		{name: "nothing", err: "server_urls must be specified", hint: "under puppetdb in bolt-project.yaml"},
		{name: "no server", named: `{"n": {"server_urls": []}}`, which: "n", err: "server_urls must be specified", hint: "puppetdb-instances.n"},
		{name: "no text", byDefault: `{"server_urls": [1]}`, err: "server_urls must be an Array of Strings"},
		{name: "no list", byDefault: `{"server_urls": {}}`, err: "server_urls must be a String or an Array"},
		{name: "no URL", byDefault: `{"server_urls": ["http://a", "b:8081"]}`, err: "entry 2 of server_urls: it does not begin with https://"},
		{name: "a password", byDefault: `{"server_urls": ["https://me:s3cret@a"]}`, err: "it contains a user"},
		{name: "a query", byDefault: `{"server_urls": ["https://a/?x=s3cret"]}`, err: "more than a scheme"},
		{name: "no time", byDefault: `{"server_urls": ["http://a"], "read_timeout": 0}`, err: "read_timeout must be a positive Integer"},
		{name: "no headers", byDefault: `{"server_urls": ["http://a"], "headers": "x"}`, err: "headers must be a Hash"},
		{name: "a bad header", byDefault: `{"server_urls": ["http://a"], "headers": {"a b": "x"}}`, err: `"a b" is not a valid header name`},
		{name: "a header of HTTP", byDefault: `{"server_urls": ["http://a"], "headers": {"host": "x"}}`, err: `"host" is not a valid header name`},
		{name: "nobody to trust", byDefault: `{"server_urls": ["https://a"]}`, err: "cacert must be specified"},
		{name: "nobody there", byDefault: `{"server_urls": ["https://a"], "cacert": "gone"}`, err: "cacert file", hint: ""},
		{name: "half a certificate", byDefault: `{"server_urls": ["https://a"], "cacert": "/ca", "cert": "c"}`, err: "cert and key must be specified together"},
		{name: "no certificate", byDefault: `{"server_urls": ["https://a"], "cacert": "x"}`, files: map[string]string{"project/x": "s3cret"}, err: "does not hold a certificate"},
		{name: "no key", byDefault: `{"server_urls": ["https://a"], "cacert": "/ca", "cert": "/c", "key": "x"}`, files: map[string]string{"project/x": "s3cret"}, err: "failed to find any PEM data in key input"},
	}
	a := newAuthority(t)
	a.issue(t, "c")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"project/ca": "", "project/mine": "", "home/k": "", "ca": "", "c": "", "k": ""}
			for name, from := range map[string]string{"project/ca": "ca.pem", "project/mine": "ca.pem", "home/k": "c.key"} {
				data, err := os.ReadFile(a.path(from))
				if err != nil {
					t.Fatal(err)
				}
				files[name] = string(data)
			}
			for name, text := range tt.files {
				files[name] = text
			}
			for name, text := range files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// Absolute paths are those of the authority.
			here := strings.NewReplacer(`"/ca"`, `"`+a.path("ca.pem")+`"`, `"/c"`, `"`+a.path("c.pem")+`"`, `"/k"`, `"`+a.path("c.key")+`"`)
			there := strings.NewReplacer(a.path("c.pem"), "/c", a.path("c.key"), "/k", dir+"/", "")
			var log bytes.Buffer
			i := NewInstances(Settings{Default: object(t, here.Replace(tt.byDefault)), Named: object(t, here.Replace(tt.named)),
				Project: filepath.Join(dir, "project"), Home: filepath.Join(dir, "home"), System: filepath.Join(dir, "system"),
				Base: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}})
			defer i.Close()
			c, err := i.client(t.Context(), tt.which)
			if !strings.Contains(log.String(), tt.logged) || tt.logged == "" && log.Len() > 0 {
				t.Errorf("logged %s", log.String())
			}
			if tt.err != "" {
				f := ofKind(t, err, kind)
				if !strings.Contains(there.Replace(f.Msg), tt.err) || !strings.Contains(f.Hint, tt.hint) || strings.Contains(f.Msg, "s3cret") {
					t.Errorf("got %q, hint %q", f.Msg, f.Hint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []any{strings.Join(c.o.ServerURLs, " "), there.Replace(c.o.CACert), strings.TrimSpace(there.Replace(c.o.Cert + " " + c.o.Key)), c.o.Token.Reveal(), c.o.ConnectTimeout.String(), c.o.ReadTimeout.String()}
			want := []any{tt.urls, tt.ca, tt.who, tt.token, tt.connect.String(), tt.read.String()}
			if asJSON(t, got) != asJSON(t, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if again, err := i.client(t.Context(), tt.which); again != c || err != nil {
				t.Errorf("asked again: %v, %v", again, err)
			}
		})
	}
}

// TestInstances: who is asked, with what plugins have found out.
func TestInstances(t *testing.T) {
	server := func(name string) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/pdb/cmd/v1":
				io.WriteString(w, `{"uuid": "`+name+`"}`)
			case "/pdb/query/v4":
				io.WriteString(w, `["`+name+`", "`+r.Header.Get("X-Key")+`"]`)
			default:
				io.WriteString(w, `[{"certname": "a", "facts": {"from": "`+name+`"}}]`)
			}
		})
	}
	named := object(t, `{"one": {"server_urls": ["`+server("one")+`"]}, "two": {"server_urls": ["`+server("two")+`"], "headers": {"X-Key": {"_plugin": "x"}, "n": 1}}}`)
	i := NewInstances(Settings{Named: named, Instance: "one", Resolve: func(_ context.Context, v any) (any, error) {
		m := v.(*ordered.Map).Clone()
		m.Value("two").(*ordered.Map).Value("headers").(*ordered.Map).Set("X-Key", transport.NewSecret("found"))
		return m, nil
	}})
	defer i.Close()
	ctx := t.Context()
	for instance, want := range map[string]string{"": `["one",""] {"a":{"from":"one"}} one`, "two": `["two","found"] {"a":{"from":"two"}} two`} {
		rows, err1 := i.Query(ctx, "nodes {}", instance)
		facts, err2 := i.Facts(ctx, []string{"a"}, instance)
		uuid, err3 := i.Command(ctx, "deactivate_node", 3, ordered.Of("certname", "a"), instance)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if got := asJSON(t, rows) + " " + asJSON(t, facts) + " " + uuid; got != want {
			t.Errorf("instance %q: got %s, want %s", instance, got, want)
		}
	}
	_, err := i.Query(ctx, "nodes {}", "three")
	ofKind(t, err, kind)

	refused := fault.New("bolt/plugin-error", "no")
	i = NewInstances(Settings{Default: named, Resolve: func(context.Context, any) (any, error) { return nil, refused }})
	if _, err := i.Facts(ctx, []string{"a"}, ""); err != error(refused) {
		t.Errorf("got %v", err)
	}
}
