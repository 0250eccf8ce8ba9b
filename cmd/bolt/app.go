package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"time"

	"bolt/cli"
	"bolt/cli/content"
	"bolt/cli/input"
	"bolt/cli/targeting"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/output"
	"bolt/output/screen"
	"bolt/project"
	"bolt/run"
	"bolt/transport/all"
)

// app is one invocation after its configuration was read. It owns the log.
type app struct {
	sys system
	*screen.Screen
	*input.Input
	flags   []cli.Flag // all of them
	values  cli.Values // of the given flags
	global  globalOptions
	project *project.Project
	config  *project.Config
	logs    *logging.Log
	log     *slog.Logger
	content *content.Content
	sources *targeting.Sources
}

// projectVariable is the environment variable with the project's directory.
const projectVariable = "BOLT_PROJECT"

// poolVariable is the environment variable that sets the use of the pool: auto,
// off or required.
const poolVariable = "BOLT_POOL"

// inventoryVariable is the environment variable for a whole inventory, as YAML.
const inventoryVariable = "BOLT_INVENTORY"

// A voice selects the destinations of the log.
type voice uint8

const (
	loud    voice = iota // to the console and to the project's files
	noFiles              // only to the console: the files are about the work on targets
	quiet                // nowhere, and no questions are asked: for completion
)

// start runs a command whose name and flags are known: it checks the arguments,
// reads the configuration, and prints errors in the requested format.
func start(ctx context.Context, p *cli.Program, c *command, values cli.Values, sys system, args []string) error {
	if err := c.Check(args); err != nil {
		return withUsage(p, c, args, err)
	}
	bound := c.run(values, args)
	if err := checkFlags(p, c, bound, values, sys.env(inventoryVariable) != ""); err != nil {
		return err
	}
	formats, _ := formatsOf(c, bound.options)
	if f := values.Last("format"); f != "" && !slices.Contains(eventFormats, f) {
		delete(values, "format") // only the command has this format, not the configuration
	}
	a, err := openApp(ctx, sys, p.Flags, values, c.voice)
	if err != nil {
		// As in Puppet Bolt, this error is plain text in every format, because the
		// configuration, which sets the format, could not be read.
		return err
	}
	defer a.close()
	a.config.Format = output.Nearest(formats, a.config.Format)
	if slices.Contains(c.Lists, onModules) {
		a.content.WarnHidden()
	}
	if slices.Contains(c.Lists, onHiera) || slices.Contains(c.Lists, onPuppet) {
		a.content.WarnMissing(a.global.modulepath.Text)
	}
	a.log.Debug("started", "version", version, "command", c.Name, "project", a.project.Dir)
	err = stopped(bound.run(ctx, a))
	a.sources.Save(ctx)
	a.sources.WarnFacts()
	if cli.Complete(err) {
		return err
	}
	if _, ok := errors.AsType[*cli.UsageError](err); ok {
		return err
	}
	err = event.RedactError(err, a.sources.Redact)
	a.log.Debug("failed", "err", err)
	if a.global.trace {
		fault.PrintCauses(sys.err, err)
	}
	o, is := bound.options.(besider)
	beside := is && o.Beside()
	out, color := sys.out, a.Color()
	if beside || c.data && !a.format().Data {
		out, color = sys.err, a.ErrColor()
	}
	how := output.Options{Format: a.format(), Out: out, Err: a.Console, Apart: screen.Apart(out, sys.err), Color: color, Width: screen.Width(out)}
	if beside && how.Format.Data {
		how.Err = nil // only the error is on standard error
	}
	if werr := output.PrintError(how, err); werr != nil {
		return written(werr)
	}
	return cli.ErrFailed
}

// openApp finds the project, reads the configuration, and opens the log.
func openApp(ctx context.Context, sys system, flags []cli.Flag, values cli.Values, v voice) (*app, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	var global globalOptions
	global.Bind(cli.NewBinder(values, nil))
	sources := project.Sources{
		Dir:        global.project,
		FromEnv:    sys.env(projectVariable),
		Cwd:        cwd,
		Home:       home(sys),
		SystemDir:  project.SystemDir,
		OpenFiles:  project.OpenFiles(),
		Transports: all.Tables(all.List()),
	}
	sources.Formats, sources.OwnFormats = output.Split(eventFormats)
	var early logging.Early
	p, err := project.Find(ctx, sources, early.Warn)
	if err != nil {
		return nil, err
	}
	a := &app{sys: sys, flags: flags, values: values, global: global, project: p, Screen: screen.New(sys.in, sys.out, sys.err, sys.env), Input: input.New(sys.in)}
	overrides, err := a.overrides(ctx, v == quiet)
	if err != nil {
		return nil, err
	}
	if a.config, err = project.Load(ctx, p, sources, overrides, early.Warn); err != nil {
		return nil, err
	}
	a.Configure(a.config.Color, a.config.Spinner)
	logTo := a.config.Log
	logTo.Console = a.Console
	logTo.Color = logTo.Color && a.ErrControl()
	switch v {
	case noFiles:
		logTo.Files = nil
	case quiet:
		logTo = logging.Options{}
	}
	if a.logs, err = logging.Open(logTo); err != nil {
		return nil, &fault.Error{Kind: "bolt/log-error", Msg: err.Error(), Err: err}
	}
	a.log = a.logs.Logger()
	early.Flush(a.logs)
	a.content = content.Open(a.config, sys.lookup, a.logs)
	a.sources = targeting.New(targeting.Options{
		Version: version, Project: p, Config: a.config, Inventory: p.Inventory(inventoryVariable, sys.env(inventoryVariable), a.config.InventoryFile),
		Content: a.content, Home: home(sys), FactCache: a.cacheDir("facts"), Environ: sys.environ(), Getenv: sys.lookup,
		Instance: global.puppetdb, TaskTimeout: a.timeout(), Logs: a.logs, Console: a.Console, Ask: a.Ask.Secret, Arg: a.Arg, Overridable: a.overridable,
	})
	if global.clearCache {
		return a, p.ClearCache()
	}
	return a, nil
}

// overrides returns the flags that override configuration files. It prompts for
// passwords if the flags request that.
func (a *app) overrides(ctx context.Context, silent bool) (*ordered.Map, error) {
	m := &ordered.Map{}
	for _, f := range a.flags {
		if f.Setting != nil && a.values.Has(f.Name) {
			if v := f.Setting(a.values.Last(f.Name)); v != nil {
				m.Set(f.Name, v)
			}
		}
	}
	if a.global.logLevel.Given {
		m.Set("log", ordered.Of("console", ordered.Of("level", a.global.logLevel.Text)))
	}
	if mode := a.sys.env(poolVariable); mode != "" && !a.values.Has("pool") {
		m.Set("pool", mode)
	}
	if mode, given := m.Get("pool"); given {
		if _, err := project.ParsePoolMode(mode.(string)); err != nil {
			return nil, usagef("Invalid parameter specified for option '--pool' or the variable %s: %v", poolVariable, err)
		}
	}
	if silent {
		return m, nil
	}
	for _, q := range []struct {
		asked                   bool
		flag, setting, question string
	}{
		{a.global.askPassword, "password-prompt", "password", "Please enter your password: "},
		{a.global.askSudoPassword, "sudo-password-prompt", "sudo-password", "Please enter your privilege escalation password: "},
	} {
		if q.asked {
			secret, err := a.Ask.Secret(ctx, q.question)
			if err != nil {
				return nil, usagef("--%s: %v", q.flag, err)
			}
			m.Set(q.setting, secret.Reveal())
		}
	}
	return m, nil
}

// overridable returns the given flags that the inventory can override.
func (a *app) overridable() (names []string) {
	for _, f := range a.flags {
		if f.Setting != nil && a.values.Has(f.Name) && (f.Section == secAuth || f.Section == secEscalate || f.Section == secTransport) {
			names = append(names, f.Name)
		}
	}
	return names
}

// cacheDir returns a directory in the user's cache; "" if there is none.
func (a *app) cacheDir(name string) string {
	return project.UserCache(a.sys.env("XDG_CACHE_HOME"), home(a.sys), name)
}

// stopped replaces the error of stopped work by cli.ErrFailed, because the user who stopped it knows
// about it. It keeps errors that report in which state the work was left.
func stopped(err error) error {
	if _, reports := errors.AsType[*fault.Error](err); !reports && errors.Is(err, run.ErrStopped) {
		return cli.ErrFailed
	}
	return err
}

func (a *app) close() {
	a.sources.Close()
	_ = a.logs.Close()
}

// home returns the user's home directory, "" if it is unknown.
func home(sys system) string {
	if dir := sys.env("HOME"); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// timeout returns the time limit of the action on one target; it was checked
// before.
func (a *app) timeout() time.Duration {
	if !a.global.timeout.Given {
		return 0
	}
	d, _ := cli.ParseTimeout(a.global.timeout.Text)
	return d
}
