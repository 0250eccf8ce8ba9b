package krb5

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/krb5/krb5test"
	"golang.org/x/crypto/ssh"
)

// lookup makes an environment of NAME=value.
func lookup(env []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// login logs in at the realm's SSH server and returns what a command says.
func login(t *testing.T, r *krb5test.Realm, c *Context, command string) (string, error) {
	t.Helper()
	conn, err := ssh.Dial("tcp", addr(r), &ssh.ClientConfig{User: userName(), HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 20 * time.Second,
		Auth: []ssh.AuthMethod{ssh.GSSAPIWithMICAuthMethod(c, "localhost")}})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	s, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.CombinedOutput(command)
	return string(out), err
}

func TestLive(t *testing.T) {
	r := krb5test.Start(t)
	file := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, file, "tester")
	dir := "DIR:" + t.TempDir()
	r.Kinit(t, dir, "tester")
	for _, tt := range []struct{ name, cache, keytab string }{
		{"FILE", file, ""},
		{"file without a type", strings.TrimPrefix(file, "FILE:"), ""},
		{"DIR", dir, ""},
		{"keytab", "FILE:" + filepath.Join(t.TempDir(), "none"), filepath.Join(r.Dir, "user.keytab")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{Env: lookup(r.Environ(tt.cache, "KRB5_CLIENT_KTNAME="+tt.keytab))})
			if got := s.Principal(t.Context()); got != "tester@BOLT.TEST" {
				t.Errorf("principal %q", got)
			}
			c, err := s.Context(t.Context(), "localhost", false)
			if err != nil {
				t.Fatal(err)
			}
			out, err := login(t, r, c, "echo $KRB5CCNAME")
			if err != nil || out != "\n" {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
	t.Run("delegation", func(t *testing.T) {
		s := New(Options{Env: lookup(r.Environ(file))})
		c, err := s.Context(t.Context(), "localhost", true)
		if err != nil {
			t.Fatal(err)
		}
		out, err := login(t, r, c, "klist -f")
		if err != nil || !strings.Contains(out, "krbtgt/BOLT.TEST@BOLT.TEST") || !strings.Contains(out, "Flags: Ff") {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

func addr(r *krb5test.Realm) string { return fmt.Sprintf("localhost:%d", r.SSHPort) }
