// Package executor runs plans.
//
// A [Language] contains the additions of plans to the Puppet language: functions
// that act on targets (run_command, upload_file …) or control the plan
// (parallelize, catch_errors …), and the types of their arguments and values
// (Target, ResultSet …). An [Executor] is one run of a plan. It changes the
// inventory as the plan requests, limits the number of concurrent actions, and
// passes events to an [event.Sink].
//
// # Turns
//
// A plan can have many branches (parallelize, background), but only one of them at
// a time evaluates the language. It holds the turn until it acts on targets, sleeps
// or waits for another branch. Branches get the turn back in the order in which
// they ask for it. So branches begin their actions in the order in which they are
// written, in every run, and the long operations run concurrently.
//
// Source: Puppet Bolt (bolt-modules, lib/bolt/executor.rb, pal.rb, plan_future.rb)
// for names, arguments, results and kinds of errors.
package executor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bolt/environment"
	"bolt/event"
	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/modules"
	"bolt/plans"
	"bolt/plans/journal"
	"bolt/plans/yamlplan"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport"
)

// Options are the settings of an Executor.
type Options struct {
	// Environment evaluates plans; its Language must be Language.
	Environment *environment.Environment
	Language    *Language
	// Node describes the controller to programs; Run sets its Host.
	Node      environment.Node
	Plans     *plans.Library
	Inventory *inventory.Inventory
	Tasks     *tasks.Library
	Modules   *modules.Path
	Dialer    transport.Dialer
	PuppetDB  PuppetDB // nil: plans cannot query PuppetDB
	Catalogs  Catalogs
	Resolve   inventory.Resolver // of references to plugins

	Concurrency int           // targets in progress at once, in all steps together
	Timeout     time.Duration // of an action on one target; 0: none
	Natives     map[string]tasks.Native
	Helpers     map[string]tasks.Helper
	Interpret   bool // the targets' interpreters run scripts
	Stream      bool // the Sink gets output as it arrives

	// Downloads is the directory below which download_file writes. Limits limit the
	// download from one target.
	Downloads string
	Limits    transport.Limits
	Getenv    func(name string) (string, bool)

	// Journal records the steps; nil records nothing. Unknown decides about steps
	// with an unknown outcome when a run is resumed: Ask, or one of Outcomes.
	Journal *journal.Run
	Unknown string

	// Sink receives the events. After an error the run is stopped.
	Sink event.Sink
	// Ask asks the user. If it is nil, bolt cannot ask. Several goroutines can call
	// it, and while it waits for an answer, the Sink gets events.
	Ask func(ctx context.Context, question string, sensitive bool) (answer string, err error)
	Log *slog.Logger // nil discards
}

// An Executor is one run of a plan.
type Executor struct {
	o     Options
	turn  turn
	slots run.Slots
	spill *capture.Spill // outputs of results, which stay readable to the end

	// Only the goroutine that holds the turn may use these fields.
	objects map[*inventory.Target]*value.Object // targets as values
	plans   map[string]*plans.Plan              // by name
	known   resources
	branch  string                     // its name in package journal
	caught  map[*value.Object]*Failure // the failures of caught Errors of the language
	// endless is the error of plans and branches that begin each other without end.
	// inAgain is how many branches run nested in a branch that the same call began.
	endless *Failure
	inAgain int
	blocks  blocks

	foreseen map[string]bool // names of plans that foresee has checked

	planResult value.Type // type of plan results; nil before its first use

	// newTarget makes a target within the run's context, because the language makes
	// values without a context.
	newTarget func(spec *ordered.Map) (*inventory.Target, error)
	branches  branches
	events    events
}

// New returns an Executor.
func New(o Options) *Executor {
	if o.Concurrency <= 0 {
		o.Concurrency = run.DefaultConcurrency
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	spill := capture.NewSpill("")
	o.Journal.KeepIn(spill)
	return &Executor{o: o, events: events{sink: o.Sink}, slots: run.NewSlots(o.Concurrency), spill: spill, objects: make(map[*inventory.Target]*value.Object), plans: make(map[string]*plans.Plan), foreseen: make(map[string]bool), caught: make(map[*value.Object]*Failure)}
}

// Close releases the outputs of results. No value of the run may be used
// afterwards.
func (x *Executor) Close() {
	if err := x.spill.Close(); err != nil {
		x.o.Log.Debug("file of outputs not closed cleanly", "err", err)
	}
}

// Run runs a plan with parameters and returns its value: undef if the plan returns
// nothing. The error is a *Failure.
func (x *Executor) Run(ctx context.Context, p *plans.Plan, params *value.Hash) (value.Value, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x.events.stop = stop
	defer context.AfterFunc(ctx, func() { x.branches.end(context.Cause(ctx)) })()
	x.newTarget = func(spec *ordered.Map) (*inventory.Target, error) { return x.o.Inventory.NewTarget(ctx, spec) }
	x.plans[p.Name] = p
	node := x.o.Node
	node.Plans, node.Host, node.Log = true, x, func(l eval.Log) { x.log(ctx, l) }
	node.Apply = x.apply
	in := x.o.Environment.Evaluation(node).Interp
	x.turn.take()
	defer x.turn.give()
	x.in("")
	x.blocks.numbers = 1
	v, err := x.plan(in.Site(ctx, nil).With(ctx, &flow{place: &place{}}), p, params)
	if err != nil && ctx.Err() == nil && x.o.Journal == nil && (p.YAML == nil || !catchable(err)) {
		// A run with a journal continues until all blocks have ended, so that the
		// journal records the outcome of each step.
		x.finish(err)
	}
	if left := x.join(); left != nil && (err == nil || Unfinished(left) && !Unfinished(err)) {
		err = left
	}
	if err != nil {
		return nil, x.failure(err)
	}
	return v, nil
}

// of returns the Executor of the run in which a function is called.
func of(s *eval.Site) *Executor {
	x, _ := environment.Host(s.Interp.Env().Data).(*Executor)
	return x
}

// A flow is the state of a branch of a plan.
type flow struct {
	plan    *planCall   // the innermost plan
	branch  *branchCall // the innermost branch, nil outside of branches
	runAs   string      // of the innermost run_plan that sets it
	quiet   bool        // within without_default_logging
	futures *futures    // of the plan; nil within parallelize
	inside  *future     // the branch's own; nil outside of branches
	place   *place      // shared by all flows of the branch

	yaml *yamlplan.Plan  // the innermost plan, if it is a YAML plan
	from syntax.Position // where that plan was called, see Executor.place
}

// flowOf returns the flow in which a function is called.
func flowOf(s *eval.Site) *flow {
	f, _ := s.Flow().(*flow)
	if f == nil {
		f = &flow{place: &place{}}
	}
	return f
}

// within calls do with the call in another flow.
func within(c *eval.Call, f *flow, do func(*eval.Call) (value.Value, error)) (value.Value, error) {
	return do(c.Fork(c.Context(), f))
}

// A turn is passed between branches in the order in which they ask for it.
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{}
}

// ask joins the queue. The caller has the turn when the channel is closed.
func (t *turn) ask() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := make(chan struct{})
	if t.taken {
		t.waiting = append(t.waiting, mine)
		return mine
	}
	t.taken = true
	close(mine)
	return mine
}

func (t *turn) take() { <-t.ask() }

func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}

// apart runs a long operation without holding the turn.
func (x *Executor) apart(do func()) {
	branch := x.branch
	x.turn.give()
	defer func() {
		x.turn.take()
		x.in(branch)
	}()
	do()
}

// in records which branch has the turn now.
func (x *Executor) in(branch string) {
	x.branch = branch
	x.o.Journal.In(branch)
}
