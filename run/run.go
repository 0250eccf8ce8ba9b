// Package run performs one action on many targets, on a limited number at a time, and
// emits events.
//
// A Runner owns its workers: Run returns when the last of them has ended. It calls the
// sink from one goroutine at a time. A slow sink slows down the work. A failure on a
// target is a Result with Err set.
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

// DefaultConcurrency is how many targets are in progress at once.
const DefaultConcurrency = 100

// Options configure a Runner.
type Options struct {
	Concurrency int            // targets at once; 0: DefaultConcurrency
	Slots       Slots          // shared by several Runners to limit their targets together; nil: no shared limit
	RunAs       string         // the user to run as, overrides the targets' own settings; "": no override
	Timeout     time.Duration  // of the action on one target, without the connection's own timeout; 0: none
	Spill       *capture.Spill // stores the output of results that does not fit in memory; nil: each result uses its own file
	Stream      bool           // Output events as output arrives
	Outputs     *OutputDir     // also stores the output of commands, scripts and tasks; nil: it is not stored
	MaxOutput   int64          // bytes of output in a result; 0: capture.DefaultLimit. TargetOutput events contain all output
	Log         *slog.Logger   // nil discards
}

// Slots limit how many targets several Runners process at once.
type Slots chan struct{}

// NewSlots returns n free slots.
func NewSlots(n int) Slots { return make(Slots, n) }

// take waits for a slot; release gives it back. The error is ctx's.
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

// An Action is an action to perform on each target. All workers share it and do not
// change it.
type Action interface {
	// Name is Bolt's name of the action: command, script, task, upload, download.
	Name() string
	// Object is the object of the action: the command or the path.
	Object() string
	// Do performs the action and sets site.Result. It returns an error if the action
	// could not be performed. The failure of a command is not an error of Do.
	Do(ctx context.Context, site *Site) error
}

// A DeviceAction is an action that may support devices: targets of the transport
// remote, which have no shell and are accessed from another target.
type DeviceAction interface {
	Action
	OnDevices() bool
}

// A LocalAction is an action that this program may perform itself, for any target. Then
// it makes no connection, and Site.Conn is nil.
type LocalAction interface {
	Action
	Here() bool
}

// A LastingAction is an action that may go on until the context ends. Then all targets are in progress at once.
type LastingAction interface {
	Action
	Lasts() bool
}

// Site is the place of an action: one target with its connection.
type Site struct {
	Target *inventory.Target
	// Via is the target of the connection: Target itself, or the target from which a
	// device is accessed.
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

// Run performs action on every target, and passes the events of targets to sink. It
// begins targets in the given order. If ctx ends, running work is ended, and each
// target that was not begun ends with a Result of class skipped.
//
// If the sink returns an error for a TargetBegin, the target is not begun. After
// another error, all work ends as after the end of ctx. Run returns the first error of
// the sink.
func (r *Runner) Run(ctx context.Context, action Action, targets []*inventory.Target, sink event.Sink) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	told := &telling{stop: stop, sink: sink}
	var next atomic.Int64
	var wg sync.WaitGroup
	workers := min(r.opts.Concurrency, len(targets))
	if l, is := action.(LastingAction); is && l.Lasts() {
		workers = len(targets)
	}
	for range workers {
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

// one performs the action on one target.
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

// do connects and performs the action. A panic becomes a failure of this target only,
// so that the work on other targets continues.
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
			Msg:  fmt.Sprintf("A %s cannot be done on %s: it is a device (transport remote), and devices only support tasks.", action.Name(), t.SafeName()),
			Hint: "Run a task for devices (\"remote\": true in its metadata), or use the target from which the device is accessed."}
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

// perform performs an action on a connected target.
func (r *Runner) perform(ctx context.Context, action Action, site *Site) (err error) {
	if site.kept, err = r.opts.Outputs.begin(site.Target); err != nil {
		return err
	}
	return r.limited(ctx, func(ctx context.Context) error { return action.Do(ctx, site) })
}

// limited calls do with the timeout of the action.
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

// errLimit is the cause of a context that ended at the action's own timeout.
var errLimit = fmt.Errorf("limit of the action: %w", context.DeadlineExceeded)
