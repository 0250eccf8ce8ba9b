package ssh

import (
	"os"
	"strings"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

// TestHostKeysOfServers checks real servers. The tests of package knownhosts
// check the rules of the files.
func TestHostKeysOfServers(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{HostKeys: []string{"rsa", "ecdsa", "ed25519"}})
	other := sshtest.Start(t, sshtest.Options{HostKeys: []string{"ed25519"}})
	name, _, _ := strings.Cut(s.KnownHosts(), " ")
	line := func(k ssh.PublicKey) string { return name + " " + string(ssh.MarshalAuthorizedKey(k)) }
	for _, c := range []struct {
		name, config, known string
		check               transport.HostKeyCheck
		class               transport.Class // "" means accepted
		recorded            bool
		hint                string
	}{
		{"known", "", s.KnownHosts(), transport.CheckStrict, "", false, ""},
		{"only the RSA key known", "", line(s.HostKeys[0]), transport.CheckStrict, "", false, ""},
		{"only the Ed25519 key known", "", line(s.HostKeys[2]), transport.CheckStrict, "", false, ""},
		{"unknown, strict", "", "", transport.CheckStrict, transport.ClassHostKeyUnknown, false, ""},
		{"unknown, by silent config", "", "", transport.CheckByConfig, transport.ClassHostKeyUnknown, false, ""},
		{"unknown, config says no", "StrictHostKeyChecking no\n", "", transport.CheckByConfig, "", true, ""},
		{"unknown, config says accept-new", "StrictHostKeyChecking accept-new\n", "", transport.CheckByConfig, "", true, ""},
		{"unknown, config says no but strict asked", "StrictHostKeyChecking no\n", "", transport.CheckStrict, transport.ClassHostKeyUnknown, false, ""},
		{"unknown, no check", "", "", transport.CheckNone, "", false, ""},
		{"changed", "", line(other.HostKeys[0]), transport.CheckStrict, transport.ClassHostKeyChanged, false, "ssh-keygen -R"},
		{"changed, accept-new", "StrictHostKeyChecking accept-new\n", line(other.HostKeys[0]), transport.CheckByConfig, transport.ClassHostKeyChanged, false, "ssh-keygen -R"},
		{"changed, no check", "", line(other.HostKeys[0]), transport.CheckNone, "", false, ""},
		{"revoked", "", s.KnownHosts() + "@revoked " + strings.ReplaceAll(s.KnownHosts(), "\n[", "\n@revoked ["), transport.CheckStrict, transport.ClassHostKeyChanged, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil)
			l.configure(t, c.config)
			if c.known != "" {
				l.record(t, c.known)
			}
			to := dest(s)
			to.HostKeyCheck = c.check
			if c.class == "" {
				say(t, l.mustDial(t, to), "true")
			} else {
				e := l.refused(t, to, c.class, "HOST_KEY_ERROR")
				wantText(t, "message", e.Msg, "Host key verification failed for 127.0.0.1: ")
				wantText(t, "hint", e.Hint, c.hint)
			}
			text, err := os.ReadFile(l.known)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if recorded := len(text) > len(c.known); recorded != c.recorded {
				t.Errorf("recorded: %v, want %v: %q", recorded, c.recorded, text)
			}
			if c.recorded { // then it is known the next time
				strict := to
				strict.HostKeyCheck = transport.CheckStrict
				say(t, l.mustDial(t, strict), "true")
			}
		})
	}
}

func TestHostCertificate(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{HostKeys: []string{"ed25519"}})
	ca := s.Dir + "/ca"
	authority := sshtest.WriteKey(t, ca, "ed25519")
	sshKeygen(t, "-q", "-s", ca, "-I", "host", "-h", "-n", "127.0.0.1", s.Dir+"/host_ed25519.pub")
	certified := sshtest.Start(t, sshtest.Options{Config: "HostKey " + s.Dir + "/host_ed25519\nHostCertificate " + s.Dir + "/host_ed25519-cert.pub\n", HostKeys: []string{}})
	l := newLab(t, nil)
	l.record(t, "@cert-authority * "+string(ssh.MarshalAuthorizedKey(authority.PublicKey())))
	say(t, l.mustDial(t, dest(certified)), "true")
}
