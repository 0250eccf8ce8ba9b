package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/store"
)

// Times and numbers of attempts.
const (
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
	warnAfter  = 5 // failed attempts in a row
	lastTries  = 4 // attempts of an event after the drive: with refused connections, some 7 s
	maxRefused = 3 // refused events in a row
)

// A worker sends the events of one rollout to one webhook.
type worker struct {
	d      *Deliverer
	feed   *feed
	hook   *Hook
	cursor *cursor
	at     store.Revision // the last event that is sent, refused or not wanted

	failures int    // attempts in a row
	refused  int    // events in a row
	reason   string // of the last failure
	halted   bool   // the receiver refuses all events
}

// run sends the events that are appended while the rollout is driven, and then those that are left.
func (w *worker) run(ctx context.Context) {
	all := w.watch(ctx) && w.rest(ctx)
	if err := w.cursor.save(context.WithoutCancel(ctx)); err != nil {
		w.d.warn("%v: its position in rollout %s could not be recorded, so it gets events again: %v", w.hook, w.feed.rollout, err)
	}
	if all || w.halted {
		return
	}
	if w.reason == "" {
		w.reason = "the time to send them was too short"
	}
	w.d.warn("%v has not received all events of rollout %s: %s. 'bolt rollout advance' sends those after number %d",
		w.hook, w.feed.rollout, w.reason, w.cursor.at)
}

// watch returns false if an event was not delivered.
func (w *worker) watch(ctx context.Context) bool {
	live, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.feed.driven, cancel)()
	for e, err := range w.d.o.Logs.Watch(live, ledger.Log(w.feed.rollout), w.at) {
		if err != nil {
			w.reason = err.Error()
			return false
		}
		if !w.take(ctx, e) {
			return false
		}
	}
	return ctx.Err() == nil
}

// rest sends the events that are left when the drive is over.
func (w *worker) rest(ctx context.Context) bool {
	for e, err := range w.d.o.Logs.Events(ctx, ledger.Log(w.feed.rollout), w.at) {
		if err != nil {
			w.reason = err.Error()
			return false
		}
		if !w.take(ctx, e) {
			return false
		}
	}
	return true
}

// take delivers an event, if the webhook wants it. It returns false if no further event can be sent.
func (w *worker) take(ctx context.Context, e store.Event) bool {
	var head struct{ Type, State, Rollout string }
	if err := json.Unmarshal(e.Data, &head); err != nil {
		w.reason = err.Error()
		return false
	}
	if head.Type == (*rollout.RollbackStarted)(nil).Type() {
		w.d.follow(w.feed.driven, head.Rollout, w.feed.hooks)
	}
	if ctx.Err() != nil { // the position must not pass a rollback that is not recorded
		return false
	}
	wanted := w.hook.wants(head.Type, head.State)
	if wanted {
		line, err := rollout.Line(w.feed.rollout, uint64(e.Revision), e.Time, e.Data)
		if err != nil {
			w.reason = err.Error()
			return false
		}
		if !w.deliver(ctx, e.Revision, line) {
			return false
		}
	}
	w.at = e.Revision
	if w.refused > 0 {
		return true
	}
	w.cursor.at = e.Revision
	if !wanted || !w.cursor.due() { // run records the position after the others
		return true
	}
	err := w.cursor.save(ctx)
	if _, fenced := errors.AsType[*store.FencedError](err); fenced {
		w.reason = "another process sends them"
		return false
	}
	return true // run saves again, and reports the error
}

// deliver sends a message until it is taken or refused. It returns false if nothing more can be sent.
func (w *worker) deliver(ctx context.Context, number store.Revision, line []byte) bool {
	over := w.feed.driven.Done()
	for tries := 1; ; tries++ {
		_, failed := send(ctx, w.d.via, w.d.o.Agent, w.hook, line)
		if failed == nil {
			w.failures, w.refused, w.reason = 0, 0, ""
			return true
		}
		if ctx.Err() != nil { // reason is that of an earlier attempt
			return false
		}
		w.reason = failed.reason
		if failed.final {
			return w.refuse(number, failed)
		}
		w.failures++
		if w.failures == warnAfter && w.feed.driven.Err() == nil { // run warns after the drive
			w.d.warn("%v has not taken event %d of rollout %s: %s. bolt repeats it, and then sends the later events. 'bolt rollout webhook test' tests the webhook",
				w.hook, number, w.feed.rollout, w.reason)
		}
		wait := max(delay(tries), failed.after)
		if w.feed.driven.Err() != nil {
			if over != nil { // the drive has ended during the attempt
				over, tries = nil, 1
				wait = max(delay(tries), failed.after)
			}
			if tries >= lastTries || wait > Wait {
				return false
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-over:
			over, tries = nil, 0
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// refuse leaves an event out. It returns false if the receiver refuses all events.
func (w *worker) refuse(number store.Revision, f *failure) bool {
	w.failures = 0
	w.refused++
	if !f.gone && w.refused < maxRefused {
		w.d.warn("%v has refused event %d of rollout %s: %s. bolt goes on with the next event", w.hook, number, w.feed.rollout, f.reason)
		return true
	}
	w.halted = true
	w.d.warn("%v has refused event %d of rollout %s: %s. bolt sends it nothing more now. Check its settings in the project file with 'bolt rollout webhook test'. "+
		"Then 'bolt rollout advance' sends the events after number %d", w.hook, number, w.feed.rollout, f.reason, w.cursor.at)
	return false
}

// delay is the time before an attempt is repeated. It is random, so that senders do not come back together.
func delay(tries int) time.Duration {
	d := maxDelay
	if tries < 10 { // 2^9 s is longer than maxDelay
		d = min(firstDelay<<(tries-1), maxDelay)
	}
	return d/2 + rand.N(d/2)
}
