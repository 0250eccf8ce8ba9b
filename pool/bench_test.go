package pool

import (
	"runtime"
	"testing"

	"bolt/transport"
)

// BenchmarkWarm measures the cost that the Pool adds to a command on an open
// connection: dial, run, close.
func BenchmarkWarm(b *testing.B) {
	n := newNet()
	p := New(n, Options{})
	defer p.Close()
	for i := range 1000 {
		mustDial(b, p, hostN(i)).Close()
	}
	to := hostN(500)
	cmd := &transport.Cmd{}
	b.Run("pool", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, err := p.Dial(b.Context(), to)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Run(b.Context(), cmd); err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		k := n.links[500]
		for b.Loop() {
			r, err := n.Route(b.Context(), to)
			if err != nil || r.Key() == "" {
				b.Fatal(err)
			}
			if err := k.Check(b.Context()); err != nil {
				b.Fatal(err)
			}
			if _, err := k.Run(b.Context(), cmd); err != nil {
				b.Fatal(err)
			}
			k.Stats()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c, err := p.Dial(b.Context(), to)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.Run(b.Context(), cmd); err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	})
}

// BenchmarkHeld measures the memory and goroutines that the Pool adds to an
// open connection. They include a fakeLink's own 250 bytes.
func BenchmarkHeld(b *testing.B) {
	const held = 10_000
	use := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		before, goroutines := use(), runtime.NumGoroutine()
		n := newNet()
		p := New(n, Options{})
		for i := range held {
			mustDial(b, p, hostN(i)).Close()
		}
		b.ReportMetric(float64(use()-before)/held, "B/conn")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		p.Close()
	}
}
