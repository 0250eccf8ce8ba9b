package ssh

import (
	"context"
	"errors"
	"runtime"

	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// SetEnv and SendEnv reach every command, as ssh sends them, with the environment
// of the caller; callers whose variables differ do not share a connection.
func TestEnvironmentOfConfig(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "AcceptEnv LANG LC_* SITE WHO\n"})
	l := newLab(t, nil, s)
	l.configure(t, "SetEnv SITE=\"a b\" REFUSED=1 LC_TIME=set\nSendEnv LANG* LC_* WHO -LANG*\n")
	view := func(who string) *View {
		return l.as(func(c *Caller) {
			c.Environ = []string{"WHO=no", "WHO=" + who, "LC_CTYPE=C.UTF-8", "LC_TIME=sent", "LANG=C", "OTHER=1"}
		})
	}
	line := `echo "$WHO,$LC_CTYPE,$LC_TIME,$LANG,$SITE,$REFUSED,$OTHER"`
	var keys []string
	for _, who := range []string{"ann", "bob", "ann"} {
		r, err := view(who).Route(t.Context(), dest(s))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, r.Key())
		conn, err := r.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the sessions that were opened ahead, too
			if got, want := say(t, conn.(*Conn), line), who+",C.UTF-8,set,,a b,,\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if keys[0] == keys[1] || keys[0] != keys[2] {
		t.Errorf("the keys are %q", keys)
	}
}

// RequestTTY force gives each command a terminal, and the other values none.
func TestRequestTTY(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	for value, want := range map[string]string{"force": "yes\r\n", "yes": "no\n", "auto": "no\n"} {
		l.configure(t, "RequestTTY "+value+"\n")
		conn, err := l.as(func(*Caller) {}).Dial(t.Context(), dest(s))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		st, err := conn.Run(t.Context(), &transport.Cmd{Line: "test -t 0 && echo yes || echo no", Stdout: &out})
		if err != nil || !st.OK() || out.String() != want {
			t.Errorf("%s: got %q, %v, %v; want %q", value, out.String(), st, err, want)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A command of Match exec runs once for a caller, in its environment and
// directory, and decides anew for the next one.
func TestMatchExecOfCaller(t *testing.T) {
	l := newLab(t, nil)
	l.configure(t, "Match exec \"echo %n >>runs; test $SITE = here\"\n HostName there.example\nMatch host web2 exec 'kill -9 $$'\n User no\n")
	dir := t.TempDir()
	view := func(site string) *View {
		return l.as(func(c *Caller) { c.Dir, c.Environ = dir, []string{"SITE=" + site, "SHELL=/bin/bash"} })
	}
	for site, host := range map[string]string{"here": "there.example", "away": "web1"} {
		v := view(site)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				e, err := v.resolve(t.Context(), transport.Dest{Host: "web1", LoadConfig: true})
				if err != nil || e.host != host {
					t.Errorf("%s: got %+v, %v", site, e, err)
				}
			})
		}
		wg.Wait()
	}
	if runs, err := os.ReadFile(dir + "/runs"); err != nil || string(runs) != "web1\nweb1\n" {
		t.Errorf("it ran for %q, %v", runs, err)
	}
	_, err := view("away").resolve(t.Context(), transport.Dest{Host: "web2", LoadConfig: true})
	if err == nil {
		t.Fatal("a command that was killed has decided")
	}
	wantText(t, "error", err.Error(), l.config+":3", "Match exec", "signal: killed")
	_, err = view("away").resolve(t.Context(), transport.Dest{Host: "$(id)", LoadConfig: true})
	if err == nil {
		t.Fatal("a name with an expansion was let into a command")
	}
	wantText(t, "error", err.Error(), l.config+":1", "characters that are not allowed in a command")
}

// A command of Match exec that ended because its first caller gave up runs again
// for the others, whatever the cause was.
func TestMatchExecOutlivesItsFirstCaller(t *testing.T) {
	m := &matchExecs{dir: t.TempDir()}
	const command = "[ -e again ] || { mkfifo again; exec cat again; }" // the first run does not end
	cause := errors.New("nobody wants it any more")
	first, giveUp := context.WithCancelCause(t.Context())
	defer giveUp(cause)
	var work sync.WaitGroup
	work.Go(func() {
		if _, err := m.holds(first, command, matchTakes); err != cause {
			t.Errorf("the first caller: %v", err)
		}
	})
	for {
		if _, err := os.Stat(m.dir + "/again"); err == nil {
			break
		}
		runtime.Gosched()
	}
	second := &joinContext{Context: t.Context(), asked: giveUp, cause: cause}
	if ok, err := m.holds(second, command, matchTakes); !ok || err != nil {
		t.Errorf("the second caller: %v, %v", ok, err)
	}
	work.Wait()
}

// A command of Match exec that hangs takes no longer than a connection may, and what it
// has printed is part of the error.
func TestMatchExecHangs(t *testing.T) {
	l := newLab(t, nil)
	l.configure(t, "Match host web1 exec \"echo first >&2; echo no VPN >&2; sleep 60\"\n User no\nMatch exec \"sleep 8 & true\"\n User left\n")
	begun := time.Now()
	_, err := l.own.resolve(t.Context(), transport.Dest{Host: "web1", LoadConfig: true, ConnectTimeout: time.Second})
	if err == nil {
		t.Fatal("a command that hangs has decided")
	}
	wantText(t, "error", err.Error(), l.config+":1", "did not end within 1s", `"no VPN"`)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	begun = time.Now()
	e, err := l.own.resolve(t.Context(), transport.Dest{Host: "web2", LoadConfig: true, ConnectTimeout: 10 * time.Second})
	if err != nil || e.user != "left" || time.Since(begun) > 5*time.Second {
		t.Errorf("beside a process that is left behind: %+v, %v", e, err)
	}
}

// A joinContext ends another context when somebody begins to wait with it.
type joinContext struct {
	context.Context
	asked context.CancelCauseFunc
	cause error
}

func (c *joinContext) Done() <-chan struct{} {
	c.asked(c.cause)
	return c.Context.Done()
}

// Each line that would have mattered is told of once, and no other.
func TestWarnsOfUnusedSettings(t *testing.T) {
	matter := []string{"ForwardX11 yes", "LocalForward 1 a:2", "RemoteForward 3 b:4", "DynamicForward 5", "Tunnel yes", "RemoteCommand tmux", "LocalCommand x",
		"ProxyUseFdpass yes", "CanonicalizeHostname always", "PKCS11Provider /p", "SecurityKeyProvider /s", "PubkeyAuthentication no", "HostbasedAuthentication yes",
		"VerifyHostKeyDNS ask", "KnownHostsCommand /k", "BindInterface eth0"}
	c, log := loadText(t, strings.Join(matter, "\n")+"\nPermitLocalCommand yes\nForwardAgent no\nCompression yes\n")
	if _, err := c.lookup("web2", "", 0); err != nil {
		t.Fatal(err)
	}
	h, err := c.lookup("web1", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	notes := h.Unused
	if len(notes) != len(matter) {
		t.Errorf("got %d notes: %q\n%s", len(notes), notes, log)
	}
	if n := strings.Count(log.String(), "ssh config line is not used"); n != len(matter) {
		t.Errorf("the log has %d lines:\n%s", n, log)
	}
	all := strings.Join(notes, "\n")
	for i, line := range matter {
		keyword, _, _ := strings.Cut(line, " ")
		wantText(t, "notes", all, fmt.Sprintf("config0:%d: %s: ", i+1, keyword))
	}
	c, _ = loadText(t, "LocalCommand x\nForwardAgent no\nRemoteCommand none\nKnownHostsCommand none\nPubkeyAuthentication yes\n")
	if h, err := c.lookup("web1", "", 0); err != nil || len(h.Unused) > 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}

// A caller is warned about the lines that apply to its own targets, although callers
// share the ssh_config that was read.
func TestWarnsOfOwnTargets(t *testing.T) {
	l := newLab(t, func(o *Options) { o.Keep = true })
	l.configure(t, "Host web*\nTunnel yes\nForwardAgent yes\nMatch host web* localnetwork 10.0.0.0/8\nUser x\nHost db*\nRemoteCommand tmux\n")
	if err := os.Chtimes(l.config, time.Time{}, time.Now().Add(-time.Hour)); err != nil { // so that it is not read again
		t.Fatal(err)
	}
	for _, c := range []struct {
		hosts []string
		want  []string // the lines
	}{
		{[]string{"web1", "web2", "db1", "web1"}, []string{"2: Tunnel", "3: ForwardAgent", "4: Match localnetwork", "7: RemoteCommand"}},
		{[]string{"mail1"}, nil},
		{[]string{"db2"}, []string{"7: RemoteCommand"}},
		{[]string{"web1"}, []string{"2: Tunnel", "3: ForwardAgent", "4: Match localnetwork"}},
	} {
		var told []string
		v := l.as(func(c *Caller) { c.Warn = func(_, text string) { told = append(told, text) } })
		for _, host := range c.hosts {
			if _, err := v.resolve(t.Context(), transport.Dest{Host: host, LoadConfig: true}); err != nil {
				t.Fatal(err)
			}
		}
		all := strings.Join(told, "\n")
		if strings.Count(all, l.config) != len(c.want) {
			t.Errorf("%v: got %d lines, want %q:\n%s", c.hosts, strings.Count(all, l.config), c.want, all)
		}
		for _, line := range c.want {
			wantText(t, "warnings", all, l.config+":"+line)
		}
	}
}

// If a file is not text, no part of it is used, because a part of the settings could
// lead to another machine.
func TestBinaryConfig(t *testing.T) {
	for name, files := range map[string][]string{
		"config0:3": {"# \x01 in a comment\nUser a\nPort 2\x002\n"},
		"config1:1": {"Include DIR/config1\nUser a\n", "\x7fELF\x02\x01\x00\n"},
	} {
		_, err := loadConfigFiles(sshFacts(t), writeConfig(t, files...), "", nil)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "not a text file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := loadConfigFiles(sshFacts(t), writeConfig(t, "# \x01\nUser\ta\f\r\nHost bjørn\n"), "", nil); err != nil {
		t.Error(err)
	}
}
