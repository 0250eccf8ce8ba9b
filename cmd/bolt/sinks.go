package main

import (
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/term"

	"bolt/audit"
	"bolt/audit/recorder"
	"bolt/cli/acting"
	"bolt/event"
	"bolt/event/capture"
	"bolt/facts"
	"bolt/internal/safetext"
	"bolt/output"
	"bolt/project"
	"bolt/run"
)

// writing is a sink that marks errors of standard output and stops the work
// after one: the reader of the output has gone, or the disk is full.
type writing struct {
	next event.Sink
	stop context.CancelCauseFunc
}

func (w writing) Event(ctx context.Context, e event.Event) error {
	err := w.next.Event(ctx, e)
	if err != nil {
		w.stop(run.ErrStopped)
	}
	return written(err)
}

// progressFrom is how many targets make a line of progress worth its place.
const progressFrom = 4

// shown is the sink that shows an action to the user. On a terminal it can keep a line of
// progress, which everything that goes to standard error steps around.
type shown struct {
	event.Sink
	progress *output.Progress // nil without one
}

func (s *shown) close() {
	if s.progress != nil {
		s.progress.Close()
	}
}

// shown returns the sink that shows an action. It calls stop when nobody reads any more.
func (a *app) shown(o *acting.Results, targets int, stop context.CancelCauseFunc) (*shown, error) {
	if fold := o.Folds(); fold != "" && a.format().IsJSON() {
		return nil, usagef("Option '%s' works with the formats human and rainbow only, not with %s", fold, a.format())
	}
	sink, err := output.New(output.Options{
		Format:   a.format(),
		Out:      a.sys.out,
		Err:      a.console,
		Color:    a.color(),
		Terminal: a.terminal(),
		Verbose:  o.Verbose,
		Stream:   a.config.Stream,
		Fold:     o.Fold,
		Diff:     o.Diff,
	})
	if err != nil {
		return nil, err
	}
	s := &shown{}
	if targets >= progressFrom && a.progress() {
		s.progress = output.NewProgress(sink, a.sys.err, a.errWidth)
		a.console.set(s.progress.Writer())
		a.ask.Pause = s.progress.Pause
		sink = s.progress
	}
	s.Sink = writing{sink, stop}
	if a.format() != output.NDJSON {
		s.Sink = output.NewHints(s.Sink, a.console)
	}
	return s, nil
}

// planScreen is the sink that shows a plan to the user. While a question is open on the
// terminal, the plan goes on, and what there is to show is held.
type planScreen struct {
	hold     *hold
	progress *output.Progress // nil without one

	mu   sync.Mutex
	next event.Sink
}

// planScreen returns the sink that shows a plan. It calls stop when nobody reads any more.
// close must follow.
func (a *app) planScreen(verbose bool, stop context.CancelCauseFunc) (*planScreen, error) {
	s := &planScreen{}
	out, err := io.Writer(a.sys.out), io.Writer(a.sys.err)
	s.hold = newHold(out, err)
	if a.terminal() {
		out = s.hold.before(capture.Stdout)
	}
	if a.errTerminal() {
		err = s.hold.before(capture.Stderr)
	}
	sink, oerr := output.New(output.Options{
		Format: a.format(), Out: out, Err: a.console, Color: a.color(), Terminal: a.terminal(), Verbose: verbose, Stream: a.config.Stream,
	})
	if oerr != nil {
		return nil, oerr
	}
	if a.progress() {
		s.progress = output.NewProgress(sink, err, a.errWidth)
		sink, err = s.progress, s.progress.Writer()
	}
	s.next = writing{sink, stop}
	a.console.set(err)
	a.ask.Out, a.ask.Pause = a.sys.err, s.quiet // a question is not held
	return s, nil
}

// Event shows an event.
func (s *planScreen) Event(ctx context.Context, e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next.Event(ctx, e)
}

// close takes what is left of the plan off the terminal.
func (s *planScreen) close() {
	if s.progress != nil {
		s.progress.Close()
	}
}

// quiet keeps all but a question off the terminal until resume is called.
func (s *planScreen) quiet() (resume func()) {
	s.mu.Lock() // between two events
	defer s.mu.Unlock()
	again := func() {}
	if s.progress != nil {
		again = s.progress.Pause()
	}
	release := s.hold.begin()
	return func() {
		release()
		again()
	}
}

// asker asks what plans ask on the terminal; nil if there is none.
func (a *app) asker() func(ctx context.Context, question string, sensitive bool) (string, error) {
	if !term.IsTerminal(int(a.sys.in.Fd())) {
		return nil
	}
	return func(ctx context.Context, question string, sensitive bool) (string, error) {
		question = safetext.TerminalString(a.redacted(question))
		if sensitive {
			secret, err := a.ask.Secret(ctx, question)
			return secret.Reveal(), err
		}
		return a.ask.Text(ctx, question)
	}
}

// rerunSink writes the file for --rerun; nil if the configuration does not want it.
func (a *app) rerunSink() event.Sink {
	if !a.config.SaveRerun {
		return nil
	}
	return project.NewRerunSink(a.config.Rerun, a.logs)
}

// recorder writes the audit log; nil if there is none.
func (a *app) recorder() *recorder.Recorder {
	if a.config.Audit.Path == "" {
		return nil
	}
	return recorder.New(recorder.Options{
		Log: audit.New(a.config.Audit.Path, time.Now), Request: audit.NewRequest(), Actor: a.actor(), Project: a.project.Dir,
		RunAs: a.global.runAs, Required: a.config.Audit.Required, Redact: a.redacted, Warnings: a.logs,
	})
}

// recorded is an action as the audit log has it; nil if it does nothing on targets.
func recorded(action run.Action) event.Action {
	if k, ok := action.(*facts.Keeping); ok {
		action = k.Action
	}
	if _, ok := action.(*facts.Query); ok {
		return nil
	}
	return action
}
