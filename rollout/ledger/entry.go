package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"bolt/rollout"
	"bolt/store"
)

// An Entry is a rollout as other rollouts see it. If the rollout has ended, it is read from the summary of its log.
type Entry struct {
	ID string
	Summary
	// Damaged is the error of a log that could not be read to its end, and that has no summary. The Summary is then that of the
	// events before the damage, and zero if there are none.
	Damaged error

	ledger *Ledger
	state  *rollout.State // nil if the entry is from a summary
}

// A Summary has the main facts about a rollout.
type Summary struct {
	Revision uint64        `json:"revision"` // of the log
	Release  string        `json:"release,omitempty"`
	Parent   string        `json:"parent,omitempty"`
	State    rollout.Phase `json:"state"`
	Reason   string        `json:"reason,omitempty"`
	Author   string        `json:"author,omitempty"`
	Start    time.Time     `json:"start"`
	Nodes    int           `json:"nodes"`
	Last     time.Time     `json:"last"` // of the last event
	// Leaves is set unless the rollout runs a plan or a task, or in noop mode. Other rollouts leave a
	// release on their nodes.
	Leaves bool `json:"leaves,omitempty"`
}

// Ended reports whether the rollout is at its end. A rollout whose log is damaged is not known to be.
func (e *Entry) Ended() bool { return e.Damaged == nil && e.State.Ended() }

// A fate is how a rollout has left a node.
type fate struct {
	Release int    `json:"release"` // an index into fates.Releases
	Catalog string `json:"catalog,omitempty"`
	Healthy bool   `json:"healthy,omitempty"`
	Left    bool   `json:"left,omitempty"` // the release is known
	Ran     bool   `json:"ran,omitempty"`  // a run was started on the node
}

// fates are the fates of all nodes of a rollout, in the order of its nodes.
type fates struct {
	Releases []string `json:"releases"`
	Nodes    []fate   `json:"nodes"`
}

// The values of the summary of a log: a Summary, the names of the nodes, and their fates. The names are lines of one string, which is
// read much faster than a list. The last two values are empty for a rollout that leaves no release.
const (
	valueSummary = 1 + iota
	valueNames
	valueFates
)

func summaryOf(s *rollout.State) Summary {
	c := s.Created()
	if c == nil {
		return Summary{}
	}
	phase, reason := s.Phase()
	return Summary{
		Revision: s.Revision(), Release: c.Release, Parent: c.Parent, State: phase, Reason: reason, Author: c.Author, Start: s.Start(), Nodes: len(c.Nodes),
		Last: s.Last(), Leaves: !c.Noop && !c.Strategy.Passive() && c.Strategy.Action.IsZero(),
	}
}

func namesOf(s *rollout.State) []string {
	c := s.Created()
	if c == nil {
		return nil
	}
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	return names
}

func fatesOf(s *rollout.State) fates {
	var f fates
	c := s.Created()
	if c == nil {
		return f
	}
	index := make(map[string]int)
	for _, n := range c.Nodes {
		is := fate{Ran: s.Ran(n.Name)}
		release := ""
		switch s.Left(n.Name) {
		case rollout.LeftRelease:
			release, is.Catalog, is.Left, is.Healthy = n.Release, n.Catalog, true, true
		case rollout.LeftPart:
			// The release that the node had before is the last one that it had as a whole.
			release, is.Catalog, is.Left = n.Previous, n.PreviousCatalog, true
		}
		at, known := index[release]
		if !known {
			at = len(f.Releases)
			index[release] = at
			f.Releases = append(f.Releases, release)
		}
		is.Release = at
		f.Nodes = append(f.Nodes, is)
	}
	return f
}

// Summarize stores a summary of a rollout that has ended, so that other rollouts need not read its log. For a rollout that has
// not ended, or has more events by now, it does nothing. Without a summary, the log is read.
func (l *Ledger) Summarize(ctx context.Context, s *rollout.State) error {
	to, is := l.logs.(store.Summaries)
	if !is || !s.Ended() {
		return nil
	}
	head := summaryOf(s)
	parts := []any{valueSummary - 1: head, valueNames - 1: "", valueFates - 1: fates{}}
	if head.Leaves {
		parts[valueNames-1], parts[valueFates-1] = strings.Join(namesOf(s), "\n"), fatesOf(s)
	}
	values := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		var err error
		if values[i], err = json.Marshal(p); err != nil {
			return err
		}
	}
	err := to.Summarize(ctx, Log(s.Created().Rollout), store.Revision(s.Revision()), values...)
	if _, grown := errors.AsType[*store.ConflictError](err); grown {
		return nil
	}
	return err
}

// value reads a value of the summary of a log. It returns false if there is no such summary.
func (l *Ledger) value(ctx context.Context, id string, number int, to any) (bool, error) {
	from, is := l.logs.(store.Summaries)
	if !is {
		return false, nil
	}
	values, err := from.Summary(ctx, Log(id), number)
	if err != nil || len(values) < number {
		return false, err
	}
	return json.Unmarshal(values[number-1], to) == nil, nil
}

// Entries yields rollouts, and ends after an error. Logs without events are left out: bolt or the machine was stopped while
// it wrote the first one.
func (l *Ledger) Entries(ctx context.Context, ids []string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, id := range ids {
			e, err := l.entry(ctx, id)
			if err != nil {
				yield(nil, err)
				return
			}
			if e != nil && !yield(e, nil) {
				return
			}
		}
	}
}

// entry returns a rollout, nil if its log has no events.
func (l *Ledger) entry(ctx context.Context, id string) (*Entry, error) {
	e := &Entry{ID: id, ledger: l}
	known, err := l.value(ctx, id, valueSummary, &e.Summary)
	if known || err != nil {
		return e, err
	}
	if err := e.read(ctx); err != nil || e.Damaged == nil && e.state.Revision() == 0 {
		return nil, err
	}
	return e, nil
}

// read reads the log of the rollout.
func (e *Entry) read(ctx context.Context) error {
	e.state, e.Damaged = new(rollout.State), nil
	err := e.ledger.fold(ctx, e.ID, e.state, func(rollout.Record) {})
	_, damaged := errors.AsType[*store.DamagedError](err)
	_, unreadable := errors.AsType[*unreadableError](err)
	if damaged || unreadable {
		e.Damaged, err = err, nil
	}
	e.Summary = summaryOf(e.state)
	return err
}

// names returns the names of the nodes. It returns none if the log is damaged before its nodes.
func (e *Entry) names(ctx context.Context) ([]string, error) {
	if e.state == nil {
		var text string
		known, err := e.ledger.value(ctx, e.ID, valueNames, &text)
		if names := strings.Split(text, "\n"); known && len(names) == e.Nodes || err != nil {
			return names, err
		}
		if err := e.read(ctx); err != nil {
			return nil, err
		}
	}
	return namesOf(e.state), nil
}

// fates returns the fates of the nodes.
func (e *Entry) fates(ctx context.Context) (fates, error) {
	if e.state == nil {
		var f fates
		known, err := e.ledger.value(ctx, e.ID, valueFates, &f)
		if known && f.whole(e.Nodes) || err != nil {
			return f, err
		}
		if err := e.read(ctx); err != nil {
			return fates{}, err
		}
	}
	return fatesOf(e.state), nil
}

// whole reports whether there are the fates of n nodes.
func (f *fates) whole(n int) bool {
	for _, is := range f.Nodes {
		if is.Release < 0 || is.Release >= len(f.Releases) {
			return false
		}
	}
	return len(f.Nodes) == n
}

// shared returns the first node of the rollout for which has returns true, "" if there is none. If the log is damaged and has such
// a node, or its nodes are not known, shared returns the damage as its error. Other damage goes to Ledger.Warn.
func (e *Entry) shared(ctx context.Context, has func(node string) bool) (string, error) {
	names, err := e.names(ctx)
	if err != nil {
		return "", err
	}
	shared := ""
	for _, n := range names {
		if has(n) {
			shared = n
			break
		}
	}
	switch {
	case e.Damaged == nil:
		return shared, nil
	case shared != "":
		return "", fmt.Errorf("the end of rollout %s is not known, and it has the node %s: %w", e.ID, shared, e.Damaged)
	case len(names) == 0:
		return "", fmt.Errorf("the end and the nodes of rollout %s are not known: %w", e.ID, e.Damaged)
	}
	if e.ledger.Warn != nil {
		e.ledger.Warn(e.ID, e.Damaged)
	}
	return "", nil
}

// An unreadableError is the error for a log with an event that this version of bolt cannot read, or that is not possible.
type unreadableError struct {
	Rollout string
	Err     error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("the log of rollout %s: %v", e.Rollout, e.Err)
}

func (e *unreadableError) Unwrap() error { return e.Err }

// summarize stores the summary of a rollout that has ended, if its log had to be read: the driver that ended it died before it stored
// one. After an error, the log is read again the next time.
func (e *Entry) summarize(ctx context.Context) {
	if e.state != nil {
		_ = e.ledger.Summarize(ctx, e.state)
	}
}
