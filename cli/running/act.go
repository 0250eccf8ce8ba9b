// Package running performs actions on targets: it shows, logs and records what happens. It also carries out the commands that
// run commands and scripts and copy files.
//
// Mistakes of the user are *cli.UsageError. If a target has failed, the error is cli.ErrFailed.
package running

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bolt/audit/recorder"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/input"
	"bolt/cli/targeting"
	"bolt/event"
	"bolt/facts"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/modules"
	"bolt/output"
	"bolt/output/screen"
	"bolt/project"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/all"
)

// An Invocation has the parts of one invocation of bolt that actions and the commands use.
type Invocation struct {
	*screen.Screen
	*input.Input
	Config  *project.Config
	Format  output.Format
	Timeout time.Duration // on each target; 0 is no limit
	Logs    *logging.Log
	Modules *modules.Path
	Home    string // of the user
	Sources *targeting.Sources
	Dialer  func() (*all.Dialer, error)
	// Recorder returns the sink for the audit log; nil if there is none.
	Recorder func() *recorder.Recorder
	// Begin is called before an action begins to run on targets.
	Begin func()
}

// Act performs an action on the targets that the command line selects. prepare makes the action;
// its error is printed in the format's own way, after the format's head.
func (v *Invocation) Act(ctx context.Context, o *acting.Options, name, object string, prepare func([]*inventory.Target) (run.Action, error)) error {
	return v.ActAmong(ctx, o, name, object, nil, prepare)
}

// ActAmong is Act on the targets that among returns, if it is not nil.
func (v *Invocation) ActAmong(ctx context.Context, o *acting.Options, name, object string, among func(context.Context, []*inventory.Target) ([]*inventory.Target, error),
	prepare func([]*inventory.Target) (run.Action, error),
) error {
	rolling, err := o.Rolling.Parse()
	if err != nil {
		return err
	}
	find, err := v.Sources.Targeting(ctx, &o.Targets)
	if err != nil {
		return err
	}
	targets, terr := find(ctx)
	if _, ok := errors.AsType[*cli.UsageError](terr); ok {
		return terr
	}
	if terr == nil && len(targets) == 0 {
		v.Sources.WarnNone()
	}
	if terr == nil && among != nil {
		targets, terr = among(ctx, targets)
	}
	concurrency := o.Concurrent(v.Config.Concurrency, len(targets))
	v.warnLowered(o.Concurrency, len(targets))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := v.Show(&o.Results, len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.Close()
	ready, err := v.prepare(o, targets, terr, prepare)
	defer ready.close()
	streams := v.Streams()
	record := v.Recorder()
	log := &output.Log{Logs: v.Logs, WarnCut: !streams && ready.outputs == nil}
	// If the audit log rejects the action, the head of a document comes before the error.
	sink := event.Fan(v.Rerun(), event.Redact(event.Fan(log, shown), v.Sources.Redact), record)
	first := event.ActionBegin{Action: name, Object: object, Targets: targets}
	if err == nil {
		first.Do = facts.Recorded(ready.action)
	}
	if berr := sink.Event(ctx, first); errors.Is(berr, cli.ErrWrite) {
		return berr
	} else if err == nil {
		err = berr
	}
	if err == nil {
		err = ready.outputs.Clear()
	}
	if err != nil {
		return v.fatal(ctx, sink, err)
	}
	runner := run.New(ready.dialer, run.Options{
		Concurrency: concurrency,
		Timeout:     v.Timeout,
		Stream:      streams,
		Outputs:     ready.outputs,
		Log:         v.Logs.Logger(),
	})
	v.Begin()
	sum := tasks.TallyOf(ready.action)
	known := sync.OnceValue(v.Sources.Names)
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
	if failed || record.Lost() && v.Config.Audit.Required {
		return cli.ErrFailed
	}
	return nil
}

// warnLowered warns if the limit of open files reduces the number of targets at a time.
func (v *Invocation) warnLowered(concurrency string, targets int) {
	if v.Config.ConcurrencyLowered && concurrency == "" && targets > v.Config.Concurrency {
		v.Logs.Warn("low_ulimit", fmt.Sprintf("This process may have few files open (ulimit -n), so it works on %d targets at a time. "+
			"Raise the limit, or set --concurrency to confirm this number.", v.Config.Concurrency))
	}
}

// Observe performs an action on targets for a command that prints its results itself. sink gets the events, one at a time.
func (v *Invocation) Observe(ctx context.Context, concurrency string, targets []*inventory.Target, action run.Action, sink event.Sink) error {
	if len(targets) == 0 {
		v.Sources.WarnNone()
	}
	v.warnLowered(concurrency, len(targets))
	dialer, err := v.Dialer()
	if err != nil {
		return err
	}
	defer dialer.Close()
	shown := v.Around(sink, len(targets))
	defer shown.Close()
	record := v.Recorder()
	all := event.Fan(v.Rerun(), event.Redact(&output.Log{Logs: v.Logs}, v.Sources.Redact), shown, record)
	if err := all.Event(ctx, event.ActionBegin{Action: action.Name(), Object: action.Object(), Targets: targets, Do: action}); err != nil {
		return err
	}
	o := acting.Options{Concurrency: concurrency}
	runner := run.New(dialer, run.Options{Concurrency: o.Concurrent(v.Config.Concurrency, len(targets)), Timeout: v.Timeout, Log: v.Logs.Logger()})
	v.Begin()
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
func (v *Invocation) prepare(o *acting.Options, targets []*inventory.Target, terr error, action func([]*inventory.Target) (run.Action, error)) (r ready, err error) {
	if terr != nil {
		return r, terr
	}
	if r.action, err = action(targets); err != nil {
		return r, err
	}
	if r.outputs, err = run.OpenOutputDir(o.OutputDir.Text, targets); err != nil {
		return r, err
	}
	r.dialer, err = v.Dialer()
	return r, err
}

// fatal prints the error that ended an action after its output had begun.
func (v *Invocation) fatal(ctx context.Context, sink event.Sink, err error) error {
	if werr := sink.Event(ctx, event.FailedBy(err)); werr != nil {
		return werr
	}
	return cli.ErrFailed
}
