package rollouts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/remote/embedded"
	"bolt/catalog"
	"bolt/cli"
	"bolt/event"
	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/inventory"
	"bolt/output/layout"
	"bolt/release"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/rollout/measure"
	"bolt/rollout/reach"
	"bolt/rollout/strategy"
	"bolt/run"
	"bolt/store"
	"bolt/transport"
)

// StartOptions are those of rollout start.
type StartOptions struct {
	PlanOptions
	reason string
	yes    bool
	wait   bool
}

// Bind reads the flags and arguments.
func (o *StartOptions) Bind(b *cli.Binder) {
	o.PlanOptions.Bind(b)
	b.Text("reason", &o.reason)
	b.Switch("yes", &o.yes)
	b.Switch("wait", &o.wait)
	b.Switch("ignore-drift", &o.drift)
}

// Start carries out rollout start.
func (v *Invocation) Start(ctx context.Context, o *StartOptions) error {
	b, err := v.open(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	sent, err := v.deliver(ctx, b)
	if err != nil {
		return err
	}
	defer sent()
	created, err := v.draft(ctx, b, &o.PlanOptions)
	if err != nil {
		return err
	}
	created.Reason = o.reason
	if !o.yes {
		ask := v.Running.Asker(v.Running.Sources.Redact)
		if ask == nil || v.Format.Data {
			return cli.Hinted(cli.Errorf("A rollout without a terminal needs the option --yes"), "'bolt rollout plan' prints the waves and does nothing")
		}
		if err := v.printPlan(created); err != nil {
			return err
		}
		answer, err := ask(ctx, "Start this rollout? [y/N] ", false)
		if sure := strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y"); err != nil || !sure {
			return cli.Failed(true, err)
		}
	}
	for {
		err := b.ledger.Create(ctx, created, v.holder())
		if errors.Is(err, ledger.ErrMoved) {
			if created, err = v.draft(ctx, b, &o.PlanOptions); err != nil {
				return err
			}
			created.Reason = o.reason
			continue
		}
		busy, is := errors.AsType[*ledger.BusyError](err)
		if !is {
			if err != nil {
				return failed(err)
			}
			break
		}
		if err := v.makeRoom(ctx, b, created, busy); err != nil {
			return err
		}
	}
	fmt.Fprintf(v.Console, "This rollout is %s.\n", created.Rollout)
	return v.drive(ctx, b, created.Rollout, func(o2 *driver.Options) { o2.Pause, o2.Wait = true, o.wait })
}

// makeRoom waits for other rollouts with some of the nodes, supersedes them or refuses: the key conflict of the strategy decides. If it returns nil, the rollout can be
// made unless there are others again.
func (v *Invocation) makeRoom(ctx context.Context, b *book, c *rollout.Created, busy *ledger.BusyError) error {
	if room, err := v.supersedeChecks(ctx, b, c, busy); room || err != nil {
		return err
	}
	switch c.Strategy.Conflict {
	case strategy.Queue:
		for _, o := range busy.Others {
			fmt.Fprintf(v.Console, "Waiting for the end of rollout %s, which has the node %s.\n", o.Rollout, o.Node)
			if err := v.ended(ctx, b, o.Rollout); err != nil {
				return err
			}
		}
		return nil
	case strategy.Supersede:
		for _, o := range busy.Others {
			if err := v.supersede(ctx, b, c, o); err != nil {
				return err
			}
		}
		return nil
	}
	o := busy.Others[0]
	e := fault.New(ledger.Kind, "The node %s is in the rollout %s, which has not ended (it is %s)", o.Node, o.Rollout, o.Phase)
	e.Hint = fmt.Sprintf("bring it to its end ('bolt rollout resume %s' or 'bolt rollout abort %[1]s'), or set conflict in the strategy to queue or supersede", o.Rollout)
	return e
}

// ended waits for the end of a rollout.
func (v *Invocation) ended(ctx context.Context, b *book, id string) error {
	s, err := b.ledger.Load(ctx, id)
	if err != nil {
		return failed(err)
	}
	if s.Ended() {
		return nil
	}
	for e, err := range b.store.Watch(ctx, ledger.Log(id), store.Revision(s.Revision())) {
		if err != nil {
			return failed(err)
		}
		r, err := ledger.Decode(e)
		if err == nil {
			err = s.Apply(r)
		}
		if err != nil {
			return failed(err)
		}
		if s.Ended() {
			return nil
		}
	}
	return run.ErrStopped
}

// AdvanceOptions are those of rollout advance.
type AdvanceOptions struct {
	RolloutOptions
	verbose bool
}

// Bind reads the flags and arguments.
func (o *AdvanceOptions) Bind(b *cli.Binder) {
	o.RolloutOptions.Bind(b)
	b.Switch("verbose", &o.verbose)
}

// Advance carries out rollout advance: it performs all due steps. Without an argument, it does this for all rollouts that have
// not ended. It then prints only rollouts in which something was due, because cron(8) mails what a timer prints. An error of one
// rollout does not keep the others from advancing.
func (v *Invocation) Advance(ctx context.Context, o *AdvanceOptions) error {
	b, err := v.open(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	defer v.deliverAnyhow(ctx, b)()
	if o.rollout != "" {
		id, err := b.ledger.Find(ctx, o.rollout)
		if err != nil {
			return failed(err)
		}
		return v.advance(ctx, b, id, true)
	}
	ids, err := b.ledger.IDs(ctx)
	if err != nil {
		return failed(err)
	}
	var worst error // nil, then ErrWaits, then ErrFailed
	none := true
	for _, id := range ids {
		if ledger.IsRollback(id) { // the driver of the parent drives a rollback
			continue
		}
		for e, err := range b.ledger.Entries(ctx, []string{id}) {
			if err == nil && e.Ended() {
				b.webhooks.Rest(ctx, id, e.Last)
				continue
			}
			none = false
			if err == nil {
				err = e.Damaged
			}
			if err == nil {
				err = v.advance(ctx, b, id, o.verbose)
			}
			if errors.Is(err, run.ErrStopped) || errors.Is(err, cli.ErrWrite) {
				return err
			}
			if !cli.Complete(err) {
				v.Logs.Warn("rollout_advance", fmt.Sprintf("The rollout %s did not advance: %v", id, err))
				err = cli.ErrFailed
			}
			if worst == nil || err == cli.ErrFailed {
				worst = err
			}
		}
	}
	if none && o.verbose && !v.Format.Data {
		return v.say("No rollout has to be advanced.")
	}
	return worst
}

// advance performs the due steps of one rollout, unless another process drives it. If nothing is due, it prints this only for verbose.
func (v *Invocation) advance(ctx context.Context, b *book, id string, verbose bool) error {
	var acted atomic.Bool
	end, err := v.driveOne(ctx, b, id, func(o *driver.Options) {
		o.Once = true
		print := o.Events
		o.Events = func(id string, records []rollout.Record) {
			acted.Store(true)
			if print != nil {
				print(id, records)
			}
		}
	})
	if held, is := errors.AsType[*store.HeldError](err); is {
		if verbose {
			fmt.Fprintf(v.Console, "The rollout %s is driven by %s.\n", id, held.Holder)
		}
		return nil
	}
	if err != nil {
		return failed(err)
	}
	if !acted.Load() && !verbose && !v.Format.Data {
		return outcome(end)
	}
	return v.printDriven(ctx, b, id, end)
}

// ResumeOptions are those of rollout resume.
type ResumeOptions struct {
	CommandOptions
	wait bool
}

// Bind reads the flags and arguments.
func (o *ResumeOptions) Bind(b *cli.Binder) {
	o.CommandOptions.Bind(b)
	b.Switch("wait", &o.wait)
}

// Resume carries out rollout resume: it ends a pause of the rollout or of its rollback, and drives the rollout unless another process does so.
func (v *Invocation) Resume(ctx context.Context, o *ResumeOptions) error {
	b, id, s, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	paused := ""
	if is, _ := s.Paused(); is {
		paused = id
	}
	if rollback, pending := s.Rollback(); pending {
		back, err := b.ledger.Load(ctx, rollback)
		if err != nil {
			return failed(err)
		}
		if is, _ := back.Paused(); is {
			paused = rollback
		}
	}
	if paused != "" {
		_, err := b.ledger.Command(ctx, paused, func(*rollout.State) (rollout.Event, error) {
			return &rollout.Resumed{By: v.User, Reason: o.reason}, nil
		})
		if err != nil {
			return failed(err)
		}
	}
	defer v.deliverAnyhow(ctx, b)()
	return v.drive(ctx, b, id, func(d *driver.Options) { d.Pause, d.Wait = true, o.wait })
}

// find returns the rollout that an argument names; the last one without an argument.
func (v *Invocation) find(ctx context.Context, o *RolloutOptions) (*book, string, *rollout.State, error) {
	b, err := v.open(ctx, &o.StateOptions)
	if err != nil {
		return nil, "", nil, err
	}
	id, err := b.ledger.Find(ctx, o.rollout)
	if err != nil {
		return nil, "", nil, failed(err)
	}
	s, err := b.ledger.Load(ctx, id)
	return b, id, s, failed(err)
}

// drive drives a rollout, prints its events, and then its end.
func (v *Invocation) drive(ctx context.Context, b *book, id string, change func(*driver.Options)) error {
	end, err := v.driveOne(ctx, b, id, change)
	if err != nil {
		return failed(err)
	}
	return v.printDriven(ctx, b, id, end)
}

// printDriven prints how far a rollout is.
func (v *Invocation) printDriven(ctx context.Context, b *book, id string, end *driver.End) error {
	s, err := b.ledger.Load(context.WithoutCancel(ctx), id)
	if err != nil {
		return failed(err)
	}
	switch v.Format {
	case layout.JSON:
		err = layout.WriteDocument(v.Out, s.Status())
	case layout.NDJSON:
	default:
		err = v.printEnd(s, end)
	}
	if err != nil {
		return err
	}
	return outcome(end)
}

// outcome returns nil, cli.ErrFailed or cli.ErrWaits for the end of a driver.
func outcome(end *driver.End) error {
	switch end.Phase {
	case rollout.Succeeded:
		return nil
	case rollout.Failed, rollout.Aborted, rollout.RolledBack, rollout.SupersededPhase:
		return cli.ErrFailed
	case rollout.PausedPhase, rollout.AwaitingApproval, rollout.AwaitingWindow:
		return cli.ErrWaits
	}
	if end.Stopped {
		return cli.ErrWaits
	}
	return nil // of advance: all due steps are done
}

func (v *Invocation) driveOne(ctx context.Context, b *book, id string, change func(*driver.Options)) (*driver.End, error) {
	s, err := b.ledger.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	f, done, err := v.fleet(ctx, b, s.Created())
	if err != nil {
		return nil, err
	}
	defer done()
	o := driver.Options{
		Logs: b.store, Rollout: id, Session: transport.NewPrivateName(), Holder: v.holder(), User: v.User, Fleet: f, Checks: f,
		Events: v.printer(context.WithoutCancel(ctx), b), Warn: v.Logs.Warn,
	}
	change(&o)
	b.webhooks.Follow(id)
	defer b.webhooks.Finish(id)
	return driver.Drive(ctx, o)
}

// A works performs the actions of rollouts. It is a driver.Fleet and driver.Checks.
type works struct {
	*reach.Fleet
	means measure.Means
}

// Hook implements driver.Checks.
func (w *works) Hook(ctx context.Context, h *driver.Hook) error {
	return w.means.Hook(ctx, &h.Spec, h.Node.Name, h.Start)
}

// Measure implements driver.Checks.
func (w *works) Measure(ctx context.Context, m *driver.Measurement) (gate.Outcome, any, string) {
	out := w.means.Gate(ctx, m.Gate, &measure.Subject{Place: m.Place, Nodes: m.Nodes, Start: m.Start})
	return out.Outcome, out.Value, out.Reason
}

// localhost is the name of this machine in inventories.
const localhost = "localhost"

// fleet returns the performer of the actions of a rollout, and a function that closes its connections.
func (v *Invocation) fleet(ctx context.Context, b *book, c *rollout.Created) (*works, func(), error) {
	helpers, err := embedded.Built()
	if err != nil {
		return nil, nil, err
	}
	inv, err := v.Running.Sources.Inventory(ctx)
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	targets, err := inv.Targets(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	if err := inv.Prepare(ctx, targets); err != nil {
		return nil, nil, err
	}
	known := make(map[string]*inventory.Target, len(targets))
	for _, t := range targets {
		known[t.Name] = t
	}
	dialer, err := v.Running.Dialer()
	if err != nil {
		return nil, nil, err
	}
	runner := run.New(dialer, run.Options{Timeout: v.Running.Timeout, Log: v.Logs.Logger()})
	done := func() { dialer.Close() }
	r := &reader{book: b, vault: v, plugins: b.releases.Plugins(), read: make(map[string]*release.Release)}
	d := v.Delivery
	d.Helpers = helpers
	d.Open, d.Diffs = b.releases.Open(ctx), false // events of rollouts have no differences
	var record event.Sink
	if r := v.Running.Recorder(); r != nil {
		begin := event.ActionBegin{Action: event.Apply, Object: "rollout " + c.Rollout, Targets: targets, Do: audited{"rollout " + c.Rollout}}
		if err := r.Event(ctx, begin); err != nil {
			done()
			return nil, nil, err
		}
		record = r
		closing := done
		done = func() {
			_ = r.Event(context.WithoutCancel(ctx), event.ActionEnd{})
			closing()
		}
	}
	target := func(ctx context.Context, node string) (*inventory.Target, error) {
		if t := known[node]; t != nil {
			return t, nil
		}
		if node != "" {
			return nil, fmt.Errorf("the node %s is not in the rollout", node)
		}
		list, err := inv.Targets(ctx, []string{localhost})
		if err != nil {
			return nil, err
		}
		return list[0], inv.Prepare(ctx, list)
	}
	f := reach.New(reach.Options{
		Runner: runner, Version: v.Version, Delivery: d, Catalog: r.catalog, Puppet: r.puppet, Task: v.Tasks.Named, Plan: v.Plans.Value, Sink: record, Keep: v.Keeper(b.store.Dir()),
		Target: target,
		Script: func(ctx context.Context, path string) (run.Action, error) {
			path = v.script(path)
			data, err := readfile.Read(ctx, path, readfile.Payload)
			if err != nil {
				return nil, err
			}
			return &run.Script{Path: path, Data: data}, nil
		},
	})
	w := &works{Fleet: f}
	settings := func(node string) (inventory.Settings, error) {
		t, err := target(ctx, node)
		if err != nil {
			return inventory.Settings{}, err
		}
		return t.Settings(context.WithoutCancel(ctx))
	}
	w.means = measure.Means{
		Run: f.Run, Plan: v.Plans.Value, Query: v.rows,
		Host: func(node string) string {
			s, err := settings(node)
			if err != nil {
				return node
			}
			return s.Host
		},
		Posix: func(node string) bool {
			s, err := settings(node)
			return err == nil && posix(&s)
		},
	}
	return w, done, nil
}

// posix reports whether the shell that reads the commands of a target is a POSIX shell. Others quote in other ways.
func posix(s *inventory.Settings) bool {
	switch s.Dest.LoginShell {
	case "", "sh", "bash", "zsh", "dash", "ksh":
		return !s.PowerShell
	}
	return false
}

// audited is a rollout as an action of the audit log.
type audited struct{ object string }

func (d audited) Name() string   { return event.Apply }
func (d audited) Object() string { return d.object }

// reader reads catalogs of releases. It is safe for concurrent use.
type reader struct {
	book    *book
	vault   *Invocation
	plugins *release.Plugins

	mu   sync.Mutex
	read map[string]*release.Release
}

func (r *reader) catalog(ctx context.Context, id, node string) (*catalog.Catalog, error) {
	n, err := r.node(ctx, id, node)
	if err != nil {
		return nil, err
	}
	return r.book.releases.Catalog(ctx, n, r.vault.Vault)
}

// puppet returns the work of an installed Puppet; nil if bolt applies the catalog of the node.
func (r *reader) puppet(ctx context.Context, id, node string) (*fleet.Puppet, error) {
	n, err := r.node(ctx, id, node)
	if err != nil || n.Engine != release.EnginePuppet {
		return nil, err
	}
	code, err := r.plugins.Of(ctx, n)
	return &fleet.Puppet{Plugins: code}, err
}

func (r *reader) node(ctx context.Context, id, node string) (release.Node, error) {
	of, err := r.release(ctx, id)
	if err != nil {
		return release.Node{}, err
	}
	n, has := of.Nodes[node]
	if !has {
		return n, fmt.Errorf("the release %s has no catalog for %s", release.Short(of.ID), node)
	}
	return n, nil
}

func (r *reader) release(ctx context.Context, id string) (*release.Release, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := r.read[id]; of != nil {
		return of, nil
	}
	of, err := r.book.releases.Get(ctx, store.Digest(id))
	if err == nil {
		r.read[id] = of
	}
	return of, err
}

// untilText returns the time of the next change, for messages.
func untilText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
