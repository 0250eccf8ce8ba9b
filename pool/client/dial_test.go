package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"bolt/pool/wire"
	"bolt/transport"
)

// asker is a daemon that requires the passphrase "right" for a key before it
// dials.
func asker(t *testing.T) *fake {
	told := map[*peer]string{}
	var mu sync.Mutex
	return newFake(t, func(p *peer, f wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		switch f.Type {
		case wire.Answer:
			a, err := wire.DecodeAnswer(f.Body)
			if err != nil || a.Path != "/key" {
				t.Errorf("%+v, %v", a, err)
			}
			told[p] = a.Passphrase.Reveal()
			return true
		case wire.Dial:
			if told[p] != "right" {
				p.send(wire.Failed, f.ID, wire.EncodeError(&transport.Error{Class: transport.ClassAuth, Msg: "locked", Ask: "/key"}))
				return true
			}
		}
		return false
	})
}

func TestPassphraseIsAsked(t *testing.T) {
	d := asker(t)
	var asked atomic.Int32
	c := newClient(t, Options{Socket: d.socket, Passphrase: func(_ context.Context, path string) (transport.Secret, error) {
		if asked.Add(1) < 3 {
			return transport.NewSecret("wrong"), nil
		}
		return transport.NewSecret("right"), nil
	}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { mustDialAsync(t, c) })
	}
	wg.Wait()
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times, want 3", n)
	}
	d.hangUp() // the next session gets the answers, too
	eventually(t, "the session has ended", func() bool { return !c.current.alive() })
	mustDialAsync(t, c)
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

func TestWrongPassphrase(t *testing.T) {
	interrupted := errors.New("interrupted")
	cases := []struct {
		name string
		ask  func(context.Context, string) (transport.Secret, error)
		want int32
	}{
		{"nobody", nil, 0},
		{"always wrong", func(context.Context, string) (transport.Secret, error) { return transport.NewSecret("wrong"), nil }, maxAsks},
		{"nothing", func(context.Context, string) (transport.Secret, error) { return transport.Secret{}, nil }, 1},
		{"refused", func(context.Context, string) (transport.Secret, error) { return transport.Secret{}, interrupted }, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Socket: asker(t).socket}
			var asked atomic.Int32
			if c.ask != nil {
				o.Passphrase = func(ctx context.Context, path string) (transport.Secret, error) {
					asked.Add(1)
					return c.ask(ctx, path)
				}
			}
			client := newClient(t, o)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					_, err := client.Dial(testContext(t), transport.Dest{Host: "web1"})
					expectClass(t, err, transport.ClassAuth, "locked")
				})
			}
			wg.Wait()
			if n := asked.Load(); n != c.want {
				t.Errorf("asked %d times, want %d", n, c.want)
			}
		})
	}
}

// TestAskerGivesUp checks that another dial asks if the dial that was about to
// ask is cancelled.
func TestAskerGivesUp(t *testing.T) {
	var asked atomic.Int32
	first, cancel := context.WithCancel(testContext(t))
	defer cancel()
	c := newClient(t, Options{Socket: asker(t).socket, Passphrase: func(ctx context.Context, _ string) (transport.Secret, error) {
		if asked.Add(1) == 1 {
			<-ctx.Done()
			return transport.Secret{}, context.Cause(ctx)
		}
		return transport.NewSecret("right"), nil
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.Dial(first, transport.Dest{Host: "web1"})
		expectClass(t, err, transport.ClassCancelled)
	})
	eventually(t, "the first asks", func() bool { return asked.Load() == 1 })
	wg.Go(func() { mustDialAsync(t, c) })
	cancel()
	wg.Wait()
}

// TestDialCancelled checks that a dial without waiting callers is cancelled,
// and that a lease that arrives later is given up.
func TestDialCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		switch f.Type {
		case wire.Dial:
			if to, err := wire.DecodeDest(f.Body); err != nil || to.Host != "slow" {
				return false
			}
			cancel()
			return true
		case wire.Release:
			p.fail(f.ID, transport.ClassCancelled, "given up")
			return true
		}
		return false
	})
	c := newClient(t, Options{Socket: d.socket})
	_, err := c.Dial(ctx, transport.Dest{Host: "slow"})
	expectClass(t, err, transport.ClassCancelled, "slow")
	eventually(t, "it is given up", func() bool { return d.seen(wire.Release) == 1 })
	say(t, mustDial(t, c), "hello")
	c.current.mu.Lock()
	defer c.current.mu.Unlock()
	if n := len(c.current.requests); n != 0 {
		t.Errorf("%d requests are remembered", n)
	}
}

func TestDialFails(t *testing.T) {
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Dial {
			p.send(wire.Failed, f.ID, wire.EncodeError(&transport.Error{Class: transport.ClassHostKeyChanged, Code: "HOST_KEY_ERROR", Msg: "another key", Hint: "look"}))
		}
		return f.Type == wire.Dial
	})
	_, err := newClient(t, Options{Socket: d.socket}).Dial(testContext(t), transport.Dest{Host: "web1"})
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || *e != (transport.Error{Class: transport.ClassHostKeyChanged, Code: "HOST_KEY_ERROR", Msg: "another key", Hint: "look"}) {
		t.Errorf("got %+v", err)
	}
}
