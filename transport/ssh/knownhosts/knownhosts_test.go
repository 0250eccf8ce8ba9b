package knownhosts

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/transport"
)

// keygen runs ssh-keygen in dir.
func keygen(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("ssh-keygen", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ssh-keygen %q (OpenSSH must be installed): %v\n%s", args, err, out)
	}
	return string(out)
}

// hostKeyPair is a key created by ssh-keygen.
type hostKeyPair struct {
	path string
	pub  ssh.PublicKey
	text string // "type base64"
}

func newHostKey(t testing.TB, dir, name, keyType string) hostKeyPair {
	t.Helper()
	keygen(t, dir, "-q", "-t", keyType, "-N", "", "-C", "comment of "+name, "-f", name)
	return readHostKey(t, filepath.Join(dir, name))
}

func readHostKey(t testing.TB, path string) hostKeyPair {
	t.Helper()
	data, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return hostKeyPair{path, pub, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub)))}
}

// certify signs a key; args are arguments of ssh-keygen -s.
func certify(t testing.TB, ca, key hostKeyPair, args ...string) ssh.PublicKey {
	t.Helper()
	keygen(t, filepath.Dir(key.path), slices.Concat([]string{"-q", "-s", ca.path, "-I", "id"}, args, []string{key.path + ".pub"})...)
	data, err := os.ReadFile(key.path + "-cert.pub")
	if err != nil {
		t.Fatal(err)
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

// hostKeySet holds the keys for the tables.
type hostKeySet struct {
	dir              string
	ed, ed2, ec, rsa hostKeyPair
	ca, otherCA      hostKeyPair
	replace          *strings.Replacer
	knownLog         bytes.Buffer
	known            *Files
	temp             int
}

func newHostKeySet(t testing.TB) *hostKeySet {
	t.Helper()
	s := &hostKeySet{dir: t.TempDir()}
	s.ed = newHostKey(t, s.dir, "ed", "ed25519")
	s.ed2 = newHostKey(t, s.dir, "ed2", "ed25519")
	s.ec = newHostKey(t, s.dir, "ec", "ecdsa")
	s.rsa = newHostKey(t, s.dir, "rsa", "rsa")
	s.ca = newHostKey(t, s.dir, "ca", "ed25519")
	s.otherCA = newHostKey(t, s.dir, "otherca", "ecdsa")
	s.replace = strings.NewReplacer("ED2", s.ed2.text, "ED", s.ed.text, "EC", s.ec.text, "RSA", s.rsa.text, "OTHERCA", s.otherCA.text, "CA", s.ca.text)
	s.known = NewFiles(slog.New(slog.NewTextHandler(&s.knownLog, nil)))
	return s
}

// file writes a known_hosts file. ED, ED2, EC, RSA, CA and OTHERCA in the text
// stand for the keys.
func (s *hostKeySet) file(t testing.TB, text string) string {
	t.Helper()
	s.temp++
	path := filepath.Join(s.dir, fmt.Sprintf("known_hosts.%d", s.temp))
	if err := os.WriteFile(path, []byte(s.replace.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *hostKeySet) load(t testing.TB, paths ...string) *Set {
	t.Helper()
	f, err := s.known.Load(paths, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestHostKeyCheck(t *testing.T) {
	s := newHostKeySet(t)
	const (
		good    = transport.Class("")
		unknown = transport.ClassHostKeyUnknown
		changed = transport.ClassHostKeyChanged
	)
	tests := []struct {
		name, text, hostport string
		key                  ssh.PublicKey
		want                 transport.Class
		say                  string // text in the error
	}{
		{"plain", "web1 ED\n", "web1:22", s.ed.pub, good, ""},
		{"upper case", "WEB1 ED\n", "Web1:22", s.ed.pub, good, ""},
		{"list", "x,web1,192.0.2.1 ED\n", "web1:22", s.ed.pub, good, ""},
		{"address", "x,web1,192.0.2.1 ED\n", "192.0.2.1:22", s.ed.pub, good, ""},
		{"IPv6", "2001:db8::1 ED\n", "[2001:db8::1]:22", s.ed.pub, good, ""},
		{"IPv6 with port", "[2001:db8::1]:2222 ED\n", "[2001:db8::1]:2222", s.ed.pub, good, ""},
		{"comment and spaces", "\t web1 \t ED some comment\r\n", "web1:22", s.ed.pub, good, ""},
		{"no newline at the end", "web1 ED", "web1:22", s.ed.pub, good, ""},
		{"missing", "web2 ED\n", "web1:22", s.ed.pub, unknown, " is not in "},
		{"empty", "", "web1:22", s.ed.pub, unknown, " is not in "},
		{"only a comment", "#web1 ED\n", "web1:22", s.ed.pub, unknown, ""},
		{"changed", "\nweb1 ED2\n", "web1:22", s.ed.pub, changed, ":2"},
		{"changed type", "web1 EC\n", "web1:22", s.ed.pub, changed, ":1"},
		{"changed, the record of the same type is named", "web1 EC\nweb1 ED2\nweb1 RSA\n", "web1:22", s.ed.pub, changed, ":2"},
		{"several types", "web1 EC\nweb1 RSA\nweb1 ED\n", "web1:22", s.ed.pub, good, ""},
		{"two of one type", "web1 ED2\nweb1 ED\n", "web1:22", s.ed.pub, good, ""},
		{"port", "[web1]:2222 ED\n", "web1:2222", s.ed.pub, good, ""},
		{"port falls back to the name", "web1 ED\n", "web1:2222", s.ed.pub, good, ""},
		{"another key for the name alone is unknown", "web1 ED2\n", "web1:2222", s.ed.pub, unknown, ""},
		{"the port's own record counts", "[web1]:2222 ED2\nweb1 ED\n", "web1:2222", s.ed.pub, changed, ":1"},
		{"port 22 does not see others", "[web1]:2222 ED\n", "web1:22", s.ed.pub, unknown, ""},
		{"wildcard", "*.example.com ED\n", "web1.example.com:22", s.ed.pub, good, ""},
		{"wildcard and port", "*.example.com ED\n", "web1.example.com:2222", s.ed.pub, good, ""},
		{"wildcard with port", "[*.example.com]:2222 ED\n", "web1.example.com:2222", s.ed.pub, good, ""},
		{"wildcard for all", "* ED\n", "web1:2222", s.ed.pub, good, ""},
		{"question mark", "web? ED\n", "web1:22", s.ed.pub, good, ""},
		{"negated", "*.example.com,!web1.example.com ED\n", "web1.example.com:22", s.ed.pub, unknown, ""},
		{"alias", "one ED\nweb1 ED2\n", "one", s.ed.pub, good, ""},
		{"alias has no port", "[one]:2222 ED\n", "one", s.ed.pub, unknown, ""},
		{"revoked", "web1 ED\n@revoked * ED\n", "web1:22", s.ed.pub, changed, "revoked at"},
		{"revoked, with a port", "[web1]:2222 ED\n@revoked web1 ED\n", "web1:2222", s.ed.pub, changed, ":2"},
		{"revoked for others", "web1 ED\n@revoked web2 ED\n", "web1:22", s.ed.pub, good, ""},
		{"another key is revoked", "web1 ED\n@revoked * ED2\n", "web1:22", s.ed.pub, good, ""},
		{"a CA's own key is not a host key", "@cert-authority web1 ED\n", "web1:22", s.ed.pub, unknown, "presents no certificate"},
		{"garbage around", "web1\nweb1 ssh-ed25519\nweb1 ssh-ed25519 !!!\n@what web1 ED2\nweb1 ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAI\n|1|x|y ED2\n|2|YWJj|YWJj ED2\n1024 35 1234 web1\nweb1 ED\n\x00\xff\n", "web1:22", s.ed.pub, good, ""},
		{"same name twice in a line", "web1,web1 ED\n", "web1:22", s.ed.pub, good, ""},
	}
	for _, hashed := range []bool{false, true} {
		for _, test := range tests {
			name := test.name
			path := s.file(t, test.text)
			if hashed {
				// -H does not change patterns and marked lines.
				if strings.ContainsAny(test.text, "\x00") || test.text == "" {
					continue
				}
				name += " (hashed)"
				keygen(t, s.dir, "-H", "-f", path)
				os.Remove(path + ".old")
			}
			t.Run(name, func(t *testing.T) {
				err := s.load(t, path).Check(Rule{}, "the-host", test.hostport, nil, test.key)
				if got := transport.ClassOf(err); got != test.want || (err == nil) != (test.want == good) {
					t.Fatalf("got %q (%v), want %q", got, err, test.want)
				}
				if err == nil {
					return
				}
				var e *transport.Error
				if e = err.(*transport.Error); e.Code != "HOST_KEY_ERROR" || e.Hint == "" ||
					!strings.HasPrefix(e.Msg, "Host key verification failed for the-host: ") {
					t.Errorf("incomplete error: %+v", e)
				}
				if !strings.Contains(e.Msg, test.say) && !hashed {
					t.Errorf("%q does not contain %q", e.Msg, test.say)
				}
			})
		}
	}
}

// TestHostKeyNamesAgainstKeygen checks that the same lines match a name as with
// "ssh-keygen -F".
func TestHostKeyNamesAgainstKeygen(t *testing.T) {
	s := newHostKeySet(t)
	path := s.file(t, strings.Join([]string{
		"web1 ED", "web1,web2 EC", "*.example.com,!db.example.com ED", "!web3,web* ED2", "[web1]:2222 EC", "[*]:2222 ED2",
		"WEB4 ED", "?eb1 RSA", "@cert-authority *.example.com CA", "@revoked web2 ED", "2001:db8::1 ED", "*", "# web1 ED", "web1 bad",
		"[2001:db8::1]:2222 ED", "192.0.2.* ED", "a,b,c,,d ED", "*,!* ED", ""}, "\n"))
	hashed := s.file(t, "web1 ED\n[web1]:2222 ED\nweb5 EC\n")
	keygen(t, s.dir, "-H", "-f", hashed)
	for _, file := range []string{path, hashed} {
		for _, name := range []string{"web1", "web2", "web3", "web4", "web5", "db.example.com", "a.example.com", "[web1]:2222", "[x.example.com]:2222", "2001:db8::1", "[2001:db8::1]:2222", "192.0.2.9", "d", "none"} {
			var want []string
			out, _ := exec.Command("ssh-keygen", "-F", name, "-f", file).Output() // status 1: not found
			for line := range strings.Lines(string(out)) {
				if _, n, ok := strings.Cut(line, "found: line "); ok {
					want = append(want, strings.Fields(n)[0])
				}
			}
			var got []string
			for _, r := range s.load(t, file).find(name) {
				got = append(got, fmt.Sprint(r.line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: lines %v, ssh-keygen says %v", name, got, want)
			}
		}
	}
}

func TestHostKeyCertificates(t *testing.T) {
	s := newHostKeySet(t)
	now := time.Now()
	span := func(from, to time.Duration) string {
		return now.Add(from).Format("20060102150405") + ":" + now.Add(to).Format("20060102150405")
	}
	const (
		good    = transport.Class("")
		unknown = transport.ClassHostKeyUnknown
		changed = transport.ClassHostKeyChanged
	)
	tests := []struct {
		name     string
		args     []string // for ssh-keygen -s
		text     string
		hostport string
		want     transport.Class
		say      string
	}{
		{"good", []string{"-h", "-n", "web1"}, "@cert-authority * CA\n", "web1:22", good, ""},
		{"of several names", []string{"-h", "-n", "db,web1"}, "@cert-authority web* CA\n", "web1:22", good, ""},
		{"a port is not in the name", []string{"-h", "-n", "web1"}, "@cert-authority [web1]:2222 CA\n", "web1:2222", good, ""},
		{"authority for the name without port", []string{"-h", "-n", "web1"}, "@cert-authority web1 CA\n", "web1:2222", good, ""},
		{"name in upper case", []string{"-h", "-n", "web1"}, "@cert-authority * CA\n", "WEB1:22", good, ""},
		{"pattern in the certificate", []string{"-h", "-n", "*.example.com"}, "@cert-authority * CA\n", "web1.example.com:22", good, ""},
		{"alias", []string{"-h", "-n", "one"}, "@cert-authority one CA\n", "one", good, ""},
		{"within its time", []string{"-h", "-n", "web1", "-V", span(-time.Hour, time.Hour)}, "@cert-authority * CA\n", "web1:22", good, ""},
		{"several authorities", []string{"-h", "-n", "web1"}, "@cert-authority * OTHERCA\n@cert-authority * CA\n", "web1:22", good, ""},
		{"expired", []string{"-h", "-n", "web1", "-V", span(-2*time.Hour, -time.Hour)}, "@cert-authority * CA\n", "web1:22", unknown, "expired"},
		{"not yet valid", []string{"-h", "-n", "web1", "-V", span(time.Hour, 2*time.Hour)}, "@cert-authority * CA\n", "web1:22", unknown, "not yet valid"},
		{"another name", []string{"-h", "-n", "db"}, "@cert-authority * CA\n", "web1:22", unknown, `its certificate is for "db"`},
		{"no name", []string{"-h"}, "@cert-authority * CA\n", "web1:22", unknown, "names no hosts"},
		{"user certificate", []string{"-n", "web1"}, "@cert-authority * CA\n", "web1:22", unknown, "not a host certificate"},
		{"critical option", []string{"-h", "-n", "web1", "-O", "critical:x=y"}, "@cert-authority * CA\n", "web1:22", unknown, "critical"},
		{"another authority", []string{"-h", "-n", "web1"}, "@cert-authority * OTHERCA\n", "web1:22", unknown, "signed by"},
		{"authority for others", []string{"-h", "-n", "web1"}, "@cert-authority db CA\n", "web1:22", unknown, ""},
		{"authority not marked", []string{"-h", "-n", "web1"}, "web1 CA\n", "web1:22", changed, ""},
		{"revoked authority", []string{"-h", "-n", "web1"}, "@cert-authority * CA\n@revoked * CA\n", "web1:22", changed, "CA of its certificate"},
		{"revoked key", []string{"-h", "-n", "web1"}, "@cert-authority * CA\n@revoked * EC\n", "web1:22", changed, "revoked"},
		{"not good, but the file has the key", []string{"-h", "-n", "db"}, "@cert-authority * CA\nweb1 EC\n", "web1:22", good, ""},
		{"no authority, but the file has the key", []string{"-h", "-n", "web1"}, "web1 EC\n", "web1:22", good, ""},
		{"no authority, the file has another key", []string{"-h", "-n", "web1"}, "web1 ED\n", "web1:22", changed, ":1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cert := certify(t, s.ca, s.ec, test.args...)
			err := s.load(t, s.file(t, test.text)).Check(Rule{}, "web1", test.hostport, nil, cert)
			if got := transport.ClassOf(err); got != test.want || (err == nil) != (test.want == good) {
				t.Fatalf("got %q (%v), want %q", got, err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.say) {
				t.Errorf("%q does not contain %q", err, test.say)
			}
		})
	}
	t.Run("forged signature", func(t *testing.T) {
		cert := *certify(t, s.ca, s.ec, "-h", "-n", "web1").(*ssh.Certificate)
		cert.ValidPrincipals = []string{"bank"}
		err := s.load(t, s.file(t, "@cert-authority * CA\n")).Check(Rule{}, "bank", "bank:22", nil, &cert)
		if transport.ClassOf(err) != transport.ClassHostKeyUnknown || !strings.Contains(err.Error(), "does not verify") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("SHA-1 signature", func(t *testing.T) {
		rsaCA := newHostKey(t, s.dir, "rsaca", "rsa")
		path := s.file(t, "")
		if err := os.WriteFile(path, []byte("@cert-authority * "+rsaCA.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cert := certify(t, rsaCA, s.ec, "-h", "-n", "web1", "-t", "ssh-rsa")
		err := s.load(t, path).Check(Rule{}, "web1", "web1:22", nil, cert)
		if transport.ClassOf(err) != transport.ClassHostKeyUnknown || !strings.Contains(err.Error(), "CASignatureAlgorithms") {
			t.Errorf("got %v", err)
		}
		cert = certify(t, rsaCA, s.ec, "-h", "-n", "web1", "-t", "rsa-sha2-256")
		if err := s.load(t, path).Check(Rule{}, "web1", "web1:22", nil, cert); err != nil {
			t.Errorf("with SHA-256: %v", err)
		}
	})
}

func TestHostKeyAlgorithms(t *testing.T) {
	s := newHostKeySet(t)
	tests := []struct {
		name, text, hostport string
		first                []string // first algorithms, without certificates
		certs                bool     // all certificates are before plain keys of other types
		last                 string
	}{
		{"unknown", "web2 ED\n", "web1:22", nil, false, ""},
		{"only revoked", "@revoked web1 ED\n", "web1:22", nil, false, ""},
		{"ed25519", "web1 ED\n", "web1:22", []string{"ssh-ed25519"}, false, "rsa-sha2-256"},
		{"ecdsa", "web1 EC\n", "web1:22", []string{"ecdsa-sha2-nistp256"}, false, "rsa-sha2-256"},
		{"rsa", "web1 RSA\n", "web1:22", []string{"rsa-sha2-512", "rsa-sha2-256"}, false, "ssh-rsa"},
		{"two types", "web1 RSA\nweb1 EC\n", "web1:22", []string{"ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256"}, false, "ssh-rsa"},
		{"port", "[web1]:2222 EC\nweb1 RSA\n", "web1:2222", []string{"ecdsa-sha2-nistp256"}, false, "rsa-sha2-256"},
		{"name without port", "web1 RSA\n", "web1:2222", []string{"rsa-sha2-512"}, false, "ssh-rsa"},
		{"alias", "one EC\n", "one", []string{"ecdsa-sha2-nistp256"}, false, "rsa-sha2-256"},
		{"authority", "@cert-authority * CA\n", "web1:22", nil, true, "rsa-sha2-256"},
		{"authority and key", "@cert-authority * CA\nweb1 EC\n", "web1:22", []string{"ecdsa-sha2-nistp256"}, true, "rsa-sha2-256"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := s.load(t, s.file(t, test.text)).Algorithms(test.hostport)
			if test.first == nil && !test.certs {
				if all != nil {
					t.Errorf("got %q for an unknown host", all)
				}
				return
			}
			supported := slices.Concat(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys)
			var plain []string
			for i, a := range all {
				if !slices.Contains(supported, a) {
					t.Errorf("%q is not supported", a)
				}
				if !strings.Contains(a, "-cert-") {
					plain = append(plain, a)
				} else if test.certs && i >= 6 {
					t.Errorf("%q comes late in %q", a, all)
				}
			}
			if len(plain) < len(test.first) || !slices.Equal(plain[:len(test.first)], test.first) {
				t.Errorf("got %q, want first %q", plain, test.first)
			}
			if all[len(all)-1] != test.last {
				t.Errorf("%q is last, want %q", all[len(all)-1], test.last)
			}
		})
	}
}

func TestHostKeyErrorTexts(t *testing.T) {
	s := newHostKeySet(t)
	print := func(k hostKeyPair) string { return strings.Fields(keygen(t, s.dir, "-lf", k.path+".pub"))[1] }

	t.Run("unknown", func(t *testing.T) {
		path := s.file(t, "web2 ED2\n")
		err := s.load(t, path).Check(Rule{WriteTo: path}, "web1", "web1.example.com:2222", nil, s.ed.pub)
		for _, want := range []string{"web1", "ssh-ed25519", print(s.ed), path, "ssh-keyscan -t ed25519 -p 2222 web1.example.com >> " + path, "accept-new", "--no-host-key-check"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\ndoes not contain %q", err, want)
			}
		}
	})
	t.Run("unknown alias", func(t *testing.T) {
		err := s.load(t).Check(Rule{WriteTo: "/x y/kh", Hash: true}, "web1", "one", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 2200}, s.ec.pub)
		want := `ssh-keyscan -t ecdsa -p 2200 192.0.2.1 | sed 's/^[^ ]*/one/' >> '/x y/kh'`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not contain %q", err, want)
		}
	})
	t.Run("unknown and no file", func(t *testing.T) {
		err := s.load(t).Check(Rule{Policy: AcceptNew}, "web1", "web1:22", nil, s.ed.pub)
		if transport.ClassOf(err) != transport.ClassHostKeyUnknown || !strings.Contains(err.Error(), "UserKnownHostsFile") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("changed, and its command", func(t *testing.T) {
		path := s.file(t, "# comment\n[web1]:2222 EC\n[web1]:2222 ED2\nweb2 ED\n")
		keygen(t, s.dir, "-H", "-f", path)
		err := s.load(t, path).Check(Rule{}, "web1", "web1:2222", nil, s.ed.pub)
		for _, want := range []string{print(s.ed), print(s.ed2), path + ":3", "ssh-keygen -R '[web1]:2222' -f " + path} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v\ndoes not contain %q", err, want)
			}
		}
		lines := strings.Split(err.Error(), "\n")
		if out, err := exec.Command("sh", "-c", lines[len(lines)-1]).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		err = s.load(t, path).Check(Rule{}, "web1", "web1:2222", nil, s.ed.pub)
		if transport.ClassOf(err) != transport.ClassHostKeyUnknown {
			t.Errorf("after the command: %v", err)
		}
	})
	t.Run("changed by a pattern", func(t *testing.T) {
		path := s.file(t, "web* ED2\n")
		err := s.load(t, path).Check(Rule{}, "web1", "web1:22", nil, s.ed.pub)
		if err == nil || strings.Contains(err.Error(), "ssh-keygen -R") || !strings.Contains(err.Error(), "correct the line at "+path+":1") {
			t.Errorf("got %v", err)
		}
	})
}

func TestHostKeyFiles(t *testing.T) {
	s := newHostKeySet(t)
	one, two := s.file(t, "web1 ED2\n"), s.file(t, "web1 ED\n@revoked * EC\n")
	missing := filepath.Join(s.dir, "no", "such")
	f := s.load(t, missing, one, two, one, filepath.Join(one, "x"))
	if err := f.Check(Rule{}, "web1", "web1:22", nil, s.ed.pub); err != nil {
		t.Errorf("the second file does not count: %v", err)
	}
	if err := f.Check(Rule{}, "web1", "web1:22", nil, s.ec.pub); err == nil || !strings.Contains(err.Error(), "revoked at "+two+":2") {
		t.Errorf("got %v", err)
	}
	if len(f.find("web1")) != 3 {
		t.Errorf("a file named twice counts twice")
	}
	if s.knownLog.Len() > 0 {
		t.Errorf("complaint: %s", s.knownLog.String())
	}
	if _, err := s.known.Load([]string{s.dir}, 0); err == nil || !strings.Contains(err.Error(), s.dir) {
		t.Errorf("a directory: %v", err)
	}
}

func TestHostKeyBadLinesAreReportedOnce(t *testing.T) {
	s := newHostKeySet(t)
	path := s.file(t, "web1 ED\nrubbish\n"+strings.Repeat("x y z\n", 20)+"web2 ED\n")
	for range 3 {
		f := s.load(t, path)
		for _, h := range []string{"web1:22", "web2:22"} {
			if err := f.Check(Rule{}, "h", h, nil, s.ed.pub); err != nil {
				t.Error(err)
			}
		}
		os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour))
	}
	log := s.knownLog.String()
	if strings.Count(log, path+":2 ") != 1 || strings.Count(log, "\n") != maxBadLines+1 || !strings.Contains(log, "lines=16") {
		t.Errorf("log:\n%s", log)
	}
}

func TestHostKeyFileIsReadAgain(t *testing.T) {
	s := newHostKeySet(t)
	path := s.file(t, "web1 ED\n")
	old := time.Now().Add(-time.Minute)
	os.Chtimes(path, old, old)
	f := s.load(t, path)
	if g := s.load(t, path); f.files[0] != g.files[0] {
		t.Error("an unchanged file was read twice")
	}
	// The same size, immediately, in place.
	for _, key := range []hostKeyPair{s.ed2, s.ed, s.ed2} {
		if err := os.WriteFile(path, []byte("web1 "+key.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.load(t, path).Check(Rule{}, "web1", "web1:22", nil, key.pub); err != nil {
			t.Fatalf("the new text does not count: %v", err)
		}
	}
	// The same time: a time in the future does not show changes.
	soon := time.Now().Add(time.Hour)
	for _, key := range []hostKeyPair{s.ed, s.ed2, s.ed} {
		if err := os.WriteFile(path, []byte("web1 "+key.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, soon, soon)
		if err := s.load(t, path).Check(Rule{}, "web1", "web1:22", nil, key.pub); err != nil {
			t.Fatalf("the new text does not count: %v", err)
		}
	}
	os.Remove(path)
	if err := s.load(t, path).Check(Rule{}, "web1", "web1:22", nil, s.ed.pub); transport.ClassOf(err) != transport.ClassHostKeyUnknown {
		t.Errorf("after removal: %v", err)
	}
}

func FuzzKnownHosts(f *testing.F) {
	const ed = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEbMhGxMUQtCkOKWQu4WnMHWvZpBAdt9QLuZMN6jMkmk"
	f.Add("web1,[web2]:22 "+ed+" c\n@revoked * "+ed+"\n@cert-authority a?,!ab "+ed+"\n", "web1")
	f.Add("|1|CpkmIAJ+BYXbmYRuCOMcDVCLbkg=|zIRFKbRjcm2RuBwVPFvPiKM2Glk= "+ed+"\n# x\n\n\x00", "[web2]:2222")
	f.Add("@what x y\n|1||| "+ed+"\nx ssh-rsa "+ed[12:]+"\n1024 35 123\n", "x")
	key, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, hostport string) {
		known, bad := parseKnownHosts("fuzz", text)
		lines := strings.Count(text, "\n") + 1
		if len(known.records)+len(bad) > lines {
			t.Fatalf("%d records and %d bad lines of %d", len(known.records), len(bad), lines)
		}
		set := &Set{keys: NewFiles(nil), files: []*knownFile{known}}
		name, _, _ := recordNames(hostport)
		first := fmt.Sprint(set.find(name))
		if again := fmt.Sprint(set.find(name)); again != first {
			t.Errorf("found %s, then %s", first, again)
		}
		set.Algorithms(hostport)
		if err := set.Check(Rule{}, "h", hostport, nil, key); err == nil && len(known.records) == 0 {
			t.Error("accepted without a record")
		}
	})
}

// manyKnownHosts writes a file with n lines.
func manyKnownHosts(b *testing.B, n int, hash bool) (path string, key hostKeyPair) {
	b.Helper()
	dir := b.TempDir()
	key = newHostKey(b, dir, "k", "ed25519")
	var text strings.Builder
	for i := range n {
		name := fmt.Sprintf("node%d.example.com", i)
		if hash {
			name, _ = hashName(name)
		}
		text.WriteString(name + " " + key.text + "\n")
	}
	path = filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	os.Chtimes(path, old, old)
	return path, key
}

// BenchmarkHostKeys10000 measures 10,000 lines: the time to read them, and the
// cost of one new connection (algorithms and check).
func BenchmarkHostKeys10000(b *testing.B) {
	for _, hash := range []bool{false, true} {
		kind := "plain"
		if hash {
			kind = "hashed"
		}
		path, key := manyKnownHosts(b, 10_000, hash)
		b.Run(kind+" load", func(b *testing.B) {
			for b.Loop() {
				if _, err := NewFiles(nil).Load([]string{path}, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind+" host", func(b *testing.B) {
			known := NewFiles(nil)
			i := 0
			for b.Loop() {
				f, err := known.Load([]string{path}, 0)
				if err != nil {
					b.Fatal(err)
				}
				hostport := fmt.Sprintf("node%d.example.com:22", i%10_000)
				if i++; i%10_000 == 0 {
					known = NewFiles(nil)
				}
				f.Algorithms(hostport)
				if err := f.Check(Rule{}, "h", hostport, nil, key.pub); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestCachesAreBounded checks the limits of the caches.
func TestCachesAreBounded(t *testing.T) {
	known, revoked := NewFiles(nil), NewRevokedFiles()
	dir := t.TempDir()
	for i := range 3 * maxKnownSlots {
		path := filepath.Join(dir, fmt.Sprint(i))
		if _, err := known.Load([]string{path}, 0); err != nil {
			t.Fatal(err)
		}
		if i < 3*maxRevokedFiles {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := revoked.Load(path, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(known.slots); n > maxKnownSlots {
		t.Errorf("%d known_hosts files", n)
	}
	if n := len(revoked.files); n > maxRevokedFiles {
		t.Errorf("%d files of revoked keys", n)
	}
}
