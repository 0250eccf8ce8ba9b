//go:build containers

package container

import (
	"os"
	"testing"

	"bolt/transport"
	"bolt/transport/transporttest"
)

// TestReal runs the suite with the real programs, in a container that
// scripts/containers.sh has started. The container shares the machine's files,
// processes and users with the test.
func TestReal(t *testing.T) {
	for _, protocol := range []string{"docker", "podman"} {
		t.Run(protocol, func(t *testing.T) {
			d := NewDialer(Options{Environ: os.Environ()})
			to := transport.Dest{Protocol: protocol, Host: os.Getenv("BOLT_TEST_CONTAINER")}
			transporttest.TestDialer(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
				return d, to, transporttest.Env{StartsHome: true, KilledBy: transporttest.ByNumber, Forgets: protocol == "podman", As: func(t *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
					to := to
					to.User = u.Name
					return d, to
				}}
			})
		})
	}
}
