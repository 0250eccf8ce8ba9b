package event

import (
	"time"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
)

// An Event is one thing that happened: one of the types below, by value.
type Event interface{ event() }

// The actions that need a name beside those of package run.
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
	// Name is as Action of Result.
	Name() string
	// Object is the command, the path or the name that the action is about.
	Object() string
}

// A PlanAction is the Action of commands that run a plan.
type PlanAction struct {
	Plan    string       // its name
	Params  *ordered.Map // without secrets
	Secrets []string     // the names of parameters that are secret
	Journal string       // the ID of the run's journal; "" without a journal
}

// Name implements Action.
func (p *PlanAction) Name() string { return Plan }

// Object implements Action.
func (p *PlanAction) Object() string { return p.Plan }

// ActionBegin begins the action of a command of bolt. It comes once, before all else.
type ActionBegin struct {
	Action  string // as in Result, or Lookup or Plan
	Object  string // what is run or copied
	Targets []*inventory.Target
	// Do is the work on the targets. It is nil if there is none: for Lookup, and if
	// Failed follows.
	Do Action
}

// ActionEnd ends the action of a command. With Plan, it follows Returned,
// Failed or Stopped. With other actions, Failed can come instead of it.
type ActionEnd struct {
	Elapsed time.Duration
	Outputs []Output // what a task's promised outputs come to
	Failed  bool     // as a whole
}

// TargetBegin begins work on a target: its turn has come.
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

// TargetResource is a resource that was changed, failed, was skipped or would be changed. It comes as soon
// as the resource has ended.
type TargetResource struct {
	Step     *Step
	Target   *inventory.Target
	Resource *Resource
}

// TargetEnd ends work on a target. It comes once for each target, also for
// targets whose work was not begun.
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
	Number      int    // from 1, in the order of beginning
	Description string // "command 'id'"
	Targets     []*inventory.Target
	File        string // where the plan has it; "" and 0 if that is not known
	Line        int
	// Quiet is set within without_default_logging: the step is not shown. It can be
	// set while the step runs.
	Quiet bool
	// Recorded is set if the step is not carried out, because the run was resumed
	// and its journal has the results.
	Recorded bool

	// Brief is set if people see its begin and its end only, as Puppet Bolt has it.
	Brief bool

	Function string   // the plan function: "run_command"
	Object   string   // what the plan names: a command, a task
	Do       Action   // nil where each target has its own
	Secrets  []string // names of options and parameters that the plan has as Sensitive
	RunAs    string   // overrides the settings of targets; ""
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
	NotBegun int // targets on which it was not begun, which are no failures
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

// ContainerEnd ends it.
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

// Err is the error as data: kind, msg, details and issue_code; nil without one.
func (r *ContainerResult) Err() *ordered.Map {
	e, _ := r.Value.Value("_error").(*ordered.Map)
	return e
}

// Status is "success" or "failure".
func (r *ContainerResult) Status() string {
	if r.Err() != nil {
		return "failure"
	}
	return "success"
}

// Map is the result as data: object, status and value.
func (r *ContainerResult) Map() *ordered.Map {
	return ordered.Of("object", r.Image, "status", r.Status(), "value", r.Value)
}

// Message is a text that a plan prints.
type Message struct {
	Text    string
	Logged  string // the text as a line of the log
	Verbose bool   // it is printed with --verbose only
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
	Targets []string // which; none for an average and for count-by
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
