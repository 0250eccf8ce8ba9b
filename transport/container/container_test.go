package container

import (
	"os/user"
	"testing"

	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestConformance(t *testing.T) {
	for _, protocol := range []string{"docker", "lxd"} {
		t.Run(protocol, func(t *testing.T) {
			newWorld(t)
			d := NewDialer(Options{})
			to := transport.Dest{Protocol: protocol, Host: "web"}
			if protocol == "lxd" {
				to.Tool.Service = "local"
			}
			transporttest.TestDialerAtOnce(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
				return d, to, transporttest.Env{StartsHome: true, KilledBy: transporttest.ByNumber, As: func(t *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
					return d, as(t, to, u)
				}}
			})
		})
	}
}

// as is a destination whose commands another user runs.
func as(t *testing.T, to transport.Dest, u transporttest.User) transport.Dest {
	t.Helper()
	to.User = u.Name
	if to.Protocol == "lxd" {
		account, err := user.Lookup(u.Name)
		if err != nil {
			t.Fatal(err)
		}
		to.User = account.Uid
	}
	return to
}
