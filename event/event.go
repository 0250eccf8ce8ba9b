package event

import (
	"time"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
)

// An Event is one of the types below, by value.
type Event interface{ event() }

// These actions exist in addition to the actions of package run.
const (
	// Lookup prints a value for each target. Nothing is done on the targets, and
	// each result has the value as "value".
	Lookup = "lookup"
	// Apply applies a catalog to each target.
	Apply = "apply"
	// Plan is the action of commands that run a plan. Its targets are those of its steps.
	Plan = "plan"
)

// An Action is the work on the targets. Sinks that record it look at its type.
type Action interface {
	// Name is the name in Result.Action.
	Name() string
	// Object is the command, path or name of the action.
	Object() string
}

// A PlanAction is the Action of commands that run a plan.
type PlanAction struct {
	Plan    string       // its name
	Params  *ordered.Map // without secrets
	Secrets []string     // names of the secret parameters
	Journal string       // the ID of the run's journal; "" without a journal
}

// Name implements Action.
func (p *PlanAction) Name() string { return Plan }

// Object implements Action.
func (p *PlanAction) Object() string { return p.Plan }

// ActionBegin begins the action of a command of bolt. It comes once, before all other
// events.
type ActionBegin struct {
	Action  string // as in Result, or Lookup or Plan
	Object  string // the object of the action
	Targets []*inventory.Target
	// Do is the work on the targets. It is nil if there is none: for Lookup, and if
	// Failed follows.
	Do Action
}

// ActionEnd ends the action of a command. With Plan, it follows Returned,
// Failed or Stopped. With other actions, Failed can come instead of it.
type ActionEnd struct {
	Elapsed time.Duration
	Outputs []Output // aggregates of a task's promised outputs
	Failed  bool     // the action as a whole has failed
}

// TargetBegin begins the work on a target.
type TargetBegin struct {
	Step   *Step // nil: it is the action of a command
	Target *inventory.Target
}

// TargetOutput is a piece of output of a target, as it arrived.
type TargetOutput struct {
	Step   *Step
	Target *inventory.Target
	Stream capture.Stream
	Data   []byte // valid during the call
}

// TargetResource is a resource that was changed, failed, was skipped or would be
// changed. It comes as soon as the resource has ended.
type TargetResource struct {
	Step     *Step
	Target   *inventory.Target
	Resource *Resource
}

// TargetEnd ends the work on a target. It comes once for each target, also for
// targets whose work did not begin.
type TargetEnd struct {
	Step   *Step
	Result *Result
}

// PlanBegin begins a plan, which another plan may have called.
type PlanBegin struct {
	Plan  string // its name
	Quiet bool   // it is not shown
}

// PlanEnd ends a plan, with success or failure.
type PlanEnd struct {
	Plan    string
	Quiet   bool
	Elapsed time.Duration
}

// A Step is an action of a plan on targets. Each has its own pointer.
type Step struct {
	Number      int    // from 1, in the order in which steps begin
	Description string // "command 'id'"
	Targets     []*inventory.Target
	File        string // position in the plan; "" and 0 if it is unknown
	Line        int
	// Quiet is set within without_default_logging: the step is not shown. It can be
	// set while the step runs.
	Quiet bool
	// Recorded is set if the step is not carried out, because the run was resumed
	// and its journal has the results.
	Recorded bool

	// Brief is set if users see only the begin and the end of the step, as in Puppet
	// Bolt.
	Brief bool

	Function string   // the plan function: "run_command"
	Object   string   // the object in the plan: a command, a task
	Do       Action   // nil if each target has its own
	Secrets  []string // names of the options and parameters that are Sensitive in the plan
	RunAs    string   // overrides the settings of targets; "": no override
	Noop     bool
}

// StepBegin begins a step. TargetEnd can follow for targets whose result is known.
type StepBegin struct{ Step *Step }

// BatchBegin comes before the work on a batch of targets of a step begins. A
// step whose results are all known has no BatchBegin.
type BatchBegin struct {
	Step    *Step
	Targets []*inventory.Target
}

// StepEnd ends a step.
type StepEnd struct {
	Step     *Step
	Failures int // targets on which it failed
	NotBegun int // targets on which it did not begin; these are not failures
	Elapsed  time.Duration
}

// A Container is a run of a container on this machine. Each has its own pointer.
type Container struct {
	Image   string
	Quiet   bool     // it is not shown
	Secrets []string // as in Step
}

// ContainerBegin begins a container.
type ContainerBegin struct{ Container *Container }

// ContainerEnd ends a container.
type ContainerEnd struct {
	Container *Container
	Result    *ContainerResult
}

// A ContainerResult is the outcome of a container.
type ContainerResult struct {
	Image string
	// Value has stdout, stderr and exit_code, or else _error.
	Value *ordered.Map
}

// Err returns the error as data: kind, msg, details and issue_code; nil if there is
// none.
func (r *ContainerResult) Err() *ordered.Map {
	e, _ := r.Value.Value("_error").(*ordered.Map)
	return e
}

// Status returns "success" or "failure".
func (r *ContainerResult) Status() string {
	if r.Err() != nil {
		return "failure"
	}
	return "success"
}

// Map returns the result as data: object, status and value.
func (r *ContainerResult) Map() *ordered.Map {
	return ordered.Of("object", r.Image, "status", r.Status(), "value", r.Value)
}

// Message is a message that a plan prints.
type Message struct {
	Text    string
	Logged  string // the message as a line of the log
	Verbose bool   // it is only printed with --verbose
}

// Log is a line for the log.
type Log struct {
	Level string // trace, debug, info, warn, error, fatal
	ID    string // of a warning; "" for others
	Text  string
}

// Question is a question to the user. The emitter asks it and reads the answer;
// sinks only show it.
type Question struct{ Text string }

// Output is a promised output of a task, aggregated over all targets.
type Output struct {
	Name        string
	Description string
	Aggregate   string // summary, average, min, max, count-by
	Count       int    // targets that have it
	Values      []OutputValue
}

// OutputValue is one value of an Output.
type OutputValue struct {
	Value   any
	Count   int      // targets that have it
	Targets []string // names of these targets; none for an average and for count-by
}

func (ActionBegin) event()    {}
func (ActionEnd) event()      {}
func (TargetBegin) event()    {}
func (TargetOutput) event()   {}
func (TargetResource) event() {}
func (TargetEnd) event()      {}
func (PlanBegin) event()      {}
func (PlanEnd) event()        {}
func (StepBegin) event()      {}
func (BatchBegin) event()     {}
func (StepEnd) event()        {}
func (ContainerBegin) event() {}
func (ContainerEnd) event()   {}
func (Message) event()        {}
func (Log) event()            {}
func (Question) event()       {}
func (Returned) event()       {}
func (Failed) event()         {}
func (Stopped) event()        {}
