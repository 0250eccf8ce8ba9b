package ssh

import (
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestConformance(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	l := newLab(t, nil, s)
	transporttest.TestDialer(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		return l, dest(s), transporttest.Env{
			StartsHome: true,
			As: func(_ *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
				to := dest(s)
				to.User = u.Name
				return l, to
			},
		}
	})
}
