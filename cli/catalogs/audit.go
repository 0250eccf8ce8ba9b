package catalogs

import (
	"bufio"
	"context"
	"fmt"
	"sync/atomic"

	"bolt/apply"
	"bolt/apply/facts"
	"bolt/apply/provider"
	"bolt/catalog/audit"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/output/listing"
	"bolt/plans/yamlplan"
	"bolt/puppet/syntax"
	"bolt/run"
)

// The values of --fail-on.
const (
	failOnNeeds      = "needs"
	failOnImpossible = "impossible"
	failOnNothing    = "nothing"
)

// FailOn are the values of --fail-on, the default first.
func FailOn() []string { return []string{failOnNeeds, failOnImpossible, failOnNothing} }

// AuditOptions are the options of catalog audit.
type AuditOptions struct {
	path   string // "" for the project, or for the environment of --environment-path
	nodes  selection
	failOn string
	full   bool // all places, and all classes
}

// Bind reads the flags and arguments.
func (o *AuditOptions) Bind(b *cli.Binder) {
	var args []string
	b.Rest(0, &args)
	if len(args) > 0 {
		o.path = args[0]
	}
	o.failOn = failOnNeeds
	b.Text("fail-on", &o.failOn)
	b.Switch("full", &o.full)
	o.nodes.bind(b)
	o.nodes.all = true // no node is needed
}

// Check rejects options that contradict each other.
func (o *AuditOptions) Check() error {
	switch {
	case o.nodes.compiler != compilerBolt:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' cannot be used together with an audit", o.nodes.compiler), "an audit reports the code that bolt's compiler cannot compile")
	case o.path != "" && o.nodes.path != "":
		return cli.Errorf("Only one of --environment-path and a path can be given")
	}
	return o.nodes.check(false)
}

// compiles reports whether the catalogs of nodes are compiled.
func (o *AuditOptions) compiles() bool {
	return o.nodes.node != "" || o.nodes.targets.Named() || o.nodes.targets.Choosing()
}

// Audit prints the parts of code that bolt cannot compile or apply. The error is cli.ErrDifferent if the report has
// something that --fail-on names.
func (v *Invocation) Audit(ctx context.Context, o *AuditOptions) error {
	subject, err := v.subject(ctx, o)
	if err != nil {
		return err
	}
	result, err := v.readCode(ctx, subject.code)
	if err != nil {
		return err
	}
	if o.compiles() {
		if err := v.auditNodes(ctx, o, subject, result); err != nil {
			return err
		}
	}
	report := result.Report()
	out := bufio.NewWriter(v.Out)
	how := listing.Options{Format: v.Format, Color: v.Color}
	if err := listing.PrintCodeAudit(out, how, report, subject.dir, o.full); err != nil {
		return err
	}
	fails := map[string]audit.Need{failOnNeeds: audit.Modules, failOnImpossible: audit.Impossible}
	if least, is := fails[o.failOn]; is && report.Verdict() >= least {
		return cli.ErrDifferent
	}
	return nil
}

// readCode reads code, and shows the progress.
func (v *Invocation) readCode(ctx context.Context, code audit.Code) (*audit.Result, error) {
	var done, total atomic.Int64
	stop := v.Status(func() string { return fmt.Sprintf("%d/%d files read", done.Load(), total.Load()) })
	defer stop()
	types := provider.All()
	result, err := audit.Read(ctx, code, audit.Options{
		Applies:  func(typ string) bool { return types[typ] != nil || apply.Passive(typ) },
		Refuses:  func(typ, param, value string) error { return apply.Refuses(types, typ, param, value) },
		Facts:    facts.Names(),
		YAMLPlan: yamlPlan,
		Progress: func(n, of int) { done.Store(int64(n)); total.Store(int64(of)) },
	})
	if ctx.Err() != nil {
		return nil, run.ErrStopped // the user knows it
	}
	return result, err
}

// yamlPlan reads a plan in YAML.
func yamlPlan(name, file string, text []byte) (*syntax.Program, error) {
	p, err := yamlplan.Parse(name, file, text)
	if err != nil {
		return nil, err
	}
	return p.Program()
}

// auditNodes compiles the catalogs of nodes, and adds them to the result.
func (v *Invocation) auditNodes(ctx context.Context, o *AuditOptions, subject *subject, result *audit.Result) error {
	c, nodes, err := v.prepareWith(ctx, &o.nodes, subject.open)
	if err != nil {
		return err
	}
	var done atomic.Int64
	stop := v.Status(func() string { return fmt.Sprintf("%d/%d catalogs compiled", done.Load(), len(nodes)) })
	defer stop()
	types := provider.All()
	for c := range site.CompileAll(ctx, c, nodes, v.Timeout) {
		if ctx.Err() != nil {
			return run.ErrStopped // the user knows it
		}
		var refusals []audit.Refusal
		if c.Err == nil {
			for _, r := range apply.Refusals(c.Catalog, types) {
				refusals = append(refusals, audit.Refusal(r))
			}
		}
		result.AddNode(c, refusals)
		done.Add(1)
	}
	return nil
}
