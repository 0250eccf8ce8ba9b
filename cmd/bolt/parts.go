package main

import (
	"os"

	"bolt/cli/auditing"
	"bolt/cli/connecting"
	"bolt/cli/running"
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
