package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"bolt/cli"
	"bolt/cli/auditing"
	"bolt/cli/connecting"
	"bolt/cli/planning"
	"bolt/cli/releasing"
	"bolt/cli/running"
	"bolt/cli/targeting"
	"bolt/cli/tasking"
)

// The parts of an invocation that the packages of commands use.

// auditing returns the parts for the audit log.
func (a *app) auditing() *auditing.Invocation {
	return &auditing.Invocation{
		Version: version, Getenv: a.sys.env, Terminals: []*os.File{a.sys.in, a.sys.err}, Project: a.project.Dir, Setting: a.config.Audit,
		RunAs: a.global.runAs, Redact: a.sources.Redact, Logs: a.logs, Out: results{a.sys.out}, Err: a.sys.err, How: a.listOptions(),
	}
}

// connecting returns the parts for connections and the daemon.
func (a *app) connecting() *connecting.Invocation {
	return &connecting.Invocation{
		Version: version, Home: home(a.sys), Environ: a.sys.environ(), Getenv: a.sys.lookup, Project: a.project.Dir,
		Pool: a.config.Pool, LogLevel: a.global.logLevel.Text, Passphrase: a.Ask.Passphrase(home(a.sys)),
		Logs: a.logs, Out: results{a.sys.out}, Err: a.sys.err, How: a.listOptions(),
	}
}

// running returns the parts for actions on targets.
func (a *app) running() *running.Invocation {
	return &running.Invocation{
		Screen: a.Screen, Input: a.Input, Config: a.config, Format: a.format(), Timeout: a.timeout(), Logs: a.logs, Modules: a.modules,
		Home: home(a.sys), Sources: a.sources, Dialer: a.connecting().Dialer, Recorder: a.auditing().Recorder,
		Begin: func() { a.sys.remote.Store(true) }, Hint: a.hint,
	}
}

// targets returns the inventory and its sources.
func (a *app) targets() *targeting.Sources { return a.sources }

// tasking returns the parts for tasks.
func (a *app) tasking() *tasking.Invocation {
	return &tasking.Invocation{
		Out: results{a.sys.out}, How: a.listOptions(), Library: a.tasks, Modules: a.modules, Filter: a.config.TaskFilter, Project: a.project.Dir,
		Logs: a.logs, Input: a.Input, Helpers: a.applying().Helpers, Act: a.running().Act,
	}
}

// planning returns the parts for plans.
func (a *app) planning() *planning.Invocation {
	return &planning.Invocation{
		Out: results{a.sys.out}, How: a.listOptions(), Running: a.running(), Library: a.plans, Tasks: a.tasks, Project: a.project,
		Code: a.languageOptions(), Input: a.Input, Applying: a.applying(), Collecting: a.collecting(),
		Given: a.values, Recorded: a.recordedOptions, Again: a.again,
	}
}

// recordedOptions returns the options of the command line for reaching and acting
// on targets, without passwords.
func (a *app) recordedOptions() cli.Values {
	return a.values.Recorded(a.sys.flags(), func(f *cli.Flag) bool {
		return slices.Contains([]string{secAuth, secEscalate, secContext, secTransport}, f.Section) && f.On != onResume && f.On != onJournal
	})
}

// again returns the parts for plans of an invocation with recorded options, unless the command line overrides
// them.
func (a *app) again(ctx context.Context, recorded cli.Values) (*planning.Invocation, func(), error) {
	delete(recorded, "project")
	b, err := openApp(ctx, a.values.Over(recorded), a.sys, loud)
	if err != nil {
		return nil, nil, err
	}
	b.config.Format = a.config.Format
	return b.planning(), func() { b.sources.Save(ctx); b.close() }, nil
}

// state returns the directory of releases, rollouts and reports.
func (a *app) state() string { return filepath.Join(a.project.Dir, releasing.Dir) }
