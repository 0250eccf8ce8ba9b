package executor

import (
	"context"
	"sync"

	"bolt/event"
	"bolt/puppet/eval"
	"bolt/run"
)

// events passes events to the Sink, one at a time, and records the progress of
// the plan.
type events struct {
	stop context.CancelCauseFunc // ends the run

	mu     sync.Mutex // held during calls of sink and the code that depends on them
	sink   event.Sink
	course event.Course
	begun  int // steps
}

// emit passes an event to the Sink. If the event announces a beginning, the caller must
// handle the error. Other errors stop the run.
func (x *Executor) emit(ctx context.Context, e event.Event) error {
	v := &x.events
	v.mu.Lock()
	defer v.mu.Unlock()
	if begin, ok := e.(event.StepBegin); ok {
		v.begun++
		begin.Step.Number = v.begun
	}
	v.course.Add(e, ctx.Err() != nil)
	err := v.sink.Event(ctx, e)
	if err != nil && !event.Begins(e) {
		v.stop(run.ErrStopped)
	}
	return err
}

// stopped returns the progress of the plan when it was stopped, and the error
// that ended it.
func (v *events) stopped(f event.Failed) event.Stopped {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.course.Stop(f)
}

// askPeople asks the user; ok is false if bolt cannot ask.
func (x *Executor) askPeople(ctx context.Context, question string, sensitive bool) (answer string, ok bool, err error) {
	if x.o.Ask == nil {
		return "", false, nil
	}
	if err := x.emit(ctx, event.Question{Text: question}); err != nil {
		return "", false, err
	}
	answer, err = x.o.Ask(ctx, question, sensitive)
	return answer, err == nil, err
}

// log receives log messages of the language.
func (x *Executor) log(ctx context.Context, l eval.Log) {
	e := event.Log{Level: severity(l.Level), Text: l.Msg}
	if l.Kind != "" {
		e.Level, e.ID = "warn", l.Kind
		if l.Pos.File != "" {
			e.Text = l.Pos.String() + ": " + e.Text
		}
	}
	_ = x.emit(ctx, e) // an error stops the run
}

// severity returns the log level of a plan's message. Messages of the Puppet
// functions debug, info and notice are one level less important in the log of bolt.
//
// Source: Puppet Bolt, lib/bolt/util/puppet_log_level.rb.
func severity(l eval.Level) string {
	switch l {
	case eval.Debug:
		return "trace"
	case eval.Info:
		return "debug"
	case eval.Notice:
		return "info"
	case eval.Warning:
		return "warn"
	case eval.Err, eval.Alert:
		return "error"
	}
	return "fatal"
}

func (x *Executor) warn(ctx context.Context, id, text string) {
	_ = x.emit(ctx, event.Log{Level: "warn", ID: id, Text: text}) // an error stops the run
}
