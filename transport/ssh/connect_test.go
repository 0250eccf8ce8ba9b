package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

func TestDial(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	if got := say(t, l.mustDial(t, dest(s)), "echo hello; id -un"); got != "hello\nroot\n" {
		t.Errorf("output %q", got)
	}
	if len(l.warnings) > 0 {
		t.Errorf("warnings %q", l.warnings)
	}
}

func TestDialAddresses(t *testing.T) {
	v4 := sshtest.Start(t, sshtest.Options{})
	v6 := sshtest.Start(t, sshtest.Options{Address: "::1"})
	for _, c := range []struct {
		name, config, host string
		server             *sshtest.Server
		port               int
	}{
		{"IPv6", "", "::1", v6, v6.Port},
		{"name of several addresses", "Host localhost\nHostKeyAlias four\n", "localhost", v4, v4.Port},
		{"alias", fmt.Sprintf("Host web\nHostName 127.0.0.1\nPort %d\nHostKeyAlias four\n", v4.Port), "web", v4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil, v4, v6)
			l.configure(t, c.config)
			for line := range strings.Lines(v4.KnownHosts()) {
				_, key, _ := strings.Cut(line, " ")
				l.record(t, "four "+key)
			}
			to := dest(c.server)
			to.Host, to.Port = c.host, c.port
			if got := say(t, l.mustDial(t, to), "echo $SSH_CONNECTION"); !strings.Contains(got, fmt.Sprint(c.server.Port)) {
				t.Errorf("connected to %q", got)
			}
		})
	}
}

func TestDialFailures(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	port := free.Addr().(*net.TCPAddr).Port

	t.Run("refused", func(t *testing.T) {
		e := l.refused(t, transport.Dest{Host: "127.0.0.1", Port: port}, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "Failed to connect to 127.0.0.1: ", fmt.Sprintf("127.0.0.1:%d", port), "connection refused")
	})
	t.Run("no route", func(t *testing.T) {
		// A link-local address has no route without an interface.
		e := l.refused(t, transport.Dest{Host: "fe80::1", Port: 22, ConnectTimeout: 5 * time.Second}, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "Failed to connect to fe80::1: ")
	})
	t.Run("no such name", func(t *testing.T) {
		e := l.refused(t, transport.Dest{Host: "no-such-host.invalid", ConnectTimeout: 20 * time.Second}, transport.ClassResolve, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "Failed to connect to no-such-host.invalid: no address")
	})
	t.Run("wrong protocol", func(t *testing.T) {
		l.refused(t, transport.Dest{Protocol: "winrm", Host: "x"}, transport.ClassUnsupported, "CONNECT_ERROR")
	})
	t.Run("silent listener", func(t *testing.T) {
		to := peerDest(sshtest.Silent(t))
		to.ConnectTimeout = time.Second
		began := time.Now()
		e := l.refused(t, to, transport.ClassTimeout, "CONNECT_ERROR")
		if took := time.Since(began); took < time.Second || took > 5*time.Second {
			t.Errorf("took %v, want about 1s", took)
		}
		if want := "Timeout after 1 seconds connecting to 127.0.0.1"; e.Msg != want {
			t.Errorf("message %q, want %q", e.Msg, want)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("enough"))
		defer cancel()
		to := peerDest(sshtest.Silent(t))
		to.ConnectTimeout = 0
		began := time.Now()
		_, err := l.Dial(ctx, to)
		if transport.ClassOf(err) != transport.ClassCancelled || time.Since(began) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	t.Run("no SSH", func(t *testing.T) {
		p := sshtest.Listen(t, func(c net.Conn) { fmt.Fprint(c, "HTTP/1.0 400 Bad Request\r\n\r\n") })
		e := l.refused(t, peerDest(p), transport.ClassProtocol, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "no SSH server", "400 Bad Request")
	})
	for name, line := range map[string]string{"closes after its version": "SSH-2.0-x\r\n", "closes after some text and its version": "hello\r\nSSH-2.0-x\r\n"} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // the client's first message or the server's close can come first
				p := sshtest.Shedder(t, line)
				to := peerDest(p)
				to.ConnectTimeout = time.Second
				e := l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
				wantText(t, "message", e.Msg, p.Addr+" closed the connection during the handshake")
				wantText(t, "hint", e.Hint, "the server's log")
			}
		})
	}
	t.Run("closes at once", func(t *testing.T) {
		p := sshtest.Slammer(t)
		to := peerDest(p)
		to.ConnectTimeout = time.Second
		began := time.Now()
		e := l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "closed the connection before it sent anything")
		if took := time.Since(began); p.Connections() < 2 || took > 5*time.Second {
			t.Errorf("%d tries in %v, want some in about 1s", p.Connections(), took)
		}
	})
}

// TestBannerNoise checks the lines that RFC 4253 4.2 allows before the version.
func TestBannerNoise(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	p := sshtest.Chatter(t, "Welcome to the gateway.\r\nAll is logged.\r\n", s.Addr)
	l := newLab(t, nil)
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck = p.Host, p.Port, transport.CheckNone
	if got := say(t, l.mustDial(t, to), "echo yes"); got != "yes\n" {
		t.Errorf("output %q", got)
	}
}

func TestAlgorithms(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "Ciphers aes256-ctr\nMACs hmac-sha2-512\nKexAlgorithms curve25519-sha256\n"})
	for _, c := range []struct {
		name, config string
		change       func(*transport.Dest)
		class        transport.Class
	}{
		{"defaults", "", func(*transport.Dest) {}, ""},
		{"asked for", "", func(d *transport.Dest) { d.Ciphers, d.MACs = "bogus,aes256-ctr", "hmac-sha2-512" }, ""},
		{"defaults and more", "", func(d *transport.Dest) { d.Ciphers = "aes128-cbc,defaults" }, ""},
		{"nothing in common", "", func(d *transport.Dest) { d.Ciphers = "aes128-ctr" }, transport.ClassProtocol},
		{"all unknown", "", func(d *transport.Dest) { d.Kex = "bogus" }, transport.ClassUnsupported},
		{"taken away by ssh_config", "Ciphers -aes*\n", func(*transport.Dest) {}, transport.ClassProtocol},
		{"put first by ssh_config", "Ciphers ^aes256-ctr\n", func(*transport.Dest) {}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil, s)
			l.configure(t, c.config)
			to := dest(s)
			c.change(&to)
			if c.class != "" {
				l.refused(t, to, c.class, "CONNECT_ERROR")
				return
			}
			say(t, l.mustDial(t, to), "true")
		})
	}
}

func TestProxyCommand(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	relay := fmt.Sprintf("ssh -F /dev/null -o UserKnownHostsFile=%s -o BatchMode=yes -i %s -W %%h:%%p -p %d root@%s", l.known, s.KeyFile, s.Port, s.Host)
	l.configure(t, "Host 127.0.0.1\nProxyCommand "+relay+"\nHost broken\nProxyCommand echo no way out >&2; exit 3\nHost mute\nProxyCommand sleep 1000\n")

	t.Run("works", func(t *testing.T) {
		c := l.mustDial(t, dest(s))
		if got := say(t, c, "echo through"); got != "through\n" {
			t.Errorf("output %q", got)
		}
		pid := c.wire.Conn.(*commandConn).cmd.Process.Pid
		c.Close()
		if _, err := os.Stat(filepath.Join("/proc", fmt.Sprint(pid))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %d of the proxy command lives on: %v", pid, err)
		}
	})
	t.Run("of the destination", func(t *testing.T) {
		to := dest(s)
		to.Host, to.HostKeyCheck, to.ProxyCommand = "mute", transport.CheckNone, strings.Replace(relay, "%h", s.Host, 1)
		if got := say(t, l.mustDial(t, to), "echo through"); got != "through\n" {
			t.Errorf("output %q", got)
		}
		to.ProxyCommand = "echo %h %n %p %r '100%%' >&2; exit 3"
		e := l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, fmt.Sprintf("mute mute %d root 100%%", s.Port))
		to.ProxyCommand = "nc %q"
		e = l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "proxy-command", "the token %q is not allowed here")
		to.Host, to.ProxyCommand = "broken", "none"
		l.refused(t, to, transport.ClassResolve, "CONNECT_ERROR") // the command of ssh_config would exit
	})
	t.Run("fails", func(t *testing.T) {
		to := dest(s)
		to.Host = "broken"
		e := l.refused(t, to, transport.ClassConnect, "CONNECT_ERROR")
		wantText(t, "message", e.Msg, "no way out", "proxy command")
	})
	t.Run("silent", func(t *testing.T) {
		to := dest(s)
		to.Host, to.ConnectTimeout = "mute", time.Second
		began := time.Now()
		l.refused(t, to, transport.ClassTimeout, "CONNECT_ERROR")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
