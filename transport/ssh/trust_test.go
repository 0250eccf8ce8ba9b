package ssh

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestRevokedHostKeys checks that keys in RevokedHostKeys are refused as in
// ssh, whatever known_hosts holds.
func TestRevokedHostKeys(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{HostKeys: []string{"ed25519"}})
	own := string(ssh.MarshalAuthorizedKey(s.HostKeys[0]))
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "other"), "ed25519")
	otherText, err := os.ReadFile(filepath.Join(dir, "other.pub"))
	if err != nil {
		t.Fatal(err)
	}
	krl := func(pub string) string {
		path := filepath.Join(t.TempDir(), "krl")
		sshKeygen(t, "-q", "-k", "-f", path, pub)
		return path
	}
	for _, c := range []struct {
		name, file string
		config     string
		check      transport.HostKeyCheck
		class      transport.Class // "" means accepted
		say        string
	}{
		{"listed", writeText(t, "# old ones\n\n"+string(otherText)+own), "", transport.CheckStrict, transport.ClassHostKeyChanged, "is revoked at"},
		{"not listed", writeText(t, string(otherText)), "", transport.CheckStrict, "", ""},
		{"listed, and new ones are accepted", writeText(t, own), "StrictHostKeyChecking no\n", transport.CheckByConfig, transport.ClassHostKeyChanged, "is revoked at"},
		{"listed, without a check", writeText(t, own), "", transport.CheckNone, "", ""},
		{"a line is cut", writeText(t, own[:40]+"\n"), "", transport.CheckStrict, transport.ClassHostKeyUnknown, ":1"},
		{"no file", filepath.Join(dir, "none"), "", transport.CheckStrict, transport.ClassHostKeyUnknown, "no such file"},
		{"a directory", dir, "", transport.CheckStrict, transport.ClassHostKeyUnknown, dir},
		{"none", "none", "", transport.CheckStrict, "", ""},
		{"two files", "/dev/null /dev/null", "", transport.CheckStrict, transport.ClassUnsupported, "more than one argument"},
		{"in a KRL", krl(s.Dir + "/host_ed25519.pub"), "", transport.CheckStrict, transport.ClassHostKeyChanged, "is revoked by"},
		{"not in the KRL", krl(filepath.Join(dir, "other.pub")), "", transport.CheckStrict, "", ""},
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

// TestHostKeyLimits checks the limits for sizes of RSA keys and for signatures
// of CAs, which are the same as in ssh.
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

// TestRequiredRSASizeOfOurKeys checks that our own RSA keys that are too short
// are not tried.
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
