// Package report holds the results of applying a catalog as plain data: one Result for each
// resource, with an Event for each property.
//
// The values of Status are the words of bolt's apply report. The meaning of each is Puppet's.
package report

import (
	"time"

	"bolt/catalog"
)

// A Status is the end state of a resource.
type Status string

// The statuses. A resource has exactly one of them.
const (
	Unchanged Status = "unchanged" // it was as wanted, and was not refreshed
	Changed   Status = "changed"   // a property was set, or a refresh was carried out
	Noop      Status = "noop"      // it was not as wanted, and was left so because of noop
	Failed    Status = "failed"    // a property, a check or a refresh failed
	Skipped   Status = "skipped"   // it was not checked; Result.Reason has the reason
)

// An Outcome is the end state of the change of one property.
type Outcome string

// The outcomes.
const (
	Success Outcome = "success"
	Failure Outcome = "failure"
	NoopOut Outcome = "noop"  // the change was not made because of noop
	Audit   Outcome = "audit" // the property has another value than at the last run
)

// An Event is the change of one property of a resource, or a refresh.
type Event struct {
	// Property is the name of the property; "" for a refresh, and for an error that does not concern one
	// property.
	Property string `json:"property,omitempty"`
	// Name is Puppet's name of the change, such as "file_created" or "content_changed".
	Name    string  `json:"name,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Is and Should are the values before the change and after it, for people. A secret
	// value is replaced before the event is made.
	Is     string `json:"is,omitempty"`
	Should string `json:"should,omitempty"`
	// Was is the value at the last run, for an audited property that has changed since.
	Was string `json:"was,omitempty"`
	// Message is a sentence about the change, or the text of the error.
	Message string `json:"message"`
	// Diff is a unified diff of the content of a file; "" if no diff is shown.
	Diff string    `json:"diff,omitempty"`
	Time time.Time `json:"time"`
}

// A Level is the importance of a Log.
type Level string

// The levels are Puppet's levels.
const (
	Debug   Level = "debug"
	Info    Level = "info"
	Notice  Level = "notice"
	Warning Level = "warning"
	Err     Level = "err"
)

// A Log is a message about a resource that is not an Event, such as a line that an exec printed.
type Log struct {
	Ref     string    `json:"ref,omitempty"`
	Level   Level     `json:"level"`
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
}

// A Result is the outcome of one resource.
type Result struct {
	Ref    catalog.Ref
	Status Status
	// Refreshed is set if a refresh was carried out successfully.
	Refreshed bool
	// Reason is set if a resource was skipped, or failed before a property was changed; ""
	// otherwise.
	Reason string
	Events []Event
	// Attempts is the number of attempts if the resource was tried again after a failure; otherwise 0.
	Attempts int
	// Generated is set for a resource that the catalog does not have, such as a file in a
	// directory that is managed with recurse. Parent is the resource that it comes from.
	Generated bool
	Parent    catalog.Ref
	Start     time.Time
	Took      time.Duration
}
