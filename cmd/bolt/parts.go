package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/term"

	"bolt/cli"
	"bolt/cli/applying"
	"bolt/cli/auditing"
	"bolt/cli/catalogs"
	"bolt/cli/collecting"
	"bolt/cli/connecting"
	"bolt/cli/installing"
	"bolt/cli/lookups"
	"bolt/cli/planning"
	"bolt/cli/programs"
	"bolt/cli/releasing"
	"bolt/cli/reporting"
	"bolt/cli/rollouts"
	"bolt/cli/running"
	"bolt/cli/sealing"
	"bolt/cli/targeting"
	"bolt/cli/tasking"
	"bolt/format/ordered"
	"bolt/project"
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
		Screen: a.Screen, Input: a.Input, Config: a.config, Format: a.format(), Timeout: a.timeout(), Logs: a.logs, Modules: a.content.Modules,
		Home: home(a.sys), Sources: a.sources, Dialer: a.connecting().Dialer, Recorder: a.auditing().Recorder,
		Begin: func() { a.sys.remote.Store(true) },
	}
}

// targets returns the inventory and its sources.
func (a *app) targets() *targeting.Sources { return a.sources }

// tasking returns the parts for tasks.
func (a *app) tasking() *tasking.Invocation {
	return &tasking.Invocation{
		Out: results{a.sys.out}, How: a.listOptions(), Content: a.content, Filter: a.config.TaskFilter, Project: a.project.Dir,
		Logs: a.logs, Input: a.Input, Helpers: a.applying().Helpers, Act: a.running().Act,
	}
}

// planning returns the parts for plans.
func (a *app) planning() *planning.Invocation {
	return &planning.Invocation{
		Out: results{a.sys.out}, How: a.listOptions(), Running: a.running(), Content: a.content, Project: a.project,
		Input: a.Input, Applying: a.applying(), Collecting: a.collecting(),
		Given: a.values, Recorded: a.recordedOptions, Again: a.again,
	}
}

// recordedOptions returns the options of the command line for reaching and acting
// on targets, without passwords.
func (a *app) recordedOptions() cli.Values {
	return a.values.Recorded(a.flags, func(f *cli.Flag) bool {
		return slices.Contains([]string{secAuth, secEscalate, secContext, secTransport}, f.Section) && f.On != onResume && f.On != onJournal
	})
}

// again returns the parts for plans of an invocation with recorded options, unless the command line overrides
// them.
func (a *app) again(ctx context.Context, recorded cli.Values) (*planning.Invocation, func(), error) {
	delete(recorded, "project")
	b, err := openApp(ctx, a.sys, a.flags, a.values.Over(recorded), loud)
	if err != nil {
		return nil, nil, err
	}
	b.config.Format = a.config.Format
	return b.planning(), func() { b.sources.Save(ctx); b.close() }, nil
}

// state returns the directory of releases, rollouts and reports.
func (a *app) state() string { return filepath.Join(a.project.Dir, releasing.Dir) }

// collecting returns the parts of this invocation that the commands about facts use.
func (a *app) collecting() *collecting.Invocation {
	return &collecting.Invocation{
		Version: version, Out: results{a.sys.out}, Console: a.Console, List: a.listOptions(), Logs: a.logs, Log: a.log,
		Store: a.sources.Facts(), MaxAge: a.config.FactMaxAge, Targets: a.sources.Targets, PuppetDB: a.sources.PuppetDB, Tasks: a.tasking(),
		Helper: a.applying().Collector, Act: a.running().ActAmong,
	}
}

// catalogs returns the parts of this invocation that the catalog commands use.
func (a *app) catalogs() *catalogs.Invocation {
	v := &catalogs.Invocation{
		Screen: catalogs.Screen{Out: results{a.sys.out}, Err: a.sys.err, Console: a.Console, Format: a.format(), Color: a.Color(), ErrColor: a.ErrColor(), Status: a.Status},
		Logs:   a.logs, Input: a.Input, Timeout: a.timeout(), Environ: a.sys.environ(),
		Code:     catalogs.Code{Options: a.content.Language, ModulepathGiven: a.global.modulepath.Given, HieraGiven: a.values.Has("hiera-config")},
		Targets:  a.sources.SomeTargets,
		PuppetDB: a.sources.PuppetDB, Vault: a.sealing().Vault(), Resolve: func(ctx context.Context, v any) (any, error) { return a.sources.Plugins().ResolveAll(ctx, v) },
	}
	v.Server.Project, v.Server.Home, v.Server.Base = a.project.Dir, home(a.sys), a.sources.ServerOptions()
	v.Server.Values, _ = a.config.Settings.Value("puppetserver").(*ordered.Map)
	if !a.sources.Facts().Empty() {
		v.CachedFacts = a.sources.CachedFacts
	}
	return v
}

// programs returns the parts of this invocation that the commands for programs of the Puppet language use.
func (a *app) programs() *programs.Invocation {
	v := &programs.Invocation{
		Out: results{a.sys.out}, Err: a.sys.err, Console: a.Console, Format: a.format(), Color: a.Color(), ErrColor: a.ErrColor(), Terminal: a.Terminal(),
		Input: a.Input, Stdin: a.sys.in, Project: a.project.Dir, Modulepath: a.config.Modulepath, Warn: a.logs.Warn,
	}
	e := &v.Evaluator
	e.Environment, e.Timeout = a.content.Language, a.timeout()
	e.Level, e.Disabled = a.config.Log.ConsoleLevel, a.config.Log.Disabled
	return v
}

// applying returns the parts for catalogs and policies that are applied.
func (a *app) applying() *applying.Invocation {
	who := a.auditing().Actor()
	return &applying.Invocation{
		Version: version, Host: who.Host, Logs: a.logs, Log: a.log, Input: a.Input,
		Code: a.content.Language, Timeout: a.timeout(), Compilations: a.config.CompileConcurrency, Say: a.catalogs().Say,
		Setting: a.config.Apply, By: who.Address(), Project: a.project, Policies: a.config.PolicyNames,
		Out: results{a.sys.out}, How: a.listOptions(),
		Store: a.sources.Facts(), CachedFacts: a.sources.CachedFacts, PuppetDB: a.sources.PuppetDB, Act: a.running().Act, Keeper: a.reporting().Keeper,
	}
}

// reporting returns the parts for reports.
func (a *app) reporting() *reporting.Invocation {
	who := a.auditing().Actor()
	return &reporting.Invocation{
		Out: results{a.sys.out}, How: a.listOptions(), Logs: a.logs, Now: time.Now(), Targets: a.sources.Targets,
		Project: a.project, State: a.state(), Setting: a.config.Apply, By: who.Address(), Redact: a.sources.Redact,
	}
}

// lookups returns the parts for lookups.
func (a *app) lookups() *lookups.Invocation {
	return &lookups.Invocation{Out: results{a.sys.out}, Code: a.content.Language, Running: a.running()}
}

// installing returns the parts for modules.
func (a *app) installing() *installing.Invocation {
	return &installing.Invocation{
		Version: version, Out: results{a.sys.out}, Progress: results{a.messages()}, How: a.listOptions(), Logs: a.logs, Project: a.project, Config: a.config,
		Content: a.content, GitCache: a.cacheDir("git"), Environ: a.sys.environ(), Resolved: a.sources.Resolved,
	}
}

// sealing returns the parts for secrets.
func (a *app) sealing() *sealing.Invocation {
	out := a.messages()
	return &sealing.Invocation{
		Out: results{out}, Terminal: term.IsTerminal(int(out.Fd())), In: a.sys.in, Input: a.Input, Plugins: a.sources.Plugins(), Ask: a.Ask.Secret,
	}
}

// messages returns the file for messages that are not data: standard output or, with formats for programs, standard error.
func (a *app) messages() *os.File {
	if a.format().Data {
		return a.sys.err
	}
	return a.sys.out
}

// releasing returns the parts of this invocation that the commands of releases use.
func (a *app) releasing() *releasing.Invocation {
	who := a.auditing().Actor()
	return &releasing.Invocation{
		Out: results{a.sys.out}, How: a.listOptions(), Logs: a.logs, Project: a.project.Dir, State: a.state(),
		Author: who.Address(), Environ: a.sys.environ(), Vault: a.sealing().Vault(), Signers: a.config.AllowedSigners(), Agent: a.sys.env("SSH_AUTH_SOCK"),
		Ask: func(ctx context.Context, question string) (string, error) {
			secret, err := a.Ask.Secret(ctx, question)
			return secret.Reveal(), err
		},
		Catalogs: a.catalogs(), Targets: a.sources.Targets, Version: version, Delivery: a.applying().Delivery(), Redact: a.sources.Redact, Act: a.running().Observe,
	}
}

// rollouts returns the parts for rollouts.
func (a *app) rollouts() *rollouts.Invocation {
	who := a.auditing().Actor()
	return &rollouts.Invocation{
		Out: results{a.sys.out}, Console: a.Console, Format: a.format(), Color: a.Color(), Logs: a.logs, Version: version,
		Project: a.project.Dir, Found: a.project.Origin != project.User && a.project.Origin != project.System, State: a.state(), User: who.User, Host: who.Host,
		Vault: a.sealing().Vault(), Signers: a.config.AllowedSigners(), Running: a.running(), Tasks: a.tasking(), Plans: a.planning(),
		Delivery: a.applying().Delivery(), Keeper: a.reporting().Keeper, Fullscreen: a.Screen.Fullscreen(),
	}
}
