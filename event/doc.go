// Package event defines the events of a run of bolt. All code that shows,
// records or counts actions uses these types.
//
// An [Event] is one of the types of this package: an action on targets begins, a target
// has printed something, a plan has ended. The packages that do the work (run,
// plans/executor) pass events to a [Sink]. Sinks are the formats of output, the line of
// progress, the audit log, the journal of a plan and the file for --rerun. [Fan] passes an
// event to several sinks, and [Redact] removes secrets for the sinks behind it.
//
// A [Result] is the outcome of an action on one target, and an [Error] is a failure on
// it. The output of commands is in package event/capture.
//
// # Ownership
//
// The data that an event points to belongs to the emitter. A sink must not
// change it. A sink can keep a Step, a Result and the data that they point to;
// TargetOutput.Data is valid only during the call. Result.Output is open during
// the call: a sink that reads it later must call Retain, and Close after
// reading.
//
// # A new kind
//
// A new kind of event is a new type in event.go with the method event. An event about a
// step of a plan has a field Step. StepOf and OfStep in sink.go must handle the type;
// otherwise the event loses its step in plans. If a sink can prevent the event's
// beginning, Begins must include the type. Sinks ignore types that they do not handle, so
// each format in package output needs a case for it.
package event
