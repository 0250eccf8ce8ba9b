package running

import (
	"context"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/event"
	"bolt/output"
	"bolt/output/screen"
	"bolt/project"
	"bolt/run"
)

// Shown is the sink that shows an action or a plan to the user. Its Event marks errors
// of standard output and stops the work after an error: the reader of the output has
// gone, or the disk is full.
type Shown struct {
	*screen.Shown
	stop context.CancelCauseFunc
}

// Event implements event.Sink.
func (s Shown) Event(ctx context.Context, e event.Event) error {
	err := s.Shown.Event(ctx, e)
	if err != nil {
		s.stop(run.ErrStopped)
	}
	return cli.Written(err)
}

// Show returns the sink that shows an action. It calls stop when the output has no
// reader any more.
func (v *Invocation) Show(o *acting.Results, targets int, stop context.CancelCauseFunc) (Shown, error) {
	if fold, can := o.Folds(), output.Names(output.Folds); fold != "" && !slices.Contains(can, v.Format.Name) {
		return Shown{}, cli.Errorf("Option '%s' works with the formats %s only, not with %s", fold, strings.Join(can, " and "), v.Format)
	}
	s, err := v.ForAction(output.Options{Format: v.Format, Verbose: o.Verbose, Stream: v.Config.Stream || o.Stream, Fold: o.Fold, Diff: o.Diff}, targets)
	return Shown{s, stop}, err
}

// ShowPlan is Show for a plan.
func (v *Invocation) ShowPlan(verbose bool, stop context.CancelCauseFunc) (Shown, error) {
	s, err := v.ForPlan(output.Options{Format: v.Format, Verbose: verbose, Stream: v.Config.Stream})
	return Shown{s, stop}, err
}

// Rerun writes the file for --rerun; nil if the configuration disables it.
func (v *Invocation) Rerun() event.Sink {
	if !v.Config.SaveRerun {
		return nil
	}
	return project.NewRerunSink(v.Config.Rerun, v.Logs)
}

// Streams reports whether output is shown while it arrives.
func (v *Invocation) Streams() bool { return v.Config.Stream || v.Format == output.NDJSON }
