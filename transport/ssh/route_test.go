package ssh

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"bolt/transport"
)

// A world holds everything that a route can depend on.
type world struct {
	dir    string
	caller Caller
	to     transport.Dest
	config string // ssh_config
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// agent listens like an agent.
func (w *world) agent(t *testing.T, name string) {
	t.Helper()
	os.Remove(w.path(name))
	l, err := net.Listen("unix", w.path(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func (w *world) key(t *testing.T, d *Dialer) string {
	t.Helper()
	w.write(t, "config", w.config)
	r, err := d.As(w.caller).Route(t.Context(), w.to)
	if err != nil {
		t.Fatal(err)
	}
	return r.Key()
}

// TestRouteKey checks that each setting that would make OpenSSH open another
// connection, or use it in another way, changes the key, and that other
// settings do not.
func TestRouteKey(t *testing.T) {
	const config = "Host web\n HostName 192.0.2.1\n User bob\nHost jumped\n ProxyJump gate\nHost command\n ProxyCommand nc %h %p\nHost *\n"
	add := func(line string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.config = line + "\n" + w.config }
	}
	to := func(f func(*transport.Dest)) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { f(&w.to) }
	}
	file := func(name string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { w.write(t, name, "changed "+name) }
	}
	env := func(v string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.caller.Environ = append(slices.Clone(w.caller.Environ), v) }
	}
	for _, c := range []struct {
		name   string
		host   string // "" for web
		before func(*testing.T, *world)
		change func(*testing.T, *world)
		same   bool
	}{
		{name: "nothing", change: func(*testing.T, *world) {}, same: true},
		{name: "another caller of the same settings", change: func(_ *testing.T, w *world) { w.caller.Warn = func(string, string) {} }, same: true},
		{name: "somebody to ask", change: func(_ *testing.T, w *world) {
			w.caller.Passphrase = func(context.Context, string) (transport.Secret, error) { return transport.Secret{}, nil }
		}, same: true},
		{name: "settings of another host", change: add("Host other\n User eve\n Port 2\nHost *"), same: true},
		{name: "time to connect", change: to(func(d *transport.Dest) { d.ConnectTimeout = time.Hour }), same: true},
		{name: "a comment in ssh_config", change: add("# nothing"), same: true},

		{name: "name", change: to(func(d *transport.Dest) { d.Host = "other" })},
		{name: "another name of the same machine", before: add("Host other\n HostName 192.0.2.1\n User bob\nHost *"), change: to(func(d *transport.Dest) { d.Host = "other" })},
		{name: "HostName behind a HostKeyAlias", before: add("HostKeyAlias x"), change: add("HostName 192.0.2.2")},
		{name: "port behind a HostKeyAlias", before: add("HostKeyAlias x"), change: to(func(d *transport.Dest) { d.Port = 2222 })},
		{name: "HostName", change: add("HostName 192.0.2.2")},
		{name: "port", change: to(func(d *transport.Dest) { d.Port = 2222 })},
		{name: "Port", change: add("Port 2222")},
		{name: "user", change: to(func(d *transport.Dest) { d.User = "eve" })},
		{name: "User", change: add("User eve")},
		{name: "the user said twice", change: to(func(d *transport.Dest) { d.User = "bob" }), same: true},
		{name: "HostKeyAlias", change: add("HostKeyAlias x")},
		{name: "login shell", change: to(func(d *transport.Dest) { d.LoginShell = "fish" })},
		{name: "keepalive", change: to(func(d *transport.Dest) { d.Keepalive = time.Minute })},
		{name: "ServerAliveInterval", change: add("ServerAliveInterval 60")},
		{name: "ServerAliveCountMax", change: add("ServerAliveCountMax 60")},

		{name: "BindAddress", change: add("BindAddress 127.0.0.2")},
		{name: "AddressFamily", change: add("AddressFamily inet6")},
		{name: "proxyjump", change: to(func(d *transport.Dest) { d.ProxyJump = "gate" })},
		{name: "proxy-command", change: to(func(d *transport.Dest) { d.ProxyCommand = "nc gate 22" })},
		{name: "ProxyJump", change: add("Host web\n ProxyJump gate\nHost *")},
		{name: "ProxyCommand", change: add("ProxyCommand nc %h %p")},
		{name: "another ProxyCommand", host: "command", change: add("Host command\n ProxyCommand ncat %h %p\nHost *")},
		{name: "ProxyCommand of a jump host", host: "jumped", change: add("Host gate\n ProxyCommand nc x 22\nHost *")},
		{name: "jump host's address", host: "jumped", change: add("Host gate\n HostName 192.0.2.9\nHost *")},
		{name: "jump host's user", host: "jumped", change: add("Host gate\n User eve\nHost *")},
		{name: "jump host's jump host", host: "jumped", change: add("Host gate\n ProxyJump fence\nHost *")},
		{name: "jump host's known_hosts", host: "jumped", change: add("Host gate\n UserKnownHostsFile /x\nHost *")},
		{name: "working directory", change: func(_ *testing.T, w *world) { w.caller.Dir = "/tmp" }, same: true},
		{name: "working directory of a ProxyCommand", host: "command", change: func(_ *testing.T, w *world) { w.caller.Dir = "/tmp" }},
		{name: "environment", change: env("A=b"), same: true},
		{name: "environment of a ProxyCommand", host: "command", change: env("A=b")},
		{name: "agent in the environment of a ProxyCommand", host: "command", change: env("SSH_AUTH_SOCK=/x")},
		{name: "another terminal", host: "command", change: func(_ *testing.T, w *world) {
			w.caller.Environ = append([]string{"TERM=dumb", "SHLVL=9", "PWD=/x", "SSH_TTY=/dev/pts/9"}, w.caller.Environ...)
		}, same: true},
		{name: "order of the environment", host: "command", before: func(_ *testing.T, w *world) { w.caller.Environ = []string{"A=b", "C=d"} },
			change: func(_ *testing.T, w *world) { w.caller.Environ = []string{"C=d", "A=b"} }, same: true},

		{name: "password", change: to(func(d *transport.Dest) { d.Password = transport.NewSecret("x") })},
		{name: "another password", before: to(func(d *transport.Dest) { d.Password = transport.NewSecret("y") }),
			change: to(func(d *transport.Dest) { d.Password = transport.NewSecret("x") })},
		{name: "password or key", before: to(func(d *transport.Dest) { d.Password = transport.NewSecret("x") }),
			change: to(func(d *transport.Dest) { d.Password, d.KeyData = transport.Secret{}, transport.NewSecret("x") })},
		{name: "key data", change: to(func(d *transport.Dest) { d.KeyData = transport.NewSecret("x") })},
		{name: "other key data", before: to(func(d *transport.Dest) { d.KeyData = transport.NewSecret("y") }),
			change: to(func(d *transport.Dest) { d.KeyData = transport.NewSecret("x") })},
		{name: "key file", change: func(_ *testing.T, w *world) { w.to.PrivateKey = w.path("other") }},
		{name: "key file written anew", change: file("key")},
		{name: "public key beside it", change: file("key.pub")},
		{name: "certificate beside it", change: file("key-cert.pub")},
		{name: "IdentityFile", change: add("IdentityFile /x/id")},
		{name: "IdentityFile none", change: add("IdentityFile none")},
		{name: "IdentityFile written anew", before: add("IdentityFile DIR/other"), change: file("other")},
		{name: "default key written anew", change: file("home/.ssh/id_ed25519")},
		{name: "CertificateFile", change: add("CertificateFile /x/cert")},
		{name: "CertificateFile written anew", before: add("CertificateFile DIR/other"), change: file("other")},
		{name: "IdentitiesOnly", change: add("IdentitiesOnly yes")},
		{name: "RequiredRSASize", change: add("RequiredRSASize 4096")},
		{name: "agent", change: func(t *testing.T, w *world) { w.agent(t, "agent2"); w.caller.AgentSocket = w.path("agent2") }},
		{name: "no agent", change: func(_ *testing.T, w *world) { w.caller.AgentSocket = "" }},
		{name: "agent started anew", change: func(t *testing.T, w *world) { w.agent(t, "agent") }},
		{name: "agent that is not used", before: add("IdentityAgent none"), change: func(_ *testing.T, w *world) { w.caller.AgentSocket = "" }, same: true},
		{name: "forward-agent", change: to(func(d *transport.Dest) { d.ForwardAgent = transport.ChoiceYes })},
		{name: "another agent to forward", before: to(func(d *transport.Dest) { d.LoadConfig, d.ForwardAgent = false, transport.ChoiceYes }),
			change: func(t *testing.T, w *world) { w.agent(t, "agent2"); w.caller.AgentSocket = w.path("agent2") }},
		{name: "ForwardAgent", change: add("ForwardAgent yes"), same: true},
		{name: "IdentityAgent", change: add("IdentityAgent /x/agent")},
		{name: "IdentityAgent by the environment", before: add("IdentityAgent $A"), change: env("A=/x/agent")},
		{name: "home", change: func(_ *testing.T, w *world) { w.caller.Home = w.path("elsewhere") }},

		{name: "load-config", change: to(func(d *transport.Dest) { d.LoadConfig = false })},
		{name: "host-key-check", change: to(func(d *transport.Dest) { d.HostKeyCheck = transport.CheckNone })},
		{name: "strict host-key-check", change: to(func(d *transport.Dest) { d.HostKeyCheck = transport.CheckStrict })},
		{name: "StrictHostKeyChecking", change: add("StrictHostKeyChecking accept-new")},
		{name: "HashKnownHosts", change: add("HashKnownHosts yes")},
		{name: "UserKnownHostsFile", change: add("UserKnownHostsFile /x")},
		{name: "UserKnownHostsFile by the environment", before: add("UserKnownHostsFile /${A}"), change: env("A=/x/agent")},
		{name: "GlobalKnownHostsFile", change: add("GlobalKnownHostsFile /x")},
		{name: "files in the other list", before: add("UserKnownHostsFile /a /b\nGlobalKnownHostsFile /c"),
			change: add("UserKnownHostsFile /a\nGlobalKnownHostsFile /b /c")},
		{name: "known_hosts written", change: file("home/.ssh/known_hosts"), same: true},
		{name: "RevokedHostKeys", change: add("RevokedHostKeys /x")},

		{name: "encryption-algorithms", change: to(func(d *transport.Dest) { d.Ciphers = "aes128-ctr" })},
		{name: "kex-algorithms", change: to(func(d *transport.Dest) { d.Kex = "curve25519-sha256" })},
		{name: "mac-algorithms", change: to(func(d *transport.Dest) { d.MACs = "hmac-sha2-256" })},
		{name: "host-key-algorithms", change: to(func(d *transport.Dest) { d.HostKeyAlgorithms = "ssh-ed25519" })},
		{name: "Ciphers", change: add("Ciphers aes128-ctr")},
		{name: "KexAlgorithms", change: add("KexAlgorithms curve25519-sha256")},
		{name: "MACs", change: add("MACs hmac-sha2-256")},
		{name: "HostKeyAlgorithms", change: add("HostKeyAlgorithms ssh-ed25519")},
		{name: "PubkeyAcceptedAlgorithms", change: add("PubkeyAcceptedAlgorithms ssh-ed25519")},
		{name: "CASignatureAlgorithms", change: add("CASignatureAlgorithms ssh-ed25519")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := NewDialer(Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			w := &world{dir: t.TempDir(), config: config}
			for _, dir := range []string{"home/.ssh", "elsewhere"} {
				if err := os.MkdirAll(w.path(dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			w.agent(t, "agent")
			for _, name := range []string{"key", "key.pub", "other", "home/.ssh/id_ed25519"} {
				w.write(t, name, name)
			}
			w.caller = Caller{Home: w.path("home"), UserConfig: w.path("config"), SystemConfig: os.DevNull, AgentSocket: w.path("agent"),
				Dir: "/", Environ: []string{"PATH=/bin", "A=a"}}
			w.to = transport.Dest{Protocol: "ssh", Host: "web", PrivateKey: w.path("key"), LoadConfig: true}
			if c.host != "" {
				w.to.Host = c.host
			}
			if c.before != nil {
				c.before(t, w)
			}
			w.config = regexp.MustCompile("DIR").ReplaceAllString(w.config, w.dir)
			first := w.key(t, d)
			if again := w.key(t, d); again != first {
				t.Fatalf("%s, then %s", first, again)
			}
			if !regexp.MustCompile("^[0-9a-f]{64}$").MatchString(first) {
				t.Errorf("key %q", first)
			}
			c.change(t, w)
			if second := w.key(t, d); (second == first) != c.same {
				t.Errorf("%s, after the change %s, want same: %v", first, second, c.same)
			}
		})
	}
}

// TestRouteKeyIsOfTheProcess checks that keys of different processes differ.
func TestRouteKeyIsOfTheProcess(t *testing.T) {
	w := &world{dir: t.TempDir(), to: transport.Dest{Protocol: "ssh", Host: "web", Password: transport.NewSecret("guess")}}
	w.caller = Caller{Home: w.dir, UserConfig: w.path("config"), SystemConfig: os.DevNull}
	var keys []string
	for range 2 {
		d, err := NewDialer(Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		keys = append(keys, w.key(t, d))
	}
	if keys[0] == keys[1] {
		t.Error("two Dialers give the same key")
	}
}

// TestRouteLooksOnce checks that a View looks at each file once, and the next
// View again.
func TestRouteLooksOnce(t *testing.T) {
	l := newLab(t, nil)
	file := filepath.Join(t.TempDir(), "key")
	to := transport.Dest{Protocol: "ssh", Host: "web", PrivateKey: file}
	key := func(v *View) string {
		t.Helper()
		r, err := v.Route(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key()
	}
	view := l.As(Caller{})
	first := key(view)
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key(view) != first {
		t.Error("the same View looked again")
	}
	if key(l.As(Caller{})) == first {
		t.Error("the next View did not look")
	}
}

// BenchmarkRoute computes the routes of 10,000 destinations with a typical
// ssh_config, as each invocation does.
func BenchmarkRoute(b *testing.B) {
	const n = 10_000
	l := newLab(b, nil)
	l.configure(b, "Host web*\n User deploy\n IdentityFile ~/.ssh/deploy\n ServerAliveInterval 30\nHost db*\n ProxyJump gate\nHost gate\n User jump\n")
	for _, kind := range []string{"web", "db"} {
		b.Run(kind, func(b *testing.B) {
			var to []transport.Dest
			for i := range n {
				to = append(to, transport.Dest{Protocol: "ssh", Host: fmt.Sprintf("%s%d.example.com", kind, i), LoadConfig: true})
			}
			caller := Caller{Home: l.home, SystemConfig: os.DevNull, Environ: os.Environ()}
			b.ReportAllocs()
			for b.Loop() {
				v := l.As(caller)
				for _, d := range to {
					if _, err := v.Route(b.Context(), d); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/route")
		})
	}
}
