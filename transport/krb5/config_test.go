package krb5

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// files creates files below a directory and returns the directory.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func configOf(t *testing.T, dir, list string) (*config, error) {
	t.Helper()
	return readConfig(Options{Dir: dir, Env: lookup([]string{"KRB5_CONFIG=" + list})})
}

// TestNoConfig checks that the error names a configuration file that does not
// exist.
func TestNoConfig(t *testing.T) {
	c, err := configOf(t, t.TempDir(), "/none/krb5.conf")
	if err != nil {
		t.Fatal(err)
	}
	c.srv = false
	_, err = c.kdcs(t.Context(), nil, "BOLT.TEST")
	wantError(t, "no file", err, "in /none/krb5.conf (which does not exist)")
}

// TestConfig checks configurations of distributions and administrators.
func TestConfig(t *testing.T) {
	dir := files(t, map[string]string{
		"krb5.conf": `# Fedora's
includedir DIR/conf.d/
include DIR/more
module DIR/x.so:residual
[logging]
    default = FILE:/var/log/krb5libs.log

[libdefaults]
    dns_canonicalize_hostname = fallback
    rdns = no
    qualify_shortname = ""
    renew_lifetime = 1w
    kdc_timesync = true
    ticket_lifetime = 1d 2h
    default_ccache_name = "KEYRING:persistent:%{uid}"
    permitted_enctypes = aes128-cts-hmac-sha1-96 camellia256-cts-cmac aes256-cts-hmac-sha384-192
    pkinit_anchors = FILE:/etc/pki/x.pem
    frobnicate = ] = [ {
[realms]
 EXAMPLE.COM = {
    kdc = kdc1.example.com
    kdc = kdc2.example.com:750
    kdc = [2001:db8::1]:88
    kdc = 2001:db8::2
    kdc = https://kdc.example.com/KdcProxy
    v4_instance_convert = {
        kerberos = kerberos
    }
    auth_to_local = RULE:[1:$1@$0](.*@OTHER)s/@.*//
  }
 EMPTY = {
 }
 BRACE =
 {
    kdc = brace.example.com
 }
 FINAL = {
    kdc* = only.example.com
    kdc = never.example.com
 }*
[domain_realm]
 .example.com = EXAMPLE.COM
 example.com = EXAMPLE.COM
 special.example.com = SPECIAL
 .sub.example.com = SUB
[appdefaults]
 pam = { debug = false
 x = y
 }
[plugins]
`,
		"conf.d/10-first.conf": "[libdefaults]\n default_realm = FIRST\n",
		"conf.d/second":        "[libdefaults]\n default_realm = SECOND\n",
		"conf.d/.hidden.conf":  "nonsense",
		"conf.d/backup.conf~":  "nonsense",
		"more":                 "[realms]\n EXAMPLE.COM = {\n  kdc = kdc0.example.com\n }\n",
		"other":                "[realms]\n FINAL = {\n kdc = no\n }\n EXAMPLE.COM = {\n kdc = kdc9.example.com\n }\n[libdefaults]\n default_realm = OTHER\n",
	})
	_, err := configOf(t, dir, "krb5.conf:missing:other")
	// Text after { makes it a value, as for MIT, so the } is superfluous.
	wantError(t, "a brace with text", err, "krb5.conf:49")
	text, _ := os.ReadFile(filepath.Join(dir, "krb5.conf"))
	os.WriteFile(filepath.Join(dir, "krb5.conf"), []byte(strings.Replace(string(text), "{ debug = false", "{", 1)), 0o600)
	c, err := configOf(t, dir, "krb5.conf:missing:other")
	if err != nil {
		t.Fatal(err)
	}
	got := *c
	got.tree, got.where = nil, ""
	want := config{realm: "FIRST", names: canonicalizeFallback, lifetime: 26 * time.Hour, srv: true, kcm: defaultKCM,
		ccache: "KEYRING:persistent:%{uid}", enctypes: []int32{aes128SHA1, aes256SHA2}}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for realm, want := range map[string]string{
		"EXAMPLE.COM": "kdc0.example.com:88 kdc1.example.com:88 kdc2.example.com:750 [2001:db8::1]:88 [2001:db8::2]:88 kdc9.example.com:88",
		"BRACE":       "brace.example.com:88",
		"FINAL":       "only.example.com:88",
	} {
		list, err := c.kdcs(t.Context(), nil, realm)
		var names []string
		for _, k := range list {
			if k.network == "tcp" {
				names = append(names, k.address)
			}
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("KDCs of %s: %q, %v", realm, names, err)
		}
	}
	for host, want := range map[string]string{
		"web.example.com": "EXAMPLE.COM", "example.com": "EXAMPLE.COM", "special.example.com": "SPECIAL", "a.sub.example.com": "SUB",
		"a.b.sub.example.com": "SUB", "a.special.example.com": "SPECIAL", "web.test": "CLIENT FIRST", "x.brace": "CLIENT BRACE FIRST",
	} {
		if got := strings.Join(c.realmsOf(host, "CLIENT"), " "); got != want {
			t.Errorf("realms of %s: %s, want %s", host, got, want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no section", "a = b\n", "krb5.conf:1: \"a\" is before the first section"},
		{"no value", "[libdefaults]\n\nnonsense\n", "krb5.conf:3: = is missing in"},
		{"no brace", "[realms]\nA = {\n[x]\n", "krb5.conf:3: } is missing"},
		{"a brace too many", "[realms]\n}\n", "krb5.conf:2: } without {"},
		{"a bracket", "[realms\n", "krb5.conf:1: [ without ]"},
		{"an include that is not there", "include /none/x\n", "krb5.conf:1: /none/x: no such file"},
		{"an includedir that is not there", "includedir /none\n", "krb5.conf:1: /none: no such file"},
		{"itself", "include DIR/krb5.conf\n", "too many files include one another"},
		{"deep", "[a]\n" + strings.Repeat("b = {\n", 20), "too many nested {"},
		{"a directory", "include DIR\n", "it is not a file"},
		{"large", "[a]\n" + strings.Repeat("#", maxConfigFile), "it is larger than"},
	} {
		_, err := configOf(t, files(t, map[string]string{"krb5.conf": tt.text}), "krb5.conf")
		wantError(t, tt.name, err, tt.want)
	}
	if c, err := configOf(t, t.TempDir(), "none"); err != nil || c.realm != "" || c.ccache != defaultCache {
		t.Errorf("no file: %+v, %v", c, err)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3600": time.Hour, "0": 0, "1h": time.Hour, "1h30m": 90 * time.Minute, "1d 2h": 26 * time.Hour, "7d0h0m0s": 7 * 24 * time.Hour,
		"1w": 7 * 24 * time.Hour, "0:05": 5 * time.Minute, "10:00:01": 10*time.Hour + time.Second, "1D": 24 * time.Hour,
	} {
		if got, err := duration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1x", "h", "1:2:3:4", "-1", "99999999999", "4294967295w", "1h1"} {
		if got, err := duration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"FILE:/tmp/krb5cc_%{uid}": fmt.Sprintf("FILE:/tmp/krb5cc_%d", os.Getuid()), "%{TEMP}/%{null}x": "/tmp/x", "plain%": "plain%",
		"%{euid}%{USERID}": fmt.Sprintf("%d%[1]d", os.Geteuid()), "/home/%{username}": "/home/" + userName(),
	} {
		if got, err := expand(text); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"%{", "%{LIBDIR}", "a%{b"} {
		if got, err := expand(text); err == nil {
			t.Errorf("%s is %q", text, got)
		}
	}
}

func FuzzProfile(f *testing.F) {
	f.Add("[libdefaults]\n a = b\n[realms]\nA = {\n kdc* = \"x\\n\"\n}*\ninclude x\nincludedir y\n b =\n {\n }\n")
	f.Add("[libdefaults]\nticket_lifetime = 1d2h\npermitted_enctypes = +aes -aes256-sha1\n[x]*\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := &profileReader{into: newProfile(),
			open: func(path string) ([]byte, error) {
				if path == "" || len(path) > 3 {
					return nil, fs.ErrNotExist
				}
				return []byte(text), nil
			},
			list: func(dir string) ([]string, error) { return []string{dir + "1", dir + "2"}, nil }}
		if r.parse("krb5.conf", []byte(text), 0) != nil {
			return
		}
		c := newConfig(r.into)
		if len(c.enctypes) == 0 || c.lifetime <= 0 || slices.ContainsFunc(c.enctypes, func(e int32) bool { return !strong(e) }) {
			t.Errorf("%+v", c)
		}
		c.srv = false
		for realm := range c.tree.find("realms").names() {
			c.kdcs(t.Context(), nil, realm)
		}
		c.realmsOf("a.b.c", "X")
	})
}

// names returns the sections of a profile.
func (p *profile) names() map[string]*profile {
	if p == nil {
		return nil
	}
	return p.sections
}
