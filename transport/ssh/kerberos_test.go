package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/krb5/krb5test"
	"bolt/transport"
)

// realmLab is a lab of somebody who has the cache, and the destination of the
// realm's SSH server.
func realmLab(t *testing.T, r *krb5test.Realm, env []string) (*lab, transport.Dest) {
	t.Helper()
	l := newLab(t, func(o *Options) { o.Environ = env })
	known, err := os.ReadFile(filepath.Join(r.Dir, "known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	l.record(t, string(known))
	return l, transport.Dest{Protocol: "ssh", Host: "localhost", Port: r.SSHPort, User: "root", LoadConfig: true, GSSAPI: transport.ChoiceYes,
		ConnectTimeout: 20 * time.Second, HostKeyCheck: transport.CheckStrict}
}

func TestKerberos(t *testing.T) {
	r := krb5test.Start(t)
	cache := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester")
	guest := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, guest, "guest")
	expired := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, expired, "tester", "-l", "1s")
	none := "FILE:" + filepath.Join(t.TempDir(), "none")

	t.Run("login", func(t *testing.T) {
		l, to := realmLab(t, r, r.Environ(cache))
		if got := say(t, l.mustDial(t, to), "echo $KRB5CCNAME."); got != ".\n" {
			t.Errorf("a ticket was delegated: %q", got)
		}
	})
	t.Run("by ssh_config", func(t *testing.T) {
		l, to := realmLab(t, r, r.Environ(cache))
		to.GSSAPI = transport.ChoiceByConfig
		e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		wantText(t, "hint", e.Hint, "gssapi-authentication", "GSSAPIAuthentication")
		l, to = realmLab(t, r, r.Environ(cache))
		to.GSSAPI = transport.ChoiceByConfig
		l.configure(t, "GSSAPIAuthentication yes\nGSSAPIDelegateCredentials yes\n")
		wantText(t, "the server's tickets", say(t, l.mustDial(t, to), "klist -f"), "krbtgt/BOLT.TEST@BOLT.TEST", "Flags: Ff")
		l, to = realmLab(t, r, r.Environ(cache))
		to.GSSAPI = transport.ChoiceNo
		l.configure(t, "GSSAPIAuthentication yes\n")
		l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
	})
	t.Run("delegation", func(t *testing.T) {
		l, to := realmLab(t, r, r.Environ(cache))
		to.GSSAPIDelegate = transport.ChoiceYes
		wantText(t, "the server's tickets", say(t, l.mustDial(t, to), "klist -f"), "tester@BOLT.TEST", "krbtgt/BOLT.TEST@BOLT.TEST", "Flags: Ff")
	})
	t.Run("many at once", func(t *testing.T) {
		l, to := realmLab(t, r, r.Environ(cache))
		var work sync.WaitGroup
		for range 50 {
			work.Go(func() {
				c, err := l.Dial(t.Context(), to)
				if err != nil {
					t.Error(err)
					return
				}
				c.Close()
			})
		}
		work.Wait()
	})

	config := func(t *testing.T, text string) string {
		path := filepath.Join(t.TempDir(), "krb5.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "KRB5_CONFIG=" + path
	}
	for _, tt := range []struct {
		name string
		env  []string
		to   func(*transport.Dest)
		want []string
	}{
		{"no ticket", r.Environ(none), nil, []string{"no Kerberos ticket", strings.TrimPrefix(none, "FILE:"), "Run kinit"}},
		{"expired ticket", r.Environ(expired), nil, []string{"tester@BOLT.TEST", "has expired", "Run kinit"}},
		{"another's login", r.Environ(guest), nil, []string{"does not let guest@BOLT.TEST in as root", ".k5login"}},
		{"no service key", r.Environ(cache), func(to *transport.Dest) { to.Host = "127.0.0.1" }, []string{"does not know the service host/127.0.0.1@BOLT.TEST", "addprinc -randkey host/127.0.0.1"}},
		{"delegation of what is not forwardable", r.Environ(unforwardable(t, r)), func(to *transport.Dest) { to.GSSAPIDelegate = transport.ChoiceYes },
			[]string{"not forwardable", "kinit -f"}},
		{"another realm", r.Environ(cache, config(t, "[libdefaults]\nrdns=false\ndns_canonicalize_hostname=false\ndns_lookup_kdc=false\n[domain_realm]\nlocalhost=NOWHERE.TEST\n[realms]\nBOLT.TEST={\nkdc=127.0.0.1:" + fmt.Sprint(r.KDCPort) + "\n}\n")), nil,
			[]string{"KDC of BOLT.TEST knows no way to the realm NOWHERE.TEST", "[domain_realm]"}},
		{"no KDC known", r.Environ(cache, config(t, "[libdefaults]\nrdns=false\ndns_canonicalize_hostname=false\ndns_lookup_kdc=false\n")), nil,
			[]string{"No KDC of the realm BOLT.TEST is known", "[realms]"}},
		{"KDC that is down", r.Environ(cache, config(t, "[libdefaults]\nrdns=false\ndns_canonicalize_hostname=false\n[realms]\nBOLT.TEST={\nkdc=127.0.0.1:1\n}\n")), nil,
			[]string{"No KDC of the realm BOLT.TEST answers (127.0.0.1:1)", "refused"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, to := realmLab(t, r, tt.env)
			if tt.to != nil {
				tt.to(&to)
			}
			e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
			wantText(t, "hint", e.Hint, tt.want...)
		})
	}
}

// unforwardable is a cache with a ticket that cannot be handed on.
func unforwardable(t *testing.T, r *krb5test.Realm) string {
	t.Helper()
	cache := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester", "-F")
	return cache
}
