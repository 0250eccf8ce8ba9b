// Package reporting carries out the commands that list and show the kept reports of runs, and reads their options. It also
// makes the keeper of reports.
//
// Mistakes of the user are *cli.UsageError. If the user stops bolt, the error is run.ErrStopped.
package reporting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"bolt/apply/history"
	"bolt/apply/report"
	"bolt/audit"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/event"
	"bolt/format/fault"
	"bolt/internal/logging"
	"bolt/internal/safetext"
	"bolt/internal/spelling"
	"bolt/inventory"
	"bolt/output"
	"bolt/output/listing"
	"bolt/project"
)

// Kind is the kind of errors about reports.
const Kind = "bolt/report-error"

// Last names the newest report of a node.
const Last = "last"

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Out     io.Writer
	How     listing.Options
	Logs    *logging.Log
	Now     time.Time
	Project *project.Project
	State   string                   // the directory of the project's reports
	Setting project.Apply            // with the number of kept reports
	By      string                   // USER@HOST, for reports
	Redact  func(text string) string // returns a text without secrets
	// Targets returns the targets that options name.
	Targets func(context.Context, *acting.Targets) ([]*inventory.Target, error)
}

// StateOptions is the option of all commands of reports.
type StateOptions struct{ state string }

// Bind reads the flag.
func (o *StateOptions) Bind(b *cli.Binder) { b.Text("state", &o.state) }

// ListOptions are those of report list.
type ListOptions struct {
	StateOptions
	targets acting.Targets
	nodes   []string
	failed  bool
	since   cli.Optional
}

// Bind reads the flags and arguments.
func (o *ListOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	o.targets.Bind(b)
	b.Rest(0, &o.nodes)
	b.Switch("failed", &o.failed)
	b.Optional("since", &o.since)
}

// Check refuses options that contradict each other.
func (o *ListOptions) Check() error {
	if len(o.nodes) > 0 && (o.targets.Named() || o.targets.Choosing()) {
		return cli.Hinted(cli.Errorf("Nodes as arguments and options for targets contradict each other"), "'bolt report list NODE' lists all kept reports of a node, and 'bolt report list -t TARGETS' the newest report of each target")
	}
	return nil
}

// List carries out report list: the newest report of each node, or all reports of the nodes that arguments name.
func (v *Invocation) List(ctx context.Context, o *ListOptions) error {
	var since time.Time
	if o.since.Given {
		var ok bool
		if since, ok = audit.ParseSince(o.since.Text, v.Now); !ok {
			return cli.Hinted(cli.Invalid("since", o.since.Text), "give a time ago (90m, 12h, 7d) or a date (2026-01-31, 2026-01-31T15:04:05Z)")
		}
	}
	d := v.Dir(o.state)
	r := &listing.Reports{Dir: d.Path(), Chosen: o.failed || o.since.Given || o.targets.Named() || o.targets.Choosing()}
	found := make(map[string]bool)
	add := func(s *history.Summary, err error) error {
		if err != nil {
			return v.damaged(err)
		}
		found[s.Node] = true
		if (!o.failed || s.Status.Bad()) && !s.Time.Before(since) {
			r.List = append(r.List, s)
		}
		return nil
	}
	var names []string
	switch {
	case len(o.nodes) > 0:
		for _, node := range o.nodes {
			for s, err := range d.All(ctx, node) {
				if err := add(s, err); err != nil {
					return err
				}
			}
			if !found[node] {
				return v.unknown(ctx, d, node)
			}
		}
		return listing.PrintReports(v.Out, v.How, r)
	case o.targets.Named() || o.targets.Choosing():
		targets, err := v.Targets(ctx, &o.targets)
		if err != nil {
			return err
		}
		names = make([]string, len(targets))
		for i, t := range targets {
			names[i] = t.SafeName()
		}
	}
	for s, err := range d.Last(ctx, names) {
		if err := add(s, err); err != nil {
			return err
		}
	}
	for _, name := range names {
		if !found[name] {
			r.Missing = append(r.Missing, name)
		}
	}
	return listing.PrintReports(v.Out, v.How, r)
}

// damaged warns about a damaged report. It returns all other errors.
func (v *Invocation) damaged(err error) error {
	if _, is := errors.AsType[*history.DamagedError](err); is {
		v.Logs.Warn("report_damaged", fmt.Sprintf("A report is left out: %v", err))
		return nil
	}
	return unread(err)
}

// unread is the error for reports that could not be read.
func unread(err error) error {
	if e, is := errors.AsType[*fs.PathError](err); is {
		return fault.File(e.Path, err, "The reports in %s could not be read: %v", e.Path, e.Err)
	}
	return err
}

// unknown is the error for a node without reports.
func (v *Invocation) unknown(ctx context.Context, d *history.Dir, node string) error {
	e := fault.New(Kind, "Could not find a report of the node '%s' in %s", node, d.Path())
	if near := spelling.Near(node, d.Nodes(ctx)); near != "" {
		e.Hint = fmt.Sprintf("Did you mean %q?", near)
	}
	return e
}

// ShowOptions are those of report show.
type ShowOptions struct {
	StateOptions
	node, run string
}

// Bind reads the flags and arguments.
func (o *ShowOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.node)
	b.Second(&o.run)
}

// ShowArguments is the Check of report show.
func ShowArguments(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Hinted(cli.Errorf("Must specify a node."), "'bolt report list' lists the nodes that have reports")
	case len(args) > 2:
		return cli.Errorf("Unknown argument %s", args[2])
	}
	return nil
}

// Show carries out report show.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	r, err := v.find(ctx, o)
	if err != nil {
		return err
	}
	if v.How.Format.Data {
		return listing.PrintReport(v.Out, v.How, r)
	}
	if err := listing.PrintReportHead(v.Out, v.How, &r.Summary); err != nil {
		return err
	}
	return output.PrintApplied(output.Options{Out: v.Out, Color: v.How.Color, Verbose: true}, safetext.TerminalString(r.Node), resultOf(r))
}

// find returns the report that arguments name. Without a run, it is the newest report that is not damaged.
func (v *Invocation) find(ctx context.Context, o *ShowOptions) (*history.Report, error) {
	d := v.Dir(o.state)
	runs, err := d.Runs(o.node)
	if err != nil {
		return nil, unread(err)
	}
	if o.run != "" && o.run != Last {
		run, err := v.run(o, runs)
		if err != nil {
			return nil, err
		}
		r, err := d.Get(ctx, o.node, run)
		if errors.Is(err, history.ErrNone) { // another process has removed it
			return nil, v.noRun(o)
		}
		if damaged, is := errors.AsType[*history.DamagedError](err); is {
			err = fault.File(damaged.Path, err, "The report of run %s cannot be shown: %v", run, err)
		}
		return r, err
	}
	for _, run := range runs {
		r, err := d.Get(ctx, o.node, run)
		switch {
		case err == nil:
			return r, nil
		case errors.Is(err, history.ErrNone): // another process has removed it
			continue
		}
		if err := v.damaged(err); err != nil {
			return nil, err
		}
	}
	return nil, v.unknown(ctx, d, o.node)
}

// run returns the run whose ID begins with an argument.
func (v *Invocation) run(o *ShowOptions, runs []string) (string, error) {
	var found []string
	for _, run := range runs {
		if run == o.run {
			return run, nil
		}
		if strings.HasPrefix(run, o.run) {
			found = append(found, run)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", v.noRun(o)
	}
	return "", fault.New(Kind, "Several runs of the node '%s' begin with '%s': %s", o.node, o.run, strings.Join(found, ", "))
}

// noRun is the error for a run without a report.
func (v *Invocation) noRun(o *ShowOptions) error {
	e := fault.New(Kind, "Could not find a report of the run '%s' of the node '%s'", o.run, o.node)
	e.Hint = fmt.Sprintf("'bolt report list %s' lists the reports of the node", o.node)
	return e
}

// resultOf returns a report in the form in which bolt apply prints a target.
func resultOf(r *history.Report) *event.Result {
	n := &r.Counts
	a := &event.Applied{Changed: n.Changed, Failed: n.Failed, Unchanged: n.Unchanged, Skipped: n.Skipped, Noop: n.Noop}
	for _, res := range r.Resources {
		shown := event.Resource{Ref: res.Ref, Status: safetext.TerminalString(string(res.Status)), Refreshed: res.Refreshed, Reason: res.Reason, Place: res.Place}
		for _, e := range res.Events {
			shown.Changes = append(shown.Changes, event.Change{Property: e.Property, Status: string(e.Status), Message: e.Message, Diff: e.Diff})
		}
		a.Resources = append(a.Resources, shown)
	}
	for _, l := range r.Logs {
		if l.Level == "" {
			l.Level = report.Notice
		}
		a.Logs = append(a.Logs, event.ResourceLog{Ref: l.Ref, Level: safetext.TerminalString(string(l.Level)), Message: l.Message})
	}
	out := &event.Result{Applied: a}
	switch {
	case r.Error != "":
		out.Err = &event.Error{Class: event.ClassCancelled, Msg: r.Error}
	case r.Status.Bad():
		out.Err = &event.Error{Class: event.ClassFailed}
	}
	return out
}

// CompleteNode completes the names of nodes with reports.
func (v *Invocation) CompleteNode(ctx context.Context, q cli.Query) cli.Completions {
	var o StateOptions
	o.Bind(cli.NewBinder(q.Given, nil))
	var words []cli.Word
	for _, node := range v.Dir(o.state).Nodes(ctx) {
		words = append(words, cli.Word{Text: node})
	}
	return cli.Named(words, q.Prefix)
}

// CompleteRun completes the runs of the node in the first argument.
func (v *Invocation) CompleteRun(ctx context.Context, q cli.Query) cli.Completions {
	var o StateOptions
	o.Bind(cli.NewBinder(q.Given, nil))
	words := []cli.Word{{Text: Last, About: "the newest report"}}
	for s, err := range v.Dir(o.state).All(ctx, q.Args[0]) {
		if err == nil {
			words = append(words, cli.Word{Text: s.Run, About: s.Time.Local().Format("2006-01-02 15:04:05") + ", " + string(s.Status)})
		}
	}
	return cli.Named(words, q.Prefix)
}
