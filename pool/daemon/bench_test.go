package daemon

import (
	"context"
	"testing"
	"time"

	"bolt/pool"
	"bolt/pool/wire"
	"bolt/transport"
)

// quick is a Router whose connections can be kept and whose commands end at
// once.
type quick struct{ still }

func (quick) Route(_ context.Context, to transport.Dest) (transport.Route, error) {
	return quickRoute{stillRoute{to.Host}}, nil
}

type quickRoute struct{ stillRoute }

func (quickRoute) Dial(context.Context) (transport.Conn, error) {
	return &hereLink{Conn: nowhere{}, done: make(chan struct{})}, nil
}

// BenchmarkWarm measures the cost that the socket and the daemon add to a
// command on a warm connection: dial, run, release, for a hundred hosts at a
// time.
func BenchmarkWarm(b *testing.B) {
	v := serve(b, func(o *Options) {
		o.Logger = nil
		o.Pool.Close()
		o.Pool = pool.New(quick{}, pool.Options{})
		o.Router = func(wire.Caller, func(string) (transport.Secret, bool), func(string, string)) transport.Router {
			return quick{}
		}
	})
	p := v.connect(b)
	if err := p.conn.SetDeadline(time.Time{}); err != nil {
		b.Fatal(err)
	}
	const width = 100
	dest := wire.EncodeDest(&transport.Dest{Protocol: "ssh", Host: "host", User: "root"})
	b.ReportAllocs()
	for done := 0; done < b.N; done += width {
		first := p.last + 1
		for range width {
			p.send(wire.Dial, p.id(), dest)
		}
		for left := width; left > 0; {
			switch f := p.next(); f.Type {
			case wire.Dialed:
				p.start(f.ID, "true")
			case wire.Exited:
				left--
			case wire.Stdout:
			default:
				b.Fatalf("frame of type %d", f.Type)
			}
		}
		for i := range uint32(width) {
			p.send(wire.Release, first+i, nil)
		}
	}
}
