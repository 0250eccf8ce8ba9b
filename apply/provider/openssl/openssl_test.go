package openssl

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{
	"Ssl_pkey": Key(), "X509_request": Request(), "X509_cert": Certificate(), "Dhparam": Parameters(), "Cert_file": Downloaded(),
}

// A site is a directory with files of keys and certificates.
type site struct {
	t   *testing.T
	dir string
	h   *resource.Host
}

const template = `[ req ]
prompt = no
distinguished_name = dn
[ dn ]
CN = www.example.org
O = Example
[ v3_req ]
subjectAltName = DNS:www.example.org, DNS:example.org
extendedKeyUsage = serverAuth
`

func newSite(t *testing.T) *site {
	s := &site{t: t, dir: t.TempDir(), h: resource.NewHost()}
	s.write("a.cnf", template)
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// openssl runs the real program and returns its output.
func (s *site) openssl(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "openssl", args...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("openssl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *site) apply(noop bool, resources ...string) string {
	s.t.Helper()
	for i, r := range resources {
		resources[i] = strings.ReplaceAll(r, "DIR", s.dir)
	}
	out, err := hosttest.Try(s.t, s.h, types, noop, resources...)
	if err != nil {
		out = "refused: " + err.Error()
	}
	return strings.TrimSpace(strings.ReplaceAll(out, s.dir, "DIR"))
}

// settle applies a resource: noop, then for real, then again without a change.
func (s *site) settle(r, want string) {
	s.t.Helper()
	if got := s.apply(true, r); got != strings.Replace(want, " changed ", " noop ", 1) {
		s.t.Errorf("noop: %s", got)
	}
	if got := s.apply(false, r); got != want {
		s.t.Errorf("got %s\nwant %s", got, want)
	}
	if got := s.apply(false, r); got != "" {
		s.t.Errorf("again: %s", got)
	}
}

func TestKeys(t *testing.T) {
	for _, k := range []struct{ params, begin, in string }{
		{``, pemRSA, "Private-Key: (2048 bit, 2 primes)"},
		{`,"size":"1024","mode":"0640"`, pemRSA, "Private-Key: (1024 bit, 2 primes)"},
		{`,"authentication":"ec"`, pemEC, "NIST CURVE: P-384"},
		{`,"authentication":"ec","curve":"prime256v1"`, pemEC, "NIST CURVE: P-256"},
		{`,"authentication":"ec","curve":"secp256k1"`, pemEC, "ASN1 OID: secp256k1"},
		{`,"size":1024,"password":{"sensitive":"top secret"}`, pemEncrypted, "Private-Key: (1024 bit, 2 primes)"},
		{`,"authentication":"ec","password":"top secret"`, pemEncrypted, "NIST CURVE: P-384"},
	} {
		s := newSite(t)
		s.settle(`Ssl_pkey[DIR/k.key] {"ensure":"present"`+k.params+`}`, "Ssl_pkey[DIR/k.key] changed ssl_pkey_created")
		if text := s.read("k.key"); !strings.HasPrefix(text, "-----BEGIN "+k.begin+"-----\n") {
			t.Errorf("%s: %.60s", k.params, text)
		}
		if out := s.openssl("pkey", "-in", "k.key", "-noout", "-text", "-passin", "pass:top secret"); !strings.Contains(out, k.in) {
			t.Errorf("%s: %s", k.params, out)
		}
		info, err := os.Stat(s.dir + "/k.key")
		if want := map[bool]os.FileMode{true: 0o640, false: 0o600}[strings.Contains(k.params, "0640")]; err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: the mode is %v, %v", k.params, info.Mode(), err)
		}
		s.settle(`Ssl_pkey[DIR/k.key] {"ensure":"absent"}`, "Ssl_pkey[DIR/k.key] changed ssl_pkey_removed")
	}
}

func TestProperties(t *testing.T) {
	s := newSite(t)
	s.settle(`Ssl_pkey[DIR/k.key] {"size":512,"owner":"nobody","group":"daemon","mode":"0440"}`, "Ssl_pkey[DIR/k.key] changed ssl_pkey_created")
	var st unix.Stat_t
	if err := unix.Stat(s.dir+"/k.key", &st); err != nil || st.Uid != 65534 || st.Gid != 1 || st.Mode&0o7777 != 0o440 {
		t.Errorf("%d:%d, mode %o, %v", st.Uid, st.Gid, st.Mode, err)
	}
	before := s.read("k.key")
	s.settle(`Ssl_pkey[k] {"path":"DIR/k.key","owner":"root","group":"0","mode":"0600"}`, "Ssl_pkey[k] changed owner(nobody -> root) group(1 -> 0) mode(0440 -> 0600)")
	if s.read("k.key") != before {
		t.Error("the key has changed")
	}
	s.settle(`Ssl_pkey[DIR/other.key]`, "") // without ensure, nothing is managed
	if got, want := s.apply(false, `Ssl_pkey[DIR/o.key] {"owner":"nosuchuser"}`), `Ssl_pkey[DIR/o.key] failed FAILED change of ensure from absent to present failed: user "nosuchuser" does not exist`; got != want {
		t.Error(got)
	}
	if _, err := os.Stat(s.dir + "/o.key"); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is a key without its owner")
	}
}

const chain = `{"ensure":"present","template":"DIR/a.cnf","force":true`

func TestCertificates(t *testing.T) {
	s := newSite(t)
	for _, password := range []string{"", `,"password":"pass word"`} {
		key := `Ssl_pkey[DIR/a.key] {"ensure":"present","authentication":"ec"` + password + `}`
		csr := `X509_request[DIR/a.csr] ` + chain + password + `,"private_key":"DIR/a.key"}`
		crt := `X509_cert[DIR/a.crt] ` + chain + password + `,"csr":"DIR/a.csr","days":20,"req_ext":true}`
		want := "Ssl_pkey[DIR/a.key] changed ssl_pkey_created\nX509_request[DIR/a.csr] changed x509_request_created\nX509_cert[DIR/a.crt] changed x509_cert_created"
		if got := s.apply(true, key, csr, crt); got != strings.ReplaceAll(want, "changed", "noop") {
			t.Error(got)
		}
		if got := s.apply(false, key, csr, crt); got != want {
			t.Error(got)
		}
		if got := s.apply(false, key, csr, crt); got != "" {
			t.Error(got)
		}
		if out := s.openssl("req", "-in", "a.csr", "-noout", "-verify", "-subject"); !strings.Contains(out, "CN = www.example.org, O = Example") {
			t.Error(out)
		}
		if out := s.openssl("x509", "-in", "a.crt", "-noout", "-text"); !strings.Contains(out, "DNS:www.example.org, DNS:example.org") || !strings.Contains(out, "TLS Web Server Authentication") {
			t.Error(out)
		}
		s.openssl("verify", "-CAfile", "a.crt", "a.crt")

		// With force, another key makes all of it again.
		if err := os.Remove(s.dir + "/a.key"); err != nil {
			t.Fatal(err)
		}
		if got := s.apply(false, key, csr, crt); got != want {
			t.Error(got)
		}
		s.openssl("verify", "-CAfile", "a.crt", "a.crt")
		for _, name := range []string{"a.key", "a.csr", "a.crt"} {
			if err := os.Remove(s.dir + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.settle(`X509_cert[DIR/no.crt] {"ensure":"absent"}`, "")
}

// A certificate of a CA whose key has a password, and a certificate that is made from the template alone.
func TestAuthority(t *testing.T) {
	s := newSite(t)
	s.write("ca.cnf", "[ req ]\nprompt = no\ndistinguished_name = dn\nx509_extensions = v3_ca\n[ dn ]\nCN = CA\n[ v3_ca ]\nbasicConstraints = CA:TRUE\n")
	for _, r := range []string{
		`Ssl_pkey[DIR/ca.key] {"ensure":"present","password":"of the CA","authentication":"ec"}`,
		`X509_cert[DIR/ca.crt] {"ensure":"present","password":"of the CA"}`,
		`Ssl_pkey[DIR/a.key] {"ensure":"present","authentication":"ec"}`,
		`X509_request[DIR/a.csr] {"ensure":"present","encrypted":false}`,
		`X509_cert[DIR/a.crt] {"ensure":"present","csr":"DIR/a.csr","ca":"DIR/ca.crt","cakey":"DIR/ca.key","cakey_password":{"sensitive":"of the CA"},"req_ext":true,"mode":"0444"}`,
	} {
		ref, _, _ := strings.Cut(r, " {")
		typ, _, _ := strings.Cut(ref, "[")
		s.settle(r, ref+" changed "+strings.ToLower(typ)+"_created")
	}
	s.openssl("verify", "-CAfile", "ca.crt", "a.crt")
	if out := s.openssl("x509", "-in", "a.crt", "-noout", "-ext", "subjectAltName,extendedKeyUsage"); !strings.Contains(out, "DNS:example.org") {
		t.Error(out)
	}
}

// A refresh makes a certificate again, but not a certificate that was made just now.
func TestRefresh(t *testing.T) {
	s := newSite(t)
	key := `Ssl_pkey[DIR/a.key] {"ensure":"present","authentication":"ec","mode":"0600","notify":"X509_cert[DIR/a.crt]"}`
	crt := `X509_cert[DIR/a.crt] {"ensure":"present"}`
	s.apply(false, key, crt)
	first := s.read("a.crt")
	if err := os.Chmod(s.dir+"/a.key", 0o644); err != nil {
		t.Fatal(err)
	}
	if got := s.apply(false, key, crt); got != "Ssl_pkey[DIR/a.key] changed mode(0644 -> 0600)\nX509_cert[DIR/a.crt] changed refresh" || s.read("a.crt") == first {
		t.Error(got)
	}
	if err := os.Chmod(s.dir+"/a.key", 0o644); err != nil {
		t.Fatal(err)
	}
	if got := s.apply(false, key, `X509_cert[DIR/a.crt] {"ensure":"absent"}`); !strings.HasSuffix(got, "x509_cert_removed refresh") {
		t.Error(got)
	}
	if _, err := os.Stat(s.dir + "/a.crt"); err == nil {
		t.Error("a refresh has made a certificate that must be absent")
	}
}

func TestParameters(t *testing.T) {
	s := newSite(t)
	s.settle(`Dhparam[DIR/dh.pem] {"ensure":"present","mode":"0644"}`, "Dhparam[DIR/dh.pem] changed dhparam_created")
	s.settle(`Dhparam[DIR/fast.pem] {"ensure":"present","size":"1024","fastmode":true}`, "Dhparam[DIR/fast.pem] changed dhparam_created")
	for name, want := range map[string]string{"dh.pem": "(512 bit)", "fast.pem": "(1024 bit)"} {
		if out := s.openssl("dhparam", "-in", name, "-noout", "-text"); !strings.Contains(out, want) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

func TestDownloaded(t *testing.T) {
	s := newSite(t)
	s.apply(false, `Ssl_pkey[DIR/a.key] {"ensure":"present","authentication":"ec"}`)
	s.apply(false, `X509_cert[DIR/a.crt] {"ensure":"present"}`)
	cert := s.read("a.crt")
	block, _ := pem.Decode([]byte(cert))
	served, status := []byte("text before\n"+cert), 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(served) // a test that misses the body fails
	}))
	defer server.Close()
	r := func(format string) string {
		return `Cert_file[DIR/c] {"ensure":"present","source":"` + server.URL + `/c","format":"` + format + `"}`
	}
	s.settle(r("pem"), "Cert_file[DIR/c] changed cert_file_created")
	if s.read("c") != cert {
		t.Error("another certificate")
	}
	s.settle(r("der"), "Cert_file[DIR/c] changed cert_file_created")
	if s.read("c") != string(block.Bytes) {
		t.Error("not the certificate in DER")
	}
	served = block.Bytes
	s.settle(r("pem"), "Cert_file[DIR/c] changed cert_file_created")
	s.apply(false, `X509_cert[DIR/b.crt] {"ensure":"present","template":"DIR/a.cnf","private_key":"DIR/a.key"}`)
	served = []byte(s.read("b.crt"))
	s.settle(r("pem"), "Cert_file[DIR/c] changed cert_file_created")
	for text, want := range map[string]string{"no certificate": "the source has no certificate", "\x00\x01\xff": "the source has no certificate"} {
		served = []byte(text)
		if got := s.apply(false, r("pem")); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
	status = 404
	if got := s.apply(false, r("pem")); !strings.Contains(got, "curl: exit code 22: (22) The requested URL returned error: 404") {
		t.Error(got)
	}
	status, served = 200, []byte(cert)
	s.write("c", "something else\n")
	if got := s.apply(false, r("pem")); !strings.Contains(got, "DIR/c has no certificate. bolt does not replace it") || s.read("c") != "something else\n" {
		t.Error(got)
	}
	s.write("c", "")
	s.settle(r("pem"), "Cert_file[DIR/c] changed cert_file_created")
	s.settle(`Cert_file[DIR/c] {"ensure":"absent"}`, "Cert_file[DIR/c] changed cert_file_removed")
}

// A malformed file is never replaced.
func TestMalformed(t *testing.T) {
	for r, want := range map[string]string{
		`Ssl_pkey[DIR/f] {"ensure":"present"}`:                   "",
		`Dhparam[DIR/f] {"ensure":"present"}`:                    "",
		`X509_request[DIR/f] {"ensure":"present"}`:               "",
		`X509_request[DIR/f] {"ensure":"present","force":true}`:  "X509_request[DIR/f] failed FAILED DIR/f has no certificate request in PEM format. bolt does not replace it; move it away first",
		`X509_cert[DIR/f] {"ensure":"present"}`:                  "X509_cert[DIR/f] failed FAILED DIR/f has no certificate in PEM format. bolt does not replace it; move it away first",
		`X509_cert[DIR/f] {"private_key":"DIR/k","mode":"0600"}`: "X509_cert[DIR/f] failed FAILED DIR/f has no certificate in PEM format. bolt does not replace it; move it away first",
	} {
		s := newSite(t)
		const text = "-----BEGIN CERTIFICATE-----\nMIIB\x00\xff\n"
		s.write("f", text)
		if got := s.apply(false, r); got != want || s.read("f") != text {
			t.Errorf("%s: %s", r, got)
		}
	}
	s := newSite(t)
	s.write("f", "notes\n")
	trigger := `Ssl_pkey[DIR/k.key] {"ensure":"present","size":512,"notify":"X509_request[DIR/f]"}`
	if got := s.apply(false, trigger, `X509_request[DIR/f] {"ensure":"present","private_key":"DIR/k.key","template":"DIR/a.cnf"}`); !strings.Contains(got, "bolt does not replace it") || s.read("f") != "notes\n" {
		t.Error(got)
	}
}

// TestCombined checks that a file with several PEM blocks is not replaced by one of them.
func TestCombined(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"a", "b"} {
		s.apply(false, `Ssl_pkey[DIR/`+name+`.key] {"ensure":"present","authentication":"ec"}`)
		s.apply(false, `X509_cert[DIR/`+name+`.crt] {"ensure":"present","template":"DIR/a.cnf","private_key":"DIR/`+name+`.key"}`)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(s.read("b.crt"))) // a test that misses the body fails
	}))
	defer server.Close()
	const trigger = `Ssl_pkey[DIR/new.key] {"ensure":"present","authentication":"ec","notify":"X509_cert[DIR/f]"}`
	key, own, other := s.read("a.key"), s.read("a.crt"), s.read("b.crt")
	for name, text := range map[string]string{"key": own + key, "key first": key + own, "chain": own + other, "malformed key": own + "-----BEGIN PRIVATE KEY-----\nxx\n"} {
		s.write("f", text)
		refused := func(ref, out string) {
			t.Helper()
			want := ref + " failed FAILED DIR/f has 2 blocks in PEM format, and would lose all but the certificate. bolt does not replace it; move it away first"
			if !strings.Contains(out, want) || s.read("f") != text {
				t.Errorf("%s: %s", name, out)
			}
		}
		refused("Cert_file[DIR/f]", s.apply(false, `Cert_file[DIR/f] {"ensure":"present","source":"`+server.URL+`/c"}`))
		refused("X509_cert[DIR/f]", s.apply(false, `X509_cert[DIR/f] {"ensure":"present","force":true,"template":"DIR/a.cnf","private_key":"DIR/b.key"}`))
		if out := s.apply(false, `X509_cert[DIR/f] {"ensure":"present","force":true,"template":"DIR/a.cnf","private_key":"DIR/a.key"}`); out != "" {
			t.Errorf("%s: the right key: %s", name, out)
		}
		if err := os.RemoveAll(filepath.Join(s.dir, "new.key")); err != nil {
			t.Fatal(err)
		}
		out := s.apply(false, trigger, `X509_cert[DIR/f] {"ensure":"present","template":"DIR/a.cnf","private_key":"DIR/a.key"}`)
		if !strings.Contains(out, "would lose all but the certificate") || s.read("f") != text {
			t.Errorf("%s: refresh: %s", name, out)
		}
	}
}

func TestFailures(t *testing.T) {
	s := newSite(t)
	s.apply(false, `Ssl_pkey[DIR/a.key] {"ensure":"present","password":"right","authentication":"ec"}`)
	s.apply(false, `X509_cert[DIR/a.crt] {"ensure":"present","password":"right"}`)
	for r, want := range map[string]string{
		`X509_cert[DIR/a.crt] {"ensure":"present","force":true,"password":"s3cret"}`: "openssl pkey: exit code 1: ",
		`X509_cert[DIR/b.crt] {"ensure":"present","template":"DIR/a.cnf"}`:           "openssl req: exit code 1: ",
		`X509_cert[DIR/a2.crt] {"ensure":"present","private_key":"DIR/a.key"}`:       "openssl req: exit code 1: ",
		`Ssl_pkey[DIR/k] {"ensure":"present","authentication":"ec","curve":"none"}`:  "openssl ecparam: exit code 1: ",
		`Ssl_pkey[DIR/no/k] {"ensure":"present"}`:                                    "no such file or directory",
		`Ssl_pkey[DIR] {"ensure":"present"}`:                                         "it is not a regular file",
		`Ssl_pkey[k] {"ensure":"present"}`:                                           "The parameter path must be an absolute path",
		`Ssl_pkey[DIR/k] {"size":"big"}`:                                             "The parameter size must be a whole number",
		`Ssl_pkey[DIR/k] {"size":256}`:                                               "The parameter size must be from 512 to 16384",
		`Ssl_pkey[DIR/k] {"curve":"-out"}`:                                           "The parameter curve must be the name of a curve",
		`Ssl_pkey[DIR/k] {"mode":"rw"}`:                                              "The parameter mode must be an octal number",
		`X509_cert[DIR/k] {"template":"a.cnf"}`:                                      "The parameter template must be an absolute path",
		`X509_cert[DIR/k] {"csr":"-x"}`:                                              "The parameter csr must be an absolute path",
		`X509_cert[DIR/k] {"csr":"/x","ca":"/ca"}`:                                   "The parameter cakey must be given with ca",
		`X509_cert[DIR/k] {"days":0}`:                                                "The parameter days must be at least 1",
		`Cert_file[DIR/k] {"ensure":"present","source":"file:///etc/passwd"}`:        "The parameter source must be a URL with http or https",
	} {
		if got := s.apply(false, r); !strings.Contains(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %s", r, got)
		}
	}
	run := s.h.Run
	s.h.Env = []string{"PATH=" + s.dir}
	if got := s.apply(false, `Ssl_pkey[DIR/k] {"ensure":"present"}`); !strings.Contains(got, "the program openssl is missing") {
		t.Error(got)
	}
	if got := s.apply(false, `Cert_file[DIR/k] {"ensure":"present","source":"http://x/"}`); !strings.Contains(got, "the program curl is missing") {
		t.Error(got)
	}
	// A stand-in for openssl prints noise, and another stand-in hangs.
	s.h.Env = nil
	for script, want := range map[string]string{
		`printf '\000\033[31m\377'; exit 3`: "openssl genrsa: exit code 3: [31m",
		`printf '\000\033[31m\377'`:         "openssl genrsa printed no PEM block of the type RSA PRIVATE KEY",
		"sleep 1000 & sleep 1000":           "openssl: timed out",
		"echo -----BEGIN PRIVATE KEY-----; echo MAA=; echo -----END PRIVATE KEY-----": "openssl genrsa printed a key that is not in PKCS #8 format",
	} {
		s.h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
			c.Argv = []string{"sh", "-c", script}
			if strings.HasPrefix(script, "sleep") {
				c.Timeout = time.Millisecond
			}
			return run(ctx, c)
		}
		if got := s.apply(false, `Ssl_pkey[DIR/k] {"ensure":"present"}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s", script, got)
		}
		if _, err := os.Stat(s.dir + "/k"); err == nil {
			t.Errorf("%s: there is a file", script)
		}
	}
}

// Passwords are not arguments, which every user can see.
func TestPasswords(t *testing.T) {
	s := newSite(t)
	run := s.h.Run
	calls := 0
	s.h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		calls++
		if strings.Contains(strings.Join(c.Argv, " "), "swordfish") {
			t.Errorf("%q", c.Argv)
		}
		return run(ctx, c)
	}
	s.apply(false, `Ssl_pkey[DIR/a.key] {"ensure":"present","password":"swordfish","authentication":"ec"}`)
	s.apply(false, `X509_request[DIR/a.csr] {"ensure":"present","password":"swordfish","force":true}`)
	s.apply(false, `X509_cert[DIR/a.crt] {"ensure":"present","csr":"DIR/a.csr","password":"swordfish","force":true}`)
	s.apply(false, `X509_cert[DIR/a.crt] {"ensure":"present","csr":"DIR/a.csr","password":"swordfish","force":true}`)
	if calls != 6 { // two for the key, one for each file, two for the check
		t.Errorf("openssl ran %d times", calls)
	}
	s.openssl("verify", "-CAfile", "a.crt", "a.crt")
}

// If a user replaces a certificate by a link, the user does not get a file of root.
func TestLinkOfUser(t *testing.T) {
	s := newSite(t)
	s.apply(false, `Ssl_pkey[DIR/a.key] {"ensure":"present","authentication":"ec"}`)
	before := s.read("a.key")
	home := s.dir + "/home"
	if err := errors.Join(os.Mkdir(home, 0o755), os.Symlink("../a.key", home+"/k"), os.Lchown(home, 65534, 65534), os.Lchown(home+"/k", 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []string{`Ssl_pkey[DIR/home/k] {"owner":"nobody"}`, `Dhparam[DIR/home/k] {"mode":"0666"}`} {
		if got := s.apply(false, r); !strings.Contains(got, "symbolic link of the user") {
			t.Error(got)
		}
	}
	if info, err := os.Stat(s.dir + "/a.key"); err != nil || info.Mode().Perm() != 0o600 || s.read("a.key") != before {
		t.Error(info.Mode(), err)
	}
}

func FuzzElement(f *testing.F) {
	f.Add([]byte{0x30, 3, 2, 1, 0})
	f.Add([]byte{0x30, 0x82, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		value, rest, ok := element(data, derSequence)
		if ok && len(value)+len(rest) >= len(data) {
			t.Error("longer than the data")
		}
		if isCertificate(data) && len(data) < 8 {
			t.Error("too short")
		}
		text := string(pem.EncodeToMemory(&pem.Block{Type: pemPKCS8, Bytes: data}))
		if out, err := traditional(text); err == nil && !strings.HasPrefix(out, "-----BEGIN "+pemRSA) {
			t.Error(out)
		}
	})
}
