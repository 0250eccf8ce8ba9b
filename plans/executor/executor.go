// Package executor carries out what plans do.
//
// A [Language] is what plans have beside the language itself: functions that act
// on targets (run_command, upload_file …) or control the plan (parallelize,
// catch_errors …), and the types of what they take and give (Target, ResultSet …).
// An [Executor] is one run of a plan. It changes the inventory as the plan says,
// limits all that is done at once, and hands what happens to an [event.Sink].
//
// # Turns
//
// However many branches a plan has (parallelize, background), one of them at a
// time evaluates the language. It has the turn until it acts on targets, sleeps or
// waits for another, and gets it back in the order of asking. So branches begin
// what they do in the order in which they are written, every time, and all that
// takes long is done at once.
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

// Options are what an Executor works with.
type Options struct {
	// Environment evaluates plans; its Language is this one's.
	Environment *environment.Environment
	Language    *Language
	// Node is what programs are told of the controller; its Host is set.
	Node      environment.Node
	Plans     *plans.Library
	Inventory *inventory.Inventory
	Tasks     *tasks.Library
	Modules   *modules.Path
	Dialer    transport.Dialer
	PuppetDB  PuppetDB // nil: plans cannot ask any
	Catalogs  Catalogs
	Resolve   inventory.Resolver // of references to plugins

	Concurrency int           // targets that are worked on at once, by all steps together
	Timeout     time.Duration // of an action on one target; 0: none
	Natives     map[string]tasks.Native
	Helpers     map[string]tasks.Helper
	Interpret   bool // scripts are run by the targets' interpreters
	Stream      bool // the Sink gets output as it arrives

	// Downloads is the directory below which download_file writes, and Limits are
	// those of what it gets from one target.
	Downloads string
	Limits    transport.Limits
	Getenv    func(name string) (string, bool)

	// Journal records what is done; nil: nothing does. Unknown says what becomes of
	// what may have been done when a run is taken up: Ask, or one of Outcomes.
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

	// Whoever has the turn has these.
	objects map[*inventory.Target]*value.Object // targets as values
	plans   map[string]*plans.Plan              // by name
	known   resources
	branch  string                     // as package journal names it
	caught  map[*value.Object]*Failure // what Errors of the language were
	// endless is the error of plans and branches that begin each other without
	// end, inAgain how many branches are in work inside of what begins them.
	endless *Failure
	inAgain int
	blocks  blocks

	foreseen map[string]bool // names of plans that were looked through

	planResult value.Type // what plans may return; nil before the first did

	// newTarget makes a target within the run's context: the language makes values
	// without one.
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

// Close gives up what results hold. No value of the run may be used afterwards.
func (x *Executor) Close() {
	if err := x.spill.Close(); err != nil {
		x.o.Log.Debug("file of outputs not closed cleanly", "err", err)
	}
}

// Run runs a plan with parameters, and returns what it returns: undef if it
// returns nothing. The error is a *Failure.
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
		// A run with a journal goes on until all blocks have ended: it knows of each
		// step what came of it.
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

// of is the Executor that a function is called by.
func of(s *eval.Site) *Executor {
	x, _ := environment.Host(s.Interp.Env().Data).(*Executor)
	return x
}

// A flow is what a branch of a plan works with.
type flow struct {
	plan    *planCall   // the innermost
	branch  *branchCall // the innermost, nil outside of all
	runAs   string      // of the innermost run_plan that says so
	quiet   bool        // within without_default_logging
	futures *futures    // of the plan; nil within parallelize
	inside  *future     // the branch's own; nil outside of branches
	place   *place      // shared by all flows of the branch

	yaml *yamlplan.Plan  // the innermost plan, if it is one
	from syntax.Position // where that was called; see Executor.place
}

// flowOf is the flow that a function is called in.
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

// A turn is passed between branches, in the order in which they ask for it.
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{}
}

// ask takes a place in the queue; the turn is there when the channel is closed.
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

// apart does what takes long without the turn.
func (x *Executor) apart(do func()) {
	branch := x.branch
	x.turn.give()
	defer func() {
		x.turn.take()
		x.in(branch)
	}()
	do()
}

// in notes which branch has the turn now.
func (x *Executor) in(branch string) {
	x.branch = branch
	x.o.Journal.In(branch)
}
