package nativessh

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dest returns the destination of a server whose host key is not known.
func dest(s *sshtest.Server) transport.Dest {
	return transport.Dest{Protocol: Protocol, Host: s.Host, Port: s.Port, User: "root", PrivateKey: s.KeyFile, HostKeyCheck: transport.CheckNone,
		Options: Program{Batch: true, SSH: transport.NewWords([]string{"ssh", "-F", "none", "-o", "UserKnownHostsFile=/dev/null"})}}
}

func TestConformance(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	d := NewDialer(Options{})
	to := dest(s)
	transporttest.TestDialerAtOnce(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		return d, to, transporttest.Env{
			StartsHome:   true,
			DownloadCode: "COPY_ERROR",
			KilledBy:     func(string) transport.Status { return transport.Status{Code: ownStatus} },
			As: func(_ *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
				to := to
				to.User = u.Name
				return d, to
			},
		}
	})
}

func TestForwardAgent(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	t.Setenv("SSH_AUTH_SOCK", startAgent(t, s.KeyFile))
	for choice, want := range map[transport.Choice]string{
		transport.ChoiceByConfig: "Could not open",
		transport.ChoiceYes:      "ED25519",
		transport.ChoiceNo:       "Could not open",
	} {
		to := dest(s)
		to.ForwardAgent = choice
		if o := run(t.Context(), t, to, "ssh-add -l 2>&1", nil); o.err != nil || !strings.Contains(o.out, want) {
			t.Errorf("forward-agent %v: got %+v, want %q", choice, o, want)
		}
	}
}

// startAgent starts an ssh-agent with a key and returns its socket.
func startAgent(t *testing.T, key string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "agent")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		agent.Process.Kill()
		agent.Wait()
	})
	for range 3000 {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	add := exec.Command("ssh-add", key)
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v\n%s", err, out)
	}
	return socket
}
