package client

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"bolt/pool/wire"
	"bolt/transport"
)

// benchFake starts a daemon that does nothing, as fast as it can.
func benchFake(b *testing.B) *Client {
	status := wire.EncodeStatus(transport.Status{})
	d := newFake(b, func(p *peer, f wire.Frame) bool {
		switch f.Type {
		case wire.Dial:
			p.send(wire.Dialed, f.ID, nil)
		case wire.Run:
			p.send(wire.Exited, f.ID, status)
		case wire.Release:
		default:
			return false
		}
		return true
	})
	c := newClient(b, Options{Socket: d.socket})
	if err := c.Connect(context.Background()); err != nil {
		b.Fatal(err)
	}
	return c
}

var benchDest = transport.Dest{Protocol: "ssh", Host: "web1.example.com", User: "root", PrivateKey: "/root/.ssh/id_ed25519"}

func dialRunClose(ctx context.Context, c *Client, cmd *transport.Cmd) error {
	conn, err := c.Dial(ctx, benchDest)
	if err != nil {
		return err
	}
	if _, err := conn.Run(ctx, cmd); err != nil {
		return err
	}
	return conn.Close()
}

// BenchmarkDialRunClose measures the cost of one warm target, including both
// ends of the socket and the fake daemon.
func BenchmarkDialRunClose(b *testing.B) {
	for _, workers := range []int{1, 100} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			c := benchFake(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					cmd := transport.Cmd{Line: "true"}
					for range b.N/workers + btoi(w < b.N%workers) {
						if err := dialRunClose(ctx, c, &cmd); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkStaged adds a script of 20 KB, which is sent to the daemon once.
func BenchmarkStaged(b *testing.B) {
	c := benchFake(b)
	cmd := transport.Cmd{Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o755, Data: make([]byte, 20<<10)}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := dialRunClose(context.Background(), c, &cmd); err != nil {
			b.Fatal(err)
		}
	}
}
