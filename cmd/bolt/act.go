package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/internal/spelling"
	"bolt/inventory"
	"bolt/output"
	"bolt/project"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport"
	"bolt/transport/all"
)

func runCommand(ctx context.Context, a *app, args []string) error {
	line, err := a.readArg(ctx, args[0])
	if err != nil {
		return err
	}
	if line == "" {
		return usagef("Must specify a command to run")
	}
	return a.act(ctx, "command", line, func([]*inventory.Target) (run.Action, error) {
		return &run.Command{Line: line, Env: a.values["env-var"]}, nil
	})
}

func runScript(ctx context.Context, a *app, args []string) error {
	return a.act(ctx, "script", args[0], func([]*inventory.Target) (run.Action, error) {
		path := a.modules.Find(args[0])
		if err := project.CheckFile("script", path); err != nil {
			return nil, err
		}
		data, err := readfile.Read(ctx, path, readfile.Payload)
		if err != nil {
			return nil, fault.File(path, err, "The script '%s' is unreadable: %v", path, fault.WithoutPath(err))
		}
		return &run.Script{Path: path, Data: data, Args: args[1:], Env: a.values["env-var"], Interpret: a.config.ScriptInterpreter}, nil
	})
}

func runUpload(ctx context.Context, a *app, args []string) error {
	return a.act(ctx, "upload", args[0], func([]*inventory.Target) (run.Action, error) {
		path, matches, err := a.uploaded(args[0])
		if err != nil {
			return nil, err
		}
		return &run.Upload{Source: path, Dest: args[1], Matches: matches}, nil
	})
}

func runDownload(ctx context.Context, a *app, args []string) error {
	var made []string // by this run, if anything arrives
	defer func() { removeEmpty(made) }()
	return a.act(ctx, "download", args[0], func(targets []*inventory.Target) (run.Action, error) {
		dir, err := filepath.Abs(args[1])
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, &fault.Error{Kind: "bolt/file-exist-error", Details: ordered.Of("path", dir),
				Msg: fmt.Sprintf("The destination '%s' is a file; each target needs a directory of its own below it.", dir)}
		}
		made = missingDirs(dir)
		d := &run.Download{Source: args[0], Dir: dir, Expand: true, Limits: a.limits()}
		taken := make(map[string]*inventory.Target, len(targets))
		for _, t := range targets {
			sub := d.Subdir(t)
			if taken[sub] != nil {
				return nil, fault.New("bolt/file-error", "Two targets that are both called %s would be downloaded to one directory: download from one at a time.", t.SafeName())
			}
			taken[sub] = t
		}
		return d, nil
	})
}

// act performs an action on the targets that the command line names. prepare
// makes the action; what it reports is printed in the format's own way, after
// its head.
func (a *app) act(ctx context.Context, name, object string, prepare func([]*inventory.Target) (run.Action, error)) error {
	all := func(_ context.Context, targets []*inventory.Target) ([]*inventory.Target, error) { return targets, nil }
	return a.actAmong(ctx, name, object, all, prepare)
}

// actAmong is act on those of the targets that among returns.
func (a *app) actAmong(ctx context.Context, name, object string, among func(context.Context, []*inventory.Target) ([]*inventory.Target, error),
	prepare func([]*inventory.Target) (run.Action, error),
) error {
	rolling, err := rollingOf(a.values)
	if err != nil {
		return err
	}
	find, err := a.targeting(ctx)
	if err != nil {
		return err
	}
	targets, terr := find(ctx)
	if _, ok := errors.AsType[*usageError](terr); ok {
		return terr
	}
	if terr == nil && len(targets) == 0 {
		a.warnNoTargets()
	}
	if terr == nil {
		targets, terr = among(ctx, targets)
	}
	concurrency := a.concurrency(len(targets))
	if a.config.ConcurrencyLowered && !a.values.has("concurrency") && len(targets) > a.config.Concurrency {
		a.logs.Warn("low_ulimit", fmt.Sprintf("This process may have few files open (ulimit -n), so it works on %d targets at a time. "+
			"Raise the limit, or set --concurrency to say that this is what you want.", a.config.Concurrency))
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := a.shown(len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.close()
	ready, err := a.prepare(targets, terr, prepare)
	if ready.outputs != nil {
		defer ready.outputs.Close()
	}
	if ready.dialer != nil {
		defer ready.dialer.Close()
	}
	streams := a.config.Stream || a.format() == output.NDJSON
	record := a.recorder()
	log := &output.Log{Logs: a.logs, WarnCut: !streams && ready.outputs == nil}
	// The head of a document comes before the error that the audit log refuses the action with.
	sink := event.Fan(a.rerunSink(), log, event.Redact(shown, a.redacted), record)
	first := event.ActionBegin{Action: name, Object: object, Targets: targets}
	if err == nil {
		first.Do = recorded(ready.action)
	}
	if berr := sink.Event(ctx, first); errors.Is(berr, errWrite) {
		return berr
	} else if err == nil {
		err = berr
	}
	if err == nil && ready.outputs != nil {
		if lost := ready.outputs.Clear(); lost != nil {
			err = a.outputDirError(lost)
		}
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
	sum := tallyOf(ready.action)
	known := sync.OnceValue(a.inv.Names)
	failed := false
	begin := time.Now()
	// An error of the sink has stopped the work; the last event returns it again.
	_ = runner.RunBatches(ctx, rolling, ready.action, targets, event.Func(func(ctx context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			spell(end.Result, known)
			failed = failed || !end.Result.OK()
			if sum != nil && end.Result.OK() {
				sum.Add(end.Result.Target, end.Result.Value)
			}
		}
		return sink.Event(ctx, e)
	}))
	if err := sink.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin), Outputs: outputsOf(sum, targets), Failed: failed}); err != nil {
		return err
	}
	if failed || record.Lost() && a.config.Audit.Required {
		return errFailedTargets
	}
	return nil
}

// ready is what an action needs before it begins.
type ready struct {
	action  run.Action
	outputs *run.OutputDir // nil without --output-dir
	dialer  *all.Dialer
}

// prepare makes an action, unless its targets could not be found: terr is why. What it
// has opened is returned with an error, too.
func (a *app) prepare(targets []*inventory.Target, terr error, action func([]*inventory.Target) (run.Action, error)) (r ready, err error) {
	if terr != nil {
		return r, terr
	}
	if r.action, err = action(targets); err != nil {
		return r, err
	}
	if r.outputs, err = a.outputDir(targets); err != nil {
		return r, err
	}
	r.dialer, err = a.dialer()
	return r, err
}

// outputDir opens the directory of --output-dir. Without that option, it returns nil.
func (a *app) outputDir(targets []*inventory.Target) (*run.OutputDir, error) {
	dir := a.values.last("output-dir")
	if dir == "" {
		return nil, nil
	}
	outputs, err := run.OpenOutputDir(dir, targets)
	if err != nil {
		return nil, a.outputDirError(err)
	}
	return outputs, nil
}

// outputDirError adds the name of the directory and, where there is one, the next step.
func (a *app) outputDirError(err error) error {
	dir := a.values.last("output-dir")
	f := fault.File(dir, err, "The directory '%s' of --output-dir cannot be used: %v", dir, err)
	if errors.Is(err, run.ErrOutputDirHeld) {
		f.Hint = "Wait until that run has ended, or name another directory."
	} else if o, ok := errors.AsType[*run.ObstacleError](err); ok {
		f.Hint = fmt.Sprintf("Remove %s, or name another directory.", o.Path)
	}
	return f
}

// warnHere tells that what is done for targets elsewhere is done here.
func (a *app) warnHere(action *tasks.Run, targets []*inventory.Target) {
	if !action.Here() {
		return
	}
	for _, t := range targets {
		if t.Name != "localhost" {
			a.logs.Warn("runs_here", fmt.Sprintf("The task %s is done by this machine for each target: nothing is connected to, and no --run-as counts. "+
				"Run it on localhost to say so.", action.Object()))
			return
		}
	}
}

func (a *app) warnNoTargets() {
	a.logs.Warn("no_targets", "Nothing is done: no targets were found by what --targets, --query, --rerun and --where say.")
}

// spell adds a hint if bolt could not connect to a target that is not in the inventory
// and has a name similar to a name in the inventory. known returns these names.
func spell(r *event.Result, known func() []string) {
	if !r.Target.Adhoc || r.OK() || r.Err.Hint != "" || r.Err.Class != transport.ClassResolve && r.Err.Class != transport.ClassConnect {
		return
	}
	names := slices.DeleteFunc(slices.Clone(known()), func(n string) bool { return n == r.Target.Name })
	if near := spelling.Near(r.Target.Name, names); near != "" {
		r.Err.Hint = fmt.Sprintf("did you mean %s? %s is not in the inventory.", near, r.Target.SafeName())
	}
}

// fatal prints what ended an action that had begun to print.
func (a *app) fatal(ctx context.Context, sink event.Sink, err error) error {
	err = a.withoutSecrets(err)
	if werr := sink.Event(ctx, event.FailedBy(err)); werr != nil {
		return werr
	}
	a.hint(err)
	return errPrinted
}

// hint prints what to do about an error that has been printed, if that is known.
func (a *app) hint(err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint != "" {
		fmt.Fprintf(a.console, "hint: %s\n", safetext.TerminalString(f.Hint))
	}
}

// written marks an error of writing to standard output as one.
func written(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errWrite, err)
}
