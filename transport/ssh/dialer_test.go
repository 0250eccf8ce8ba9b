package ssh

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestWarningsGoToWarnOrLog checks that a warning goes to Options.Warn if it is
// set, and else to the log.
func TestWarningsGoToWarnOrLog(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	bad := writeText(t, "no key at all\n")
	for _, c := range []struct {
		name   string
		change func(*Options)
		logged int
		warned int
	}{
		{"Warn", nil, 0, 1},
		{"the log", func(o *Options) { o.Warn = nil }, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			l := newLab(t, func(o *Options) {
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				if c.change != nil {
					c.change(o)
				}
			}, s)
			l.configure(t, "IdentityFile "+s.KeyFile+"\n")
			to := dest(s)
			to.PrivateKey = bad
			for range 2 {
				say(t, l.mustDial(t, to), "true")
			}
			if n := strings.Count(log.String(), "invalid_ssh_key"); n != c.logged {
				t.Errorf("logged %d times, want %d: %s", n, c.logged, log.String())
			}
			if len(l.warnings) != c.warned {
				t.Errorf("warnings %q, want %d", l.warnings, c.warned)
			}
		})
	}
}

// TestLogNamesTheTarget checks that log records name the machine with the same
// key as in other packages.
func TestLogNamesTheTarget(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	var log bytes.Buffer
	l := newLab(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	l.configure(t, "StrictHostKeyChecking accept-new\nTunnel yes\n")
	to := dest(s)
	to.HostKeyCheck = transport.CheckByConfig
	l.mustDial(t, to)
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "target=127.0.0.1") {
			t.Errorf("no target in %q", line)
		}
	}
	wantText(t, "log", log.String(), "host key recorded", "ssh config line is not used")
}

// TestNoCommonAlgorithm checks that the error names the server's algorithms if
// there is no common one.
func TestNoCommonAlgorithm(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "Ciphers aes256-ctr,aes192-ctr\n"})
	l := newLab(t, nil, s)
	to := dest(s)
	to.Ciphers = "aes128-ctr"
	e := l.refused(t, to, transport.ClassProtocol, "CONNECT_ERROR")
	wantText(t, "message", e.Msg, "cipher", "the server offers: aes256-ctr, aes192-ctr")
	wantText(t, "hint", e.Hint, "encryption-algorithms")
}

// TestAlgorithmsAreChosenOnce checks that algorithms are computed once for all
// machines with the same settings.
func TestAlgorithmsAreChosenOnce(t *testing.T) {
	l := newLab(t, nil)
	at := func(change func(*transport.Dest)) *endpoint {
		t.Helper()
		to := transport.Dest{Protocol: "ssh", User: "root", Host: "web" + strconv.Itoa(int(time.Now().UnixNano()))}
		if change != nil {
			change(&to)
		}
		e, err := l.own.resolve(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a, b := at(nil), at(nil)
	other := at(func(to *transport.Dest) { to.Ciphers = "aes256-ctr" })
	if &a.algorithms.ciphers[0] != &b.algorithms.ciphers[0] {
		t.Error("chosen again for the same settings")
	}
	if len(other.algorithms.ciphers) != 1 || len(a.algorithms.ciphers) == 1 {
		t.Errorf("ciphers %q and %q", other.algorithms.ciphers, a.algorithms.ciphers)
	}
	if _, err := l.own.resolve(t.Context(), transport.Dest{Protocol: "ssh", Host: "x", Ciphers: "none"}); transport.ClassOf(err) != transport.ClassUnsupported {
		t.Errorf("error %v", err)
	}
}

// TestSourceAddress checks the source address of a connection, and its family.
func TestSourceAddress(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	for _, c := range []struct {
		name, config string
		from         string // "": refused
	}{
		{"default", "", "127.0.0.1"},
		{"BindAddress", "BindAddress 127.0.0.77\n", "127.0.0.77"},
		{"BindAddress is a name", "BindAddress localhost\nAddressFamily inet\n", "127.0.0.1"},
		{"BindAddress is not ours", "BindAddress 192.0.2.1\n", ""},
		{"BindAddress of the other family", "BindAddress ::1\n", ""},
		{"BindAddress has no address", "BindAddress none.invalid\n", ""},
		{"AddressFamily inet", "AddressFamily inet\n", "127.0.0.1"},
		{"AddressFamily inet6", "AddressFamily inet6\n", ""},
		{"AddressFamily any", "AddressFamily ANY\n", "127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil, s)
			l.configure(t, c.config)
			to := dest(s)
			if c.from != "" {
				from, _, _ := strings.Cut(say(t, l.mustDial(t, to), "echo $SSH_CLIENT"), " ")
				if from != c.from {
					t.Errorf("connected from %s, want %s", from, c.from)
				}
				return
			}
			conn, err := l.Dial(t.Context(), to)
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			e := asError(err, to.Host)
			if e.Code != "CONNECT_ERROR" {
				t.Errorf("code %s: %v", e.Code, err)
			}
		})
	}
}
