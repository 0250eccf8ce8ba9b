// Package webhook sends the events of rollouts to HTTP servers, signed as Standard Webhooks defines
// (https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
//
// A message is an event as rollout.Line returns it. Each webhook gets the events of a rollout in their order, and each event at
// least once. Its position is recorded in the store ([Deliverer]), so another process goes on where one has ended.
//
// A Deliverer reads events from the log of the rollout, not from its driver, so a receiver cannot slow a rollout down. While a
// rollout is driven, each webhook has one event and one part of the log in memory.
//
// If an attempt fails, it is repeated after a time that doubles. If the receiver refuses an event (a status 4xx except 408 and
// 429, or a redirect), the event is left out. If it refuses several events in a row, the webhook gets
// nothing more until the next Deliverer, which begins with the first refused event.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/store"
	"bolt/store/hold"
)

// Options are the settings of New. Logs and Hooks are required.
type Options struct {
	Logs   store.Logs
	Hooks  []*Hook
	Holder string // for people: the user, machine and process
	Agent  string // the header User-Agent
	Proxy  func(*http.Request) (*url.URL, error)
	// Transport sends requests in place of one with Proxy; nil is the usual one.
	Transport http.RoundTripper
	// Warn takes warnings, from several goroutines; nil discards.
	Warn func(id, text string)
}

// Wait is the longest time for which Close waits for receivers.
const Wait = 10 * time.Second

// keep is how long after the last event of a rollout Rest still sends its events.
const keep = 72 * time.Hour

// A Deliverer sends the events of rollouts to webhooks. The methods of a nil Deliverer do nothing. Close must be called. The other
// methods are safe for concurrent use.
type Deliverer struct {
	o      Options
	via    http.RoundTripper
	work   context.Context // ends when Close has waited
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	feeds map[string]*feed // by rollout
}

// A feed is the delivery of the events of one rollout.
type feed struct {
	rollout string
	hooks   []*Hook
	driven  context.Context // ends with Finish
	finish  context.CancelFunc
	ended   chan struct{}
}

// New returns a Deliverer. It uses ctx for its values only.
func New(ctx context.Context, o Options) *Deliverer {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Deliverer{o: o, via: newTransport(&o), work: work, cancel: cancel, feeds: make(map[string]*feed)}
}

// Follow begins to send the events of a rollout, and of its rollbacks. It records that before it returns, and the events are sent
// by goroutines.
func (d *Deliverer) Follow(rollout string) {
	if d != nil {
		d.follow(d.work, rollout, d.o.Hooks)
	}
}

// Finish sets the end of a rollout's events at those that are in its log now. They are still sent.
func (d *Deliverer) Finish(rollout string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	f := d.feeds[rollout]
	d.mu.Unlock()
	if f != nil {
		f.finish()
	}
}

// Rest sends the events of a rollout that no process drives, if a webhook has not received all of them. last is the time of the last
// event. The events of a rollout that ended long ago are not sent.
func (d *Deliverer) Rest(ctx context.Context, rollout string, last time.Time) {
	if d == nil || time.Since(last) > keep {
		return
	}
	hooks, pending, err := d.pending(ctx, rollout)
	if err != nil {
		d.warn("The positions of webhooks in rollout %s could not be read: %v", rollout, err)
		return
	}
	if pending {
		d.follow(d.work, rollout, hooks)
		d.Finish(rollout)
	}
}

// pending returns the webhooks that get the events of a rollout, and reports whether one of them has not received all of them, or all
// those of a rollback. It reads the summaries of logs where there are any, because it is called often.
func (d *Deliverer) pending(ctx context.Context, rollout string) (hooks []*Hook, pending bool, err error) {
	for _, h := range d.o.Hooks {
		c, err := loadCursor(ctx, d.o.Logs, h, rollout)
		if err != nil {
			return nil, false, err
		}
		if c.revision > 0 { // otherwise the webhook is newer than the end of the rollout
			hooks = append(hooks, h)
		}
	}
	if hooks == nil {
		return nil, false, nil
	}
	l := ledger.In(d.o.Logs)
	ids, err := l.Rollbacks(ctx, rollout)
	if err != nil {
		return nil, false, err
	}
	for e, err := range l.Entries(ctx, append([]string{rollout}, ids...)) {
		if err != nil {
			return nil, false, err
		}
		for _, h := range hooks {
			c, err := loadCursor(ctx, d.o.Logs, h, e.ID)
			if err != nil {
				return nil, false, err
			}
			if e.Damaged == nil {
				pending = pending || uint64(c.at) < e.Revision
				continue
			}
			left, err := store.Load(ctx, d.o.Logs, ledger.Log(e.ID), c.at)
			if err != nil {
				return nil, false, err
			}
			pending = pending || len(left) > 0
		}
	}
	return hooks, pending, nil
}

// Close waits until all events that are in the logs were sent, at most for the time Wait. The next Deliverer sends the others.
func (d *Deliverer) Close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	for _, f := range d.feeds {
		f.finish()
	}
	d.mu.Unlock()
	end := time.AfterFunc(Wait, d.cancel)
	d.wg.Wait()
	end.Stop()
	d.cancel()
	if t, is := d.via.(*http.Transport); is {
		t.CloseIdleConnections()
	}
}

func (d *Deliverer) warn(format string, args ...any) {
	if d.o.Warn != nil {
		text := fmt.Sprintf(format, args...)
		d.o.Warn("rollout_webhook", strings.ToUpper(text[:1])+text[1:])
	}
}

// follow begins a feed, which ends after driven.
func (d *Deliverer) follow(driven context.Context, rollout string, hooks []*Hook) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.feeds[rollout]
	if before != nil && (before.driven.Err() == nil || driven.Err() != nil) {
		return
	}
	for _, h := range hooks {
		if err := begin(d.work, d.o.Logs, h, rollout); err != nil && d.work.Err() == nil {
			d.warn("%v: its position in rollout %s could not be recorded, so events can be lost if bolt is killed: %v", h, rollout, err)
		}
	}
	f := &feed{rollout: rollout, hooks: hooks, ended: make(chan struct{})}
	f.driven, f.finish = context.WithCancel(driven)
	d.feeds[rollout] = f
	d.wg.Go(func() {
		defer close(f.ended)
		if before != nil { // the rollout is driven again
			<-before.ended
		}
		d.run(f)
		f.finish()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.feeds[rollout] == f {
			delete(d.feeds, rollout)
		}
	})
}

// retake is the time between two tries to deliver in place of another process.
const retake = time.Second

// run delivers under a lease, because two processes would send each event twice.
func (d *Deliverer) run(f *feed) {
	held := func(e *store.HeldError) error { return e }
	for {
		err := hold.While(d.work, d.o.Logs, leaseOf(f.rollout), d.o.Holder, held, func(ctx context.Context, fence store.Fence) error {
			return d.deliver(ctx, fence, f)
		})
		if _, is := errors.AsType[*store.HeldError](err); !is {
			if err != nil && d.work.Err() == nil {
				d.warn("the events of rollout %s are not sent to webhooks: %v. 'bolt rollout advance' sends them later", f.rollout, err)
			}
			return
		}
		select {
		case <-f.driven.Done(): // the holder sends the events
			return
		case <-time.After(retake):
		}
	}
}

// deliver sends the events of a rollout to all webhooks.
func (d *Deliverer) deliver(ctx context.Context, fence store.Fence, f *feed) error {
	ids, err := ledger.In(d.o.Logs).Rollbacks(ctx, f.rollout)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d.follow(f.driven, id, f.hooks)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, h := range f.hooks {
		c, err := loadCursor(ctx, d.o.Logs, h, f.rollout)
		if err != nil {
			d.warn("%v gets no events of rollout %s: %v", h, f.rollout, err)
			continue
		}
		c.fence = fence
		w := &worker{d: d, feed: f, hook: h, cursor: c, at: c.at}
		wg.Go(func() { w.run(ctx) })
	}
	return nil
}

// Test sends a test event once to each webhook, and returns the results in the order of Options.Hooks.
func (d *Deliverer) Test(ctx context.Context) ([]Probe, error) {
	line, err := rollout.Line("test", 0, time.Now().UTC(), []byte(testEvent))
	if err != nil {
		return nil, err
	}
	probes := make([]Probe, len(d.o.Hooks))
	var wg sync.WaitGroup
	for i, h := range d.o.Hooks {
		wg.Go(func() {
			start := time.Now()
			status, failed := send(ctx, d.via, d.o.Agent, h, line)
			probes[i] = Probe{Webhook: h.String(), OK: failed == nil, Status: status, Took: time.Since(start)}
			if failed != nil {
				probes[i].Reason = failed.reason
			}
		})
	}
	wg.Wait()
	return probes, ctx.Err()
}
