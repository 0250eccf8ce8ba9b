// Package executor carries out what plans do.
//
// A [Language] is what plans have beside the language itself: functions that act
// on targets (run_command, upload_file …) or control the plan (parallelize,
// catch_errors …), and the types of what they take and give (Target, ResultSet …).
// An [Executor] is one run of a plan. It changes the inventory as the plan says,
// limits all that is done at once, and tells an [Observer] what happens.
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
	PuppetDB  PuppetDB           // nil: plans cannot ask any
	Resolve   inventory.Resolver // of references to plugins

	Concurrency int           // targets that are worked on at once, by all steps together
	Timeout     time.Duration // of an action on one target; 0: none
	Natives     map[string]tasks.Native
	Interpret   bool // scripts are run by the targets' interpreters
	Stream      bool // the Observer gets output as it arrives

	// Downloads is the directory below which download_file writes, and Limits are
	// those of what it gets from one target.
	Downloads string
	Limits    transport.Limits
	Getenv    func(name string) (string, bool)

	// Journal records what is done; nil: nothing does. Unknown says what becomes of
	// what may have been done when a run is taken up: Ask, or one of Outcomes.
	Journal *journal.Run
	Unknown string

	// Audit is told of a step before it is begun, and end what came of it on the
	// targets where it was; after an error it is not begun. A container has one
	// result, without a target. Several goroutines call it; nil: nobody is told.
	Audit func(ctx context.Context, s *Step) (end func(results []*event.Result), err error)

	Observer Observer
	// Warn takes a warning, its ID first.
	Warn func(id, text string)
	Log  *slog.Logger // nil discards
}

// An Observer is told what a plan does. Its methods are called from one goroutine
// at a time, but for Ask: while it waits for an answer, the others are called, and
// Ask too, for other branches.
type Observer interface {
	// PlanStarted and PlanFinished are around each plan that is run.
	// quiet is set within without_default_logging: the plan is not shown.
	PlanStarted(name string, quiet bool)
	PlanFinished(name string, quiet bool, took time.Duration)
	// StepStarted, Target and StepFinished are around each action on targets.
	// Target gets the events of the step; the Output of results stays open. When
	// the journal cannot be written, targets may be without a result.
	StepStarted(s *Step)
	Target(s *Step, e run.Event)
	// notBegun counts targets that were left out, which are no failures.
	StepFinished(s *Step, failures, notBegun int, took time.Duration)
	// ContainerStarted and ContainerFinished are around each container that is
	// run on this machine.
	ContainerStarted(image string)
	ContainerFinished(r *ContainerResult)
	// Message receives the messages that the plan prints.
	Message(m Message)
	// Log is what the plan writes to the log.
	Log(l eval.Log)
	// Ask asks people something; ok is false where there is nobody to ask.
	Ask(ctx context.Context, question string, sensitive bool) (answer string, ok bool, err error)
}

// A Message is a message that a plan prints.
type Message struct {
	Text    string
	Logged  string // as a line of the log
	Verbose bool   // printed only with --verbose
}

// A Step is an action of a plan on targets.
type Step struct {
	Description string // for people: "command 'id'"
	Targets     []*inventory.Target
	// Quiet is set within without_default_logging: the step is not shown.
	Quiet bool
	// Recorded is set if nothing is done: the run is taken up, and has the results.
	Recorded bool
	// At is where the plan says so.
	At syntax.Position

	// Function is what is called, and Object what it names: a command, a task, an
	// image.
	Function, Object string
	// Action is what is done; nil where each target has its own, and for containers.
	Action run.Action
	// Secrets are the names of options and parameters that the plan has as Sensitive.
	Secrets []string
	RunAs   string // above the settings of the targets; ""
	Noop    bool
}

// An Executor is one run of a plan.
type Executor struct {
	o     Options
	ctx   context.Context // of Run
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

	mu sync.Mutex // around calls of the Observer
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
	return &Executor{o: o, slots: run.NewSlots(o.Concurrency), spill: spill, objects: make(map[*inventory.Target]*value.Object), plans: make(map[string]*plans.Plan), foreseen: make(map[string]bool), caught: make(map[*value.Object]*Failure)}
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
	x.plans[p.Name], x.ctx = p, ctx
	node := x.o.Node
	node.Plans, node.Host, node.Log = true, x, x.log
	node.Apply = func(*eval.Call, *syntax.File, *syntax.Apply) (value.Value, error) { return nil, noCatalogs() }
	in := x.o.Environment.Evaluation(node).Interp
	x.turn.take()
	defer x.turn.give()
	x.in("")
	x.blocks.numbers = 1
	v, err := x.plan(in.Site(x.enter(ctx, &flow{place: &place{}}), nil), p, params)
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

// context is that of the run, for what is called without a place in it.
func (x *Executor) context() context.Context { return x.ctx }

func (x *Executor) log(l eval.Log) {
	x.observe(func(o Observer) { o.Log(l) })
}

func (x *Executor) observe(tell func(Observer)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	tell(x.o.Observer)
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

type flowKey struct{}

func (x *Executor) enter(ctx context.Context, f *flow) context.Context {
	return context.WithValue(ctx, flowKey{}, f)
}

func flowOf(s *eval.Site) *flow {
	f, _ := s.Context().Value(flowKey{}).(*flow)
	if f == nil {
		f = &flow{place: &place{}}
	}
	return f
}

// within calls do with the call in another flow.
func (x *Executor) within(c *eval.Call, f *flow, do func(*eval.Call) (value.Value, error)) (value.Value, error) {
	return do(c.Fork(x.enter(c.Context(), f)))
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
