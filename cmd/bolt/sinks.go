package main

import (
	"context"
	"slices"
	"strings"

	"bolt/cli/acting"
	"bolt/event"
	"bolt/output"
	"bolt/output/screen"
	"bolt/project"
	"bolt/run"
)

// shown is the sink that shows an action or a plan to the user. Its Event marks errors
// of standard output and stops the work after an error: the reader of the output has
// gone, or the disk is full.
type shown struct {
	*screen.Shown
	stop context.CancelCauseFunc
}

func (s shown) Event(ctx context.Context, e event.Event) error {
	err := s.Shown.Event(ctx, e)
	if err != nil {
		s.stop(run.ErrStopped)
	}
	return written(err)
}

// shown returns the sink that shows an action. It calls stop when the output has no
// reader any more.
func (a *app) shown(o *acting.Results, targets int, stop context.CancelCauseFunc) (shown, error) {
	if fold, can := o.Folds(), output.Names(output.Folds); fold != "" && !slices.Contains(can, a.format().Name) {
		return shown{}, usagef("Option '%s' works with the formats %s only, not with %s", fold, strings.Join(can, " and "), a.format())
	}
	s, err := a.ForAction(output.Options{Format: a.format(), Verbose: o.Verbose, Stream: a.config.Stream, Fold: o.Fold, Diff: o.Diff}, targets)
	return shown{s, stop}, err
}

// rerunSink writes the file for --rerun; nil if the configuration disables it.
func (a *app) rerunSink() event.Sink {
	if !a.config.SaveRerun {
		return nil
	}
	return project.NewRerunSink(a.config.Rerun, a.logs)
}
