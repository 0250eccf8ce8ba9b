package strategy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/quantity"
)

const (
	defaultMax        = 50
	defaultTimeout    = quantity.Duration(20 * time.Minute)
	defaultRetryAfter = quantity.Duration(30 * time.Second)
	defaultHook       = quantity.Duration(5 * time.Minute)
)

// Default returns the strategy of an empty file: one wave with all nodes, 50 nodes at the same
// time, and a pause after the first failure.
func Default() Strategy {
	none := 0
	return Strategy{
		Kind: Apply, Conflict: Refuse,
		Order: []Order{{By: UnhealthyFirst}, {By: StableHash}},
		Rules: Rules{
			Waves:     []Wave{{Rest: true}},
			Parallel:  Parallel{Max: defaultMax},
			Failures:  Failures{Count: &none, Scope: PerBoth},
			Counts:    []Cause{Unreachable, Auth, Failed, Timeout, GateFailed, Lost, Drifted, Refused},
			Node:      Node{Timeout: defaultTimeout, RetryOn: []Cause{Unreachable, Lost}, RetryAfter: defaultRetryAfter},
			OnFailure: Pause,
			Rollback:  Rollback{To: Previous, Scope: Changed, Fast: true, OnlyIfDiffers: true},
		},
	}
}

// Default returns limits of failures with the values of the keys that a file leaves out.
func (Failures) Default() Failures { return Failures{Scope: PerBoth} }

// Default returns a window with the values of the keys that a file leaves out.
func (Window) Default() Window {
	return Window{Days: everyDay, To: 24 * 60, TZ: "UTC", AtClose: PauseAtClose}
}

// Default returns a freeze with the values of the keys that a file leaves out.
func (Freeze) Default() Freeze { return Freeze{TZ: "UTC"} }

// Default returns approvals with the values of the keys that a file leaves out.
func (Approvals) Default() Approvals { return Approvals{Need: 1} }

// Default returns hooks with the values of the keys that a file leaves out.
func (Hooks) Default() Hooks { return Hooks{Always: true} }

// Default returns a hook with the values of the keys that a file leaves out.
func (Hook) Default() Hook { return Hook{On: gate.OnController, Timeout: defaultHook} }

func (h *Hook) fromText(text string) {
	*h = Hook{}.Default()
	h.Task = text
}

// IsZero reports whether there is no hook.
func (h Hook) IsZero() bool { return h.Task == "" && h.Command == "" }

// IsZero reports whether the action is missing: then the rollout applies catalogs.
func (a Action) IsZero() bool {
	return a.Plan == "" && a.Task == "" && a.Params == nil && !a.Idempotent
}

// Digest is the SHA-256 of the strategy in hexadecimal digits. Comments, the order of keys and
// keys with their default values do not change it.
func (s *Strategy) Digest() string {
	data, err := json.Marshal(s)
	if err != nil {
		return "" // Check refuses such parameters
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Facts returns the facts that the strategy reads, without repetition. A rollout needs
// their values for each node.
func (s *Strategy) Facts() []Fact {
	var list []Fact
	if s.Strata != "" {
		list = append(list, s.Strata)
	}
	for _, o := range s.Order {
		if o.By == ByFact {
			list = append(list, o.Fact)
		}
	}
	for f := range s.Rules.Parallel.Per {
		list = append(list, f)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A Condition is an expression of a strategy file, in the language of --where.
type Condition struct {
	Path string // "strategy.waves[0].where"
	Text string
}

// Conditions returns the expressions of the strategy. Strategy.Check does not read them.
func (s *Strategy) Conditions() []Condition {
	var list []Condition
	add := func(path, text string) {
		if text != "" {
			list = append(list, Condition{path, text})
		}
	}
	add("targets.where", s.Targets.Where)
	for i, w := range s.Rules.Waves {
		add(index("strategy.waves", i)+".where", w.Where)
	}
	for i, g := range s.Gates {
		add(index("gates", i)+".ok", g.OK)
		add(index("gates", i)+".bad", g.Bad)
	}
	return list
}

// Passive reports whether the rollout never changes a node: it is a check without windows.
func (s *Strategy) Passive() bool { return s.Kind == Check && len(s.Windows) == 0 }

// A UseKind is a kind of thing of the project that a strategy can name.
type UseKind string

// The kinds.
const (
	UsesPlan   UseKind = "plan"
	UsesTask   UseKind = "task"
	UsesScript UseKind = "script"
)

// A Use is a plan, task or script that a strategy names.
type Use struct {
	Kind       UseKind
	Name, Path string // "gates[0].task"
	Params     map[string]any
	ParamsPath string
	Given      []string // parameters that it gets besides Params
}

// Uses returns the plans, tasks and scripts that the strategy names. Strategy.Check does not look for them.
func (s *Strategy) Uses() []Use {
	var list []Use
	add := func(kind UseKind, path, name string, params map[string]any, given ...string) {
		if name != "" {
			list = append(list, Use{kind, name, path + "." + string(kind), params, path + ".params", given})
		}
	}
	add(UsesPlan, "action", s.Action.Plan, s.Action.Params, "targets")
	add(UsesTask, "action", s.Action.Task, s.Action.Params)
	for i, g := range s.Gates {
		add(UsesPlan, index("gates", i), g.Plan, g.Params)
		add(UsesTask, index("gates", i), g.Task, g.Params)
		add(UsesScript, index("gates", i), g.Script, nil)
	}
	add(UsesTask, "hooks.before_node", s.Hooks.Before.Task, s.Hooks.Before.Params)
	add(UsesTask, "hooks.after_node", s.Hooks.After.Task, s.Hooks.After.Params)
	return list
}

// CountsAs reports whether a result of a node counts as a failure.
func (s *Strategy) CountsAs(c Cause) bool { return slices.Contains(s.Rules.Counts, c) }

// RepeatsOn reports whether a run is repeated after a result. A lost run of a plan or task is
// repeated only if the action is idempotent.
func (s *Strategy) RepeatsOn(c Cause) bool {
	if c == Lost && !s.Action.IsZero() && !s.Action.Idempotent {
		return false
	}
	return slices.Contains(s.Rules.Node.RetryOn, c)
}

// Gate returns the gate of a name, nil if there is none.
func (s *Strategy) Gate(name string) *gate.Spec {
	for i := range s.Gates {
		if s.Gates[i].Name == name {
			return &s.Gates[i]
		}
	}
	return nil
}

// GatesAt returns the gates of a place.
func (s *Strategy) GatesAt(p gate.Place) []*gate.Spec {
	var list []*gate.Spec
	for i := range s.Gates {
		if slices.Contains(s.Gates[i].At, p) {
			list = append(list, &s.Gates[i])
		}
	}
	return list
}

// An Approval is the condition for the start of a wave. With Need 0, the wave needs no approval.
type Approval struct {
	Need      int
	Users     []string // empty means all users
	NotAuthor bool
	Expires   time.Duration // 0 is never
}

// Approval returns the condition for the start of a wave. step is its entry in the waves, from 1. first is set
// for the first wave of the rollout.
func (s *Strategy) Approval(step int, first bool) Approval {
	w := s.Rules.Waves[step-1]
	a := Approval{Users: w.Approve, NotAuthor: s.Approvals.NotAuthor, Expires: time.Duration(s.Approvals.Expires)}
	named := func(name string) bool { return slices.Contains(s.Approvals.Before, name) }
	listed := first && named(FirstWave) || w.Rest && named(RestWave) || w.Name != "" && named(w.Name)
	if !listed && len(w.Approve) == 0 {
		return Approval{}
	}
	if len(w.Approve) == 0 {
		a.Users = s.Approvals.Users
	}
	a.Need = max(s.Approvals.Need, 1)
	return a
}

// Words that stand for waves in approvals.
const (
	FirstWave = "first_wave"
	RestWave  = "rest"
)
