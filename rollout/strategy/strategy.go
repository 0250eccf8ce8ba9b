// Package strategy reads strategy files: the rules by which a rollout brings a release to nodes.
//
// [Read] reads the YAML of a file and returns a [Strategy] with all defaults filled in. An error
// is a *Errors, which has the line and column of each mistake. [Strategy.Check] finds the
// mistakes of a strategy that comes from elsewhere, such as an event. [Strategy.Digest] is the
// name that approvals are bound to. [Schema] is the JSON schema of the files; it is made from the
// same types as the reader.
//
// A strategy is plain data: the package runs no gate, evaluates no expression and knows no node.
// The only files that it reads are those of the time zone database, for windows and freezes.
// The JSON form of a strategy has the keys of the file.
package strategy

import (
	"bolt/rollout/gate"
	"bolt/rollout/quantity"
)

// A Strategy is a strategy file.
type Strategy struct {
	Rollout string `json:"rollout,omitempty" doc:"The name of rollouts that use this file."`
	Release string `json:"release,omitempty" doc:"The release, unless the command names one."`

	Kind     Kind     `json:"kind" doc:"apply changes nodes. check changes nothing, except while a window is open."`
	Action   Action   `json:"action,omitzero" doc:"A plan or task to run on each node instead of applying its catalog."`
	Conflict Conflict `json:"conflict" doc:"The reaction if another rollout has some of the nodes: refuse, queue or supersede."`
	Targets  Targets  `json:"targets,omitzero" doc:"The nodes, unless the command names targets."`

	Order  []Order `json:"order" doc:"The order of the nodes, most important rule first."`
	Strata Fact    `json:"strata,omitempty" doc:"A fact that divides the nodes, such as facts.zone. No wave has nodes with two values of it."`

	Rules Rules `json:"strategy" doc:"Waves, limits and the reaction to failures."`

	Gates     []gate.Spec `json:"gates,omitempty" doc:"The checks that decide whether the rollout can go on."`
	Windows   []Window    `json:"windows,omitempty" doc:"The times at which the rollout can act. Without windows, it can always act."`
	Freeze    []Freeze    `json:"freeze,omitempty" doc:"The times at which the rollout cannot act, although a window is open."`
	Approvals Approvals   `json:"approvals,omitzero" doc:"The waves that persons must approve."`
	Hooks     Hooks       `json:"hooks,omitzero" doc:"Tasks or commands before and after the work on each node."`
}

// Rules are the limits of a strategy.
type Rules struct {
	Preview  Preview  `json:"noop_first,omitzero" doc:"A run without changes on the nodes before the first wave."`
	Waves    []Wave   `json:"waves" doc:"The waves, in their order. The default is one wave with all nodes."`
	Parallel Parallel `json:"concurrency" doc:"The limits of nodes in work at the same time."`
	// MaxUnavailable is none if there is no limit.
	MaxUnavailable quantity.Amount   `json:"max_unavailable,omitzero" doc:"The largest number of nodes in work or failed at the same time. A percentage is of all nodes, rounded down, at least 1."`
	Failures       Failures          `json:"failures" doc:"The number of tolerated failures. One more stops the rollout."`
	Counts         []Cause           `json:"counts_as_failure" doc:"Which results of a node count as failures."`
	Node           Node              `json:"node" doc:"The limits of the work on one node."`
	Progress       quantity.Duration `json:"progress_deadline,omitzero" doc:"The longest time without a finished node while nodes are in work or waiting. 0s means unlimited."`
	OnFailure      Reaction          `json:"on_failure" doc:"The reaction to too many failures: pause, abort or rollback."`
	Rollback       Rollback          `json:"rollback" doc:"How nodes get the release back that they had."`
}

// A Kind is the purpose of a rollout.
type Kind string

// The kinds.
const (
	Apply Kind = "apply"
	Check Kind = "check"
)

// Values lists the kinds.
func (Kind) Values() []string { return []string{string(Apply), string(Check)} }

// A Conflict is the reaction of a rollout if another one has some of its nodes.
type Conflict string

// The ways to treat another rollout.
const (
	Refuse    Conflict = "refuse"
	Queue     Conflict = "queue"
	Supersede Conflict = "supersede"
)

// Values lists the ways.
func (Conflict) Values() []string { return []string{string(Refuse), string(Queue), string(Supersede)} }

// An Action is the plan or task that runs on each node. The zero Action applies the catalog of the release.
type Action struct {
	Plan       string         `json:"plan,omitempty" doc:"A plan. It runs once for each node, which is its parameter targets."`
	Task       string         `json:"task,omitempty" doc:"A task."`
	Params     map[string]any `json:"params,omitempty" doc:"The parameters of the plan or task."`
	Idempotent bool           `json:"idempotent,omitempty" doc:"Whether the plan or task can run again on a node if the result of a run is lost."`
}

// Targets are the nodes of a rollout.
type Targets struct {
	Query   string    `json:"query,omitempty" doc:"A query to PuppetDB."`
	Names   []string  `json:"names,omitempty" doc:"Names, groups and patterns of the inventory."`
	Where   string    `json:"where,omitempty" doc:"A condition, as in --where."`
	AtLeast int       `json:"at_least,omitempty" doc:"The smallest number of nodes. With fewer, the rollout does not start."`
	Empty   WhenEmpty `json:"when_empty,omitempty" doc:"Whether a rollout without nodes is an error: fail or succeed."`
}

// Default returns targets with the values of the keys that a file leaves out.
func (Targets) Default() Targets { return Targets{Empty: FailEmpty} }

// A WhenEmpty is the treatment of a rollout without nodes.
type WhenEmpty string

// The treatments.
const (
	FailEmpty    WhenEmpty = "fail"
	SucceedEmpty WhenEmpty = "succeed"
)

// Values lists the treatments.
func (WhenEmpty) Values() []string { return []string{string(FailEmpty), string(SucceedEmpty)} }

// A Preview is a run in noop mode before the first wave.
type Preview struct {
	All        bool       `json:"all" doc:"Whether the preview runs on all nodes."`
	MaxChanges int        `json:"max_changes_per_node,omitempty" doc:"The largest number of changes that a node can have. 0 means unlimited."`
	Unexpected Unexpected `json:"unexpected,omitempty" doc:"The reaction if a node has more changes, or if its preview fails: pause or abort."`
}

// Default returns a preview with the values of the keys that a file leaves out.
func (Preview) Default() Preview { return Preview{All: true, Unexpected: PausePreview} }

// An Unexpected is the reaction to a preview that shows too much.
type Unexpected string

// The reactions to a preview.
const (
	PausePreview Unexpected = "pause"
	AbortPreview Unexpected = "abort"
)

// Values lists the reactions.
func (Unexpected) Values() []string { return []string{string(PausePreview), string(AbortPreview)} }

// A Wave is a step of the waves of a file. Exactly one of the fields Count, Percent, Group, Where, Ramp and
// Rest is set, and selects the nodes of the step. A step takes only nodes that no earlier step has taken.
type Wave struct {
	Name    string            `json:"name,omitempty" doc:"The name of the wave in messages."`
	Count   int               `json:"count,omitempty" doc:"A number of nodes."`
	Percent quantity.Percent  `json:"percent,omitempty" doc:"A percentage of all nodes of the rollout (with strata: of the stratum), rounded up."`
	Group   string            `json:"group,omitempty" doc:"A group of the inventory."`
	Where   string            `json:"where,omitempty" doc:"A condition, as in --where."`
	Ramp    *Ramp             `json:"ramp,omitempty" doc:"Several waves that grow, until all nodes are taken."`
	Rest    bool              `json:"rest,omitempty" doc:"All nodes that are left."`
	Soak    quantity.Duration `json:"soak,omitzero" doc:"The time after the wave and its gates, before the next wave."`
	Approve []string          `json:"approve,omitempty" doc:"The users that can approve the start of the wave."`
}

// A Ramp is a row of waves, each larger than the one before.
type Ramp struct {
	Start  int     `json:"start" doc:"The number of nodes of the first wave."`
	Factor float64 `json:"factor" doc:"By how much each wave is larger than the one before."`
	Max    int     `json:"max,omitempty" doc:"The largest number of nodes of a wave. 0 means unlimited."`
}

// Default returns a ramp with the values of the keys that a file leaves out.
func (Ramp) Default() Ramp { return Ramp{Start: 1, Factor: 2} }

// Parallel limits the nodes that are in work at the same time. A node is in work from its
// start until its healthy time has passed.
type Parallel struct {
	Max int          `json:"max" doc:"The largest number of nodes in work."`
	Per map[Fact]int `json:"per,omitempty" doc:"The largest number of nodes in work that have the same value of a fact."`
	// Governor is none if it has no name.
	Governor Governor `json:"governor,omitzero" doc:"A limit that several rollouts share."`
}

// A Governor limits the nodes in work of all rollouts that name it and have the same store.
type Governor struct {
	Name string `json:"name" doc:"The name of the limit. Rollouts with the same name share it."`
	Max  int    `json:"max" doc:"The largest number of nodes in work of all these rollouts. All of them must have the same number."`
}

// Failures are limits of failures. Each limit stops the rollout if there are more failures. Nil
// is no limit.
type Failures struct {
	Count       *int              `json:"count,omitempty" doc:"The number of failures that are tolerated."`
	Percent     *quantity.Percent `json:"percent,omitempty" doc:"The percentage of failures that are tolerated: of all nodes, and of the nodes of the wave."`
	Consecutive *int              `json:"consecutive,omitempty" doc:"The number of failures in a row that are tolerated."`
	Scope       Scope             `json:"scope" doc:"The scope of the limits: each wave, the whole rollout, or both (wave+rollout)."`
	Strict      bool              `json:"strict" doc:"Whether fewer nodes are started as failures occur, so that the limit cannot be exceeded by more than one."`
}

// A Scope is the set of nodes for which a limit of failures counts.
type Scope string

// The scopes.
const (
	PerWave    Scope = "wave"
	PerRollout Scope = "rollout"
	PerBoth    Scope = "wave+rollout"
)

// Values lists the scopes.
func (Scope) Values() []string { return []string{string(PerWave), string(PerRollout), string(PerBoth)} }

// A Cause is a result of a node that is not a success.
type Cause string

// The causes.
const (
	Unreachable Cause = "unreachable"
	Auth        Cause = "auth"
	Failed      Cause = "failed"
	Timeout     Cause = "timeout"
	GateFailed  Cause = "gate"
	Lost        Cause = "lost"
	Drifted     Cause = "drifted"
	Refused     Cause = "refused"
)

// Values lists the causes.
func (Cause) Values() []string {
	return []string{string(Unreachable), string(Auth), string(Failed), string(Timeout), string(GateFailed), string(Lost), string(Drifted), string(Refused)}
}

// Synonyms maps other spellings to values.
func (Cause) Synonyms() map[string]string { return map[string]string{"connect": string(Unreachable)} }

// A Node has the limits of one node.
type Node struct {
	Timeout    quantity.Duration `json:"timeout" doc:"The longest time of one run. 0s means unlimited."`
	Retries    int               `json:"retries" doc:"The number of times that a run is repeated."`
	RetryOn    []Cause           `json:"retry_on" doc:"After which results a run is repeated."`
	RetryAfter quantity.Duration `json:"retry_after" doc:"The time before a run is repeated."`
	HealthyFor quantity.Duration `json:"healthy_for,omitzero" doc:"The time for which a node stays in work after its run and its gates have succeeded."`
}

// A Reaction is the reaction to too many failures.
type Reaction string

// The reactions.
const (
	Pause          Reaction = "pause"
	Abort          Reaction = "abort"
	RollbackAction Reaction = "rollback"
)

// Values lists the reactions.
func (Reaction) Values() []string {
	return []string{string(Pause), string(Abort), string(RollbackAction)}
}

// A Rollback has the rules of rollbacks. It is always to the release that the node had before.
type Rollback struct {
	To            RollbackTo    `json:"to" doc:"The release: previous is the release that each node had before."`
	Scope         RollbackScope `json:"scope" doc:"Which nodes go back: changed (nodes that the rollout has changed, or may have changed) or all (nodes on which it has run)."`
	Fast          bool          `json:"fast" doc:"Whether the rollback is one wave without soak. If not, it has the waves of the strategy."`
	OnlyIfDiffers bool          `json:"only_if_differs" doc:"Whether nodes with equal catalogs in both releases are left out."`
}

// A RollbackTo names the release of a rollback.
type RollbackTo string

// Previous is the release that each node had before.
const Previous RollbackTo = "previous"

// Values lists the one release.
func (RollbackTo) Values() []string { return []string{string(Previous)} }

// A RollbackScope says which nodes a rollback is for.
type RollbackScope string

// The scopes of rollbacks.
const (
	Changed  RollbackScope = "changed"
	AllNodes RollbackScope = "all"
)

// Values lists the scopes.
func (RollbackScope) Values() []string { return []string{string(Changed), string(AllNodes)} }

// A Window is a time of the week at which the rollout can act.
type Window struct {
	Days    Days    `json:"days" doc:"Days of the week, such as mon-thu or sat,sun. The default is every day."`
	From    Clock   `json:"from" doc:"The time of day at which the window opens, such as 09:00."`
	To      Clock   `json:"to" doc:"The time of day at which the window closes. If it is not after from, the window closes on the next day."`
	TZ      Zone    `json:"tz" doc:"The time zone, such as Europe/Berlin."`
	AtClose AtClose `json:"at_close" doc:"The reaction if the window closes inside a wave: pause (nodes in work are finished) or finish_wave."`
}

// An AtClose is the treatment of a wave when its window closes.
type AtClose string

// The ways to treat the wave at the close of a window.
const (
	PauseAtClose AtClose = "pause"
	FinishWave   AtClose = "finish_wave"
)

// Values lists the ways.
func (AtClose) Values() []string { return []string{string(PauseAtClose), string(FinishWave)} }

// A Freeze is a time at which the rollout cannot act.
type Freeze struct {
	From   Moment `json:"from" doc:"The first day, or the time at which the freeze begins."`
	To     Moment `json:"to" doc:"The last day, or the time at which the freeze ends."`
	TZ     Zone   `json:"tz" doc:"The time zone of from and to."`
	Unless Unless `json:"unless,omitempty" doc:"emergency excepts rollouts that were started as an emergency."`
}

// An Unless is an exception from a freeze.
type Unless string

// Emergency excepts rollouts that were started as an emergency.
const Emergency Unless = "emergency"

// Values lists the exception.
func (Unless) Values() []string { return []string{string(Emergency)} }

// Approvals say which waves need the approval of persons.
type Approvals struct {
	Before    []string          `json:"before,omitempty" doc:"Names of waves, first_wave or rest."`
	Users     []string          `json:"users,omitempty" doc:"The users that can approve these waves. The default is all users."`
	Need      int               `json:"need" doc:"The number of users that must approve a wave."`
	NotAuthor bool              `json:"not_author" doc:"Whether the author of the rollout cannot approve it."`
	Expires   quantity.Duration `json:"expires,omitzero" doc:"The age at which an approval is void. 0s means unlimited."`
}

// Hooks run around the work on a node.
type Hooks struct {
	Before Hook `json:"before_node,omitzero" doc:"A task or command before the work on a node. If it fails, the node fails."`
	After  Hook `json:"after_node,omitzero" doc:"A task or command after the work on a node."`
	Always bool `json:"always" doc:"Whether the second hook runs even if the work has failed."`
}

// A Hook is a task or a command. A file can write the name of a task alone.
type Hook struct {
	Task    string            `json:"task,omitempty" doc:"A task."`
	Command string            `json:"command,omitempty" doc:"A command."`
	Params  map[string]any    `json:"params,omitempty" doc:"The parameters of the task."`
	On      gate.Machine      `json:"on,omitempty" doc:"The machine on which the hook runs: node or controller."`
	Timeout quantity.Duration `json:"timeout,omitzero" doc:"The longest time of the hook."`
}
