package runs

import (
	"context"
	"maps"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/journal"
)

// Last stands for the latest interrupted run.
const Last = journal.Last

// optionMap returns options in the form of a journal.
func optionMap(options map[string][]string) *ordered.Map {
	m := &ordered.Map{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		list := make([]any, len(options[name]))
		for i, text := range options[name] {
			list[i] = text
		}
		m.Set(name, list)
	}
	return m
}

// List returns the recorded runs, the newest first.
func (l *Ledger) List() ([]journal.Summary, error) { return journal.List(l.dir(), l.warn) }

// Resumable returns the runs of List that can be resumed, none if they cannot be read.
func (l *Ledger) Resumable() []journal.Summary {
	list, _ := l.List()
	return slices.DeleteFunc(list, func(s journal.Summary) bool {
		return s.State != journal.Interrupted && s.State != journal.Failed
	})
}

// Named returns the ID of the run with a name, which can be Last.
func (l *Ledger) Named(name string) (id string, err error) {
	return journal.Find(l.dir(), name, l.warn)
}

// A Recorded is a run that is about to be resumed: the lock and the contents of its
// journal.
type Recorded struct{ *journal.Run }

// Open opens the journal of a run. If retry is set, the run may have ended with the
// failure of an action. The caller must call Close.
func (l *Ledger) Open(ctx context.Context, id string, retry bool) (*Recorded, error) {
	j, err := journal.Open(ctx, l.dir(), id, retry)
	return &Recorded{j}, err
}

// Options returns the options of the command line with which the run was begun.
func (r *Recorded) Options() map[string][]string {
	options := make(map[string][]string)
	for name, v := range r.Run.Options.All() {
		list, _ := v.([]any)
		for _, text := range list {
			if text, ok := text.(string); ok {
				options[name] = append(options[name], text)
			}
		}
	}
	return options
}

// Missing returns the names of the secret parameters that are missing in pairs, each
// NAME=VALUE. other is the first name in pairs that is not the name of a secret
// parameter.
func (r *Recorded) Missing(pairs []string) (missing []string, other string) {
	given := make(map[string]bool)
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if given[name] = true; other == "" && !slices.Contains(r.Secrets, name) {
			other = name
		}
	}
	for _, name := range r.Secrets {
		if !given[name] {
			missing = append(missing, name)
		}
	}
	return missing, other
}

// Unchanged loads the plan of a recorded run. It returns an error if the text of a plan
// has changed since the run entered it.
func (l *Ledger) Unchanged(ctx context.Context, r *Recorded) (*plans.Plan, error) {
	p, err := l.Find(ctx, r.Plan)
	if err != nil {
		return nil, err
	}
	for name := range r.Plans() {
		q, err := l.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		digest, err := executor.TextDigest(ctx, q)
		if err != nil {
			return nil, err
		}
		if err := r.Entered(name, digest); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Resume returns the run of a plan that continues a recorded run. secrets are the secret
// parameters, each in the form NAME=VALUE.
func (l *Ledger) Resume(p *plans.Plan, r *Recorded, secrets []string) (*Run, error) {
	run, err := l.Run(p, plans.Words{Params: r.Params, Pairs: secrets})
	if err != nil {
		return nil, err
	}
	run.journal = r.Run
	return run, r.Again()
}
