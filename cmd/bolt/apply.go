package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/plugins"
	"bolt/apply/remote/embedded"
	"bolt/apply/report"
	"bolt/audit"
	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/programs"
	"bolt/environment"
	"bolt/event"
	"bolt/facts"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/project"
	"bolt/puppet/eval"
	"bolt/run"
)

// The programs that apply a catalog on a target.
const (
	engineBolt   = "bolt"
	enginePuppet = "puppet"
)

func engines() []string { return []string{engineBolt, enginePuppet} }

// applyHow are the options of commands that apply catalogs.
type applyHow struct {
	acting.Options
	noop     bool
	tags     string
	skip     string
	report   cli.Optional // a file or directory
	reportTo string       // reportToPuppetDB
	graph    cli.Optional // a directory
	engine   string       // one of engines()
	collect  bool         // facts
	carryOn  bool         // after a lost connection
}

func (o *applyHow) bind(b *cli.Binder) {
	o.BindApply(b)
	o.Rolling.Bind(b)
	b.Switch("noop", &o.noop)
	b.Text("tags", &o.tags)
	b.Text("skip-tags", &o.skip)
	b.Optional("report", &o.report)
	b.Text("report-to", &o.reportTo)
	o.collect = true
	b.Switch("collect-facts", &o.collect)
	b.Optional("graph", &o.graph)
	b.Text("engine", &o.engine)
	b.Switch("continue", &o.carryOn)
}

func (o *applyHow) Check() error {
	if o.report.Given && o.report.Text == "" {
		return usagef("Option '--report' needs a file or directory")
	}
	if o.graph.Given && o.graph.Text == "" {
		return usagef("Option '--graph' needs a directory")
	}
	return o.Options.Check()
}

type applyOptions struct {
	applyHow
	programs programs.Options
	files    []string
}

func (o *applyOptions) bind(b *cli.Binder) {
	o.applyHow.bind(b)
	b.Texts("execute", &o.programs.Execute)
	b.Rest(0, &o.files)
}

func (o *applyOptions) Check() error {
	if o.programs.Execute != nil && len(o.files) > 0 {
		return usagef("--execute is unsupported when specifying a manifest file")
	}
	if err := o.programs.Once(); err != nil {
		return err
	}
	return o.applyHow.Check()
}

func runApply(ctx context.Context, a *app, o *applyOptions) error {
	if o.programs.Execute == nil && len(o.files) == 0 {
		return hinted(usagef("a manifest file or --execute is required"), "bolt apply site.pp -t web, or bolt apply -e 'package { \"ntp\": }' -t web")
	}
	return a.apply(ctx, &o.applyHow, func() (site.Source, error) {
		source, err := o.programs.One(ctx, a.Input, o.files)
		if err != nil {
			return site.Source{}, missingManifest(o.files, err)
		}
		return site.Source{Name: source.Name, Text: source.Text}, nil
	})
}

// policyOptions are those of policy apply.
type policyOptions struct {
	applyHow
	names string
}

func (o *policyOptions) bind(b *cli.Binder) {
	o.applyHow.bind(b)
	b.Arg(&o.names)
}

// wordsOfPolicy are names of policies with commas between them.
func wordsOfPolicy(args []string) error {
	if len(args) == 0 || len(listed(args[0])) == 0 {
		return usagef("Must specify one or more policies to apply.")
	}
	return cli.OneArgument(args)
}

func runPolicyApply(ctx context.Context, a *app, o *policyOptions) error {
	a.warnPolicies()
	return a.apply(ctx, &o.applyHow, func() (site.Source, error) {
		known, err := a.config.PolicyNames()
		if err != nil {
			return site.Source{}, err
		}
		names := listed(o.names)
		for _, name := range names {
			if !slices.Contains(known, name) {
				return site.Source{}, &fault.Error{Kind: "bolt/unknown-policy", Msg: fmt.Sprintf("The project has no policy '%s'", name),
					Hint: "'bolt policy show' lists the policies. Add the name of the class to policies in bolt-project.yaml"}
			}
		}
		return site.Source{Text: "include " + strings.Join(names, ", ")}, nil
	})
}

// apply applies what a program declares.
func (a *app) apply(ctx context.Context, o *applyHow, read func() (site.Source, error)) error {
	a.warnModulepath()
	source, err := read()
	if err != nil {
		return err
	}
	code, err := site.New(environment.Name, a.languageOptions(), []site.Source{source})
	if err != nil {
		return err
	}
	var lost atomic.Bool // a report
	err = a.act(ctx, &o.Options, event.Apply, "", func(targets []*inventory.Target) (run.Action, error) {
		action, err := a.applying(o, code, len(targets))
		if err != nil {
			return nil, err
		}
		if o.reportTo == reportToPuppetDB {
			if err := a.puppetDB().Check(ctx, ""); err != nil {
				return nil, err
			}
			action.Report = append(action.Report, a.sendReports(&lost))
		}
		return action, nil
	})
	if err == nil && lost.Load() {
		return errFailedTargets
	}
	return err
}

// reportToPuppetDB is the value of --report-to.
const reportToPuppetDB = "puppetdb"

// sendReports returns a function that sends the report of a target to PuppetDB. That the report is lost is no failure of the target, where
// the catalog has been applied.
func (a *app) sendReports(lost *atomic.Bool) fleet.ReportFunc {
	host := audit.ThisProcess(version, a.sys.env).Host
	return func(ctx context.Context, t *inventory.Target, c *catalog.Catalog, done *report.Run) error {
		_, err := a.puppetDB().Command(ctx, "store_report", report.PuppetDBVersion, done.PuppetDB(c, version, host, time.Now()), "")
		if err != nil {
			lost.Store(true)
			a.logs.Warn("report_lost", fmt.Sprintf("The report of %s was not sent to PuppetDB: %v", t.SafeName(), err))
		}
		return nil
	}
}

// missingManifest is the error for a file that is not there, as Puppet Bolt has it.
func missingManifest(files []string, err error) error {
	if len(files) > 0 && errors.Is(err, fs.ErrNotExist) {
		return fault.File(files[0], err, "The manifest '%s' does not exist", files[0])
	}
	return stopped(err)
}

// applying is the action of applying what a manifest declares.
func (a *app) applying(o *applyHow, code *site.Site, targets int) (*fleet.Apply, error) {
	say := a.catalogs().Say
	m := &fleet.Manifest{Site: code, Log: func(_ context.Context, t *inventory.Target, l eval.Log) { say(t.Name, l) }}
	action, err := a.applied(m, &fleet.Delivery{Noop: o.noop, Tags: listed(o.tags), SkipTags: listed(o.skip), Puppet: o.engine == enginePuppet, Continue: o.carryOn})
	if err != nil {
		return nil, err
	}
	if err := a.findFacts(action, o.collect); err != nil {
		return nil, err
	}
	if o.report.Given {
		reports, err := fleet.NewReports(o.report.Text, targets)
		if err != nil {
			return nil, err
		}
		action.Report = append(action.Report, reports.Write)
	}
	if o.graph.Given {
		graphs, err := fleet.NewGraphs(o.graph.Text)
		if err != nil {
			return nil, err
		}
		action.Report = append(action.Report, graphs.Write)
	}
	return action, nil
}

// findFacts sets how an apply finds the facts of targets: those of the inventory over those that are collected, or over
// those that were stored. Facts that are collected are stored as by facts collect.
func (a *app) findFacts(action *fleet.Apply, collect bool) error {
	over := func(ctx context.Context, s *run.Site, others *ordered.Map) (*ordered.Map, error) {
		data, err := s.Target.Data(ctx)
		if err != nil {
			return nil, err
		}
		return data.FactsOver(others), nil
	}
	store := a.factStore()
	if !collect {
		action.Facts = func(ctx context.Context, s *run.Site) (*ordered.Map, error) {
			others, err := a.cachedFacts(ctx, s.Target.Name, nil)
			if err != nil {
				return nil, err
			}
			return over(ctx, s, others)
		}
		return nil
	}
	helpers, err := embedded.Built()
	if err != nil {
		return err
	}
	prepare := sync.OnceValue(func() error { return store.Prepare(store.Now) })
	ask := a.factsHelper(helpers)
	action.Collect = func(ctx context.Context, s *run.Site) (*ordered.Map, error) {
		found, err := ask(ctx, s)
		if err != nil {
			return nil, err
		}
		if err := prepare(); err != nil {
			a.logs.WarnOnce("facts_not_stored", fmt.Sprintf("The facts of targets are not stored: %v", err))
		} else if err := store.Save(s.Target, found, facts.FromHelper, version); err != nil {
			a.logs.WarnOnce("facts_not_stored", fmt.Sprintf("The facts of %s are not stored: %v", s.Target.SafeName(), err))
		}
		return over(ctx, s, found)
	}
	return nil
}

// delivery is how the helper runs on targets.
func (a *app) delivery(helpers *embedded.Set) *fleet.Delivery {
	return &fleet.Delivery{Helpers: helpers, Dir: a.config.Apply.Dir, Setting: project.ApplyDirSetting}
}

// modulePlugins packs the Ruby code of the modules.
func (a *app) modulePlugins() ([]byte, error) {
	var list []plugins.Module
	for _, m := range a.modules.All() {
		if !m.BuiltIn() {
			list = append(list, plugins.Module{Name: m.Name, Lib: os.DirFS(m.Path("lib"))})
		}
	}
	return plugins.Pack(list)
}

// applied is the action of applying the catalogs that a manifest makes, with the facts that the inventory has. d says how.
func (a *app) applied(m *fleet.Manifest, d *fleet.Delivery) (*fleet.Apply, error) {
	helpers, err := embedded.Built()
	if err != nil {
		return nil, err
	}
	who := audit.ThisProcess(version, a.sys.env)
	m.Timeout = a.timeout()
	d.Helpers, d.By = helpers, who.User+"@"+who.Host
	if d.Puppet {
		if d.Plugins, err = a.modulePlugins(); err != nil {
			return nil, err
		}
	}
	d.Diffs, d.Dir, d.Setting = !a.config.Apply.HideDiffs, a.config.Apply.Dir, project.ApplyDirSetting
	action := &fleet.Apply{
		Facts:   func(ctx context.Context, s *run.Site) (*ordered.Map, error) { return fleet.Known(ctx, s.Target) },
		Compile: m.Compile, Deliver: d.Deliver, Ask: d.Asked, Version: version, Noop: d.Noop,
	}
	action.Compiles(a.config.CompileConcurrency)
	return action, nil
}

// listed are the words of a list with commas.
func listed(text string) (words []string) {
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}
