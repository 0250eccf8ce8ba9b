package knownhosts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// krl creates a key revocation list in dir. "CA FILE" stands for the options
// that ssh-keygen needs to revoke certificates of a CA.
func krl(t testing.TB, dir string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "krl")
	keygen(t, dir, append([]string{"-q", "-k", "-f", path}, args...)...)
	return path
}

// TestRevocationLists checks that lists and keys of all types are judged as by
// ssh-keygen -Q.
func TestRevocationLists(t *testing.T) {
	t.Parallel()
	s := newHostKeySet(t)
	certs := make(map[string]ssh.PublicKey)
	for _, c := range []struct {
		name   string
		ca     hostKeyPair
		key    hostKeyPair
		serial string
	}{
		{"cert 5", s.ca, s.ed, "5"}, {"cert 70", s.ca, s.ec, "70"}, {"cert 0", s.ca, s.rsa, "0"}, {"other's cert 5", s.otherCA, s.ed2, "5"},
	} {
		certs[c.name] = certify(t, c.ca, c.key, "-h", "-n", "web1", "-z", c.serial)
	}
	keys := map[string]ssh.PublicKey{"ed": s.ed.pub, "ed2": s.ed2.pub, "ec": s.ec.pub, "rsa": s.rsa.pub, "ca": s.ca.pub}
	for name, k := range certs {
		keys[name] = k
	}
	files := make(map[string]string)
	for name, k := range keys {
		files[name] = writeFile(t, string(ssh.MarshalAuthorizedKey(k)))
	}
	spec := func(text string) string { return writeFile(t, text) }
	for _, c := range []struct {
		name string
		args []string
	}{
		{"empty", nil},
		{"a key", []string{s.ed.path + ".pub"}},
		{"two keys", []string{s.rsa.path + ".pub", s.ec.path + ".pub"}},
		{"an authority", []string{s.ca.path + ".pub"}},
		{"SHA-1", []string{spec("sha1: " + s.ed.text + "\n")}},
		{"SHA-256", []string{spec("hash: " + ssh.FingerprintSHA256(s.ec.pub) + "\n")}},
		{"a serial", []string{"-s", s.ca.path + ".pub", spec("serial: 5\n")}},
		{"a list of serials", []string{"-s", s.ca.path + ".pub", spec("serial: 5\nserial: 90000\nserial: 900000000\n")}},
		{"a range", []string{"-s", s.ca.path + ".pub", spec("serial: 60-80000\n")}},
		{"a bitmap", []string{"-s", s.ca.path + ".pub", spec("serial: 5\nserial: 7\nserial: 9\nserial: 11-13\nserial: 15\nserial: 70\nserial: 72\n")}},
		{"a key ID", []string{"-s", s.ca.path + ".pub", spec("id: id\n")}},
		{"another key ID", []string{"-s", s.ca.path + ".pub", spec("id: nobody\n")}},
		{"a key ID of any authority", []string{"-s", "none", spec("id: id\n")}},
		{"a certificate", []string{files["cert 70"]}},
		{"with comment and version", []string{"-z", "7", s.ed.path + ".pub"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := krl(t, s.dir, c.args...)
			list, err := readRevocations(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, k := range keys {
				_, got := list.revoke(k)
				// The exit status is 0 if no key of the file is revoked.
				out, err := exec.Command("ssh-keygen", "-Q", "-f", path, files[name]).CombinedOutput()
				want := strings.Contains(string(out), "REVOKED")
				if want != (err != nil) {
					t.Fatalf("ssh-keygen -Q: %v: %s", err, out)
				}
				if got != want {
					t.Errorf("%s: revoked is %v, ssh-keygen -Q says %v", name, got, want)
				}
			}
		})
	}
	// A text list holds plain keys and CA keys.
	t.Run("text", func(t *testing.T) {
		list, err := readRevocations(writeFile(t, s.ca.text+"\n"+string(ssh.MarshalAuthorizedKey(certs["other's cert 5"]))))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"ca": true, "cert 5": true, "cert 70": true, "cert 0": true, "ed2": true, "other's cert 5": true, "ed": false, "rsa": false} {
			if _, got := list.revoke(keys[name]); got != want {
				t.Errorf("%s: revoked is %v, want %v", name, got, want)
			}
		}
	})
}

func TestRevocationsAreReadOnce(t *testing.T) {
	s := newHostKeySet(t)
	path := writeFile(t, s.ed.text+"\n")
	r := NewRevokedFiles()
	for _, c := range []struct {
		text string
		want bool
	}{{s.ed.text + "\n", true}, {s.ec.text + "\n", false}, {s.ec.text + "\n" + s.ed.text + "\n", true}} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := r.Load(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := list.revoke(s.ed.pub); got != c.want {
			t.Errorf("%q: revoked is %v", c.text, got)
		}
	}
}

func FuzzRevocations(f *testing.F) {
	s := newHostKeySet(f)
	cert := certify(f, s.ca, s.ed, "-h", "-n", "web1", "-z", "5")
	for _, args := range [][]string{{s.ed.path + ".pub"}, {"-s", s.ca.path + ".pub", writeFile(f, "serial: 5\nserial: 7\nserial: 9-900\nid: x\n")}, {writeFile(f, "sha1: "+s.ed.text+"\n")}} {
		text, err := os.ReadFile(krl(f, s.dir, args...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(s.ed.text + "\n# x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseRevocations("f", text)
		if err != nil {
			return
		}
		for _, k := range []ssh.PublicKey{s.ec.pub, cert} {
			if why, revoked := list.revoke(k); revoked == (why == "") {
				t.Errorf("revoked %v, for %q", revoked, why)
			}
		}
	})
}

// writeFile writes a file of the test.
func writeFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
