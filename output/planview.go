package output

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
)

// A PlanView shows a plan as it runs, and what it came to. Its methods are called
// from one goroutine at a time, and one of all but the first ends it. Each returns the
// first error of writing, so a caller may stop the plan as soon as it sees one. All
// outputs of results stay open.
type PlanView interface {
	// Event shows what happens.
	Event(e PlanEvent) error
	// Value shows what the plan has returned; nil is nothing.
	Value(v any) error
	// Results shows results that the plan has returned, or that ended it: failure
	// is then what it is for programs.
	Results(results []*event.Result, failure *ordered.Map) error
	// Result shows the one result that the plan has returned.
	Result(r *event.Result) error
	// Returned shows an error that the plan has caught and returned. place is the
	// position in the error's details, if there is one; data is the error as JSON data.
	Returned(msg, place string, data *ordered.Map) error
	// Container shows a container's result that the plan has returned, or that
	// ended it. The value has stdout and stderr, or else _error. For programs it is
	// data, or failure if it ended the plan.
	Container(image string, value, data, failure *ordered.Map) error
	// Stopped shows how far a plan had come that was stopped.
	Stopped(s *PlanStop) error
	// Failed shows what ended the plan. place is where, "" if nobody knows.
	Failed(msg, place string, failure *ordered.Map) error
}

// NewPlanView returns the PlanView that o asks for. o.Err takes what the plan says
// with JSON.
func NewPlanView(o Options) PlanView {
	out := bufio.NewWriter(o.Out)
	if o.Format == NDJSON {
		return &planEvents{lines: newNDJSON(o, out)}
	}
	return newPlanRun(o, out)
}

// A PlanEvent is one thing that happens in a plan.
type PlanEvent struct {
	Kind PlanEventKind
	Plan string // its name, for PlanStarted and PlanFinished

	Step     *PlanStep // for the kinds of steps
	Target   run.Event // for StepTarget
	Failures int       // for StepFinished: targets on which it failed
	NotBegun int       // for StepFinished: targets on which it was not begun

	Image string       // for ContainerStarted and ContainerFinished
	Value *ordered.Map // for ContainerFinished, as for PlanView.Container

	Took time.Duration // for PlanFinished and StepFinished

	Text    string // for PlanSaid, PlanLogged and PlanAsked
	Verbose bool   // for PlanSaid: to those who want to know more
	Level   string // for PlanLogged: "warn"
	ID      string // for PlanLogged: of a warning, "" for others
}

// A PlanEventKind says what a PlanEvent tells.
type PlanEventKind uint8

// The kinds of PlanEvent.
const (
	PlanStarted  PlanEventKind = iota
	PlanFinished               // well or badly
	StepStarted
	StepRecorded // stands for all other events of a step that was done when the run was begun
	StepTarget   // an event of a target of the step
	StepFinished
	ContainerStarted
	ContainerFinished
	PlanSaid   // a message to people
	PlanLogged // a line of the log, which is written by others
	PlanAsked  // a question, which is asked by others
)

// A PlanStep is an action of a plan on targets. Each has its own pointer.
type PlanStep struct {
	Number      int    // from 1, in the order of beginning
	Description string // "command 'id'"
	Targets     []*inventory.Target
	File        string // where the plan says so; "" and 0 if nobody knows
	Line        int
}

// place is "(file: F, line: N)" of what is known; "" of nothing.
func (s *PlanStep) place() string {
	switch {
	case s.File == "":
		return ""
	case s.Line == 0:
		return "(file: " + s.File + ")"
	}
	return "(file: " + s.File + ", line: " + strconv.Itoa(s.Line) + ")"
}

// maxNamed is how many targets of a step are named.
const maxNamed = 5

// on is the description with the targets.
func (s *PlanStep) on() string {
	if len(s.Targets) <= maxNamed {
		return s.Description + " on " + strings.Join(safeNames(s.Targets), ", ")
	}
	return s.Description + " on " + plural(len(s.Targets), "target")
}
