// Package runs begins runs of plans, resumes interrupted runs, and shows how they end.
//
// A [Run] is one plan with its parameters. A Run with a journal (package
// plans/journal) can be resumed later: Open finds the journal, and Resume checks
// that the texts of the plans have not changed since the run began.
package runs

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"bolt/environment/unknown"
	"bolt/event"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/journal"
	"bolt/puppet/value"
)

// Options are the settings of a Ledger. All of them are required.
type Options struct {
	Library *plans.Library
	Project string    // the directory of the project, which contains the journals
	Console io.Writer // for the user: standard error
	JSON    bool      // standard output is JSON, for programs
	Names   *unknown.Names
	Redact  func(text string) string // returns a string without secrets
	Warn    func(id, text string)
}

// A Ledger begins runs of a project's plans, and gives access to the recorded runs. Only
// one goroutine may use it.
type Ledger struct{ o Options }

// New returns a Ledger.
func New(o Options) *Ledger { return &Ledger{o} }

// kept is how long the journals of finished runs are kept.
const kept = 30 * 24 * time.Hour

func (l *Ledger) dir() string { return filepath.Join(l.o.Project, journal.Dir) }

func (l *Ledger) warn(err error) { l.o.Warn("journal", err.Error()) }

// Find returns a plan. In human output, the message of an error in the plan's file
// contains the position. In JSON output, only the details contain it.
func (l *Ledger) Find(ctx context.Context, name string) (*plans.Plan, error) {
	p, err := l.o.Library.Find(ctx, name)
	if err != nil && !l.o.JSON {
		err = executor.Placed(err)
	}
	return p, err
}

// A Run is a plan with its parameters. It may be run once.
type Run struct {
	ledger  *Ledger
	plan    *plans.Plan
	given   *value.Hash
	journal *journal.Run // nil: the run is not recorded
}

// Run returns the run of a plan with the parameters of a command line.
func (l *Ledger) Run(p *plans.Plan, w plans.Words) (*Run, error) {
	given, err := l.o.Library.Given(p, w)
	return &Run{ledger: l, plan: p, given: given}, err
}

// Record begins the journal of the run, prints the name of the run, and removes old
// journals. options are the options of the command line, as Recorded.Options returns them.
// The caller must call Close.
func (r *Run) Record(ctx context.Context, options map[string][]string) error {
	l := r.ledger
	if err := journal.Prune(l.dir(), time.Now().Add(-kept)); err != nil {
		l.warn(err)
	}
	h := journal.Header{Plan: r.plan.Name, Options: optionMap(options)}
	h.Params, h.Secrets = executor.ParamsOf(r.plan, r.given)
	j, err := journal.Create(ctx, l.dir(), h)
	if err != nil {
		return err
	}
	r.journal = j
	fmt.Fprintf(l.o.Console, "This run is recorded as %s.\n", j.ID)
	return nil
}

// Close closes the journal, if there is one.
func (r *Run) Close() {
	if r.journal != nil {
		r.journal.Close()
	}
}

// action returns the run as the audit log records it.
func (r *Run) action() event.Action {
	a := &event.PlanAction{Plan: r.plan.Name}
	a.Params, a.Secrets = executor.ParamsOf(r.plan, r.given)
	if r.journal != nil {
		a.Journal = r.journal.ID
	}
	return a
}
