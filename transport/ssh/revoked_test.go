package ssh

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

// krl makes a key revocation list in dir; "CA FILE" stands for the options
// that ssh-keygen needs to revoke certificates of an authority.
func krl(t testing.TB, dir string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "krl")
	keygen(t, dir, append([]string{"-q", "-k", "-f", path}, args...)...)
	return path
}

// writeText writes a file of the test's own.
func writeText(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What ssh refuses by RevokedHostKeys is refused, whatever else is on record.
func TestRevokedHostKeys(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{HostKeys: []string{"ed25519"}})
	own := string(ssh.MarshalAuthorizedKey(s.HostKeys[0]))
	dir := t.TempDir()
	other := newHostKey(t, dir, "other", "ed25519")
	for _, c := range []struct {
		name, file string
		config     string
		check      transport.HostKeyCheck
		class      transport.Class // "" accepts
		say        string
	}{
		{"listed", writeText(t, "# old ones\n\n"+other.text+" other\n"+own), "", transport.CheckStrict, transport.ClassHostKeyChanged, "is revoked at"},
		{"not listed", writeText(t, other.text+"\n"), "", transport.CheckStrict, "", ""},
		{"listed, and new ones are accepted", writeText(t, own), "StrictHostKeyChecking no\n", transport.CheckByConfig, transport.ClassHostKeyChanged, "is revoked at"},
		{"listed, without a check", writeText(t, own), "", transport.CheckNone, "", ""},
		{"a line is cut", writeText(t, own[:40]+"\n"), "", transport.CheckStrict, transport.ClassHostKeyUnknown, ":1"},
		{"no file", filepath.Join(dir, "none"), "", transport.CheckStrict, transport.ClassHostKeyUnknown, "no such file"},
		{"a directory", dir, "", transport.CheckStrict, transport.ClassHostKeyUnknown, dir},
		{"none", "none", "", transport.CheckStrict, "", ""},
		{"two files", "/dev/null /dev/null", "", transport.CheckStrict, transport.ClassUnsupported, "more than one argument"},
		{"in a KRL", krl(t, dir, s.Dir+"/host_ed25519.pub"), "", transport.CheckStrict, transport.ClassHostKeyChanged, "is revoked by"},
		{"not in the KRL", krl(t, dir, other.path+".pub"), "", transport.CheckStrict, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil)
			l.configure(t, "RevokedHostKeys "+c.file+"\n"+c.config)
			if c.config == "" {
				l.record(t, s.KnownHosts())
			}
			to := dest(s)
			to.HostKeyCheck = c.check
			if c.class == "" {
				say(t, l.mustDial(t, to), "true")
				return
			}
			code := "HOST_KEY_ERROR"
			if c.class == transport.ClassUnsupported {
				code = "CONNECT_ERROR"
			}
			e := l.refused(t, to, c.class, code)
			wantText(t, "message", e.Msg, c.say)
			if text, err := os.ReadFile(l.known); err == nil && c.config != "" && len(text) > 0 {
				t.Errorf("recorded %q", text)
			}
		})
	}
}

// Lists and keys of all kinds are judged as ssh-keygen -Q does.
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
		files[name] = writeText(t, string(ssh.MarshalAuthorizedKey(k)))
	}
	spec := func(text string) string { return writeText(t, text) }
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
				// Its exit status is 0 if no key of the file is revoked.
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
	// A list as text holds plain keys and authorities.
	t.Run("text", func(t *testing.T) {
		list, err := readRevocations(writeText(t, s.ca.text+"\n"+string(ssh.MarshalAuthorizedKey(certs["other's cert 5"]))))
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
	path := writeText(t, s.ed.text+"\n")
	r := newRevokedKeys()
	for _, c := range []struct {
		text string
		want bool
	}{{s.ed.text + "\n", true}, {s.ec.text + "\n", false}, {s.ec.text + "\n" + s.ed.text + "\n", true}} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := r.load(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := list.revoke(s.ed.pub); got != c.want {
			t.Errorf("%q: revoked is %v", c.text, got)
		}
	}
}

// Sizes of RSA keys and signatures of authorities are limited as ssh does.
func TestHostKeyLimits(t *testing.T) {
	rsa := sshtest.Start(t, sshtest.Options{HostKeys: []string{"rsa"}}) // 2048 bits
	ca := filepath.Join(rsa.Dir, "ca")
	authority := sshtest.WriteKey(t, ca, "rsa")
	certified := func(algorithm string) *sshtest.Server {
		s := sshtest.Start(t, sshtest.Options{HostKeys: []string{"ed25519"}})
		sshKeygen(t, "-q", "-s", ca, "-t", algorithm, "-I", "host", "-h", "-n", "127.0.0.1", s.Dir+"/host_ed25519.pub")
		return sshtest.Start(t, sshtest.Options{Config: "HostKey " + s.Dir + "/host_ed25519\nHostCertificate " + s.Dir + "/host_ed25519-cert.pub\n", HostKeys: []string{}})
	}
	by256, by512, by1 := certified("rsa-sha2-256"), certified("rsa-sha2-512"), certified("ssh-rsa")
	trust := "@cert-authority * " + string(ssh.MarshalAuthorizedKey(authority.PublicKey()))
	for _, c := range []struct {
		name, config string
		server       *sshtest.Server
		class        transport.Class
		say          string
	}{
		{"RSA key, no limit", "", rsa, "", ""},
		{"RSA key, long enough", "RequiredRSASize 2048\n", rsa, "", ""},
		{"RSA key, too short", "RequiredRSASize 3000\n", rsa, transport.ClassHostKeyUnknown, "RequiredRSASize"},
		{"other key", "RequiredRSASize 3000\n", by512, "", ""},
		{"authority, SHA-256", "", by256, "", ""},
		{"authority, SHA-512", "", by512, "", ""},
		{"authority, SHA-1", "", by1, transport.ClassHostKeyUnknown, "certificate"},
		{"authority, SHA-1 asked for", "CASignatureAlgorithms +ssh-rsa\n", by1, "", ""},
		{"authority, SHA-256 taken away", "CASignatureAlgorithms -rsa-sha2-256\n", by256, transport.ClassHostKeyUnknown, "rsa-sha2-256"},
		{"authority, SHA-256 not in the list", "CASignatureAlgorithms ssh-ed25519,rsa-sha2-512\n", by256, transport.ClassHostKeyUnknown, "rsa-sha2-256"},
		{"authority, SHA-512 in the list", "CASignatureAlgorithms ssh-ed25519,rsa-sha2-512\n", by512, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil)
			l.configure(t, c.config)
			if l.record(t, trust); c.server == rsa {
				l.record(t, rsa.KnownHosts())
			}
			if c.class == "" {
				to := dest(c.server)
				say(t, l.mustDial(t, to), "true")
				return
			}
			e := l.refused(t, dest(c.server), c.class, "HOST_KEY_ERROR")
			wantText(t, "message", e.Msg, c.say)
		})
	}
}

// Our own RSA keys that are too short are not tried.
func TestRequiredRSASizeOfOurKeys(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	file := filepath.Join(t.TempDir(), "key")
	s.Authorize(t, "", sshtest.WriteKey(t, file, "rsa").PublicKey())
	to := dest(s)
	to.PrivateKey = file
	l := newLab(t, nil, s)
	say(t, l.mustDial(t, to), "true")
	l = newLab(t, nil, s)
	l.configure(t, "RequiredRSASize 2049\n")
	e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
	wantText(t, "hint", e.Hint, file, "2048 bits", "RequiredRSASize")
}

func FuzzRevocations(f *testing.F) {
	s := newHostKeySet(f)
	cert := certify(f, s.ca, s.ed, "-h", "-n", "web1", "-z", "5")
	for _, args := range [][]string{{s.ed.path + ".pub"}, {"-s", s.ca.path + ".pub", writeText(f, "serial: 5\nserial: 7\nserial: 9-900\nid: x\n")}, {writeText(f, "sha1: "+s.ed.text+"\n")}} {
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
