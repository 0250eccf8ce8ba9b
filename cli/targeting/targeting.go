// Package targeting finds the targets that options select. It reads the inventory and its sources: plugins,
// PuppetDB and stored facts. It also carries out the commands that show targets, groups and plugins.
package targeting

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/content"
	"bolt/facts"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/project"
	"bolt/puppetdb"
	"bolt/transport"
	"bolt/transport/all"
)

// Options are the settings of Sources. All of them are required, except for Instance and Timeout.
type Options struct {
	Version     string // of bolt
	Project     *project.Project
	Config      *project.Config
	Inventory   *project.InventorySource
	Content     *content.Content
	Home        string // of the user
	FactCache   string // a directory in the user's cache; "" if there is none
	Environ     []string
	Getenv      func(name string) (value string, ok bool)
	Instance    string        // of PuppetDB; "" for the default
	TaskTimeout time.Duration // for tasks that plugins run; 0 for none
	Logs        *logging.Log
	Console     io.Writer // for messages between those of the log
	// Ask prints a question and reads a secret.
	Ask func(ctx context.Context, question string) (transport.Secret, error)
	// Arg returns an argument, or the text of the file or of standard input that it refers to.
	Arg func(ctx context.Context, arg string) (string, error)
	// Overridable returns the given flags that the inventory can override.
	Overridable func() []string
}

// Sources are the inventory and the data that it refers to. CachedFacts, Plugins, PuppetDB, Resolved and Redact are safe
// for concurrent use.
type Sources struct {
	o        Options
	log      *slog.Logger
	plugins  *plugin.Plugins
	database *puppetdb.Instances
	inv      *inventory.Inventory // nil before Inventory

	keptMu sync.Mutex    // guards kept, also while it is used
	kept   *facts.Chosen // nil before CachedFacts
}

// New returns Sources. It reads no file. The caller must call Close.
func New(o Options) *Sources {
	s := &Sources{o: o, log: o.Logs.Logger()}
	s.database = s.newDatabase()
	s.plugins = s.newPlugins()
	return s
}

// Close closes connections to PuppetDB.
func (s *Sources) Close() { s.database.Close() }

// Name returns the path of the inventory file, or the name of the environment variable with the inventory.
func (s *Sources) Name() string { return s.o.Inventory.Name }

// Inventory returns the inventory, which it reads once.
func (s *Sources) Inventory(ctx context.Context) (*inventory.Inventory, error) {
	if s.inv != nil {
		return s.inv, nil
	}
	data, err := s.data(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := s.plugins.Hooks(ctx, s.o.Config.PluginHooks)
	if err != nil {
		return nil, err
	}
	var cached func(context.Context, string, []string) (*ordered.Map, error)
	if !s.Facts().Empty() { // otherwise the facts of the inventory are the only facts
		cached = s.CachedFacts
	}
	s.inv, err = inventory.New(ctx, data, inventory.Options{
		Transports:  all.Tables(all.List()),
		File:        s.Name(),
		Transport:   s.o.Config.Transport,
		Config:      s.o.Config.Transports,
		PluginHooks: hooks,
		Project:     s.o.Project.Dir,
		Home:        s.o.Home,
		Resolve:     s.plugins.Resolve,
		CachedFacts: cached,
		Warn:        s.o.Logs.Warn,
	})
	return s.inv, err
}

// Transports returns the names of the transports of targets.
func Transports() []string { return inventory.TransportNames(all.Tables(all.List())) }

// Names returns the names in the inventory. It may be called after Inventory.
func (s *Sources) Names() []string { return s.inv.Names() }

// data returns the unprocessed data of the inventory, which is read once.
func (s *Sources) data(ctx context.Context) (*ordered.Map, error) {
	return s.o.Inventory.Read(ctx, s.o.Logs.Warn, func(err error) error { return cli.Errorf("%v", err) })
}

// warnOverrides warns about targets for which the inventory overrides a flag,
// because users tend to expect the opposite.
func (s *Sources) warnOverrides(ctx context.Context, targets []*inventory.Target) error {
	for _, flag := range s.o.Overridable() {
		names, err := inventory.Overriding(ctx, targets, flag, func(transport string) any { return s.o.Config.Transports[transport].Value(flag) })
		if err != nil {
			return err
		}
		if names != "" {
			s.o.Logs.Warn("cli_overrides", fmt.Sprintf("--%s has no effect on %s: the inventory sets another value, which overrides the option.", flag, names))
		}
	}
	return nil
}

// Targets returns the targets that the command line selects, or all targets if it
// names none.
func (s *Sources) Targets(ctx context.Context, o *acting.Targets) ([]*inventory.Target, error) {
	find, err := s.Targeting(ctx, o)
	if err != nil {
		return nil, err
	}
	return find(ctx)
}

// SomeTargets is Targets with a warning if there are none.
func (s *Sources) SomeTargets(ctx context.Context, o *acting.Targets) ([]*inventory.Target, error) {
	targets, err := s.Targets(ctx, o)
	if err == nil && len(targets) == 0 {
		s.WarnNone()
	}
	return targets, err
}

// Targeting reads the inventory and the target options of the command line; find
// then finds the targets.
func (s *Sources) Targeting(ctx context.Context, o *acting.Targets) (find func(context.Context) ([]*inventory.Target, error), err error) {
	inv, err := s.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	patterns, named, err := s.Patterns(ctx, o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]*inventory.Target, error) { return s.Find(ctx, o, inv, patterns, named) }, nil
}

// Patterns returns the target patterns of the command line, including the results
// of PuppetDB and the names of the last run. named is false if the command line
// names no targets.
func (s *Sources) Patterns(ctx context.Context, o *acting.Targets) (list []string, named bool, err error) {
	switch {
	case o.Query.Given:
		list, err = s.database.Certnames(ctx, o.Query.Text, "")
	case o.Rerun.Given:
		list, err = s.o.Config.Rerun.Targets(ctx, o.Rerun.Text)
	case o.Names != nil:
		list, err = o.Words(ctx, s.o.Arg)
	default:
		return nil, false, nil
	}
	return list, true, err
}

// Find expands patterns, or takes all targets if none are named, and selects from
// them. It reports errors in the inventory's data of the selected targets before
// bolt connects to any of them.
func (s *Sources) Find(ctx context.Context, o *acting.Targets, inv *inventory.Inventory, patterns []string, named bool) (targets []*inventory.Target, err error) {
	defer s.Save(ctx) // the following work may take hours
	if named {
		if targets, err = inv.Targets(ctx, patterns); err != nil {
			return nil, err
		}
	} else {
		targets = inv.AllTargets()
	}
	if targets, err = o.Choose(ctx, inv, targets, s.o.Logs.Warn, s.o.Console); err != nil {
		return nil, err
	}
	s.WarnFacts()
	if err := inv.Prepare(ctx, targets); err != nil {
		return nil, err
	}
	if !named && !o.Choosing() {
		return targets, nil
	}
	return targets, s.warnOverrides(ctx, targets)
}

// WarnNone warns that no target was found, and names the inventory and the next step.
func (s *Sources) WarnNone() {
	name := s.Name()
	text := fmt.Sprintf("no target of the inventory %s was selected. Run \"bolt inventory show\", and check --targets, --query, --rerun and --where.", name)
	if s.inv != nil && len(s.inv.AllTargets()) == 0 {
		text = fmt.Sprintf("the inventory %s has no targets. Add targets to it, or name machines: --targets HOST.", name)
		if s.o.Inventory.Missing() {
			text = fmt.Sprintf("the inventory file %s does not exist. Create it, or name machines: --targets HOST.", name)
		}
	}
	s.o.Logs.Warn("no_targets", "Nothing is done: "+text)
}

// Complete completes a list of targets. If the inventory has errors, there are no completions.
func (s *Sources) Complete(ctx context.Context, q cli.Query) cli.Completions {
	inv, err := s.Inventory(ctx)
	if err != nil {
		return cli.Completions{}
	}
	return acting.CompleteTargets(q.Prefix, inv.Names())
}
