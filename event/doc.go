// Package event says what happens while bolt works, in one vocabulary for all that show,
// record or count it.
//
// An [Event] is one of the types of this package: an action on targets begins, a target
// has printed something, a plan has come to its end. The packages that work (run,
// plans/executor) hand events to a [Sink]; formats of output, the line of progress, the
// audit log, the journal of a plan and the file for --rerun are sinks. [Fan] hands an
// event to several sinks, and [Redact] keeps secrets from the sinks behind it.
//
// A [Result] is the outcome of an action on one target, and an [Error] is a failure on
// it. The output of commands is in package event/capture.
//
// # Ownership
//
// What an event points to belongs to the emitter. A sink must not change it. A sink can
// keep a Step, a Result and what they point to; Data of TargetOutput is valid during the
// call only. Result.Output is open during the call: a sink that reads it later calls
// its method Retain, and Close when it has read it.
//
// # A new kind
//
// A new kind of event is a new type here, with the method event. Sinks pass over the types
// that they do not know.
package event
