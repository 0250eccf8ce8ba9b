// Package rollout decides the next steps of rollouts.
//
// A rollout brings a release to nodes in waves. Everything about a rollout is an [Event] in its
// log: the reports of drivers, the commands of persons and the decisions. A [State] is the fold of a log, and
// [Step] returns the decisions that are due. The package is pure: it has no clock, no files and no
// goroutines, so a simulation can test each strategy.
//
// # Driving
//
// [New] makes the first event of a log. A driver then repeats:
//
//	load the new events of the log, and fold them with State.Apply
//	events, next := rollout.Step(state, now)
//	append the events to the log, after state.Revision(); on a conflict, begin again
//	fold them, and perform the actions that they intend
//	if there were no events: wait for a result, for an event of another process, or for next
//
// A driver begins with the event [DriverStarted]. Step decides nothing before it. These events
// intend actions:
//
//   - [NodeStarted]: run the action on the node, and append [NodeFinished]. The driver enforces
//     the timeout of the event.
//   - [NodeAsked]: a run of an earlier driver has no result. Ask the node, and append
//     NodeFinished with its result. The outcome is absent if the run was certainly never started on
//     the node, and lost if the driver cannot find the result. The driver must not start the run again.
//   - [NodeStop]: end the run after the resource in work. Append NodeFinished with the outcome
//     cancelled, or with the outcome that the run had.
//   - [HookStarted]: run the hook, and append [HookFinished]. A hook that was interrupted by
//     a crash is started again, so hooks must be safe to repeat.
//   - [GateMeasure]: measure once, and append [GateMeasured]. A measurement that was interrupted
//     by a crash is repeated.
//   - [PreviewStarted]: run the catalog of the node in noop mode, and append [PreviewFinished].
//   - [RollbackStarted]: make the rollout with [NewRollback], unless its log exists, and drive it to
//     its end. Then append [RollbackFinished] to the log of the parent. A driver that starts does the
//     same if State.Rollback is pending.
//   - [Ended]: nothing follows.
//
// Step appends each intention before the act. If a driver dies, all runs that it
// intended are known, and the next driver asks the nodes.
//
// # Commands of persons
//
// Pause, resume, approve and all other commands are events as well. State.Apply refuses
// an event that is not possible in the present state and leaves the state as it was, so a command
// loads the log, applies its event and then appends it after the revision that it has loaded.
//
// # Time
//
// The time of an event is the time at which it was appended. Deadlines are absolute times. If the
// clock is behind the last event, Step appends [ClockMoved], which moves all deadlines. A driver that
// sees its clock jump forward appends ClockMoved itself.
package rollout
