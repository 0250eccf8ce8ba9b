package aptkey

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Apt_key": Type()}

// setup makes two keys, and a third one that has expired.
const setup = `rm -rf /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d; mkdir -p -m 755 /etc/apt/trusted.gpg.d; mkdir -m 700 /g; mkdir -p -m 1777 /tmp; export GNUPGHOME=/g
for u in one two; do gpg -q --batch --passphrase '' --quick-gen-key $u@example.com ed25519 sign never; done
gpg -q --batch --passphrase '' --faked-system-time 20200101T000000 --quick-gen-key old@example.com ed25519 sign 1d 2>/dev/null
for u in one two old; do gpg -q --export --armor $u@example.com > /$u.asc; gpg --with-colons --list-keys $u@example.com 2>/dev/null | awk -F: '/^fpr/ {print $10; exit}'; done
gpgconf --kill gpg-agent`

// TestReal applies resources with the real apt-key and gpg in a disposable root.
func TestReal(t *testing.T) {
	m := providertest.New(t, "/", "true", types)
	ids := strings.Fields(m.Shell(setup))
	if len(ids) != 3 {
		t.Fatalf("no keys: %q", ids)
	}
	one, two, old := ids[0], ids[1], ids[2]
	content := func(name string) string {
		data, err := os.ReadFile(m.Root + "/" + name + ".asc")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(string(data))
		return string(text)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeFile(w, r, m.Root+"/two.asc")
	}))
	t.Cleanup(server.Close)
	withPassword := strings.Replace(server.URL, "http://", "http://u:s3cret@", 1)
	list := func() string {
		return m.Shell("apt-key adv --list-keys --with-colons 2>/dev/null | awk -F: '/^fpr/ {print $10}' | sort | tr '\\n' ' '")
	}
	each := func(name, r, out string) {
		t.Helper()
		ref, _, _ := strings.Cut(r, " {")
		m.Want(name+", noop", m.Apply(true, r), ref+" "+strings.Replace(out, "changed ", "noop ", 1))
		m.Want(name, m.Apply(false, r), ref+" "+out)
		m.Want(name+", again", m.Apply(false, r), ref+" unchanged")
	}
	each("content", fmt.Sprintf(`Apt_key[%s] {"content":%s}`, one, content("one")), "changed apt_key_created")
	m.Want("keys", list(), one)
	m.Want("a short id", m.Apply(false, fmt.Sprintf(`Apt_key[0x%s] {}`, strings.ToLower(one[24:]))), fmt.Sprintf("Apt_key[0x%s] unchanged", strings.ToLower(one[24:])))
	each("a URL with a password", fmt.Sprintf(`Apt_key[%s] {"source":%q}`, two, withPassword+"/k"), "changed apt_key_created")
	for _, line := range m.Argv {
		if args, _, _ := strings.Cut(line, " < "); strings.Contains(args, "s3cret") {
			t.Errorf("the password is an argument: %s", args)
		}
	}
	each("absent", fmt.Sprintf(`Apt_key[%s] {"ensure":"absent"}`, one), "changed apt_key_removed")
	m.Want("keys", list(), two)
	expired := fmt.Sprintf(`Apt_key[%s] {"source":%q}`, old, m.Root+"/old.asc")
	each("a file", expired, "changed apt_key_created")
	m.Want("expired", m.Apply(true, strings.Replace(expired, "{", `{"refresh":true,`, 1)), fmt.Sprintf("Apt_key[%s] noop apt_key_created", old))
	m.Want("another key", m.Apply(false, fmt.Sprintf(`Apt_key[%s] {"source":%q}`, one, m.Root+"/two.asc")),
		fmt.Sprintf("Apt_key[%s] failed apt_key_created: change of ensure from absent to present failed: the keys of content or source do not have the fingerprint of the id, so none was added", one))
	m.Want("no keys", m.Apply(false, fmt.Sprintf(`Apt_key[%s] {"content":"nonsense"}`, one)),
		fmt.Sprintf("Apt_key[%s] failed apt_key_created: change of ensure from absent to present failed: gpg cannot read the keys of content or source (exit code 2), so none was added", one))
	m.Want("refused download", m.Apply(false, fmt.Sprintf(`Apt_key[%s] {"source":%q}`, one, strings.Replace(withPassword, "s3", "x3", 1))),
		fmt.Sprintf("Apt_key[%s] failed apt_key_created: change of ensure from absent to present failed: download of %s: curl: exit code 22: (22) The requested URL returned error: 401", one, server.URL))
	m.Want("nothing is left", m.Shell("ls /tmp | grep bolt-gpg || true"), "")
}

func TestFailures(t *testing.T) {
	const id = "0123456789ABCDEF0123456789ABCDEF01234567"
	m := providertest.Scripted(t, "", types)
	m.Want("no program", m.Apply(false, "Apt_key["+id+"]"), "Apt_key["+id+"] failed: the program apt-key is missing. Debian 13 and later do not have it: put the key in a file, with apt::keyring")
	m = providertest.Scripted(t, "apt-key", types, providertest.Answer{Begin: "apt-key adv --no-tty --list", Out: resource.Output{Stdout: []byte("\x00\xff\npub:\n:::\nfpr:::::::::" + id + ":\n")}})
	m.Want("noise", m.Apply(false, "Apt_key["+id+"]"), "Apt_key["+id+"] changed apt_key_created")
	m.Want("a key server", m.Argv[len(m.Argv)-1], "apt-key adv --no-tty --keyserver keyserver.ubuntu.com --recv-keys "+id)
	m.Apply(false, "Apt_key["+id+`] {"server":"hkps://keys.example.com","options":"timeout=5"}`)
	m.Want("options", m.Argv[len(m.Argv)-1], "apt-key adv --no-tty --keyserver hkps://keys.example.com --keyserver-options timeout=5 --recv-keys "+id)
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, "Apt_key["+id+"]"), "Apt_key["+id+"] failed: apt-key: timed out")
	for text, want := range map[string]string{
		`Apt_key[xyz]`: "The parameter id must have 8, 16 or 40 hexadecimal digits",
		`Apt_key[01234567] {"content":"a","source":"/b"}`:                   "The parameter source cannot be used together with content",
		`Apt_key[01234567] {"source":"puppet:///x"}`:                        "The parameter source must be an absolute path, or a URL",
		`Apt_key[01234567] {"server":"--x"}`:                                "The parameter server must be a host name",
		`Apt_key[01234567] {"ensure":"absent","refresh":true}`:              "The parameter refresh cannot be used",
		`Apt_key[01234567] {"size":4096}`:                                   "The parameter size cannot be set",
		`Apt_key[01234567] {"options":{"sensitive":"http-proxy=http://x"}}`: "The parameter options must not be Sensitive",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestParse checks that a key whose subkeys have all expired counts as expired.
func TestParse(t *testing.T) {
	line := func(kind, validity, last string) string { return kind + ":" + validity + ":::::::::" + last + ":\n" }
	fpr := func(id string) string { return "fpr:::::::::" + id + ":\n" }
	text := line("pub", "-", "") + fpr("A") + line("sub", "e", "") + fpr("A1") + line("sub", "-", "") + fpr("A2") +
		line("pub", "-", "") + fpr("B") + line("sub", "e", "") + fpr("B1") + line("pub", "e", "") + fpr("C")
	if got := fmt.Sprint(parse(text)); got != "[{A false} {B true} {C true}]" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("pub:-:::::::::\nfpr:::::::::A:\nsub:e:::::::::\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(parse(text)); n > strings.Count(text, "pub") {
			t.Errorf("%d keys", n)
		}
	})
}
