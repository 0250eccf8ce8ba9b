package ssh

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestEnvironmentOfConfig checks that SetEnv and SendEnv reach every command,
// as in ssh, with the environment of the caller. Callers whose variables differ
// do not share a connection.
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
		for range 3 { // also in the spare sessions
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

// TestRequestTTY checks that RequestTTY force gives each command a terminal,
// and other values do not.
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

// TestMatchExecOfCaller checks that a command of Match exec runs once per
// caller, in the caller's environment and directory.
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

// TestMatchExecHangs checks that a hanging command of Match exec ends with the
// connect timeout, and that its output is part of the error.
func TestMatchExecHangs(t *testing.T) {
	l := newLab(t, nil)
	l.configure(t, "Match host web1 exec \"echo first >&2; echo no VPN >&2; sleep 60\"\n User no\nMatch exec \"sleep 30 & true\"\n User left\n")
	begun := time.Now()
	_, err := l.own.resolve(t.Context(), transport.Dest{Host: "web1", LoadConfig: true, ConnectTimeout: time.Second})
	if err == nil {
		t.Fatal("a command that hangs has decided")
	}
	wantText(t, "error", err.Error(), l.config+":1", "did not end within 1s", `"no VPN"`)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	begun = time.Now()
	e, err := l.own.resolve(t.Context(), transport.Dest{Host: "web2", LoadConfig: true, ConnectTimeout: 25 * time.Second})
	if err != nil || e.user != "left" || time.Since(begun) > 20*time.Second {
		t.Errorf("beside a process that is left behind: %+v, %v", e, err)
	}
}

// TestWarnsOfOwnTargets checks that a caller is warned about the lines that
// apply to its own targets, although callers share the parsed ssh_config.
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
