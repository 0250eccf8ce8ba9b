package applying

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"bolt/apply/fleet"
	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/programs"
	"bolt/environment"
	"bolt/event"
	"bolt/format/fault"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/run"
)

// ReportToPuppetDB is the value of --report-to.
const ReportToPuppetDB = "puppetdb"

// Engines returns the values of --engine: the programs that apply catalogs.
func Engines() []string { return []string{fleet.EngineBolt, fleet.EnginePuppet} }

// Options are the options of commands that apply catalogs.
type Options struct {
	acting.Options
	noop     bool
	tags     string
	skip     string
	sema     string       // resources at a time; "" for no limit
	report   cli.Optional // a file or directory
	reportTo string       // ReportToPuppetDB
	graph    cli.Optional // a directory
	engine   string       // one of fleet.Engines; "" if the inventory chooses
	collect  bool         // facts
	carryOn  bool         // after a lost connection
	state    string       // a directory
	watch    WatchOptions
}

// Bind reads the flags.
func (o *Options) Bind(b *cli.Binder) {
	o.BindApply(b)
	o.Rolling.Bind(b)
	b.Switch("noop", &o.noop)
	b.Text("tags", &o.tags)
	b.Text("skip-tags", &o.skip)
	b.Text("sema", &o.sema)
	b.Optional("report", &o.report)
	b.Text("report-to", &o.reportTo)
	o.collect = true
	b.Switch("collect-facts", &o.collect)
	b.Optional("graph", &o.graph)
	b.Text("engine", &o.engine)
	b.Switch("continue", &o.carryOn)
	b.Text("state", &o.state)
	o.watch.Bind(b)
	if o.watch.on {
		o.Results.Stream = true
	}
}

// Check rejects invalid values.
func (o *Options) Check() error {
	if o.report.Given && o.report.Text == "" {
		return cli.Errorf("Option '--report' needs a file or directory")
	}
	if o.graph.Given && o.graph.Text == "" {
		return cli.Errorf("Option '--graph' needs a directory")
	}
	if o.sema != "" && o.engine == fleet.EnginePuppet {
		return cli.Errorf("Option '--sema' limits bolt's engine, so it cannot be used with '--engine puppet'")
	}
	if err := o.checkWatch(); err != nil {
		return err
	}
	return o.Options.Check()
}

// count returns the number in an option that was checked; 0 for none.
func count(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// ManifestOptions are the options of apply.
type ManifestOptions struct {
	Options
	programs programs.Options
	files    []string
}

// Bind reads the flags and arguments.
func (o *ManifestOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	b.Texts("execute", &o.programs.Execute)
	b.Rest(0, &o.files)
}

// Check rejects options that contradict each other.
func (o *ManifestOptions) Check() error {
	if o.programs.Execute != nil && len(o.files) > 0 {
		return cli.Errorf("--execute is unsupported when specifying a manifest file")
	}
	if err := o.programs.Once(); err != nil {
		return err
	}
	return o.Options.Check()
}

// Manifest carries out apply. If a report was lost, it returns cli.ErrFailed.
func (v *Invocation) Manifest(ctx context.Context, o *ManifestOptions) error {
	if o.programs.Execute == nil && len(o.files) == 0 {
		return cli.Hinted(cli.Errorf("a manifest file or --execute is required"), "bolt apply site.pp -t web, or bolt apply -e 'package { \"ntp\": }' -t web")
	}
	source, err := o.programs.One(ctx, v.Input, o.files)
	if len(o.files) > 0 && errors.Is(err, fs.ErrNotExist) { // the error has the text of Puppet Bolt
		err = fault.File(o.files[0], err, "The manifest '%s' does not exist", o.files[0])
	}
	if err != nil {
		return err
	}
	return v.apply(ctx, &o.Options, site.Source{Name: source.Name, Text: source.Text}, o.files)
}

// apply applies the resources that a program declares. files are the files of the program.
func (v *Invocation) apply(ctx context.Context, o *Options, source site.Source, files []string) error {
	code, err := site.New(environment.Name, v.Code, []site.Source{source})
	if err != nil {
		return err
	}
	edits := fleet.NewEdits()
	if o.watch.on {
		end := v.follow(ctx, files, source, edits)
		defer end()
	}
	var lost atomic.Bool // a report
	wanted := listed(o.tags)
	tags := fleet.NewTags(wanted)
	err = v.Act(ctx, &o.Options, event.Apply, "", func(targets []*inventory.Target) (run.Action, error) {
		action, d, err := v.prepare(o, code, len(targets))
		if err != nil {
			return nil, err
		}
		action.Report = append(action.Report, tags.Watch)
		if o.reportTo == ReportToPuppetDB {
			if err := v.PuppetDB().Check(ctx, ""); err != nil {
				return nil, err
			}
			action.Report = append(action.Report, v.sendReports(func() { lost.Store(true) }))
		}
		if o.watch.on {
			return v.watching(o, action, d, edits, len(targets)), nil
		}
		return action, nil
	})
	if tags.Missed() {
		v.Logs.Warn("tags_match_nothing", fmt.Sprintf("No resource of any target has one of the tags that --tags names (%s), so nothing was applied.", strings.Join(wanted, ", ")))
	}
	return cli.Failed(lost.Load(), err)
}

// prepare returns the action that applies the resources of a program, and the way in which it does so.
func (v *Invocation) prepare(o *Options, code *site.Site, targets int) (*fleet.Apply, *fleet.Delivery, error) {
	d := &fleet.Delivery{Noop: o.noop, Tags: listed(o.tags), SkipTags: listed(o.skip), Sema: count(o.sema), Continue: o.carryOn}
	action, err := v.Action(v.manifest(code), d, o.engine)
	if err != nil {
		return nil, nil, err
	}
	if err := v.findFacts(action, o.collect); err != nil {
		return nil, nil, err
	}
	if k := v.Keeper(o.state); k != nil {
		action.Report = append(action.Report, k.Keep(fleet.Origin{}))
	}
	if o.report.Given {
		reports, err := fleet.NewReports(o.report.Text, targets)
		if err != nil {
			return nil, nil, err
		}
		action.Report = append(action.Report, reports.Write)
	}
	if o.graph.Given {
		graphs, err := fleet.NewGraphs(o.graph.Text)
		if err != nil {
			return nil, nil, err
		}
		action.Compiled = append(action.Compiled, graphs.Before)
		action.Report = append(action.Report, graphs.After)
	}
	return action, d, nil
}

// manifest returns the compiler of a program.
func (v *Invocation) manifest(code *site.Site) *fleet.Manifest {
	return &fleet.Manifest{Site: code, Timeout: v.Timeout, Log: func(_ context.Context, t *inventory.Target, l eval.Log) { v.Say(t.Name, l) }}
}

// ResourceOptions are the options of puppet resource.
type ResourceOptions struct {
	acting.Options
	typ, name string
}

// Bind reads the flags and arguments.
func (o *ResourceOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	b.Arg(&o.typ)
	b.Second(&o.name)
}

// NeedType is the Check of commands that take a type that bolt can show, and optionally a name.
func NeedType(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Errorf("Must specify the type of the resources to show")
	case len(args) > 2:
		return cli.Errorf("Unknown argument '%s'", args[2])
	case !slices.Contains(fleet.Showable(), args[0]):
		return cli.Hinted(cli.Errorf("bolt cannot show resources of the type '%s'", args[0]), "the types are %s", strings.Join(fleet.Showable(), ", "))
	case args[0] == "file" && len(args) < 2:
		return cli.Hinted(cli.Errorf("Must specify the path of the file to show"), "bolt puppet resource file /etc/hosts -t all")
	}
	return nil
}

// CompleteType completes types that can be shown.
func CompleteType(context.Context, cli.Query) cli.Completions {
	var c cli.Completions
	for _, name := range fleet.Showable() {
		c.Words = append(c.Words, cli.Word{Text: name})
	}
	return c
}

// Resource carries out puppet resource. With formats for people, resources are printed as code of the Puppet language.
func (v *Invocation) Resource(ctx context.Context, o *ResourceOptions) error {
	code := !v.How.Format.Data
	states := &fleet.States{Of: []catalog.Ref{{Type: catalog.Capitals(o.typ), Title: o.name}}, AsCode: code}
	if code && !o.Results.Stream {
		o.Results.Fold = true // many targets have equal states
	}
	return v.Act(ctx, &o.Options, states.Name(), states.Object(), func([]*inventory.Target) (run.Action, error) {
		return v.States(states)
	})
}

// listed returns the words of a comma-separated list.
func listed(text string) (words []string) {
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}
