package rollout

import (
	"time"

	"bolt/rollout/strategy"
)

// A State is the fold of a log. The zero State is that of an empty log. It is not safe for
// concurrent use.
type State struct {
	revision uint64
}

// Revision is the number of the last event.
func (s *State) Revision() uint64 { return s.revision }

// Apply folds one event. An error means that the event is not possible in the present state; the state
// is as before then.
func (s *State) Apply(r Record) error { return nil }

// Step returns the events that are due at a time, and the next time at which events can become due
// although nothing is appended; the zero time if there is none. It does not change the state. The
// caller appends and folds the events, and calls Step again until it returns none.
func Step(s *State, now time.Time) (due []Event, next time.Time) { return nil, time.Time{} }

// A Spec is what a rollout is made of.
type Spec struct {
	Rollout   string
	Release   string
	Sequence  uint64
	Strategy  strategy.Strategy
	Nodes     []Node // without order; the names are unique
	Author    string
	Noop      bool
	Emergency bool
	Reason    string
}

// New returns the first event of a rollout, with its waves.
func New(spec Spec) (*Created, error) { return nil, nil }

// NewRollback returns the first event of the rollout that takes a rollout back, and the nodes that
// it leaves out, with the reasons. It is an error if no node is left, or if the rollout is a rollback
// itself. Its log is named by RollbackStarted.
func NewRollback(s *State, id, author string) (*Created, map[string]string, error) {
	return nil, nil, nil
}

// A Status is what "rollout status" prints.
type Status struct {
	Rollout string                `json:"rollout"`
	Release string                `json:"release"`
	State   Phase                 `json:"state"`
	Reason  string                `json:"reason"`
	Wave    int                   `json:"wave"`
	Waves   []WaveStatus          `json:"waves"`
	Nodes   map[string]NodeStatus `json:"nodes"`
}

// A WaveStatus is a wave of a Status. Its state is pending, running, gating, soaking or done.
type WaveStatus struct {
	Name  string   `json:"name"`
	State string   `json:"state"`
	Nodes []string `json:"nodes"`
}

// A NodeStatus is a node of a Status.
type NodeStatus struct {
	State    NodeState `json:"state"`
	Release  string    `json:"release"` // the release of the node, as far as the rollout knows
	Attempts int       `json:"attempts"`
	Reason   string    `json:"reason"`
}

// Status returns the present state for people and programs.
func (s *State) Status() Status { return Status{} }
