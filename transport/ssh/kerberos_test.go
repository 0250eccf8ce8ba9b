package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/krb5test"
	"bolt/internal/sshtest"
	"bolt/transport"
)

// realmLab returns a lab of a user with the cache, and the destination of the
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
		{"no ticket", r.Environ(none), nil, []string{"No Kerberos ticket", strings.TrimPrefix(none, "FILE:"), "Run kinit"}},
		{"expired ticket", r.Environ(expired), nil, []string{"tester@BOLT.TEST", "expire", "Run kinit"}},
		{"another's login", r.Environ(guest), nil, []string{"does not let guest@BOLT.TEST in as root", ".k5login"}},
		{"no service key", r.Environ(cache), func(to *transport.Dest) { to.Host = "127.0.0.1" }, []string{"does not know the service host/127.0.0.1@BOLT.TEST", "addprinc -randkey host/127.0.0.1"}},
		{"delegation of what is not forwardable", r.Environ(unforwardable(t, r)), func(to *transport.Dest) { to.GSSAPIDelegate = transport.ChoiceYes },
			[]string{"not forwardable", "kinit -f"}},
		{"another realm", r.Environ(cache, config(t, "[libdefaults]\nrdns=false\ndns_canonicalize_hostname=false\ndns_lookup_kdc=false\n[domain_realm]\nlocalhost=NOWHERE.TEST\n[realms]\nBOLT.TEST={\nkdc=127.0.0.1:"+fmt.Sprint(r.KDCPort)+"\n}\n")), nil,
			[]string{"KDC of BOLT.TEST does not know a path to the realm NOWHERE.TEST", "[domain_realm]"}},
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

// unforwardable returns a cache with a ticket that cannot be forwarded.
func unforwardable(t *testing.T, r *krb5test.Realm) string {
	t.Helper()
	cache := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester", "-F")
	return cache
}

// TestKerberosAndOtherMethods checks servers that offer Kerberos but cannot use
// it, and their other methods.
func TestKerberosAndOtherMethods(t *testing.T) {
	r := krb5test.Start(t)
	cache := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester")
	none := "FILE:" + filepath.Join(t.TempDir(), "none")
	const kerberos = "GSSAPIAuthentication yes\nGSSAPIStrictAcceptorCheck no\n"
	dial := func(t *testing.T, config, keys string, env []string, key bool) (*lab, *sshtest.Server, transport.Dest) {
		t.Helper()
		s := sshtest.Start(t, sshtest.Options{Config: config, Env: []string{"KRB5_CONFIG=" + r.Config(), "KRB5_KTNAME=" + keys}})
		l := newLab(t, func(o *Options) { o.Environ = env })
		l.record(t, strings.ReplaceAll(s.KnownHosts(), s.Host, "localhost"))
		to := dest(s)
		to.Host, to.GSSAPI = "localhost", transport.ChoiceYes
		if !key {
			to.PrivateKey = ""
		}
		return l, s, to
	}
	host, keyless := filepath.Join(r.Dir, "host.keytab"), filepath.Join(r.Dir, "keyless.keytab")

	t.Run("server without a keytab", func(t *testing.T) {
		l, _, to := dial(t, "GSSAPIAuthentication yes\n", "/none", r.Environ(cache), false)
		wantText(t, "hint", l.refused(t, to, transport.ClassAuth, "AUTH_ERROR").Hint, "has no readable keytab", "host/localhost@BOLT.TEST", "/etc/krb5.keytab")
	})
	t.Run("server with another's keytab", func(t *testing.T) {
		l, _, to := dial(t, kerberos, keyless, r.Environ(cache), false)
		wantText(t, "hint", l.refused(t, to, transport.ClassAuth, "AUTH_ERROR").Hint, "does not accept the ticket for host/localhost@BOLT.TEST", "klist -k")
	})
	for _, tt := range []struct {
		name, keys string
		env        []string
	}{
		{"no ticket, then the key", host, r.Environ(none)},
		{"a ticket that is refused, then the key", keyless, r.Environ(cache)},
		{"a server without a keytab, then the key", "/none", r.Environ(cache)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _, to := dial(t, kerberos, tt.keys, tt.env, true)
			say(t, l.mustDial(t, to), "true")
		})
	}
	t.Run("what is missing here counts no try", func(t *testing.T) {
		l, s, to := dial(t, kerberos+"MaxAuthTries 2\n", host, r.Environ(none), true)
		say(t, l.mustDial(t, to), "true")
		if log := s.Log(); strings.Contains(log, "gssapi") || strings.Count(log, "Connection from") > 2 { // one connection was the test's own
			t.Errorf("the server has heard of it:\n%s", log)
		}
	})
	t.Run("ticket first", func(t *testing.T) {
		l, s, to := dial(t, kerberos, host, r.Environ(cache), true)
		say(t, l.mustDial(t, to), "true")
		wantText(t, "the server's log", s.Log(), "Accepted gssapi-with-mic")
	})
	t.Run("ticket and key", func(t *testing.T) {
		l, s, to := dial(t, kerberos+"AuthenticationMethods gssapi-with-mic,publickey\n", host, r.Environ(cache), true)
		say(t, l.mustDial(t, to), "true")
		wantText(t, "the server's log", s.Log(), "Partial gssapi-with-mic", "Accepted publickey")
		to.PrivateKey = ""
		e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		if strings.Contains(e.Hint, "Kerberos:") {
			t.Errorf("the ticket was accepted: %s", e.Hint)
		}
	})
	t.Run("through a jump host", func(t *testing.T) {
		l, _, to := dial(t, kerberos, host, r.Environ(cache), false)
		known, err := os.ReadFile(filepath.Join(r.Dir, "known_hosts"))
		if err != nil {
			t.Fatal(err)
		}
		l.record(t, string(known))
		l.configure(t, fmt.Sprintf("Host hop\nHostName localhost\nPort %d\nUser root\n", r.SSHPort))
		to.ProxyJump = "hop"
		say(t, l.mustDial(t, to), "true")
	})
}

// TestKerberosRoutes checks that a route depends on the principal of the
// ticket, and not on the ticket itself.
func TestKerberosRoutes(t *testing.T) {
	r := krb5test.Start(t)
	cache, other := "FILE:"+filepath.Join(t.TempDir(), "cc"), "FILE:"+filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester")
	r.Kinit(t, other, "tester")
	d, err := NewDialer(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	home := t.TempDir()
	key := func(cache string, change func(*transport.Dest)) string {
		t.Helper()
		to := transport.Dest{Protocol: "ssh", Host: "web", User: "root", GSSAPI: transport.ChoiceYes}
		if change != nil {
			change(&to)
		}
		route, err := d.As(Caller{Home: home, Environ: r.Environ(cache)}).Route(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		return route.Key()
	}
	first := key(cache, nil)
	if key(other, nil) != first {
		t.Error("another cache of the same principal leads elsewhere")
	}
	r.Kinit(t, other, "tester", "-l", "1s")
	if key(other, nil) != first {
		t.Error("an expired ticket leads elsewhere")
	}
	r.Kinit(t, other, "guest")
	keys := map[string]string{"tester": first}
	for _, tt := range []struct {
		name, cache string
		change      func(*transport.Dest)
	}{
		{"guest", other, nil},
		{"nobody", "FILE:/none", nil},
		{"delegation", cache, func(to *transport.Dest) { to.GSSAPIDelegate = transport.ChoiceYes }},
		{"without Kerberos", cache, func(to *transport.Dest) { to.GSSAPI = transport.ChoiceNo }},
	} {
		k := key(tt.cache, tt.change)
		for name, other := range keys {
			if k == other {
				t.Errorf("%s and %s share a connection", tt.name, name)
			}
		}
		keys[tt.name] = k
	}
	off := func(to *transport.Dest) { to.GSSAPI = transport.ChoiceNo }
	if key(other, off) != key(cache, off) {
		t.Error("a ticket that is not used leads elsewhere")
	}
}

// BenchmarkKerberosLogin compares logins at one server: with a ticket for the
// host in the cache, with a ticket that is not in the cache yet, and with a
// key.
func BenchmarkKerberosLogin(b *testing.B) {
	r := krb5test.Start(b)
	cache, full := "FILE:"+filepath.Join(b.TempDir(), "cc"), "FILE:"+filepath.Join(b.TempDir(), "cc")
	r.Kinit(b, cache, "tester")
	r.Kinit(b, full, "tester")
	r.Kvno(b, full, "host/localhost")
	s := sshtest.Start(b, sshtest.Options{Config: "GSSAPIAuthentication yes\nGSSAPIStrictAcceptorCheck no\n",
		Env: []string{"KRB5_CONFIG=" + r.Config(), "KRB5_KTNAME=" + filepath.Join(r.Dir, "host.keytab")}})
	l := newLab(b, nil)
	l.record(b, strings.ReplaceAll(s.KnownHosts(), s.Host, "localhost"))
	to := dest(s)
	to.Host = "localhost"
	for _, c := range []struct {
		name, cache string
		gssapi      transport.Choice
	}{{"ticket from the KDC", cache, transport.ChoiceYes}, {"ticket in the cache", full, transport.ChoiceYes}, {"key", cache, transport.ChoiceNo}} {
		to.GSSAPI = c.gssapi
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				conn, err := l.As(Caller{UserConfig: l.config, SystemConfig: os.DevNull, Environ: r.Environ(c.cache)}).Dial(b.Context(), to)
				if err != nil {
					b.Fatal(err)
				}
				conn.Close()
			}
		})
	}
}
