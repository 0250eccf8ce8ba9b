package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"bolt/internal/fault"
	"bolt/internal/logging"
	"bolt/internal/ordered"
	"bolt/internal/output"
	"bolt/internal/project"
	"bolt/internal/yaml"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/modules"
)

// app is one invocation with its configuration read. It owns the log.
type app struct {
	sys     system
	values  flagValues
	project *project.Project
	config  *project.Config
	logs    *logging.Log
	log     *slog.Logger
	console *console
	ask     *prompter
	modules *modules.Path

	inv *inventory.Inventory // nil before inventory()
}

// inventoryVariable may hold a whole inventory, as YAML.
const inventoryVariable = "BOLT_INVENTORY"

// quiet opens an app that logs nothing, for completion.
const quiet = true

// start runs a command whose name and flags are known: it checks the words,
// reads the configuration, and prints what goes wrong in the format asked for.
func start(ctx context.Context, c command, values flagValues, sys system, args []string) error {
	if err := c.words(args); err != nil {
		return err
	}
	if err := checkFlags(c, values, sys.env(inventoryVariable) != ""); err != nil {
		return err
	}
	a, err := openApp(ctx, values, sys, !quiet)
	if err != nil {
		// As with Puppet Bolt this is plain text in every format: which one is
		// wanted stands in what could not be read.
		return err
	}
	defer a.close()
	a.log.Debug("started", "version", version, "command", c.name, "project", a.project.Dir)
	err = c.run(ctx, a, args)
	if err == nil || errors.Is(err, errFailedTargets) || errors.Is(err, errPrinted) || errors.Is(err, unix.EPIPE) {
		return err
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return err
	}
	a.log.Debug("failed", "err", err)
	if a.values.on("trace", false) {
		printCauses(sys.err, err)
	}
	if werr := output.PrintError(sys.out, a.format(), a.color(), err); werr != nil {
		return werr
	}
	return errPrinted
}

// printCauses lists the chain of errors below err.
func printCauses(w io.Writer, err error) {
	for n := 0; err != nil; n++ {
		fmt.Fprintf(w, "%s%T: %v\n", strings.Repeat("  ", n), err, err)
		err = errors.Unwrap(err)
	}
}

// openApp finds the project, reads the configuration, and opens the log.
func openApp(ctx context.Context, values flagValues, sys system, silent bool) (*app, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	sources := project.Sources{
		Dir:       values.last("project"),
		FromEnv:   sys.env("BOLT_PROJECT"),
		Cwd:       cwd,
		Home:      sys.env("HOME"),
		SystemDir: project.SystemDir,
		OpenFiles: openFiles(),
	}
	var early logging.Early
	p, err := project.Find(sources, early.Warn)
	if err != nil {
		return nil, err
	}
	a := &app{sys: sys, values: values, project: p, console: &console{w: sys.err}}
	a.ask = &prompter{in: sys.in, out: a.console}
	flags, err := a.overrides(ctx, silent)
	if err != nil {
		return nil, err
	}
	if a.config, err = project.Load(ctx, p, sources, flags, early.Warn); err != nil {
		return nil, err
	}
	logTo := a.config.Log
	logTo.Console = a.console
	if silent {
		logTo = logging.Options{}
	}
	if a.logs, err = logging.Open(logTo); err != nil {
		return nil, &fault.Error{Kind: "bolt/log-error", Msg: err.Error(), Err: err}
	}
	a.log = a.logs.Logger()
	early.Flush(a.logs)
	a.modules = a.config.Modules()
	return a, nil
}

// configFlags are the flags that stand above configuration files, by what
// their values are.
var configFlags = map[string]func(string) any{
	"user": text, "password": text, "private-key": text, "run-as": text, "sudo-password": text, "sudo-executable": text,
	"modulepath": text, "inventoryfile": text, "transport": text, "tmpdir": text, "format": text,
	"ssh-command": text, "copy-command": text,
	"host-key-check": truth, "cleanup": truth, "save-rerun": truth, "tty": truth, "native-ssh": truth, "stream": truth, "color": truth,
	"concurrency": number, "connect-timeout": number,
}

func text(s string) any  { return s }
func truth(s string) any { return s == "true" }
func number(s string) any {
	n, _ := parseCount(s) // it was checked when it was read
	return int64(n)
}

// overrides are the flags that stand above configuration files. Passwords
// that are to be asked for are asked for here.
func (a *app) overrides(ctx context.Context, silent bool) (*ordered.Map, error) {
	m := &ordered.Map{}
	for _, f := range flagTable() {
		if convert, ok := configFlags[f.name]; ok && a.values.has(f.name) {
			m.Set(f.name, convert(a.values.last(f.name)))
		}
	}
	if a.values.has("log-level") {
		m.Set("log", ordered.Of("console", ordered.Of("level", a.values.last("log-level"))))
	}
	if silent {
		return m, nil
	}
	for _, q := range []struct{ flag, setting, question string }{
		{"password-prompt", "password", "Please enter your password: "},
		{"sudo-password-prompt", "sudo-password", "Please enter your privilege escalation password: "},
	} {
		if a.values.has(q.flag) {
			secret, err := a.ask.secret(ctx, q.question)
			if err != nil {
				return nil, usagef("--%s: %v", q.flag, err)
			}
			m.Set(q.setting, secret.Reveal())
		}
	}
	return m, nil
}

func (a *app) close() { _ = a.logs.Close() }

// openFiles is how many files this process may have open; 0 if nobody knows.
// Go's runtime has raised the limit as far as it goes, and lowers it again for
// the programs that we start.
func openFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}

// inventory reads the inventory, once.
func (a *app) inventory(ctx context.Context) (*inventory.Inventory, error) {
	if a.inv != nil {
		return a.inv, nil
	}
	data, source, err := a.inventoryData()
	if err != nil {
		return nil, err
	}
	plugins := plugin.New(plugin.Options{
		Project: a.project.Dir,
		Env:     a.sys.lookup,
		Prompt:  a.ask.secret,
	})
	a.inv, err = inventory.New(ctx, data, inventory.Options{
		File:        source,
		Transport:   a.config.Transport,
		Config:      a.config.Transports,
		PluginHooks: a.config.PluginHooks,
		Project:     a.project.Dir,
		Home:        a.sys.env("HOME"),
		Resolve:     plugins.Resolve,
		Warn:        a.logs.Warn,
	})
	return a.inv, err
}

// inventoryData reads the inventory from where it is: the environment, the
// file that is named, the project's own.
func (a *app) inventoryData() (data *ordered.Map, source string, err error) {
	if text := a.sys.env(inventoryVariable); text != "" {
		v, err := yaml.Decode([]byte(text), "$BOLT_INVENTORY")
		m, ok := v.(*ordered.Map)
		if err != nil || !ok {
			return nil, "", &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse inventory from $BOLT_INVENTORY", Err: err}
		}
		return m, inventoryVariable, nil
	}
	source = a.inventorySource()
	if a.config.InventoryFile == "" {
		if _, err := os.Stat(source); errors.Is(err, os.ErrNotExist) {
			return &ordered.Map{}, source, nil
		}
	}
	if err := project.CheckFile("inventoryfile", source); err != nil {
		return nil, "", &usageError{err.Error()}
	}
	a.warnOverrides(source)
	data, err = yaml.ReadMap(source, "inventory")
	return data, source, err
}

// warnOverrides reminds that what an inventory says of a target beats flags
// about connections.
func (a *app) warnOverrides(source string) {
	var given []string
	for _, f := range flagTable() {
		if a.values.has(f.name) && (f.section == secAuth || f.section == secEscalate || f.section == secTransport) {
			given = append(given, "--"+f.name)
		}
	}
	if given != nil {
		a.logs.Warn("cli_overrides", fmt.Sprintf("Where %s says otherwise for a target, it beats %s.", source, strings.Join(given, ", ")))
	}
}

// inventorySource says where the inventory in use is: its path, or the name of
// the environment variable that holds it.
func (a *app) inventorySource() string {
	if a.sys.env(inventoryVariable) != "" {
		return inventoryVariable
	}
	if a.config.InventoryFile != "" {
		return a.config.InventoryFile
	}
	return a.project.InventoryFile()
}

// targets are those that the command line names, all of them if it names none.
func (a *app) targets(ctx context.Context) ([]*inventory.Target, error) {
	find, err := a.targeting(ctx)
	if err != nil {
		return nil, err
	}
	return find(ctx)
}

// targeting reads the inventory and what the command line says about targets;
// find then looks for them.
func (a *app) targeting(ctx context.Context) (find func(context.Context) ([]*inventory.Target, error), err error) {
	if a.values.has("query") {
		return nil, fault.New("bolt/puppetdb-error", "server_urls must be specified")
	}
	inv, err := a.inventory(ctx)
	if err != nil {
		return nil, err
	}
	var patterns []string
	switch {
	case a.values.has("rerun"):
		if patterns, err = a.config.Rerun.Targets(a.values.last("rerun")); err != nil {
			return nil, err
		}
	case a.values.has("targets"):
		for _, t := range a.values["targets"] {
			text, err := readArg(t, a.sys.in)
			if err != nil {
				return nil, err
			}
			patterns = append(patterns, text)
		}
	default:
		return func(ctx context.Context) ([]*inventory.Target, error) {
			all := inv.AllTargets()
			return all, inv.Prepare(ctx, all)
		}, nil
	}
	return func(ctx context.Context) ([]*inventory.Target, error) { return a.resolve(ctx, inv, patterns) }, nil
}

// resolve expands patterns, and finds mistakes in what the inventory says of
// the targets before any of them is touched.
func (a *app) resolve(ctx context.Context, inv *inventory.Inventory, patterns []string) ([]*inventory.Target, error) {
	targets, err := inv.Targets(ctx, patterns)
	if err != nil {
		return nil, err
	}
	return targets, inv.Prepare(ctx, targets)
}

// saveRerun records what became of each target.
func (a *app) saveRerun(targets []*inventory.Target, outcome map[*inventory.Target]bool) error {
	if !a.config.SaveRerun {
		return nil
	}
	entries := make([]project.RerunEntry, len(targets))
	for i, t := range targets {
		entries[i] = project.RerunEntry{Target: t.Name, OK: outcome[t]}
	}
	err := a.config.Rerun.Save(entries)
	if err != nil {
		a.logs.WarnOnce("unwriteable_file", fmt.Sprintf("The outcome was not recorded for --rerun: %v", err))
	}
	return err
}

// color says whether standard output may be coloured.
func (a *app) color() bool { return a.config.Color && a.terminal() }

func (a *app) terminal() bool { return term.IsTerminal(int(a.sys.out.Fd())) }

func (a *app) format() output.Format { return output.Format(a.config.Format) }

func (a *app) listOptions() output.ListOptions {
	return output.ListOptions{Format: a.format(), Color: a.color()}
}

// progressFrom is how many targets make a line of progress worth its place.
const progressFrom = 4

// renderer prints the events of an action. On a terminal it keeps a line of
// progress, which everything that goes to standard error steps around.
func (a *app) renderer(targets int) (output.Renderer, error) {
	if fold := a.values.on("fold", false); fold && (a.format() == output.JSON || a.format() == output.NDJSON) {
		return nil, usagef("Option '--fold' is for people: it cannot go with the format %s", a.format())
	}
	r, err := output.New(output.Options{
		Format:   a.format(),
		Out:      a.sys.out,
		Err:      a.console,
		Color:    a.color(),
		Terminal: a.terminal(),
		Verbose:  a.values.on("verbose", true),
		Stream:   a.config.Stream,
		Fold:     a.values.on("fold", false),
	})
	stderr := int(a.sys.err.Fd())
	if err != nil || targets < progressFrom || !a.config.Spinner || !term.IsTerminal(stderr) {
		return r, err
	}
	p := output.NewProgress(r, a.sys.err, func() int {
		width, _, _ := term.GetSize(stderr)
		return width
	})
	a.console.set(p.Writer())
	a.ask.pause = p.Pause
	return p, nil
}

// console is standard error for the log and for questions. While a line of
// progress is shown there, writing goes around it.
type console struct {
	mu sync.Mutex
	w  io.Writer
}

func (c *console) set(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = w
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.Write(p)
}

// timeout is the limit of the action on one target; it was checked before.
func (a *app) timeout() time.Duration {
	if !a.values.has("timeout") {
		return 0
	}
	d, _ := parseTimeout(a.values.last("timeout"))
	return d
}
