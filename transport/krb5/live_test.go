package krb5

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bolt/internal/krb5test"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// lookup returns a lookup function for a list of NAME=value.
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

// login logs in to the realm's SSH server and returns the output of a command.
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

// TestLive logs in to a real sshd with tickets of a real KDC.
func TestLive(t *testing.T) {
	r := krb5test.Start(t)
	file := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, file, "tester")
	dir := "DIR:" + t.TempDir()
	r.Kinit(t, dir, "tester")
	none := "FILE:" + filepath.Join(t.TempDir(), "none")
	kcm := r.With(t, "kcm_socket = "+startKCM(t, nil).socket)
	kcm.Kinit(t, "KCM:", "tester")
	keys := "KRB5_CLIENT_KTNAME=" + filepath.Join(r.Dir, "user.keytab")
	cases := []struct {
		name string
		env  []string
	}{
		{"FILE", r.Environ(file)},
		{"file without a type", r.Environ(strings.TrimPrefix(file, "FILE:"))},
		{"file of default_ccache_name", r.With(t, "default_ccache_name = "+strings.ReplaceAll(file, filepath.Base(file), "%{null}cc")).Environ("")},
		{"DIR", r.Environ(dir)},
		{"a file of a DIR", r.Environ("DIR::" + strings.TrimPrefix(dir, "DIR:") + "/tkt")},
		{"KCM", kcm.Environ("KCM:")},
		{"KCM by name", kcm.Environ("KCM:one")},
		{"keytab", r.Environ(none, keys)},
		{"keytab of default_client_keytab_name", r.With(t, "default_client_keytab_name = FILE:"+r.Dir+"/user.keytab").Environ(none)},
	}
	rings := []string{"KEYRING:user:bolt%d", "KEYRING:session:bolt%d", "KEYRING:bolt%d", "KEYRING:persistent:%[2]d:bolt%[1]d"}
	if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false); err == nil {
		for _, pattern := range rings {
			name := fmt.Sprintf(pattern, os.Getpid(), os.Getuid())
			name, _, _ = strings.Cut(name, "%!")
			r.Kinit(t, name, "tester")
			t.Cleanup(func() { r.Kdestroy(t, name) })
			cases = append(cases, struct {
				name string
				env  []string
			}{name, r.Environ(name)})
		}
	} else { // as in some containers
		_, err := readKeyring("user:bolt")
		wantError(t, "keyrings", err, "keyctl")
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{Env: lookup(tt.env)})
			if got := s.Principal(t.Context()); got != "tester@BOLT.TEST" {
				t.Errorf("principal %q", got)
			}
			c, err := s.Context(t.Context(), "localhost", false)
			if err != nil {
				t.Fatal(err)
			}
			if c.Client() != "tester@BOLT.TEST" || c.Server() != "host/localhost@BOLT.TEST" {
				t.Errorf("%s at %s", c.Client(), c.Server())
			}
			out, err := login(t, r, c, "echo $KRB5CCNAME")
			if err != nil || out != "\n" || c.State() != Complete {
				t.Errorf("got %q, %v, state %d", out, err, c.State())
			}
		})
	}
	t.Run("delegation", func(t *testing.T) {
		for _, env := range [][]string{r.Environ(file), r.Environ(none, keys)} {
			c, err := New(Options{Env: lookup(env)}).Context(t.Context(), "localhost", true)
			if err != nil {
				t.Fatal(err)
			}
			out, err := login(t, r, c, "klist -f")
			if err != nil || !strings.Contains(out, "krbtgt/BOLT.TEST@BOLT.TEST") || !strings.Contains(out, "Flags: Ff") {
				t.Errorf("got %q, %v", out, err)
			}
		}
	})
	t.Run("another realm", func(t *testing.T) {
		abroad := "FILE:" + filepath.Join(t.TempDir(), "cc")
		r.Kinit(t, abroad, "traveller@OTHER.TEST")
		for _, tt := range []struct{ cache, host, server string }{
			{abroad, "localhost", "host/localhost@BOLT.TEST"}, // by the default realm
			{file, "far.other.test", "host/far.other.test@OTHER.TEST"},
		} {
			s := New(Options{Env: lookup(r.Environ(tt.cache))})
			c, err := s.Context(t.Context(), tt.host, false)
			if err != nil {
				t.Fatal(err)
			}
			if c.Server() != tt.server {
				t.Errorf("a ticket for %s", c.Server())
			}
			if _, err := login(t, r, c, "true"); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("a cached ticket needs no KDC", func(t *testing.T) {
		known := "FILE:" + filepath.Join(t.TempDir(), "cc")
		r.Kinit(t, known, "tester")
		r.Kvno(t, known, "host/localhost")
		offline := r.With(t, "").Environ(known)
		os.WriteFile(lookupOf(offline, "KRB5_CONFIG"), []byte("[libdefaults]\ndns_canonicalize_hostname=no\ndns_lookup_kdc=no\nqualify_shortname=\n"), 0o600)
		c, err := New(Options{Env: lookup(offline)}).Context(t.Context(), "localhost", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := login(t, r, c, "true"); err != nil {
			t.Error(err)
		}
		// The server's clock differs from ours.
		s := New(Options{Env: lookup(offline), Now: func() time.Time { return time.Now().Add(20 * time.Minute) }})
		if c, err = s.Context(t.Context(), "localhost", false); err != nil {
			t.Fatal(err)
		}
		if _, err := login(t, r, c, "true"); err == nil || c.State() != Offered {
			t.Errorf("logged in with a clock that is wrong: %v, state %d", err, c.State())
		}
	})
	t.Run("clock skew", func(t *testing.T) {
		for _, env := range [][]string{r.Environ(file), r.Environ(none, keys)} {
			s := New(Options{Env: lookup(env), Now: func() time.Time { return time.Now().Add(-20 * time.Minute) }})
			_, err := s.Context(t.Context(), "localhost", false)
			wantError(t, "slow clock", err, "The clock of this machine and that of the KDC of BOLT.TEST differ by ")
			wantError(t, "slow clock", err, "Set the clock")
		}
	})
	t.Run("renewed while in use", func(t *testing.T) {
		short := "FILE:" + filepath.Join(t.TempDir(), "cc")
		r.Kinit(t, short, "tester", "-l", "5m")
		var ahead atomic.Int64
		s := New(Options{Env: lookup(r.Environ(short)), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		if _, err := s.Context(t.Context(), "localhost", false); err != nil {
			t.Fatal(err)
		}
		ahead.Store(int64(4*time.Minute + 45*time.Second)) // within the skew that a KDC allows
		_, err := s.Context(t.Context(), "localhost", false)
		wantError(t, "at its end", err, "expires too soon")
		r.Kinit(t, short, "tester", "-l", "1h")
		ahead.Add(int64(readAgain))
		if _, err := s.Context(t.Context(), "localhost", false); err != nil {
			t.Error(err)
		}
	})
	t.Run("keytab's ticket is renewed", func(t *testing.T) {
		var ahead atomic.Int64
		env := r.With(t, "ticket_lifetime = 3m").Environ(none, keys)
		s := New(Options{Env: lookup(env), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		for range 2 {
			if _, err := s.Context(t.Context(), "localhost", false); err != nil {
				t.Fatal(err)
			}
			ahead.Add(int64(3*time.Minute + readAgain))
		}
	})
	t.Run("keytab that is out of date", func(t *testing.T) {
		r.Kadmin(t, "BOLT.TEST", "addprinc -randkey robot")
		old := filepath.Join(t.TempDir(), "keytab")
		r.Kadmin(t, "BOLT.TEST", "ktadd -norandkey -k "+old+" robot")
		r.Kadmin(t, "BOLT.TEST", "cpw -randkey robot")
		r.Kadmin(t, "BOLT.TEST", "modprinc +requires_preauth robot")
		_, err := New(Options{Env: lookup(r.Environ(none, "KRB5_CLIENT_KTNAME="+old))}).Context(t.Context(), "localhost", false)
		wantError(t, "old key", err, "does not accept the key of robot@BOLT.TEST")
		r.Kadmin(t, "BOLT.TEST", "ktadd -norandkey -k "+old+" robot")
		if _, err := New(Options{Env: lookup(r.Environ(none, "KRB5_CLIENT_KTNAME="+old))}).Context(t.Context(), "localhost", false); err != nil {
			t.Error(err)
		}
	})
}

func addr(r *krb5test.Realm) string { return fmt.Sprintf("localhost:%d", r.SSHPort) }

func lookupOf(env []string, name string) string {
	v, _ := lookup(env)(name)
	return v
}
