// Package run carries one action to many targets, a limited number at a time,
// and streams what happens.
//
// A Runner owns its workers: Run returns when the last of them has, and calls
// the sink from one goroutine at a time. A slow sink slows the work down.
// What goes wrong on a target is a Result with Err set.
package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"bolt/event"
	"bolt/event/capture"
	"bolt/inventory"
	"bolt/transport"
)

// DefaultConcurrency is how many targets are worked on at once.
const DefaultConcurrency = 100

// Options of a Runner.
type Options struct {
	Concurrency int            // targets at once; 0: DefaultConcurrency
	Slots       Slots          // shared by several Runners, which then work on no more targets together; nil: each has its own
	RunAs       string         // as whom, above the targets' own settings; "": as these say
	Timeout     time.Duration  // of the action on one target, without the connection's own limit; 0: none
	Spill       *capture.Spill // where results that are kept have output beyond memory; nil: each in a file of its own
	Stream      bool           // Output events as output arrives
	Outputs     *OutputDir     // also takes what commands, scripts and tasks print; nil: nothing does
	MaxOutput   int64          // bytes of output in a result; 0: capture.DefaultLimit. TargetOutput events have all of it
	Log         *slog.Logger   // nil discards
}

// Slots limit how many targets several Runners work on at once.
type Slots chan struct{}

// NewSlots returns n free ones.
func NewSlots(n int) Slots { return make(Slots, n) }

// take waits for a slot; release gives it back. The error is that of ctx.
func (s Slots) take(ctx context.Context) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// A Runner runs actions. It is safe for concurrent use.
type Runner struct {
	dialer transport.Dialer
	opts   Options
}

// New returns a Runner over dialer.
func New(dialer transport.Dialer, o Options) *Runner {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{dialer, o}
}

// An Action is one thing to do on each target. It is shared by all workers
// and not changed by them.
type Action interface {
	// Name is Bolt's word for it: command, script, task, upload, download.
	Name() string
	// Object is what it is about: the command, the path.
	Object() string
	// Do performs it. It fills in site.Result and returns an error for what
	// kept it from happening; a command's own failure is none.
	Do(ctx context.Context, site *Site) error
}

// A DeviceAction may be able to act on devices: targets without a shell, of the
// transport remote, which are reached from another target.
type DeviceAction interface {
	Action
	OnDevices() bool
}

// A LocalAction may be done by this program, for whatever target: then nothing
// is connected to, and Site.Conn is nil.
type LocalAction interface {
	Action
	Here() bool
}

// Site is where an action happens: one target, reached.
type Site struct {
	Target *inventory.Target
	// Via is the target that was connected to: Target itself, or the one that
	// a device is reached from.
	Via      *inventory.Target
	Settings inventory.Settings // of Via
	Conn     transport.Conn
	Result   *event.Result

	runner *Runner
	told   *telling
	kept   *targetFiles // nil if output is not written to files
	copied []string     // the files of a pattern that a transfer has copied
}

// ErrStopped is the cause of a context that was cancelled by the user.
var ErrStopped = errors.New("stopped by the user")

// Run does action on every target, and hands the events of targets to sink. Targets are
// begun in the order given. When ctx ends, what runs is ended, and each target
// that was not begun ends with a Result of class skipped.
//
// If the sink returns an error for a TargetBegin, the target is not begun. After another
// error all work ends as after the end of ctx. Run returns the first error of the sink.
func (r *Runner) Run(ctx context.Context, action Action, targets []*inventory.Target, sink event.Sink) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	told := &telling{stop: stop, sink: sink}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(r.opts.Concurrency, len(targets)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(targets) {
					return
				}
				r.one(ctx, action, targets[i], told)
			}
		})
	}
	wg.Wait()
	return told.err
}

// one works on one target from its begin to its end.
func (r *Runner) one(ctx context.Context, action Action, t *inventory.Target, told *telling) {
	res := &event.Result{Target: t, Action: action.Name()}
	release, err := r.opts.Slots.take(ctx)
	if err != nil || ctx.Err() != nil {
		if err == nil {
			release()
		}
		res.Err = event.Skipped()
		told.end(ctx, res)
		return
	}
	defer release()
	if told.begin(ctx, t) != nil {
		res.Err = event.Skipped()
		told.end(ctx, res)
		return
	}
	start := time.Now()
	site := &Site{Target: t, Via: t, Result: res, runner: r, told: told}
	if err := r.do(ctx, action, site); err != nil {
		res.Err = newError(err)
		nameCopied(res.Err, site.copied)
	} else {
		res.Object = action.Object()
	}
	site.kept.end(res, r.opts.Log.Warn)
	res.Elapsed = time.Since(start)
	r.opts.Log.Debug("target finished", "target", t.SafeName(), "ok", res.OK(), "elapsed", res.Elapsed)
	told.end(ctx, res)
	if err := res.Output.Close(); err != nil {
		r.opts.Log.Debug("output not closed cleanly", "target", t.SafeName(), "err", err)
	}
}

// do connects and performs the action. A panic becomes the target's failure:
// one target's bad luck must not end the work on all the others.
func (r *Runner) do(ctx context.Context, action Action, site *Site) (err error) {
	t := site.Target
	defer func() {
		if p := recover(); p != nil {
			r.opts.Log.Error("internal error", "target", t.SafeName(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: %v (the stack is in the debug log; please report it)", p)
		}
	}()
	if l, ok := action.(LocalAction); ok && l.Here() {
		return r.perform(ctx, action, site)
	}
	settings, err := t.Settings(ctx)
	if err != nil {
		return err
	}
	if d, ok := action.(DeviceAction); ok && d.OnDevices() && settings.Dest.Protocol == inventory.Remote {
		if site.Via, err = t.RunOn(ctx); err != nil {
			return err
		}
		if settings, err = site.Via.Settings(ctx); err != nil {
			return err
		}
	}
	if settings.Dest.Protocol == inventory.Remote {
		return &transport.Error{Class: transport.ClassUnsupported,
			Msg:  fmt.Sprintf("A %s cannot be done on %s: it is a device (transport remote), for which there are only tasks.", action.Name(), t.SafeName()),
			Hint: "Run a task that is for devices (\"remote\": true in its metadata), or do it on the target that the device is reached from."}
	}
	if r.opts.RunAs != "" {
		settings.RunAs.User = r.opts.RunAs
	}
	conn, err := r.dialer.Dial(ctx, settings.Dest)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := conn.Close(); cerr != nil {
			r.opts.Log.Debug("connection not closed cleanly", "target", t.SafeName(), "err", cerr)
		}
	}()
	site.Settings, site.Conn = settings, conn
	return r.perform(ctx, action, site)
}

// Reconnect opens another connection to the machine of the site, such as after the first one
// was lost. The caller closes it.
func (site *Site) Reconnect(ctx context.Context) (transport.Conn, error) {
	return site.runner.dialer.Dial(ctx, site.Settings.Dest)
}

// perform does an action on a target that was reached.
func (r *Runner) perform(ctx context.Context, action Action, site *Site) (err error) {
	if site.kept, err = r.opts.Outputs.begin(site.Target); err != nil {
		return err
	}
	return r.limited(ctx, func(ctx context.Context) error { return action.Do(ctx, site) })
}

// limited does something within the action's own limit.
func (r *Runner) limited(ctx context.Context, do func(context.Context) error) error {
	if r.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.opts.Timeout, errLimit)
		defer cancel()
	}
	err := do(ctx)
	e, ok := errors.AsType[*transport.Error](err)
	late := errors.Is(context.Cause(ctx), errLimit)
	switch {
	case ok && e.Class == transport.ClassTimeout && late:
		named := *e
		named.Msg = fmt.Sprintf("Not finished within %v: %s", r.opts.Timeout, e.Msg)
		return &named
	case err == nil || ok || ctx.Err() == nil || !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)):
		return err
	case late:
		return &transport.Error{Class: transport.ClassTimeout, Err: err, Msg: fmt.Sprintf("Not finished within %v", r.opts.Timeout)}
	}
	return &transport.Error{Class: transport.ClassCancelled, Err: err, Msg: "Stopped before it had finished"}
}

// errLimit is the cause of a context that ended at the action's own limit.
var errLimit = fmt.Errorf("limit of the action: %w", context.DeadlineExceeded)
