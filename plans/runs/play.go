package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bolt/catalog/site"
	"bolt/environment"
	"bolt/environment/unknown"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/yaml"
	"bolt/plans/executor"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// ErrFailed is the error of a plan that failed; the reason is already shown.
var ErrFailed = errors.New("the plan failed")

// Play runs the plan. in are the options of the plan's environment, without the options that only
// plans have. o are the options of the executor, without Environment, Language, Plans, Journal and
// the Site of Catalogs. The Sink of o gets the events, from ActionBegin to ActionEnd. If the run was
// interrupted, the console gets the command that resumes it.
func (r *Run) Play(ctx context.Context, in environment.Options, o executor.Options) error {
	// If the audit log refuses the run, the first event returns an error.
	if err := o.Sink.Event(ctx, event.ActionBegin{Action: event.Plan, Object: r.plan.Name, Do: r.action()}); err != nil {
		return err
	}
	language := executor.NewLanguage(r.program)
	declared := in
	declared.Language = language.Declarative()
	var err error
	if o.Catalogs.Site, err = site.New(environment.Name, declared, nil); err != nil {
		return err
	}
	in.Plans, in.Now, in.Language = true, r.journal.Clock(time.Now), &language.PlanLanguage
	o.Environment, o.Language, o.Plans, o.Journal = environment.New(in), language, r.ledger.o.Library, r.journal
	x := executor.New(o)
	defer x.Close()
	v, err := x.Run(ctx, r.plan, r.given)
	cut, err := r.ended(ctx, err)
	err = r.show(ctx, x, o, v, err)
	if lost := o.Sink.Event(ctx, event.ActionEnd{Failed: err != nil}); err == nil {
		err = lost
	}
	if cut && !r.journal.Refused() {
		fmt.Fprintf(r.ledger.o.Console, "The run was interrupted. To resume it, run: bolt plan resume %s\n", r.journal.ID)
	}
	return err
}

// program returns the program of a YAML plan that the plan calls.
func (r *Run) program(ctx context.Context, name string) (*syntax.Program, string, error) {
	q, err := r.ledger.o.Library.Find(ctx, name)
	if err != nil || q.YAML == nil {
		return nil, "", err
	}
	program, err := q.YAML.Program()
	return program, q.Module.Name, err
}

// ended records how the run has ended. cut is set if it was interrupted, so that it can be resumed.
// The error is err, or else the error of the journal.
func (r *Run) ended(ctx context.Context, err error) (cut bool, _ error) {
	switch {
	case r.journal == nil:
		return false, err
	case err == nil:
		return false, r.journal.Over("", nil)
	case ctx.Err() != nil || executor.Unfinished(err):
		return true, err
	}
	if lost := r.journal.Over(r.ledger.o.Redact(err.Error()), executor.FailedSteps(err)); lost != nil {
		r.ledger.warn(lost)
	}
	return false, err
}

// show sends the outcome of the plan to the sink: its return value, or the error that
// ended it. A plan that returns has succeeded, even if it returns failed results or
// an error that it has caught.
func (r *Run) show(ctx context.Context, x *executor.Executor, o executor.Options, returned value.Value, err error) error {
	f, failed := errors.AsType[*executor.Failure](err)
	var shown event.Event
	switch {
	case err == nil:
		e, err := x.Returned(returned)
		if err == nil {
			return o.Sink.Event(ctx, e)
		}
		shown = event.FailedBy(event.RedactError(err, r.ledger.o.Redact))
	case !failed:
		return err
	case ctx.Err() != nil && executor.WasStopped(err):
		shown = x.Stopped(r.plan.Name, f)
	default:
		e := f.Event()
		e.Trace, e.Hint = r.trace(f, e.Results == nil && e.Container == nil), r.hint(ctx, f, o.Language)
		shown = e
	}
	if err := o.Sink.Event(ctx, shown); err != nil {
		return err
	}
	return ErrFailed
}

// trace returns the details of a failure that Puppet Bolt does not print. told is set if the message
// and the position are printed for people.
func (r *Run) trace(f *executor.Failure, told bool) string {
	if r.ledger.o.JSON {
		// The user knows the message and the position already, but they introduce the details.
		told = f.Trace(true) == ""
		if f.Place() == "" && f.Branches == nil {
			told = true
			f.Before = nil // the position of a step of a YAML plan, which is not in standard output, either
		}
	}
	return f.Trace(told)
}

// hint returns the hint about a failure, "" for none. Its sources are the failure, an unknown name, and the cause.
func (r *Run) hint(ctx context.Context, f *executor.Failure, language *executor.Language) string {
	hint := f.Hint
	if hint == "" {
		hint = r.advice(ctx, f, language)
	}
	if cause, ok := errors.AsType[*fault.Error](f.Err); hint == "" && ok {
		hint = cause.Hint
	}
	if cause, ok := errors.AsType[*yaml.Error](f.Err); hint == "" && ok {
		hint = cause.Hint
	}
	return hint
}

// advice returns names that are similar to an unknown name in a plan; "" if no name is similar, or
// no name is unknown.
func (r *Run) advice(ctx context.Context, f *executor.Failure, language *executor.Language) string {
	e, ok := errors.AsType[*eval.Error](f)
	if !ok || e.Name == "" {
		return ""
	}
	var advice string
	switch e.Kind {
	case "unknown-function":
		advice = r.ledger.o.Names.Advise(ctx, e.Name, "functions", func() []string {
			names := environment.Functions()
			for _, f := range language.Functions {
				names = append(names, f.Name)
			}
			return names
		})
	case "unknown-type":
		advice = r.ledger.o.Names.Advise(ctx, e.Name, "types", unknown.PlanTypes)
	}
	return strings.TrimLeft(advice, ":; ")
}
