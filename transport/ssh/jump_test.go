package ssh

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

func TestProxyJump(t *testing.T) {
	t.Parallel()
	a := sshtest.Start(t, sshtest.Options{})
	b := sshtest.Start(t, sshtest.Options{})
	c := sshtest.Start(t, sshtest.Options{})
	b.Authorize(t, "", publicOf(t, a.KeyFile))
	c.Authorize(t, "", publicOf(t, a.KeyFile))
	via := func(s *sshtest.Server) string { return fmt.Sprintf("root@%s:%d", s.Host, s.Port) }
	target := dest(c)
	target.PrivateKey = a.KeyFile

	t.Run("one hop", func(t *testing.T) {
		l := newLab(t, nil, a, b, c)
		to := target
		to.ProxyJump = via(a)
		if got := say(t, l.mustDial(t, to), "echo there"); got != "there\n" {
			t.Errorf("output %q", got)
		}
	})
	t.Run("two hops", func(t *testing.T) {
		l := newLab(t, nil, a, b, c)
		to := target
		to.ProxyJump = via(a) + "," + via(b)
		before := strings.Count(c.Log(), "Accepted publickey")
		conn := l.mustDial(t, to)
		if got := say(t, conn, "echo there"); got != "there\n" {
			t.Errorf("output %q", got)
		}
		if n := strings.Count(c.Log(), "Accepted publickey") - before; n != 1 {
			t.Errorf("%d logins at the target, want 1", n)
		}
		l.mu.Lock()
		hops := len(l.hops)
		l.mu.Unlock()
		if hops != 2 {
			t.Errorf("%d connections to hops, want 2", hops)
		}
		conn.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.hops) != 0 {
			t.Errorf("%d connections to hops after the last user has gone, want 0", len(l.hops))
		}
	})
	t.Run("by ssh_config, hops by their names", func(t *testing.T) {
		l := newLab(t, nil, a, b, c)
		l.configure(t, fmt.Sprintf("Host inner\nHostName %s\nPort %d\nUser root\nProxyJump outer\nHost outer\nHostName %s\nPort %d\nUser root\n", b.Host, b.Port, a.Host, a.Port))
		to := target
		to.ProxyJump = "inner"
		say(t, l.mustDial(t, to), "true")
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.hops) != 2 {
			t.Errorf("%d connections to hops, want 2", len(l.hops))
		}
	})
	t.Run("shared by many", func(t *testing.T) {
		l := newLab(t, nil, a, b, c)
		to := target
		to.ProxyJump = via(a)
		before := strings.Count(a.Log(), "Accepted publickey")
		var work sync.WaitGroup
		conns := make([]transport.Conn, 8)
		for i := range conns {
			work.Go(func() {
				var err error
				if conns[i], err = l.Dial(t.Context(), to); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
		if n := strings.Count(a.Log(), "Accepted publickey") - before; n != 1 {
			t.Errorf("%d logins at the jump host, want 1", n)
		}
	})
	t.Run("loop", func(t *testing.T) {
		l := newLab(t, nil, a)
		l.configure(t, fmt.Sprintf("Host *\nProxyJump %s\n", via(a)))
		to := target
		e := l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "loop")
		wantText(t, "hint", e.Hint, "ProxyJump none")
	})
	t.Run("hop refuses our key", func(t *testing.T) {
		l := newLab(t, nil, a, b, c)
		to := dest(c)
		to.ProxyJump = via(a)
		e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		wantText(t, "message", e.Msg, "through the jump host", "Authentication failed for user root@127.0.0.1")
	})
	t.Run("hop unknown", func(t *testing.T) {
		l := newLab(t, nil, c)
		to := target
		to.ProxyJump = via(a)
		l.refused(t, to, transport.ClassHostKeyUnknown, "HOST_KEY_ERROR")
	})
	t.Run("target unknown", func(t *testing.T) {
		l := newLab(t, nil, a)
		to := target
		to.ProxyJump = via(a)
		l.refused(t, to, transport.ClassHostKeyUnknown, "HOST_KEY_ERROR")
	})
	t.Run("target refuses", func(t *testing.T) {
		l := newLab(t, nil, a)
		to := target
		to.ProxyJump, to.Port = via(a), 1
		e := l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "jump host", "refused")
	})
	t.Run("target is silent", func(t *testing.T) {
		l := newLab(t, nil, a)
		p := sshtest.Silent(t)
		to := target
		to.ProxyJump, to.Host, to.Port, to.ConnectTimeout = via(a), p.Host, p.Port, 2*time.Second
		began := time.Now()
		l.refused(t, to, transport.ClassTimeout, "CONNECT_ERROR")
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("took %v", took)
		}
	})
	t.Run("cancelled while the hop is dialled", func(t *testing.T) {
		l := newLab(t, nil)
		p := sshtest.Silent(t)
		to := target
		to.ProxyJump = fmt.Sprintf("%s:%d", p.Host, p.Port)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := l.Dial(ctx, to); transport.ClassOf(err) != transport.ClassTimeout {
			t.Errorf("error %v", err)
		}
	})
}

// TestHopIsCheckedByConfig checks that a jump host's key is checked by
// ssh_config, as in "ssh -J", whatever the settings of the target are.
func TestHopIsCheckedByConfig(t *testing.T) {
	hop := sshtest.Start(t, sshtest.Options{})
	target := sshtest.Start(t, sshtest.Options{})
	target.Authorize(t, "", publicOf(t, hop.KeyFile))
	for _, c := range []struct {
		name, config string
		hopKnown     bool
		check        transport.HostKeyCheck
		class        transport.Class
	}{
		{"unchecked target, unknown hop", "", false, transport.CheckNone, transport.ClassHostKeyUnknown},
		{"unchecked target, known hop", "", true, transport.CheckNone, ""},
		{"unchecked target, new hops accepted", "StrictHostKeyChecking accept-new\n", false, transport.CheckNone, ""},
		{"checked target, new hops accepted", "StrictHostKeyChecking accept-new\n", false, transport.CheckStrict, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil)
			l.configure(t, c.config)
			if c.hopKnown {
				l.record(t, hop.KnownHosts())
			}
			if c.check == transport.CheckStrict {
				l.record(t, target.KnownHosts())
			}
			to := dest(target)
			to.PrivateKey, to.HostKeyCheck = hop.KeyFile, c.check
			to.ProxyJump = "root@" + hop.Addr
			if c.class != "" {
				e := l.refused(t, to, c.class, "HOST_KEY_ERROR")
				wantText(t, "message", e.Msg, "through the jump host")
				return
			}
			say(t, l.mustDial(t, to), "true")
		})
	}
}

func TestParseHop(t *testing.T) {
	for _, c := range []struct {
		in, user, host string
		port           int
		ok             bool
	}{
		{"web", "", "web", 0, true},
		{"bob@web:2222", "bob", "web", 2222, true},
		{"a@b@web", "a@b", "web", 0, true},
		{"[::1]:22", "", "::1", 22, true},
		{"::1", "", "::1", 0, true},
		{"ssh://bob@web:2222", "bob", "web", 2222, true},
		{"ssh://[::1]", "", "::1", 0, true},
		{"", "", "", 0, false},
		{"web:0", "", "", 0, false},
		{"web:x", "", "", 0, false},
		{"web:65536", "", "", 0, false},
		{"-oProxyCommand=x", "", "", 0, false},
		{"we b", "", "", 0, false},
	} {
		t.Run(c.in, func(t *testing.T) {
			user, host, port, err := parseHop(c.in)
			if (err == nil) != c.ok || c.ok && (user != c.user || host != c.host || port != c.port) {
				t.Errorf("got %q %q %d %v", user, host, port, err)
			}
		})
	}
}

func FuzzParseHop(f *testing.F) {
	for _, s := range []string{"web", "bob@web:22", "[::1]:22", "ssh://a@b:1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, host, port, err := parseHop(s)
		if err == nil && (host == "" || strings.HasPrefix(host, "-") || port < 0 || port > 65535) {
			t.Errorf("%q gives host %q, port %d", s, host, port)
		}
	})
}
