package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"bolt/internal/filestamp"
	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/ssh/config"
)

// as returns the lab's Dialer for another caller with the same files.
func (l *lab) as(change func(*Caller)) *View {
	c := Caller{Home: l.home, SystemConfig: os.DevNull}
	if change != nil {
		change(&c)
	}
	return l.As(c)
}

// login dials, runs a command and closes. It returns the error of the dial.
func login(t *testing.T, d transport.Dialer, to transport.Dest) error {
	t.Helper()
	c, err := d.Dial(t.Context(), to)
	if err != nil {
		return err
	}
	defer c.Close()
	say(t, c.(*Conn), "true")
	return nil
}

// agentWith starts an agent with one new key. If s is not nil, the server
// accepts the key.
func agentWith(t *testing.T, s *sshtest.Server) (socket string) {
	t.Helper()
	socket, client := startAgent(t)
	key := sshtest.NewKey(t, "ed25519")
	if err := client.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	if s != nil {
		s.Authorize(t, "", signer.PublicKey())
	}
	return socket
}

// TestCallersHaveTheirOwnAgents checks that each caller's agent signs only for
// that caller, even after another caller has logged in at the same machine.
func TestCallersHaveTheirOwnAgents(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	good, bad := agentWith(t, s), agentWith(t, nil)
	l := newLab(t, nil, s)
	to := dest(s)
	to.PrivateKey = ""
	lucky := l.as(func(c *Caller) { c.AgentSocket = good })
	others := map[string]*View{
		"another agent": l.as(func(c *Caller) { c.AgentSocket = bad }),
		"no agent":      l.as(nil),
	}
	keyOf := func(v *View) string {
		r, err := v.Route(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key()
	}
	for range 2 {
		if err := login(t, lucky, to); err != nil {
			t.Fatal(err)
		}
		for name, v := range others {
			if err := login(t, v, to); transport.ClassOf(err) != transport.ClassAuth {
				t.Errorf("%s: %v", name, err)
			}
			if keyOf(v) == keyOf(lucky) {
				t.Errorf("%s has the key of the other caller", name)
			}
		}
	}
}

// TestAgentConnectionEnds checks that an unused connection to an agent is
// closed.
func TestAgentConnectionEnds(t *testing.T) {
	socket := agentWith(t, nil)
	a := newAgents()
	defer a.close()
	if _, err := a.candidates(t.Context(), socket); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	c := a.open[agentSocket{socket, filestamp.At(socket)}]
	conn := c.conn
	c.idle.Reset(time.Millisecond)
	a.mu.Unlock()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		a.mu.Lock()
		n := len(a.open)
		a.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("still open")
		}
	}
	if err := conn.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("not closed: %v", err)
	}
	if _, err := a.candidates(t.Context(), socket); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

// TestCallersUnlockForThemselves checks that a key that one caller has unlocked
// stays locked for others, and that the error names the file whose passphrase
// is missing.
func TestCallersUnlockForThemselves(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	file := filepath.Join(t.TempDir(), "key")
	sshKeygen(t, "-q", "-t", "ed25519", "-N", "right", "-f", file)
	s.Authorize(t, "", publicOf(t, file))
	l := newLab(t, nil, s)
	to := dest(s)
	to.PrivateKey = file
	answering := func(answer func() string) *View {
		return l.as(func(c *Caller) {
			c.Passphrase = func(_ context.Context, path string) (transport.Secret, error) {
				if path != file {
					t.Errorf("asked for %s", path)
				}
				if a := answer(); a != "" {
					return transport.NewSecret(a), nil
				}
				return transport.Secret{}, ErrNobody
			}
		})
	}
	knows := answering(func() string { return "right" })
	if err := login(t, knows, to); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*View{
		"no user to ask":     l.as(nil),
		"no user to ask yet": answering(func() string { return "" }),
		"wrong answer":       answering(func() string { return "wrong" }),
	} {
		err := login(t, v, to)
		e, ok := errors.AsType[*transport.Error](err)
		if !ok || e.Class != transport.ClassAuth || e.Ask != file {
			t.Errorf("%s: %v asks for %q", name, err, e.Ask)
		}
		if ok {
			wantText(t, name, e.Hint, file, "encrypted")
		}
	}
	if err := login(t, knows, to); err != nil {
		t.Errorf("second login: %v", err)
	}

	t.Run("the answer comes later", func(t *testing.T) {
		var answer atomic.Value
		answer.Store("")
		v := answering(func() string { return answer.Load().(string) })
		for _, a := range []string{"", "", "wrong", "wrong"} {
			answer.Store(a)
			err := login(t, v, to)
			if e, _ := errors.AsType[*transport.Error](err); e == nil || e.Ask != file {
				t.Errorf("answer %q: %v", a, err)
			}
		}
		answer.Store("right")
		if err := login(t, v, to); err != nil {
			t.Errorf("with the right answer: %v", err)
		}
	})
}

// TestAsksOnlyForUsefulPassphrases checks which key files are named for a
// passphrase: only keys that could have helped, and an accepted key before an
// unknown one. This must not use up the few attempts that the server allows.
func TestAsksOnlyForUsefulPassphrases(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "MaxAuthTries 2\n"})
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"stranger", "wanted"} {
		sshKeygen(t, "-q", "-t", "ed25519", "-N", "right", "-f", path(name))
	}
	sshKeygen(t, "-q", "-t", "rsa", "-m", "PEM", "-N", "right", "-f", path("unknown"))
	if err := os.Remove(path("unknown.pub")); err != nil {
		t.Fatal(err)
	}
	s.Authorize(t, "", publicOf(t, path("wanted")))
	nobody := func(c *Caller) {
		c.Passphrase = func(context.Context, string) (transport.Secret, error) { return transport.Secret{}, ErrNobody }
	}
	for _, c := range []struct {
		files []string
		ask   string
	}{
		{[]string{"stranger"}, ""},
		{[]string{"wanted"}, "wanted"},
		{[]string{"unknown"}, "unknown"},
		{[]string{"unknown", "stranger", "wanted"}, "wanted"},
		{[]string{"wanted", "stranger", "unknown"}, "wanted"},
	} {
		t.Run(strings.Join(c.files, " "), func(t *testing.T) {
			l := newLab(t, nil, s)
			config := ""
			for _, f := range c.files {
				config += "IdentityFile " + path(f) + "\n"
			}
			l.configure(t, config)
			to := dest(s)
			to.PrivateKey = ""
			before := strings.Count(s.Log(), "Too many authentication failures")
			err := login(t, l.as(nobody), to)
			e, _ := errors.AsType[*transport.Error](err)
			if e == nil || e.Class != transport.ClassAuth || filepath.Base(e.Ask) != filepath.Base("/"+c.ask) && c.ask != "" || c.ask == "" && e.Ask != "" {
				t.Errorf("%v asks for %q, want %q", err, e.Ask, c.ask)
			}
			if n := strings.Count(s.Log(), "Too many authentication failures"); n != before {
				t.Error("the server counted too many tries")
			}
		})
	}
}

// TestProxyCommandOfCaller checks that a ProxyCommand has its caller's
// environment and directory.
func TestProxyCommandOfCaller(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	dir := t.TempDir()
	l.configure(t, "ProxyCommand echo $WHO >who; exec bash -c 'exec 3<>/dev/tcp/%h/%p; cat <&3 & exec cat >&3'\n")
	v := l.as(func(c *Caller) { c.Dir, c.Environ = dir, []string{"PATH=" + os.Getenv("PATH"), "WHO=bob"} })
	if err := login(t, v, dest(s)); err != nil {
		t.Fatal(err)
	}
	if who, err := os.ReadFile(filepath.Join(dir, "who")); string(who) != "bob\n" {
		t.Errorf("%q, %v", who, err)
	}
}

// TestCallersAreWarnedApart checks that each warning goes once to the caller
// that it concerns.
func TestCallersAreWarnedApart(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	bad := writeText(t, "no key at all\n")
	l := newLab(t, nil, s)
	l.configure(t, "IdentityFile "+s.KeyFile+"\n")
	to := dest(s)
	to.PrivateKey = bad
	for range 2 {
		warned := 0
		v := l.as(func(c *Caller) { c.Warn = func(string, string) { warned++ } })
		for range 2 {
			if err := login(t, v, to); err != nil {
				t.Fatal(err)
			}
		}
		if warned != 1 {
			t.Errorf("warned %d times, want once", warned)
		}
	}
	if len(l.warnings) > 0 {
		t.Errorf("somebody else was warned: %q", l.warnings)
	}
}

// TestCallersShareJumpHosts checks that callers share the connection to a jump
// host only if both would reach it in the same way. The connection ends with
// its last user, and a dead one is not used again.
func TestCallersShareJumpHosts(t *testing.T) {
	hop, target := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{})
	target.Authorize(t, "", publicOf(t, hop.KeyFile))
	good := agentWith(t, hop)
	l := newLab(t, nil, hop, target)
	to := dest(target)
	to.PrivateKey, to.ProxyJump = hop.KeyFile, "root@"+hop.Addr
	logins := func() int { return strings.Count(hop.Log(), "Accepted publickey") }
	dial := func(v *View) *Conn {
		t.Helper()
		c, err := v.Dial(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c.(*Conn)
	}
	before := logins()
	a, b := dial(l.as(nil)), dial(l.as(nil))
	if n := logins() - before; n != 1 {
		t.Errorf("%d logins at the jump host by equal callers, want 1", n)
	}
	if want := fmt.Sprintf("root@%s through root@%s", target.Addr, hop.Addr); a.Stats().Peer != want {
		t.Errorf("peer %q, want %q", a.Stats().Peer, want)
	}
	c := dial(l.as(func(c *Caller) { c.AgentSocket = good }))
	if n := logins() - before; n != 2 {
		t.Errorf("%d logins at the jump host with another caller, want 2", n)
	}
	open := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.hops)
	}
	if open() != 2 {
		t.Errorf("%d connections to the jump host, want 2", open())
	}
	a.Close()
	say(t, b, "true")
	b.Close()
	c.Close()
	if open() != 0 {
		t.Errorf("%d connections to the jump host after the last has gone", open())
	}

	a = dial(l.as(nil))
	l.mu.Lock()
	for _, h := range l.hops {
		h.conn.fail(syscall.ECONNRESET)
	}
	l.mu.Unlock()
	<-a.Done()
	a = dial(l.as(nil))
	say(t, a, "true")

	// A connection whose host key is not trusted any more is not used either.
	l.record(t, fmt.Sprintf("@revoked * %s", ssh.MarshalAuthorizedKey(hop.HostKeys[0])))
	l.record(t, fmt.Sprintf("@revoked * %s", ssh.MarshalAuthorizedKey(hop.HostKeys[1])))
	l.expired()
	if err := a.Check(t.Context()); transport.ClassOf(err) != transport.ClassHostKeyChanged {
		t.Errorf("check through a revoked jump host: %v", err)
	}
	if err := login(t, l.as(nil), to); transport.ClassOf(err) != transport.ClassHostKeyChanged {
		t.Errorf("dial through a revoked jump host: %v", err)
	}
}

// TestAgentMoved checks a socket path that leads to another agent with other
// keys. Users of screen and tmux have such a link, which changes with each
// login.
func TestAgentMoved(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	good, bad := agentWith(t, s), agentWith(t, nil)
	l := newLab(t, nil, s)
	to := dest(s)
	to.PrivateKey = ""
	link := filepath.Join(t.TempDir(), "agent")
	point := func(socket string) error {
		os.Remove(link)
		if err := os.Symlink(socket, link); err != nil {
			t.Fatal(err)
		}
		return login(t, l.as(func(c *Caller) { c.AgentSocket = link }), to)
	}
	if err := point(good); err != nil {
		t.Fatal(err)
	}
	if err := point(bad); transport.ClassOf(err) != transport.ClassAuth {
		t.Errorf("logged in by the agent that was there before: %v", err)
	}
	if err := point(good); err != nil {
		t.Errorf("back again: %v", err)
	}
}

// TestRelativePaths checks that relative paths in ssh_config start at the
// caller's directory.
func TestRelativePaths(t *testing.T) {
	l := newLab(t, nil)
	text := "Host *\nIdentityFile id\nCertificateFile cert\nIdentityAgent agent\nUserKnownHostsFile kh ~/kh2\nGlobalKnownHostsFile kh3\nRevokedHostKeys revoked\n"
	if err := os.WriteFile(l.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	to := transport.Dest{Host: "web", LoadConfig: true}
	resolved := func(dir string) (*endpoint, string) {
		r, err := l.as(func(c *Caller) { c.Dir = dir }).Route(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		return r.(*route).e, r.Key()
	}
	a, keyA := resolved("/a")
	b, keyB := resolved("/b")
	if keyA == keyB {
		t.Error("callers in different directories, with different files, share a connection")
	}
	for dir, c := range map[string]*config.Host{"/a/": a.conf, "/b/": b.conf} {
		got := fmt.Sprintf("%v %v %v %v %v %v", c.IdentityFiles, c.CertificateFiles, c.IdentityAgent, c.UserKnownHostsFiles, c.GlobalKnownHostsFiles, c.RevokedHostKeys)
		want := fmt.Sprintf("[%[1]sid] [%[1]scert] %[1]sagent [%[1]skh %[2]s/kh2] [%[1]skh3] %[1]srevoked", dir, l.home)
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if e, _ := resolved(""); e.conf.IdentityFiles[0] != "id" {
		t.Errorf("in our own directory: %v", e.conf.IdentityFiles)
	}
	if err := os.WriteFile(l.config, []byte("Host *\nIdentityAgent none\nIdentityFile none\nUserKnownHostsFile none\nRevokedHostKeys none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, _ := resolved("/a"); e.conf.IdentityAgent != "none" || e.conf.IdentityFiles == nil || len(e.conf.IdentityFiles)+len(e.conf.UserKnownHostsFiles) > 0 || e.conf.RevokedHostKeys != "" {
		t.Errorf("none: %+v", e.conf)
	}
}

// TestAlgorithmsAreBounded checks the limit of the cached algorithm sets.
func TestAlgorithmsAreBounded(t *testing.T) {
	l := newLab(t, nil)
	for i := range 3 * maxAlgorithmLists {
		if _, err := l.chooseAlgorithms(algorithmLists{ciphers: fmt.Sprintf("defaults,x%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.algorithms); n > maxAlgorithmLists {
		t.Errorf("%d sets of algorithms", n)
	}
}
