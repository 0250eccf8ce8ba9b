package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bolt/cli/acting"
	"bolt/event"
	"bolt/facts"
	"bolt/format/fault"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/all"
)

// act performs an action on the targets that the command line selects. prepare makes the action;
// its error is printed in the format's own way, after the format's head.
func (a *app) act(ctx context.Context, o *acting.Options, name, object string, prepare func([]*inventory.Target) (run.Action, error)) error {
	return a.actAmong(ctx, o, name, object, nil, prepare)
}

// actAmong is act on the targets that among returns, if it is not nil.
func (a *app) actAmong(ctx context.Context, o *acting.Options, name, object string, among func(context.Context, []*inventory.Target) ([]*inventory.Target, error),
	prepare func([]*inventory.Target) (run.Action, error),
) error {
	rolling, err := o.Rolling.Parse()
	if err != nil {
		return err
	}
	find, err := a.sources.Targeting(ctx, &o.Targets)
	if err != nil {
		return err
	}
	targets, terr := find(ctx)
	if _, ok := errors.AsType[*usageError](terr); ok {
		return terr
	}
	if terr == nil && len(targets) == 0 {
		a.sources.WarnNone()
	}
	if terr == nil && among != nil {
		targets, terr = among(ctx, targets)
	}
	concurrency := o.Concurrent(a.config.Concurrency, len(targets))
	a.warnLowered(o.Concurrency, len(targets))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := a.shown(&o.Results, len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.Close()
	ready, err := a.prepare(o, targets, terr, prepare)
	defer ready.close()
	streams := a.config.Stream || a.format() == output.NDJSON
	record := a.auditing().Recorder()
	log := &output.Log{Logs: a.logs, WarnCut: !streams && ready.outputs == nil}
	// If the audit log rejects the action, the head of a document comes before the error.
	sink := event.Fan(a.rerunSink(), event.Redact(event.Fan(log, shown), a.sources.Redact), record)
	first := event.ActionBegin{Action: name, Object: object, Targets: targets}
	if err == nil {
		first.Do = facts.Recorded(ready.action)
	}
	if berr := sink.Event(ctx, first); errors.Is(berr, errWrite) {
		return berr
	} else if err == nil {
		err = berr
	}
	if err == nil {
		err = ready.outputs.Clear()
	}
	if err != nil {
		return a.fatal(ctx, sink, err)
	}
	runner := run.New(ready.dialer, run.Options{
		Concurrency: concurrency,
		Timeout:     a.timeout(),
		Stream:      streams,
		Outputs:     ready.outputs,
		Log:         a.log,
	})
	a.sys.remote.Store(true)
	sum := tasks.TallyOf(ready.action)
	known := sync.OnceValue(a.sources.Names)
	failed := false
	begin := time.Now()
	// An error has stopped the work, and the last event returns it again, or has skipped a target.
	_ = runner.RunBatches(ctx, rolling, ready.action, targets, event.Func(func(ctx context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			run.Suggest(end.Result, known)
			failed = failed || !end.Result.OK()
			if sum != nil && end.Result.OK() {
				sum.Add(end.Result.Target, end.Result.Value)
			}
		}
		return sink.Event(ctx, e)
	}))
	if err := sink.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin), Outputs: sum.Outputs(targets), Failed: failed}); err != nil {
		return err
	}
	if failed || record.Lost() && a.config.Audit.Required {
		return errFailedTargets
	}
	return nil
}

// warnLowered warns if the limit of open files reduces the number of targets at a time.
func (a *app) warnLowered(concurrency string, targets int) {
	if a.config.ConcurrencyLowered && concurrency == "" && targets > a.config.Concurrency {
		a.logs.Warn("low_ulimit", fmt.Sprintf("This process may have few files open (ulimit -n), so it works on %d targets at a time. "+
			"Raise the limit, or set --concurrency to confirm this number.", a.config.Concurrency))
	}
}

// observe performs an action on targets for a command that prints its results itself. sink gets the events, one at a time.
func (a *app) observe(ctx context.Context, concurrency string, targets []*inventory.Target, action run.Action, sink event.Sink) error {
	if len(targets) == 0 {
		a.sources.WarnNone()
	}
	a.warnLowered(concurrency, len(targets))
	dialer, err := a.connecting().Dialer()
	if err != nil {
		return err
	}
	defer dialer.Close()
	shown := a.Around(sink, len(targets))
	defer shown.Close()
	record := a.auditing().Recorder()
	all := event.Fan(a.rerunSink(), event.Redact(&output.Log{Logs: a.logs}, a.sources.Redact), shown, record)
	if err := all.Event(ctx, event.ActionBegin{Action: action.Name(), Object: action.Object(), Targets: targets, Do: action}); err != nil {
		return err
	}
	o := acting.Options{Concurrency: concurrency}
	runner := run.New(dialer, run.Options{Concurrency: o.Concurrent(a.config.Concurrency, len(targets)), Timeout: a.timeout(), Log: a.log})
	a.sys.remote.Store(true)
	begin, failed := time.Now(), false
	err = runner.Run(ctx, action, targets, event.Func(func(ctx context.Context, e event.Event) error {
		if end, is := e.(event.TargetEnd); is {
			failed = failed || !end.Result.OK()
		}
		return all.Event(ctx, e)
	}))
	if end := all.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin), Failed: failed}); err == nil {
		err = end
	}
	return err
}

// ready holds the inputs of an action that are prepared before it begins.
type ready struct {
	action  run.Action
	outputs *run.OutputDir // nil without --output-dir
	dialer  *all.Dialer
}

// close closes everything that prepare has opened, also after an error.
func (r *ready) close() {
	if r.dialer != nil {
		r.dialer.Close()
	}
	r.outputs.Close()
}

// prepare makes an action, unless its targets could not be found: terr is the reason. It also
// returns the opened parts with an error.
func (a *app) prepare(o *acting.Options, targets []*inventory.Target, terr error, action func([]*inventory.Target) (run.Action, error)) (r ready, err error) {
	if terr != nil {
		return r, terr
	}
	if r.action, err = action(targets); err != nil {
		return r, err
	}
	if r.outputs, err = run.OpenOutputDir(o.OutputDir.Text, targets); err != nil {
		return r, err
	}
	r.dialer, err = a.connecting().Dialer()
	return r, err
}

// fatal prints the error that ended an action after its output had begun.
func (a *app) fatal(ctx context.Context, sink event.Sink, err error) error {
	if werr := sink.Event(ctx, event.FailedBy(err)); werr != nil {
		return werr
	}
	a.hint(err)
	return errPrinted
}

// hint prints the hint of an error that has been printed, if it has one.
func (a *app) hint(err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint != "" {
		fmt.Fprintf(a.Console, "hint: %s\n", safetext.TerminalString(a.sources.Redact(f.Hint)))
	}
}

// written marks an error of writing to standard output.
func written(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errWrite, err)
}
