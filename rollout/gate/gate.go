// Package gate defines the checks that decide whether a rollout can go on.
//
// A [Spec] describes the measurements, their places and their times. The package performs no measurement: a
// measurement is an event of the rollout, with one of the outcomes Successful, Failed, Error and
// Inconclusive. A [Tally] counts these outcomes, and [Judge] makes the outcome of the gate from
// the counts. All functions are pure.
//
// A gate has one of six outcomes. It is pending before its first measurement, and running until
// enough measurements are there. The outcomes error (the value could not be measured) and
// inconclusive (the value satisfies neither condition) pause a rollout. They never count as
// failures of the release.
package gate

import (
	"fmt"
	"strings"
	"time"
)

// An Outcome is the result of a gate, or of one measurement.
type Outcome string

// The outcomes. A measurement has one of the last four.
const (
	Pending      Outcome = "pending"
	Running      Outcome = "running"
	Successful   Outcome = "successful"
	Failed       Outcome = "failed"
	Error        Outcome = "error"
	Inconclusive Outcome = "inconclusive"
)

// Ended reports whether a gate with the outcome needs no more measurements.
func (o Outcome) Ended() bool { return o != Pending && o != Running && o != "" }

// Values lists the outcomes.
func (Outcome) Values() []string {
	return []string{string(Pending), string(Running), string(Successful), string(Failed), string(Error), string(Inconclusive)}
}

// A Place is the part of a rollout that a gate guards.
type Place string

// The places.
const (
	Before     Place = "before"     // once, before the first wave
	Node       Place = "node"       // after each run on a node, for that node
	Wave       Place = "wave"       // after the last node of each wave
	Background Place = "background" // all the time, from the first wave to the last
)

// Values lists the places.
func (Place) Values() []string {
	return []string{string(Before), string(Node), string(Wave), string(Background)}
}

// Synonyms maps other spellings to values.
func (Place) Synonyms() map[string]string { return map[string]string{"before_rollout": string(Before)} }

// Limits is the part of a gate that judges measurements. The zero value ends a gate with
// its first measurement.
type Limits struct {
	// Count is the number of successful measurements that make the gate successful. At 0, a
	// background gate is measured until the rollout ends, and any other gate once.
	Count int
	// FailureLimit, ErrorLimit and InconclusiveLimit are the numbers of measurements that are
	// tolerated: one more ends the gate. Errors count only if they follow each other.
	FailureLimit, ErrorLimit, InconclusiveLimit int
	// Endless gates with Count 0 never become successful.
	Endless bool
}

// A Tally counts the measurements of a gate. The zero Tally has none.
type Tally struct {
	Successful, Failed, Errors, Inconclusive int
	// ErrorRun is the number of errors since the last measurement with a value.
	ErrorRun int
	// Reason is the reason of the last measurement that was not successful.
	Reason string
}

// Add returns the tally with one more measurement.
func (t Tally) Add(o Outcome, reason string) Tally {
	switch o {
	case Successful:
		t.Successful++
	case Failed:
		t.Failed++
	case Error:
		t.Errors++
		t.ErrorRun++
	default:
		t.Inconclusive++
	}
	if o != Error {
		t.ErrorRun = 0
	}
	if o != Successful && reason != "" {
		t.Reason = reason
	}
	return t
}

// Total is the number of measurements.
func (t Tally) Total() int { return t.Successful + t.Failed + t.Errors + t.Inconclusive }

// Judge returns the outcome of a gate after the measurements of a tally, and the reason for it
// in words.
func Judge(l Limits, t Tally) (Outcome, string) {
	switch {
	case t.Failed > l.FailureLimit:
		return Failed, because(fmt.Sprintf("%s, failure_limit is %d", times(t.Failed, "measurement", "failed"), l.FailureLimit), t.Reason)
	case t.ErrorRun > l.ErrorLimit:
		return Error, because(fmt.Sprintf("%s in a row could not be measured, error_limit is %d", times(t.ErrorRun, "value", ""), l.ErrorLimit), t.Reason)
	case t.Inconclusive > l.InconclusiveLimit:
		return Inconclusive, because(fmt.Sprintf("%s inconclusive, inconclusive_limit is %d", times(t.Inconclusive, "measurement", ""), l.InconclusiveLimit), t.Reason)
	case t.Successful >= max(l.Count, 1) && !(l.Endless && l.Count == 0):
		return Successful, times(t.Successful, "measurement", "succeeded")
	case t.Total() == 0:
		return Pending, "no measurement yet"
	}
	if l.Endless && l.Count == 0 {
		return Running, times(t.Successful, "measurement", "succeeded")
	}
	return Running, fmt.Sprintf("%d of %d measurements succeeded", t.Successful, max(l.Count, 1))
}

// defaultInterval and defaultTimeout apply to gates that name none. A measurement that takes longer
// than its interval delays the next one.
const (
	defaultInterval = 10 * time.Second
	defaultTimeout  = time.Minute
)

func because(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + ": " + cause
}

func times(n int, what, verb string) string {
	if n != 1 {
		what += "s"
	}
	return strings.TrimRight(fmt.Sprintf("%d %s %s", n, what, verb), " ")
}
