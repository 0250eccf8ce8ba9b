package event

import (
	"time"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport"
)

// Result is the outcome of an action on one target. A failure on a target is a
// Result with Err set, never a Go error.
type Result struct {
	Target *inventory.Target
	Action string // "command", "script", "task", "upload", "download", "apply", "lookup"
	Object string // the object of the action; "" and null in JSON if the action did not run

	// Output is the output of a command or script; nil for other actions, and if
	// nothing ran. If it is set, Status is the command's exit. The emitter of the
	// result closes it; see Ownership.
	Output *capture.Output
	Status transport.Status

	// Applied has the outcomes of a catalog's resources; nil for other actions, and if
	// nothing was applied.
	Applied *Applied

	// Value holds the keys of value that are not in Output: _output, path, and
	// every key that a task returned except _error.
	Value *ordered.Map

	Err     *Error
	Elapsed time.Duration // from its start to its end, without the time in the queue
}

// OK reports success.
func (r *Result) OK() bool { return r.Err == nil }

// NotBegun reports whether nothing was done on the target.
func (r *Result) NotBegun() bool { return !r.OK() && r.Err.Class == ClassSkipped }

// Ending returns how the action ended; EndNotBegun for nil.
func (r *Result) Ending() Ending {
	switch {
	case r == nil || r.NotBegun():
		return EndNotBegun
	case r.OK():
		return EndOK
	case r.Err.Class == ClassCancelled:
		return EndCut
	}
	return EndFailed
}

// Error is a failure in the form of Puppet Bolt's JSON.
type Error struct {
	Kind    string          // "puppetlabs.tasks/connect-error", …
	Code    string          // issue code, "CONNECT_ERROR", …; "" if none
	Msg     string          // for people, may have several lines
	Hint    string          // what to do, if Msg does not contain it; "" without advice
	Details *ordered.Map    // never nil
	Class   transport.Class // finer than Kind, not in Puppet Bolt; "failed" for a command's own exit
	// Command is set if the command or task ran and itself failed. Its object and
	// output are then shown beside the error.
	Command bool
	// Given is the error that the task itself returned, in place of the fields
	// above; nil for all other errors.
	Given *ordered.Map
	// Bare is set if the error that the task returned had no details. A plan then adds
	// its position to the details of Given.
	Bare bool
}

// These classes of results are not classes of a transport.
const (
	ClassFailed  transport.Class = "failed"  // the command's own exit
	ClassSkipped transport.Class = "skipped" // never begun
)

// ClassCancelled is the class of work that had begun and was ended because the
// run was stopped.
const ClassCancelled = transport.ClassCancelled

// Skipped returns the failure of a target on which the work was never begun.
func Skipped() *Error {
	return &Error{Kind: "puppetlabs.tasks/skipped-error", Code: "SKIPPED", Class: ClassSkipped, Details: &ordered.Map{}, Msg: "Not run: stopped before its turn came"}
}
