package nativessh

import (
	"testing"

	"go.uber.org/goleak"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dest is a server's, whose host key is not known.
func dest(s *sshtest.Server) transport.Dest {
	return transport.Dest{Protocol: Protocol, Host: s.Host, Port: s.Port, User: "root", PrivateKey: s.KeyFile, HostKeyCheck: transport.CheckNone,
		Tool: transport.Tool{Batch: true, SSH: transport.NewWords([]string{"ssh", "-F", "none", "-o", "UserKnownHostsFile=/dev/null"})}}
}

func TestConformance(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	d := NewDialer(Options{})
	to := dest(s)
	transporttest.TestDialerAtOnce(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		return d, to, transporttest.Env{
			StartsHome: true,
			KilledBy:   func(string) transport.Status { return transport.Status{Code: ownStatus} },
			As: func(_ *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
				to := to
				to.User = u.Name
				return d, to
			},
		}
	})
}
