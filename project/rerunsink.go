package project

import (
	"context"
	"fmt"

	"bolt/event"
	"bolt/internal/logging"
	"bolt/inventory"
)

// A RerunSink writes the status of targets to the file for --rerun. For a plan, it
// takes the status from the results that the plan has returned or that ended it. If a
// plan returns another value, the sink removes the file.
type RerunSink struct {
	rerun   Rerun
	logs    *logging.Log
	plan    bool
	targets []*inventory.Target
	ok      map[*inventory.Target]bool
}

// NewRerunSink returns a RerunSink. If it cannot write the file, it warns in logs.
func NewRerunSink(r Rerun, logs *logging.Log) *RerunSink {
	return &RerunSink{rerun: r, logs: logs, ok: make(map[*inventory.Target]bool)}
}

// Event implements event.Sink. It does not return errors.
func (s *RerunSink) Event(_ context.Context, e event.Event) error {
	switch e := e.(type) {
	case event.ActionBegin:
		s.plan, s.targets = e.Action == event.Plan, e.Targets
	case event.TargetEnd:
		if e.Step == nil {
			s.ok[e.Result.Target] = e.Result.OK()
		}
	case event.ActionEnd:
		if !s.plan {
			s.save()
		}
	case event.Returned:
		s.results(e.Results)
	case event.Failed:
		if s.plan {
			s.results(e.Results)
		}
	case event.Stopped:
		s.stopped(e.CutResults())
	}
	return nil
}

// results writes the results of a plan. If list is nil, it removes the file.
func (s *RerunSink) results(list []*event.Result) {
	if list == nil {
		s.forget()
		return
	}
	s.targets = nil
	for _, r := range list {
		s.targets = append(s.targets, r.Target)
		s.ok[r.Target] = r.OK()
	}
	s.save()
}

// stopped writes the results of the steps that an interrupted plan has begun. A target
// has succeeded if all its results are successful.
func (s *RerunSink) stopped(list []*event.Result) {
	if list == nil {
		s.forget()
		return
	}
	for _, r := range list {
		before, known := s.ok[r.Target]
		if !known {
			s.targets = append(s.targets, r.Target)
		}
		s.ok[r.Target] = r.OK() && (before || !known)
	}
	s.save()
}

func (s *RerunSink) save() {
	if len(s.targets) == 0 {
		return // without targets, the file keeps the status of the previous run
	}
	entries := make([]RerunEntry, len(s.targets))
	for i, t := range s.targets {
		entries[i] = RerunEntry{Target: t.Name, OK: s.ok[t]}
	}
	if err := s.rerun.Save(entries); err != nil {
		s.logs.Warn("unwriteable_file", fmt.Sprintf("The outcome was not recorded for --rerun: %v", err))
	}
}

func (s *RerunSink) forget() {
	if err := s.rerun.Forget(); err != nil {
		s.logs.WarnOnce("unwriteable_file", err.Error())
	}
}
