package rollout

// A Phase is the state of a rollout.
type Phase string

// The states of a rollout. The last five are its ends.
const (
	Draft            Phase = "draft"
	Validating       Phase = "validating" // gates before the first wave
	NoopPreview      Phase = "noop_preview"
	AwaitingApproval Phase = "awaiting_approval"
	AwaitingWindow   Phase = "awaiting_window"
	Running          Phase = "running"
	Gating           Phase = "gating"
	Soaking          Phase = "soaking"
	PausedPhase      Phase = "paused"
	Aborting         Phase = "aborting"
	RollingBack      Phase = "rolling_back"
	Succeeded        Phase = "succeeded"
	Failed           Phase = "failed"
	Aborted          Phase = "aborted"
	SupersededPhase  Phase = "superseded"
	RolledBack       Phase = "rolled_back"
)

// Ended reports whether the phase is an end.
func (p Phase) Ended() bool {
	switch p {
	case Succeeded, Failed, Aborted, SupersededPhase, RolledBack:
		return true
	}
	return false
}

// A NodeState is the state of a node in a rollout.
type NodeState string

// The states of a node. Those from NodeDone are its ends.
const (
	NodePending     NodeState = "pending"
	NodeLocked      NodeState = "locked"  // the driver holds the lock of the node; hooks run in this state
	NodeSending     NodeState = "sending" // a run is intended
	NodeApplying    NodeState = "applying"
	NodeVerifying   NodeState = "verifying"
	NodeSoakingNow  NodeState = "soaking"
	NodeDone        NodeState = "done"
	NodeFailed      NodeState = "failed"
	NodeUnreachable NodeState = "unreachable"
	NodeTimeout     NodeState = "timeout"
	NodeLost        NodeState = "lost"
	NodeDrifted     NodeState = "drifted"
	NodeSkipped     NodeState = "skipped"
	NodeCancelled   NodeState = "cancelled"
	NodeRolledBack  NodeState = "rolled_back"
)

// Ended reports whether the state is an end.
func (s NodeState) Ended() bool {
	switch s {
	case NodeDone, NodeFailed, NodeUnreachable, NodeTimeout, NodeLost, NodeDrifted, NodeSkipped, NodeCancelled, NodeRolledBack:
		return true
	}
	return false
}

// An Outcome is the result of a run on a node.
type Outcome string

// The outcomes.
const (
	OutcomeDone        Outcome = "done"
	OutcomeFailed      Outcome = "failed"
	OutcomeUnreachable Outcome = "unreachable" // nothing was started
	OutcomeAuth        Outcome = "auth"        // nothing was started, and a repetition cannot help
	OutcomeTimeout     Outcome = "timeout"
	OutcomeLost        Outcome = "lost"    // the result is unknown
	OutcomeDrifted     Outcome = "drifted" // the node does not have the expected release; nothing was started
	OutcomeRefused     Outcome = "refused" // the node refused the run, for example an older sequence number
	OutcomeCancelled   Outcome = "cancelled"
	// OutcomeAbsent is the answer of a node that knows nothing of the run, so the run was never
	// started. The node gets another run, which does not count as a retry.
	OutcomeAbsent Outcome = "absent"
	// OutcomeGate is the outcome of a node whose gates failed. No run has it.
	OutcomeGate Outcome = "gate"
)

// A HookName is one of the two hooks of a node.
type HookName string

// The hooks.
const (
	HookBefore HookName = "before"
	HookAfter  HookName = "after"
)

// An AbortMode is the treatment of nodes in work at an abort.
type AbortMode string

// The modes.
const (
	Drain  AbortMode = "drain"  // they are finished
	Cancel AbortMode = "cancel" // they are stopped after the resource in work
)

// A PauseWhy is the kind of a pause.
type PauseWhy string

// The kinds of pauses that Step decides.
const (
	PauseFailures PauseWhy = "failures" // more failures than the limits tolerate, a failed gate, or no progress
	PauseGate     PauseWhy = "gate"     // a gate without a result
	PausePreview  PauseWhy = "preview"  // the preview shows too much
	PauseBlocked  PauseWhy = "blocked"  // limits let no node start
)
