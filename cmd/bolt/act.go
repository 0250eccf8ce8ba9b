package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/internal/spelling"
	"bolt/inventory"
	"bolt/output"
	"bolt/project"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport"
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
	view, err := a.renderer(len(targets))
	if err != nil {
		return err
	}
	if err := view.Start(output.Info{Action: name, Object: object, Targets: targets}); err != nil {
		return written(err)
	}
	if terr != nil {
		return a.fatal(view, terr)
	}
	action, err := prepare(targets)
	if err != nil {
		return a.fatal(view, err)
	}
	outputs, err := a.outputDir(targets)
	if err != nil {
		return a.fatal(view, err)
	}
	if outputs != nil {
		defer outputs.Close()
	}
	dialer, err := a.dialer()
	if err != nil {
		return a.fatal(view, err)
	}
	defer dialer.close()
	streams := a.config.Stream || a.format() == output.NDJSON
	runner := run.New(dialer, run.Options{
		Concurrency: concurrency,
		Timeout:     a.timeout(),
		Stream:      streams,
		Outputs:     outputs,
		Log:         a.log,
	})
	audited, err := a.audited(ctx, 0, a.auditOf(action, nil), targets)
	if err != nil {
		return a.fatal(view, err)
	}
	if outputs != nil {
		if err := outputs.Clear(); err != nil {
			if lost := audited.ended(ctx, true); lost != nil {
				a.logs.Warn(auditWarning, lost.Error())
			}
			return a.fatal(view, a.outputDirError(err))
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var hints hints
	outcome := make(map[*inventory.Target]bool, len(targets))
	begin := time.Now()
	a.log.Info("action begins", "action", name, "object", object, "targets", len(targets))
	a.sys.remote.Store(true)
	sum := tallyOf(action)
	known := sync.OnceValue(a.inv.Names)
	runner.RunBatches(ctx, rolling, action, targets, func(e run.Event) {
		if e.Kind == run.Finished {
			outcome[e.Target] = e.Result.OK()
			audited.came(ctx, e.Result)
			spell(e.Result, known)
			hints.add(e.Result)
			if text := e.Result.Truncated("--stream, --output-dir DIR or --format ndjson"); text != "" && !streams && outputs == nil {
				a.logs.Warn(truncatedWarning, text)
			}
			if sum != nil && e.Result.OK() {
				sum.Add(e.Target, e.Result.Value)
			}
		}
		// Whoever read our output has gone, or the disk is full: end the work,
		// there is nobody left to tell. The view goes on to close outputs.
		if view.Event(e) != nil {
			stop(run.ErrStopped)
		}
	})
	a.saveRerun(targets, outcome)
	a.log.Info("action ended", "action", name, "elapsed", time.Since(begin))
	failed := slices.ContainsFunc(targets, func(t *inventory.Target) bool { return !outcome[t] })
	lost := audited.ended(ctx, failed)
	// After a failed write, End only returns that error again.
	if err := view.End(time.Since(begin), outputsOf(sum, targets)...); err != nil {
		return written(err)
	}
	if a.format() != output.NDJSON {
		hints.print(a.console)
	}
	if lost != nil {
		a.logs.Warn(auditWarning, lost.Error())
	}
	if failed || lost != nil && a.config.Audit.Required {
		return errFailedTargets
	}
	return nil
}

// truncatedWarning is the ID of the warning about output that was cut.
const truncatedWarning = "truncated_output"

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

// hints collects what to do about failures, so that a hundred targets with
// one trouble give one piece of advice.
type hints struct {
	order   []string
	targets map[string][]string
}

func (h *hints) add(r *event.Result) {
	if r.OK() || r.Err.Hint == "" {
		return
	}
	if h.targets == nil {
		h.targets = make(map[string][]string)
	}
	if h.targets[r.Err.Hint] == nil {
		h.order = append(h.order, r.Err.Hint)
	}
	h.targets[r.Err.Hint] = append(h.targets[r.Err.Hint], r.Target.SafeName())
}

// maxHints bounds how much advice is printed.
const maxHints = 8

func (h *hints) print(w io.Writer) {
	for i, hint := range h.order {
		if i == maxHints {
			fmt.Fprintf(w, "hint: %d more, see --format ndjson\n", len(h.order)-i)
			return
		}
		fmt.Fprintf(w, "hint for %s: %s\n", safetext.TerminalString(nodeset.Fold(h.targets[hint])), safetext.TerminalString(hint))
	}
}

// fatal prints what ended an action that had begun to print.
func (a *app) fatal(view output.Renderer, err error) error {
	err = a.withoutSecrets(err)
	if werr := view.Fatal(err); werr != nil {
		return written(werr)
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
