package pool

import (
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	next := realDialer(t, s)
	suite := func(t *testing.T, pool func(t *testing.T) *Pool) {
		transporttest.TestDialerAtOnce(t, func(t *testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
			p := pool(t)
			return p, dest(s), transporttest.Env{
				StartsHome: true,
				As: func(_ *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
					to := dest(s)
					to.User = u.Name
					return p, to
				},
			}
		})
	}
	t.Run("cold", func(t *testing.T) {
		suite(t, func(t *testing.T) *Pool { return newPool(t, next, Options{}) })
	})
	t.Run("warm", func(t *testing.T) {
		p := newPool(t, next, Options{})
		suite(t, func(*testing.T) *Pool { return p })
		if got := p.Totals(); got.DialsSaved < 20 || got.Dials > 10 {
			t.Errorf("totals %+v: the connections were not shared", got)
		}
	})
}
