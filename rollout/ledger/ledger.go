// Package ledger finds the rollouts of a store, folds their logs, and appends events to them.
//
// The log of a rollout is named "rollouts/ID". An ID begins with the time at which the rollout was
// made, so the order of the IDs is that of the rollouts. The ID of a rollback is that of its
// rollout and a suffix.
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/rollout"
	"bolt/store"
)

// prefix begins the names of the logs of rollouts.
const prefix = "rollouts/"

// Kind is the kind of the errors about rollouts.
const Kind = "bolt/rollout-error"

// Log returns the name of the log of a rollout. The lease of its driver has the same name.
func Log(id string) string { return prefix + id }

// A Ledger is the rollouts of a store. It is safe for concurrent use.
type Ledger struct {
	// Warn takes the errors of damaged logs that do not matter for a call, with the rollout; nil discards. It is set before the
	// first call.
	Warn func(id string, damage error)

	logs store.Logs
}

// In returns the ledger of a store.
func In(logs store.Logs) *Ledger { return &Ledger{logs: logs} }

// Decode reads an event of a store.
func Decode(e store.Event) (rollout.Record, error) {
	decoded, err := rollout.Decode(e.Data)
	if err != nil {
		return rollout.Record{}, fmt.Errorf("event %d: %w", e.Revision, err)
	}
	return rollout.Record{Revision: uint64(e.Revision), Time: e.Time, Event: decoded}, nil
}

// Catch folds the events of a rollout that the state does not have, and returns them.
func (l *Ledger) Catch(ctx context.Context, id string, s *rollout.State) ([]rollout.Record, error) {
	var records []rollout.Record
	err := l.fold(ctx, id, s, func(r rollout.Record) { records = append(records, r) })
	return records, err
}

// fold folds the events of a rollout that the state does not have, and calls each for them. If the log is damaged, it folds
// the events before the damage.
func (l *Ledger) fold(ctx context.Context, id string, s *rollout.State, each func(rollout.Record)) error {
	for e, damage := range l.logs.Events(ctx, Log(id), store.Revision(s.Revision())) {
		if damage != nil {
			return damage
		}
		r, err := Decode(e)
		if err == nil {
			err = s.Apply(r)
		}
		if err != nil {
			return &unreadableError{id, err}
		}
		each(r)
	}
	return nil
}

// Load folds the log of a rollout. The error is a *fault.Error if there is no such rollout.
func (l *Ledger) Load(ctx context.Context, id string) (*rollout.State, error) {
	s := new(rollout.State)
	if store.CheckName(Log(id)) != nil {
		return nil, unknown(id)
	}
	if err := l.fold(ctx, id, s, func(rollout.Record) {}); err != nil {
		return nil, err
	}
	if s.Revision() == 0 {
		return nil, unknown(id)
	}
	return s, nil
}

func unknown(name string) error {
	e := fault.New(Kind, "The rollout '%s' does not exist", name)
	e.Hint = "'bolt rollout history' lists the rollouts"
	return e
}

// Append adds events to a log, after a revision. It returns the new revision.
func (l *Ledger) Append(ctx context.Context, id string, after uint64, fence store.Fence, events ...rollout.Event) (uint64, error) {
	data := make([]json.RawMessage, len(events))
	for i, e := range events {
		var err error
		if data[i], err = rollout.Encode(e); err != nil {
			return 0, err
		}
	}
	rev, err := l.logs.Append(ctx, Log(id), store.Revision(after), fence, data...)
	return uint64(rev), err
}

// Command appends the event of a person. make returns the event for the present state. If the rollout changes
// meanwhile, make is called again with the new state. An event that is not possible is an
// error, and is not appended. Command returns the state with the event.
func (l *Ledger) Command(ctx context.Context, id string, make func(*rollout.State) (rollout.Event, error)) (*rollout.State, error) {
	for {
		s, err := l.Load(ctx, id)
		if err != nil {
			return nil, err
		}
		e, err := make(s)
		if err != nil {
			return nil, err
		}
		after := s.Revision()
		if err := s.Apply(rollout.Record{Revision: after + 1, Time: now(), Event: e}); err != nil {
			return nil, refused(err)
		}
		_, err = l.Append(ctx, id, after, 0, e)
		if _, is := errors.AsType[*store.ConflictError](err); is {
			continue
		}
		return s, err
	}
}

// refused returns the error for an event that is not possible, without the number of the event.
func refused(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	text := err.Error()
	return fault.New(Kind, "%s", strings.ToUpper(text[:1])+text[1:])
}

// IDs returns the IDs of all rollouts, the oldest first.
func (l *Ledger) IDs(ctx context.Context) ([]string, error) {
	names, err := l.logs.Names(ctx, prefix)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, prefix)
	}
	slices.Sort(names)
	return names, err
}

// Find returns the ID of a rollout: of an ID, of the beginning or the name of an ID (the last such
// rollout), or of the last rollout for "". A rollback is found only by its whole ID.
func (l *Ledger) Find(ctx context.Context, name string) (string, error) {
	ids, err := l.IDs(ctx)
	if err != nil {
		return "", err
	}
	if slices.Contains(ids, name) {
		return name, nil
	}
	for _, id := range slices.Backward(ids) {
		if IsRollback(id) {
			continue
		}
		if name == "" || strings.HasPrefix(id, name) || strings.HasSuffix(id, "-"+name) {
			return id, nil
		}
	}
	if name == "" {
		e := fault.New(Kind, "No rollouts found")
		e.Hint = "'bolt rollout start RELEASE' starts one"
		return "", e
	}
	return "", unknown(name)
}
