package javaks

import (
	"context"
	"errors"
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

var types = map[string]resource.Type{"Java_ks": Type()}

// A site is a directory with keys, certificates and keystores. The tests run the real keytool and openssl.
type site struct {
	t   *testing.T
	dir string
	h   *resource.Host
	ran []string // the commands of keytool of the last apply
}

func newSite(t *testing.T) *site {
	s := &site{t: t, dir: t.TempDir(), h: resource.NewHost()}
	// A JVM prints a note about this variable to standard error. The note must not hide an error of keytool.
	s.h.Env = []string{"JAVA_TOOL_OPTIONS=-Duser.language=en"}
	s.h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		line := strings.Join(c.Argv, " ")
		if strings.Contains(line, "changeit") || strings.Contains(line, "other1") {
			t.Errorf("a password is an argument: %q", c.Argv)
		}
		if filepath.Base(c.Argv[0]) == "keytool" {
			s.ran = append(s.ran, c.Argv[1+len(quick)])
		}
		return resource.Exec(ctx, c)
	}
	return s
}

// shell runs a script in the directory.
func (s *site) shell(script string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-ec", script)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// make makes NAME.key and NAME.crt.
func (s *site) make(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=" + name + "' -days 30 -keyout " + name + ".key -out " + name + ".crt 2>&1")
	}
}

func (s *site) apply(noop bool, resources ...string) string {
	s.t.Helper()
	s.ran = nil
	for i, r := range resources {
		resources[i] = strings.ReplaceAll(r, "DIR", s.dir)
	}
	out, err := hosttest.Try(s.t, s.h, types, noop, resources...)
	if err != nil {
		out = "refused: " + err.Error()
	}
	return strings.TrimSpace(strings.ReplaceAll(out, s.dir, "DIR"))
}

// list returns the aliases and kinds of the entries of a keystore.
func (s *site) list(store, password string, options ...string) string {
	out := s.shell("keytool " + strings.Join(quick[:], " ") + " -list -keystore " + store + " -storepass " + password + " " + strings.Join(options, " "))
	var list []string
	for line := range strings.Lines(out) {
		for _, kind := range []string{"trustedCertEntry", "PrivateKeyEntry"} {
			if strings.Contains(line, kind) {
				alias, _, _ := strings.Cut(line, ",")
				list = append(list, alias+" "+kind)
			}
		}
	}
	return strings.Join(list, "; ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s\nwant %s", what, got, want)
	}
}

func TestCertificates(t *testing.T) {
	temporary := t.TempDir() // not that of the machine, where other tests have files
	t.Setenv("TMPDIR", temporary)
	s := newSite(t)
	s.make("a", "b")
	both := []string{
		`Java_ks[Alpha:DIR/ks] {"certificate":"DIR/a.crt","password":{"sensitive":"changeit"},"trustcacerts":true}`,
		`Java_ks[beta] {"target":"DIR/ks","ensure":"latest","certificate_content":` + quote(s.shell("cat b.crt")) + `,"password":"changeit","trustcacerts":true}`,
	}
	created := "Java_ks[Alpha:DIR/ks] changed java_ks_created\nJava_ks[beta] changed java_ks_changed"
	want(t, "noop", s.apply(true, both...), strings.ReplaceAll(created, "changed java", "noop java"))
	want(t, "first", s.apply(false, both...), created)
	want(t, "entries", s.list("ks", "changeit"), "alpha trustedCertEntry; beta trustedCertEntry")
	want(t, "again", s.apply(false, both...), "")
	if len(s.ran) > 2 {
		t.Errorf("keytool ran for %q", s.ran)
	}
	// A new certificate changes only an entry that must be the latest.
	s.make("c")
	if err := os.Chmod(s.dir+"/ks", 0o640); err != nil {
		t.Fatal(err)
	}
	renewed := []string{
		`Java_ks[Alpha:DIR/ks] {"certificate":"DIR/c.crt","password":"changeit"}`,
		`Java_ks[beta:DIR/ks] {"ensure":"latest","certificate":"DIR/c.crt","password":"changeit"}`,
	}
	want(t, "renewed", s.apply(false, renewed...), "Java_ks[beta:DIR/ks] changed java_ks_changed")
	want(t, "again", s.apply(false, renewed...), "")
	if info, err := os.Stat(s.dir + "/ks"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	want(t, "removed", s.apply(false, `Java_ks[alpha:DIR/ks] {"ensure":"absent","password":"changeit"}`), "Java_ks[alpha:DIR/ks] changed java_ks_removed")
	want(t, "entries", s.list("ks", "changeit"), "beta trustedCertEntry")
	if found, err := filepath.Glob(filepath.Join(temporary, "bolt-java_ks-*")); err != nil || len(found) > 0 {
		t.Errorf("there are temporary files: %q, %v", found, err)
	}
}

func quote(text string) string { return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"` }

func TestKeys(t *testing.T) {
	s := newSite(t)
	s.make("ca")
	s.shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout a.key -out a.csr 2>&1; openssl x509 -req -in a.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out a.crt 2>&1")
	s.shell("openssl x509 -in a.crt -outform DER -out a.der; printf changeit >pw; : >empty; chmod 600 empty; chown nobody empty")
	for _, k := range []struct{ store, params, options string }{
		{"k1", `"certificate":"DIR/a.crt","private_key":"DIR/a.key","chain":"DIR/ca.crt","password":"changeit"`, ""},
		{"k2", `"certificate":"DIR/a.der","private_key_content":` + quote(s.shell("cat a.key")) + `,"password_file":"DIR/pw","destkeypass":"changeit2","storetype":"jceks"`, "-storetype jceks"},
		{"empty", `"certificate":"DIR/a.crt","private_key":"DIR/a.key","private_key_type":"ec","password":"changeit"`, ""},
	} {
		r := `Java_ks[www:DIR/` + k.store + `] {"ensure":"latest",` + k.params + `}`
		want(t, k.store, s.apply(false, r), "Java_ks[www:DIR/"+k.store+"] changed java_ks_changed")
		want(t, "again", s.apply(false, r), "")
		want(t, "entries", s.list(k.store, "changeit", k.options), "www PrivateKeyEntry")
	}
	if out := s.shell("keytool " + strings.Join(quick[:], " ") + " -list -v -keystore k1 -storepass changeit"); !strings.Contains(out, "Certificate chain length: 2") {
		t.Error(out)
	}
	var st unix.Stat_t
	if err := unix.Stat(s.dir+"/empty", &st); err != nil || st.Uid != 65534 || st.Mode&0o777 != 0o600 {
		t.Errorf("owner %d, mode %o, %v", st.Uid, st.Mode, err)
	}
	// The entries of a PKCS #12 file.
	s.shell("openssl pkcs12 -export -in a.crt -inkey a.key -name inside -passout pass:other1 -out a.p12")
	r := `Java_ks[outside:DIR/k3] {"ensure":"latest","certificate":"DIR/a.p12","storetype":"pkcs12","source_password":"other1","source_alias":"inside","password":"changeit"}`
	want(t, "import", s.apply(false, r), "Java_ks[outside:DIR/k3] changed java_ks_changed")
	want(t, "again", s.apply(false, r), "")
	want(t, "entries", s.list("k3", "changeit"), "outside PrivateKeyEntry")
}

// The latest state is reached for sources with more certificates than keytool imports.
func TestLatest(t *testing.T) {
	s := newSite(t)
	s.make("ca", "other")
	s.shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout a.key -out a.csr 2>&1; openssl x509 -req -in a.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out a.crt 2>&1")
	s.shell("cat a.crt other.crt >two.crt")
	s.shell("openssl pkcs12 -export -in a.crt -inkey a.key -name inside -passout pass:other1 -out a.p12; openssl pkcs12 -export -in other.crt -inkey other.key -name second -passout pass:other1 -out b.p12")
	s.shell("keytool -importkeystore -noprompt -srckeystore b.p12 -srcstorepass other1 -destkeystore a.p12 -deststorepass other1 2>&1")
	const key = `,"private_key":"DIR/a.key"`
	for _, c := range []struct{ params, kind string }{
		{`"certificate":"DIR/two.crt"`, "trustedCertEntry"},
		{`"certificate":"DIR/a.crt","chain":"DIR/ca.crt"`, "trustedCertEntry"},
		{`"certificate":"DIR/two.crt","chain":"DIR/ca.crt"` + key, "PrivateKeyEntry"},
		{`"certificate":"DIR/a.crt","chain":"DIR/ca.crt","storetype":"pkcs12","source_password":"other1"` + key, "PrivateKeyEntry"},
		{`"certificate":"DIR/a.p12","storetype":"pkcs12","source_password":"other1","source_alias":"inside"`, "PrivateKeyEntry"},
	} {
		s.shell("rm -f ks")
		r := `Java_ks[www:DIR/ks] {"ensure":"latest","password":"changeit",` + c.params + `}`
		want(t, c.params, s.apply(false, r), "Java_ks[www:DIR/ks] changed java_ks_changed")
		want(t, c.params, s.apply(false, r), "")
		want(t, c.params, s.list("ks", "changeit"), "www "+c.kind)
	}
}

func TestFailures(t *testing.T) {
	s := newSite(t)
	s.make("a")
	s.shell("printf 'not a keystore' >bad; printf x >notcert")
	entry := func(store, params string) string {
		return `Java_ks[www:DIR/` + store + `] {"certificate":"DIR/a.crt",` + params + `}`
	}
	want(t, "create", s.apply(false, entry("ks", `"password":"changeit"`)), "Java_ks[www:DIR/ks] changed java_ks_created")
	before := s.shell("sha256sum ks bad")
	for r, problem := range map[string]string{
		entry("ks", `"password":"other1"`):                                                                                "failed FAILED the keystore has another password",
		entry("bad", `"password":"other1","password_fail_reset":true`):                                                    "keytool -list: exit code 1: ",
		entry("new", `"password_file":"DIR/none"`):                                                                        "DIR/none, does not exist",
		entry("no/new", `"password":"changeit"`):                                                                          "no such file or directory",
		`Java_ks[w:DIR/new] {"certificate":"DIR/none","password":"changeit"}`:                                             "DIR/none does not exist",
		`Java_ks[w:DIR/new] {"certificate":"DIR/notcert","password":"changeit"}`:                                          "DIR/notcert has no certificate",
		entry("new", `"password":"changeit","private_key":"DIR/notcert"`):                                                 "openssl pkcs12: exit code 1: ",
		entry("new", `"password":"changeit","path":"DIR"`):                                                                "the program keytool is missing",
		entry("ks", `"password":"pass1"`):                                                                                 "The parameter password must have six or more characters",
		entry("ks", `"password":"changeit","password_file":"/x"`):                                                         "The parameter password_file cannot be used together with password",
		entry("ks", `"certificate_content":"x","password":"changeit"`):                                                    "The parameter certificate_content cannot be used together with certificate",
		entry("ks", `"storetype":"pkcs12","password":"changeit"`):                                                         "The parameter source_password must be given with the storetype pkcs12",
		entry("ks", `"name":"-x","password":"changeit"`):                                                                  "The parameter name must be one line that does not begin with -",
		entry("ks", `"keytool_timeout":0,"password":"changeit"`):                                                          "The parameter keytool_timeout must be a number of seconds",
		entry("ks", `"trustcacerts":true`):                                                                                "The parameter password must be given, or password_file",
		`Java_ks[a] {"certificate":"/c","password":"changeit"}`:                                                           "The parameter target must be an absolute path",
		`Java_ks[a:/x] {"password":"changeit","storetype":"pkcs12","source_password":"other1","certificate_content":"x"}`: "The parameter certificate_content cannot be used with the storetype pkcs12",
		`Java_ks[a:/x] {"password":"changeit"}`:                                                                           "The parameter certificate must be given, or certificate_content",
	} {
		if got := s.apply(false, r); !strings.Contains(got, problem) || strings.Contains(got, "other1") {
			t.Errorf("%s: %s", r, got)
		}
	}
	want(t, "keystores", s.shell("sha256sum ks bad"), before)
	if _, err := os.Stat(s.dir + "/new"); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is a keystore")
	}
	reset := entry("ks", `"password":"other1","password_fail_reset":true`)
	want(t, "noop", s.apply(true, reset), "Java_ks[www:DIR/ks] noop java_ks_created")
	want(t, "keystores", s.shell("sha256sum ks bad"), before)
	want(t, "reset", s.apply(false, reset), "Java_ks[www:DIR/ks] changed java_ks_created")
	want(t, "again", s.apply(false, reset), "")

	// Stand-ins for keytool: it fails in the middle of its work, prints noise, and hangs.
	before = s.shell("sha256sum ks")
	for script, problem := range map[string]string{
		`[ "$1" = -list ] && exit; echo x >"$8"; kill -9 $$`: "keytool -importcert: exit code 137",
		`printf '\000\033[31m\377'; exit 1`:                  "keytool -list: exit code 1: [31m",
		"sleep 1000 & sleep 1000":                            "keytool -list: timed out",
	} {
		s.h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
			c.Argv = append([]string{"sh", "-c", script, "keytool"}, c.Argv[1+len(quick):]...)
			if strings.HasPrefix(script, "sleep") {
				c.Timeout = time.Millisecond
			}
			return resource.Exec(ctx, c)
		}
		if got := s.apply(false, entry("ks", `"name":"new","password":"other1"`)); !strings.Contains(got, problem) {
			t.Errorf("%s: %s", script, got)
		}
	}
	want(t, "the keystore", s.shell("sha256sum ks"), before)
}

func FuzzParse(f *testing.F) {
	f.Add("Alias name: a\nCreation date: x\n-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")
	f.Fuzz(func(t *testing.T, out string) {
		for alias := range parse(out) {
			if strings.Contains(alias, "\n") {
				t.Errorf("%q", alias)
			}
		}
	})
}
