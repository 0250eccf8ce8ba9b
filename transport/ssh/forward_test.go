package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// forwardingTo is a destination with forward-agent, and a Dialer whose agent has a key.
func forwardingTo(t *testing.T, s *sshtest.Server, change func(*Options)) (*lab, transport.Dest) {
	socket := agentWith(t, nil)
	l := newLab(t, func(o *Options) {
		o.AgentSocket = socket
		if change != nil {
			change(o)
		}
	}, s)
	to := dest(s)
	to.ForwardAgent = transport.ChoiceYes
	return l, to
}

// ran runs a line like an action of bolt.
func ran(ctx context.Context, c *Conn, line string) (string, error) {
	var out bytes.Buffer
	_, err := c.Run(ctx, &transport.Cmd{Line: line, Stdout: &out, Stderr: &out})
	return out.String(), err
}

func TestForwardAgent(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	for name, change := range map[string]func(*Options){
		"once": nil,
		"kept": func(o *Options) { o.Keep, o.eager = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			l, to := forwardingTo(t, s, change)
			with := l.mustDial(t, to)
			to.ForwardAgent = transport.ChoiceByConfig
			without := l.mustDial(t, to)
			for range 3 {
				if out, err := ran(t.Context(), with, "ssh-add -l"); err != nil || !strings.Contains(out, "ED25519") {
					t.Errorf("with forward-agent: %q, %v", out, err)
				}
				if out, err := ran(t.Context(), without, "ssh-add -l"); err != nil || !strings.Contains(out, "Could not open") {
					t.Errorf("without forward-agent: %q, %v", out, err)
				}
				time.Sleep(2 * warmSettles) // until a ready shell is there
			}
			var work sync.WaitGroup
			for range 6 {
				work.Go(func() {
					if out, err := ran(t.Context(), with, "ssh-add -l"); err != nil || !strings.Contains(out, "ED25519") {
						t.Errorf("at the same time: %q, %v", out, err)
					}
				})
			}
			work.Wait()
		})
	}
}

// TestForwardedRequests checks that a command can list the keys and sign with
// them, but cannot change the agent.
func TestForwardedRequests(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l, to := forwardingTo(t, s, nil)
	c := l.mustDial(t, to)
	dir := t.TempDir()
	signed, err := ran(t.Context(), c, fmt.Sprintf("cd %s && ssh-add -L >key.pub && echo text >text && ssh-keygen -q -Y sign -n file -f key.pub text && cat text.sig", dir))
	if err != nil || !strings.Contains(signed, "BEGIN SSH SIGNATURE") {
		t.Errorf("sign: %q, %v", signed, err)
	}
	if out, err := ran(t.Context(), c, "ssh-add -D; ssh-add -l"); err != nil || !strings.Contains(out, "ED25519") {
		t.Errorf("the keys were removed: %q, %v", out, err)
	}
}

// TestForwardingEnds checks that the agent serves running commands, but not
// processes that a command leaves behind.
func TestForwardingEnds(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l, to := forwardingTo(t, s, nil)
	c := l.mustDial(t, to)
	file := filepath.Join(t.TempDir(), "out")
	if _, err := ran(t.Context(), c, fmt.Sprintf("(sleep 1; ssh-add -l; echo end) >%s 2>&1 </dev/null &", file)); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, _ := os.ReadFile(file)
		return string(text)
	}
	eventually(t, "the process left behind ends", func() bool { return strings.Contains(read(), "end") })
	if strings.Contains(read(), "ED25519") {
		t.Errorf("the agent has answered after the command: %q", read())
	}

	// An open connection to the agent ends with the command.
	held := fmt.Sprintf(`perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Peer => $ENV{SSH_AUTH_SOCK}) or die;
		syswrite $s, pack("NC", 1, 11); sysread $s, my $b, 5 or die;
		open my $f, ">", "%s"; $f->autoflush(1); print $f "open\n";
		unless (fork) { close STDOUT; close STDERR; close STDIN; sysread($s, $b, 1) while defined $b && length $b; print $f "closed\n"; exit }'`, file)
	if out, err := ran(t.Context(), c, held); err != nil || out != "" {
		t.Fatalf("%q, %v", out, err)
	}
	eventually(t, "the agent's connection is closed", func() bool { return strings.Contains(read(), "closed") })
	eventually(t, "no connection is listed", func() bool {
		c.forwarding.mu.Lock()
		defer c.forwarding.mu.Unlock()
		return len(c.forwarding.open) == 0
	})
}

func TestForwardingFails(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l, to := forwardingTo(t, s, func(o *Options) { o.AgentSocket = "" })
	e := l.refused(t, to, transport.ClassUnsupported, "CONNECT_ERROR")
	wantText(t, "error", e.Msg+e.Hint, "SSH_AUTH_SOCK is not set", "ssh-add", "forward-agent")

	l, to = forwardingTo(t, s, func(o *Options) { o.AgentSocket += ".gone" })
	e = l.refused(t, to, transport.ClassUnsupported, "CONNECT_ERROR")
	wantText(t, "error", e.Msg+e.Hint, "does not answer", "agent.gone", "ssh-add")

	refuses := sshtest.Start(t, sshtest.Options{Config: "AllowAgentForwarding no\n"})
	l, to = forwardingTo(t, refuses, nil)
	c := l.mustDial(t, to)
	for range 2 {
		_, err := ran(t.Context(), c, "true")
		e, ok := errors.AsType[*transport.Error](err)
		if !ok || e.Class != transport.ClassUnsupported {
			t.Fatalf("got %v", err)
		}
		wantText(t, "error", e.Msg+e.Hint, "refuses agent forwarding", "AllowAgentForwarding")
	}
}

// TestForwardAgentThroughJump checks that a jump host does not get the agent.
func TestForwardAgentThroughJump(t *testing.T) {
	s, hop := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{Config: "AllowAgentForwarding no\n"})
	l, to := forwardingTo(t, s, nil)
	l.record(t, hop.KnownHosts())
	to.ProxyJump = fmt.Sprintf("root@%s", hop.Addr)
	if err := copyKey(hop, s); err != nil {
		t.Fatal(err)
	}
	if out, err := ran(t.Context(), l.mustDial(t, to), "ssh-add -l"); err != nil || !strings.Contains(out, "ED25519") {
		t.Errorf("%q, %v", out, err)
	}
}

// copyKey authorizes the owner of another server's key.
func copyKey(to, from *sshtest.Server) error {
	text, err := os.ReadFile(from.Authorized)
	if err != nil {
		return err
	}
	return os.WriteFile(to.Authorized, text, 0o644)
}

// TestForwardAgentOfConfig checks that ForwardAgent in ssh_config has no
// effect, and that bolt warns about it unless the inventory decides.
func TestForwardAgentOfConfig(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	for _, c := range []struct {
		choice transport.Choice
		warns  int
		out    string
	}{
		{transport.ChoiceByConfig, 1, "Could not open"},
		{transport.ChoiceNo, 0, "Could not open"},
		{transport.ChoiceYes, 0, "ED25519"},
	} {
		l, to := forwardingTo(t, s, nil)
		l.configure(t, "ForwardAgent yes\n")
		to.ForwardAgent = c.choice
		for range 2 {
			if out, err := ran(t.Context(), l.mustDial(t, to), "ssh-add -l"); err != nil || !strings.Contains(out, c.out) {
				t.Errorf("%v: %q, %v", c.choice, out, err)
			}
		}
		if len(l.warnings) != c.warns {
			t.Errorf("%v: warnings %q", c.choice, l.warnings)
		}
		if c.warns > 0 {
			wantText(t, "warning", l.warnings[0], "config:1: ForwardAgent: ", "forward-agent")
		}
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
