package rollout

import (
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/quantity"
	"bolt/rollout/strategy"
)

// An Event is an entry of the log of a rollout: a pointer to one of the types of this file.
type Event interface {
	// Type is the value of the key "type" in JSON.
	Type() string
}

// A Record is an event with its place in the log.
type Record struct {
	Revision uint64 // from 1
	Time     time.Time
	Event    Event
}

// Created is the first event of each log.
type Created struct {
	Rollout        string            `json:"rollout"`
	Release        string            `json:"release,omitempty"` // digest; empty for plans and tasks
	Sequence       uint64            `json:"sequence,omitempty"`
	Strategy       strategy.Strategy `json:"strategy"`
	StrategyDigest string            `json:"strategy_digest"`
	Nodes          []Node            `json:"nodes"`
	// Waves is the division of the nodes. It is recorded so that another version of the
	// program goes on with the same waves.
	Waves     []Wave `json:"waves"`
	Author    string `json:"author,omitempty"`
	Parent    string `json:"parent,omitempty"` // of a rollback: the rollout that it takes back
	Noop      bool   `json:"noop,omitempty"`   // all runs are in noop mode
	Emergency bool   `json:"emergency,omitempty"`
	// IgnoreDrift lets runs replace a catalog that was applied to a node since the last rollout.
	IgnoreDrift bool   `json:"ignore_drift,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// A Node is a node of a rollout, as it was when the rollout was made.
type Node struct {
	Name    string `json:"name"`
	Release string `json:"release,omitempty"` // the release that the node shall have
	Catalog string `json:"catalog,omitempty"` // digest of its catalog, and of the engine if that is not bolt
	// Previous is the release that the node had, and PreviousCatalog the digest of the catalog
	// that was last applied to it; empty if they are unknown.
	Previous        string `json:"previous,omitempty"`
	PreviousCatalog string `json:"previous_catalog,omitempty"`
	// Facts has the facts that the strategy reads ([strategy.Strategy.Facts]), as strings. A fact that
	// the node does not have is left out.
	Facts map[strategy.Fact]string `json:"facts,omitempty"`
	// Steps lists the entries of the strategy's waves, from 1, whose group or condition the
	// node matches.
	Steps     []int `json:"steps,omitempty"`
	Unhealthy bool  `json:"unhealthy,omitempty"` // before the rollout
	// Uncertain is set if a run may have left a part of another release, so that the release on the node is not known.
	Uncertain bool `json:"uncertain,omitempty"`
}

// Expected returns the release that a node must have when a run begins, unless it has the release of the run already; "" if
// each is accepted.
func (c *Created) Expected(n *Node) string {
	if c.IgnoreDrift || n.Uncertain {
		return ""
	}
	return n.Previous
}

// A Wave is a part of the nodes of a rollout.
type Wave struct {
	Name    string `json:"name"`
	Step    int    `json:"step"`              // the entry of the strategy's waves that made it, from 1
	Stratum string `json:"stratum,omitempty"` // the value of the fact strata
	Nodes   []int  `json:"nodes"`             // indexes into the nodes of the rollout, in order
}

// DriverStarted is the beginning of a driver. It ends the work of any earlier driver.
type DriverStarted struct {
	Session string `json:"session"` // unique
	Holder  string `json:"holder,omitempty"`
}

// DriverStopped is the orderly end of a driver.
type DriverStopped struct {
	Session string `json:"session"`
	Reason  string `json:"reason,omitempty"`
}

// Governed reports how many places of the governor the driver has. A driver begins without places.
type Governed struct {
	Session string `json:"session"`
	Places  int    `json:"places"`
}

// NodeStarted intends a run on a node.
type NodeStarted struct {
	Node    string            `json:"node"`
	Attempt int               `json:"attempt"` // from 1
	Run     string            `json:"run"`
	Session string            `json:"session"`
	Timeout quantity.Duration `json:"timeout,omitzero"` // 0 is no limit
	Noop    bool              `json:"noop,omitempty"`
	Reason  string            `json:"reason,omitempty"`
}

// NodeProgress is the progress of a run: NodeLocked, NodeSending or NodeApplying. It changes no decision.
type NodeProgress struct {
	Node  string    `json:"node"`
	Run   string    `json:"run"`
	State NodeState `json:"state"`
}

// NodeAsked intends a question to a node: how did the run of an earlier driver end?
type NodeAsked struct {
	Node    string `json:"node"`
	Run     string `json:"run"`
	Session string `json:"session"`
	Reason  string `json:"reason,omitempty"`
}

// NodeStop intends the early end of a run.
type NodeStop struct {
	Node   string `json:"node"`
	Run    string `json:"run"`
	Reason string `json:"reason,omitempty"`
}

// NodeFinished is the result of a run.
type NodeFinished struct {
	Node    string  `json:"node"`
	Run     string  `json:"run"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Changed is set if the run has changed the node, or may have changed it.
	Changed bool `json:"changed,omitempty"`
	Changes int  `json:"changes,omitempty"` // the number of resources that changed, or that would change if Changed is not set
	// Catalog is the digest of the catalog that the node has now, "" if it is unknown.
	Catalog string `json:"catalog,omitempty"`
}

// NodeRetry decides that a node gets another run, not before a time.
type NodeRetry struct {
	Node    string    `json:"node"`
	Until   time.Time `json:"until"`
	Outcome Outcome   `json:"outcome"` // of the last run
	Reason  string    `json:"reason,omitempty"`
}

// NodeSoaking decides that a node is observed until its healthy time has passed.
type NodeSoaking struct {
	Node   string    `json:"node"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// NodeEnded decides the end of a node.
type NodeEnded struct {
	Node    string    `json:"node"`
	State   NodeState `json:"state"`
	Outcome Outcome   `json:"outcome,omitempty"`
	Counted bool      `json:"counted,omitempty"` // counts as a failure
	Reason  string    `json:"reason,omitempty"`
}

// HookStarted intends a hook of a node.
type HookStarted struct {
	Node    string   `json:"node"`
	Hook    HookName `json:"hook"`
	Run     string   `json:"run"`
	Session string   `json:"session"`
	// Outcome is the result of the work so far, if the hook is the second one.
	Outcome Outcome `json:"outcome,omitempty"`
	Reason  string  `json:"reason,omitempty"`
}

// HookFinished is the result of a hook.
type HookFinished struct {
	Node   string   `json:"node"`
	Hook   HookName `json:"hook"`
	Run    string   `json:"run"`
	OK     bool     `json:"ok"`
	Reason string   `json:"reason,omitempty"`
}

// GateStarted decides that a gate is measured.
type GateStarted struct {
	ID    string     `json:"id"` // unique in the rollout
	Gate  string     `json:"gate"`
	Place gate.Place `json:"place"`
	Wave  int        `json:"wave,omitempty"` // from 1; of Place Wave
	Node  string     `json:"node,omitempty"` // of Place Node
	// Until is the time of the first measurement.
	Until time.Time `json:"until"`
}

// GateMeasure intends one measurement.
type GateMeasure struct {
	ID      string `json:"id"`
	Number  int    `json:"number"` // from 1
	Session string `json:"session"`
}

// GateMeasured is the result of one measurement: Successful, Failed, Error or Inconclusive.
type GateMeasured struct {
	ID      string       `json:"id"`
	Number  int          `json:"number"`
	Outcome gate.Outcome `json:"outcome"`
	Value   any          `json:"value,omitempty"`
	Reason  string       `json:"reason,omitempty"`
}

// GateEnded decides the outcome of a gate.
type GateEnded struct {
	ID      string       `json:"id"`
	Outcome gate.Outcome `json:"outcome"`
	Reason  string       `json:"reason,omitempty"`
}

// PreviewStarted intends a run in noop mode before the first wave.
type PreviewStarted struct {
	Node    string            `json:"node"`
	Run     string            `json:"run"`
	Session string            `json:"session"`
	Timeout quantity.Duration `json:"timeout,omitzero"`
}

// PreviewFinished is the result of such a run.
type PreviewFinished struct {
	Node    string  `json:"node"`
	Run     string  `json:"run"`
	Outcome Outcome `json:"outcome"`
	Changes int     `json:"changes,omitempty"` // the number of resources that would change
	Reason  string  `json:"reason,omitempty"`
}

// PreviewEnded decides that the preview is over.
type PreviewEnded struct {
	Reason string `json:"reason,omitempty"`
}

// WaveStarted decides that the nodes of a wave can start.
type WaveStarted struct {
	Wave   int    `json:"wave"` // from 1
	Reason string `json:"reason,omitempty"`
}

// WaveEnded decides that a wave, its gates and its soak are over.
type WaveEnded struct {
	Wave   int    `json:"wave"`
	Reason string `json:"reason,omitempty"`
}

// SoakStarted decides the end of the time after a wave.
type SoakStarted struct {
	Wave   int       `json:"wave"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Paused stops new work. Nodes in work are finished.
type Paused struct {
	By     string `json:"by,omitempty"` // empty for a decision of Step
	Reason string `json:"reason,omitempty"`
	// Why sorts the pauses of Step; it is "" for a pause by a person.
	Why PauseWhy `json:"why,omitempty"`
}

// Resumed lets the rollout go on. The failures so far are accepted: limits count from 0 again.
type Resumed struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Approved is the approval of a wave by a person. It is void if the digests are not those of the
// rollout.
type Approved struct {
	By       string `json:"by"`
	Wave     int    `json:"wave"` // from 1
	Release  string `json:"release"`
	Strategy string `json:"strategy"`
	Reason   string `json:"reason,omitempty"`
}

// Rejected ends the rollout at a wave that needs an approval.
type Rejected struct {
	By     string `json:"by"`
	Wave   int    `json:"wave"`
	Reason string `json:"reason,omitempty"`
}

// Promoted ends the present soak, or accepts gates without a success.
type Promoted struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// Skipped takes a node out: one that has not started, or one that failed.
type Skipped struct {
	Node   string `json:"node"`
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// Retried gives nodes that failed another run. Without names, it is for all failed nodes.
type Retried struct {
	Nodes  []string `json:"nodes,omitempty"`
	By     string   `json:"by"`
	Reason string   `json:"reason,omitempty"`
}

// AbortRequested ends the rollout as soon as no node is in work.
type AbortRequested struct {
	Mode   AbortMode `json:"mode"`
	By     string    `json:"by,omitempty"` // empty for a decision of Step
	Reason string    `json:"reason,omitempty"`
}

// Superseded ends the rollout in favour of another one.
type Superseded struct {
	Rollout string `json:"rollout"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// RollbackRequested takes the rollout back as soon as no node is in work. It is possible after the
// end of the rollout as well.
type RollbackRequested struct {
	By     string `json:"by,omitempty"` // empty for a decision of Step
	Reason string `json:"reason,omitempty"`
}

// RollbackStarted intends the rollback by another rollout.
type RollbackStarted struct {
	Rollout string `json:"rollout"`
	Nodes   int    `json:"nodes"`
	Reason  string `json:"reason,omitempty"`
}

// RollbackFinished is the end of that rollout.
type RollbackFinished struct {
	Rollout string   `json:"rollout"`
	State   Phase    `json:"state"`
	Nodes   []string `json:"nodes,omitempty"` // that have their previous release again
	Reason  string   `json:"reason,omitempty"`
}

// Edited replaces the strategy before the first wave. It voids approvals, because they are
// bound to the digest.
type Edited struct {
	Strategy       strategy.Strategy `json:"strategy"`
	StrategyDigest string            `json:"strategy_digest"`
	Nodes          []Node            `json:"nodes"`
	Waves          []Wave            `json:"waves"`
	By             string            `json:"by"`
	Reason         string            `json:"reason,omitempty"`
}

// ClockMoved moves all deadlines, because the clock was set. By is positive for a clock that was
// set forward.
type ClockMoved struct {
	By     int64  `json:"by_ns"`
	Reason string `json:"reason,omitempty"`
}

// PhaseChanged decides the state of the rollout.
type PhaseChanged struct {
	State  Phase  `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// Ended is the last decision, unless the rollout is rolled back later.
type Ended struct {
	State  Phase  `json:"state"`
	Reason string `json:"reason,omitempty"`
}
