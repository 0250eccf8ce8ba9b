package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/term"

	"bolt/event/capture"
	"bolt/internal/logging"
	"bolt/internal/safetext"
	"bolt/output"
	"bolt/plans/executor"
	"bolt/puppet/eval"
	"bolt/run"
)

// planObserver shows a plan to who runs it, without the secrets of plugins where the
// plan has put them into its steps and messages. While a question is open on the
// terminal, the plan goes on, and what there is to show is held.
type planObserver struct {
	app      *app
	ctx      context.Context // of the plan
	plan     string          // its name
	stop     context.CancelCauseFunc
	hold     *hold
	progress *output.PlanProgress // nil without one
	language *executor.Language

	// The executor tells of steps from one goroutine at a time.
	steps map[*executor.Step]*shownStep
	begun int // steps

	mu     sync.Mutex
	view   output.PlanView
	course output.PlanCourse
}

// shownStep is a step as it is shown, and the last object of its results: those of
// thousands of targets are mostly the same.
type shownStep struct {
	output.PlanStep
	object, redacted string
}

// newPlanObserver returns one. It calls stop when nobody can be told of the plan
// any more. close must follow.
func newPlanObserver(ctx context.Context, a *app, plan string, stop context.CancelCauseFunc) *planObserver {
	v := &planObserver{app: a, ctx: ctx, plan: plan, stop: stop, steps: make(map[*executor.Step]*shownStep)}
	out, err := io.Writer(a.sys.out), io.Writer(a.sys.err)
	v.hold = newHold(out, err)
	if a.terminal() {
		out = v.hold.before(capture.Stdout)
	}
	if a.errTerminal() {
		err = v.hold.before(capture.Stderr)
	}
	v.view = output.NewPlanView(output.Options{
		Format: a.format(), Out: out, Err: a.console, Color: a.color(), Terminal: a.terminal(), Verbose: a.values.on("verbose", false), Stream: a.config.Stream,
	})
	if a.progress() {
		v.progress = output.NewPlanProgress(v.view, err, a.errWidth)
		v.view, err = v.progress, v.progress.Writer()
	}
	a.console.set(err)
	a.ask.out, a.ask.pause = a.sys.err, v.quiet // a question is not held
	return v
}

// close takes what is left of the plan off the terminal.
func (v *planObserver) close() {
	if v.progress != nil {
		v.progress.Close()
	}
}

// quiet keeps all but a question off the terminal until resume is called.
func (v *planObserver) quiet() (resume func()) {
	v.mu.Lock() // between two events
	defer v.mu.Unlock()
	again := func() {}
	if v.progress != nil {
		again = v.progress.Pause()
	}
	release := v.hold.begin()
	return func() {
		release()
		again()
	}
}

// show shows an event. When nobody reads any more, it ends the plan.
func (v *planObserver) show(e output.PlanEvent, shown bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.course.Event(e, v.ctx.Err() != nil)
	if shown && v.view.Event(e) != nil {
		v.stop(run.ErrStopped)
	}
	if line := e.Headline(); line != "" {
		v.app.log.Log(v.ctx, slog.LevelInfo, line)
	}
}

func (v *planObserver) PlanStarted(name string, quiet bool) {
	v.show(output.PlanEvent{Kind: output.PlanStarted, Plan: name}, !quiet)
}

func (v *planObserver) PlanFinished(name string, quiet bool, took time.Duration) {
	v.show(output.PlanEvent{Kind: output.PlanFinished, Plan: name, Took: took}, !quiet)
}

func (v *planObserver) StepStarted(s *executor.Step) {
	v.begun++
	step := &shownStep{PlanStep: output.PlanStep{Number: v.begun, Description: v.app.redacted(s.Description), Targets: s.Targets, File: s.At.File, Line: s.At.Line}}
	v.steps[s] = step
	kind := output.StepStarted
	if s.Recorded {
		kind = output.StepRecorded
	}
	v.show(output.PlanEvent{Kind: kind, Step: &step.PlanStep}, !s.Quiet)
}

func (v *planObserver) Target(s *executor.Step, e run.Event) {
	step := v.steps[s]
	if e.Kind == run.Finished && e.Result.Object != "" {
		if object := e.Result.Object; object != step.object {
			step.object, step.redacted = object, v.app.redacted(object)
		}
		if step.redacted != step.object {
			shown := *e.Result // the plan's own stays as it is
			shown.Object = step.redacted
			e.Result = &shown
		}
	}
	v.show(output.PlanEvent{Kind: output.StepTarget, Step: &step.PlanStep, Target: e}, !s.Quiet && !s.Recorded)
}

func (v *planObserver) StepFinished(s *executor.Step, failures, notBegun int, took time.Duration) {
	v.show(output.PlanEvent{Kind: output.StepFinished, Step: &v.steps[s].PlanStep, Failures: failures, NotBegun: notBegun, Took: took}, !s.Quiet && !s.Recorded)
	delete(v.steps, s)
}

func (v *planObserver) ContainerStarted(image string) {
	v.show(output.PlanEvent{Kind: output.ContainerStarted, Image: v.app.redacted(image)}, true)
}

func (v *planObserver) ContainerFinished(r *executor.ContainerResult) {
	v.show(output.PlanEvent{Kind: output.ContainerFinished, Image: v.app.redacted(r.Image), Value: r.Value}, true)
}

func (v *planObserver) Message(m executor.Message) {
	v.show(output.PlanEvent{Kind: output.PlanSaid, Text: v.app.redacted(m.Text), Verbose: m.Verbose}, true)
	level := slog.LevelInfo
	if m.Verbose {
		level = slog.LevelDebug
	}
	v.app.log.Log(v.ctx, level, v.app.redacted(m.Logged))
}

func (v *planObserver) Log(l eval.Log) {
	if l.Kind != "" {
		v.warn(l.Kind, textOf(l))
		return
	}
	level, text := planSeverity(l.Level), v.app.redacted(l.Msg)
	v.show(output.PlanEvent{Kind: output.PlanLogged, Level: levelName(level), Text: text}, true)
	v.app.log.Log(v.ctx, level, text)
}

// planSeverity returns the log level of a plan's message. Messages of the Puppet
// functions debug, info and notice are one level less important in the log of bolt.
//
// Source: Puppet Bolt, lib/bolt/util/puppet_log_level.rb.
func planSeverity(l eval.Level) slog.Level {
	switch l {
	case eval.Debug:
		return logging.LevelTrace
	case eval.Info:
		return slog.LevelDebug
	case eval.Notice:
		return slog.LevelInfo
	case eval.Warning:
		return slog.LevelWarn
	case eval.Err, eval.Alert:
		return slog.LevelError
	}
	return logging.LevelFatal
}

// warn logs a warning that has an ID.
func (v *planObserver) warn(id, text string) {
	text = v.app.redacted(text)
	v.show(output.PlanEvent{Kind: output.PlanLogged, Level: levelName(slog.LevelWarn), ID: id, Text: text}, true)
	v.app.logs.Warn(id, text)
}

func levelName(l slog.Level) string {
	for _, name := range logging.Levels() {
		if level, err := logging.ParseLevel(name); err == nil && level >= l {
			return name
		}
	}
	return "fatal"
}

// Ask asks on the terminal.
func (v *planObserver) Ask(ctx context.Context, question string, sensitive bool) (answer string, ok bool, err error) {
	if !term.IsTerminal(int(v.app.sys.in.Fd())) {
		return "", false, nil
	}
	question = v.app.redacted(question)
	v.show(output.PlanEvent{Kind: output.PlanAsked, Text: question}, true)
	question = safetext.TerminalString(question)
	if sensitive {
		secret, err := v.app.ask.secret(ctx, question)
		return secret.Reveal(), err == nil, err
	}
	answer, err = v.app.ask.text(ctx, question)
	return answer, err == nil, err
}
