package rollouts

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"bolt/cli"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store"
)

// PlanOnly carries out rollout plan.
func (v *Invocation) PlanOnly(ctx context.Context, o *PlanOptions) error {
	b, err := v.open(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	c, err := v.draft(ctx, b, o)
	if err != nil {
		return err
	}
	if v.Format.Data {
		s := new(rollout.State)
		if err := s.Apply(rollout.Record{Revision: 1, Time: time.Now(), Event: c}); err != nil {
			return failed(err)
		}
		return layout.WriteDocument(v.Out, s.Status())
	}
	return v.printPlan(c)
}

// printPlan prints the waves of a rollout.
func (v *Invocation) printPlan(c *rollout.Created) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Rollout of %s to %s\n", what(c), layout.Plural(len(c.Nodes), "node"))
	for i, w := range c.Waves {
		names := make([]string, len(w.Nodes))
		for k, n := range w.Nodes {
			names[k] = c.Nodes[n].Name
		}
		name := w.Name
		if w.Stratum != "" {
			name += ", " + w.Stratum
		}
		fmt.Fprintf(&b, "  wave %d (%s): %s: %s\n", i+1, name, layout.Plural(len(names), "node"), fold(names))
		if need := c.Strategy.Approval(w.Step, i == 0); need.Need > 0 && (i == 0 || c.Waves[i-1].Step != w.Step) {
			who := "any user"
			if len(need.Users) > 0 {
				who = strings.Join(need.Users, ", ")
			}
			fmt.Fprintf(&b, "    starts after the approval of %d of: %s\n", need.Need, who)
		}
		for _, g := range c.Strategy.GatesAt("wave") {
			fmt.Fprintf(&b, "    then the gate %s\n", g.Name)
		}
		if soak := c.Strategy.Rules.Waves[w.Step-1].Soak; soak > 0 {
			fmt.Fprintf(&b, "    then a soak of %s\n", soak)
		}
	}
	switch st := &c.Strategy; {
	case st.Passive():
		b.WriteString("It is a check, so no node is changed.\n")
	case st.Kind == strategy.Check:
		b.WriteString("It is a check, so nodes are changed only while a window is open.\n")
	}
	same, fresh := 0, 0
	for _, n := range c.Nodes {
		switch {
		case n.Previous == "":
			fresh++
		case n.PreviousCatalog == n.Catalog:
			same++
		}
	}
	if same > 0 {
		fmt.Fprintf(&b, "%s the same catalog already.\n", have(same))
	}
	if fresh > 0 && c.Strategy.Action.IsZero() {
		fmt.Fprintf(&b, "%s no known release, so a rollback leaves them as they are.\n", have(fresh))
	}
	_, err := v.Out.Write([]byte(safetext.TerminalString(b.String())))
	return err
}

func have(n int) string {
	if n == 1 {
		return "1 node has"
	}
	return strconv.Itoa(n) + " nodes have"
}

// printer prints the events of rollouts while they are driven.
func (v *Invocation) printer(ctx context.Context, b *book) func(string, []rollout.Record) {
	var mu sync.Mutex // a rollback has a driver of its own
	switch v.Format {
	case layout.JSON:
		return nil
	case layout.NDJSON:
		return func(id string, records []rollout.Record) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records {
				if v.writeEvent(id, r) != nil {
					return
				}
			}
		}
	}
	tellers := make(map[string]*teller)
	return func(id string, records []rollout.Record) {
		mu.Lock()
		defer mu.Unlock()
		if tellers[id] == nil {
			s, err := b.ledger.Load(ctx, id)
			if err != nil {
				s = nil // waves have no names then
			}
			tellers[id] = tellerOf(s)
		}
		for _, r := range records {
			v.printLine(id, r, tellers[id])
		}
	}
}

// printLine prints an event as a line, unless people need not see it.
func (v *Invocation) printLine(id string, r rollout.Record, t *teller) {
	text := t.describe(r.Event)
	if !important(r.Event) {
		return
	}
	if ledger.IsRollback(id) {
		text = "rollback: " + text
	}
	// A reader that has gone must not end the rollout.
	_, _ = fmt.Fprintf(v.Out, "%s %s\n", r.Time.Local().Format("15:04:05"), paint(r.Event, v.Color, safetext.TerminalString(safetext.OneLine(text))))
}

// writeEvent writes an event as a line of JSON.
func (v *Invocation) writeEvent(id string, r rollout.Record) error {
	data, err := rollout.Encode(r.Event)
	if err != nil {
		return err
	}
	line, err := rollout.Line(id, r.Revision, r.Time, data)
	if err != nil {
		return err
	}
	_, err = v.Out.Write(append(line, '\n'))
	return err
}

// printEnd prints how far a rollout is when its driver stops.
func (v *Invocation) printEnd(s *rollout.State, end *driver.End) error {
	id := s.Created().Rollout
	if err := v.printSum(s, end.Phase, end.Reason); err != nil {
		return err
	}
	hint := ""
	switch {
	case end.Phase == rollout.AwaitingApproval:
		hint = "bolt rollout approve " + id + ", then bolt rollout resume " + id
	case outcome(end) == cli.ErrWaits:
		hint = "bolt rollout resume " + id
	case !end.Phase.Ended() && !end.Next.IsZero():
		hint = "bolt rollout advance " + id + ", not before " + untilText(end.Next)
	}
	if hint != "" {
		fmt.Fprintf(v.Console, "It goes on with: %s\n", hint)
	}
	return nil
}

// printSum prints the state of a rollout and of its nodes as one line.
func (v *Invocation) printSum(s *rollout.State, phase rollout.Phase, reason string) error {
	counts := make(map[rollout.NodeState]int)
	for n := range s.Each() {
		counts[n.State]++
	}
	return v.say("Rollout %s: %s. Nodes: %s", s.Created().Rollout, safetext.OneLine(because(string(phase), reason)), countText(counts))
}

// countText lists states with the numbers of their nodes, the most frequent first.
func countText(counts map[rollout.NodeState]int) string {
	states := slices.SortedFunc(maps.Keys(counts), func(a, b rollout.NodeState) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(string(a), string(b)))
	})
	parts := make([]string, len(states))
	for i, state := range states {
		parts[i] = fmt.Sprintf("%d %s", counts[state], state)
	}
	return strings.Join(parts, ", ")
}

// Status carries out rollout status.
func (v *Invocation) Status(ctx context.Context, o *RolloutOptions) error {
	b, id, s, err := v.find(ctx, o)
	if err != nil {
		return err
	}
	by, err := b.driver(ctx, id)
	if err != nil {
		return err
	}
	return v.printStatus(s, by)
}

// printStatus prints the state of a rollout, and the process that drives it.
func (v *Invocation) printStatus(s *rollout.State, by string) error {
	st := s.Status()
	if v.Format.Data {
		return layout.WriteDocument(v.Out, struct {
			rollout.Status
			Driver string `json:"driver"`
		}{st, by})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Rollout %s: %s\n", st.Rollout, safetext.OneLine(because(string(st.State), st.Reason)))
	fmt.Fprintf(&b, "  %s\n", what(s.Created()))
	if text := drivenText(s, by); text != "" {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if until := s.SoakUntil(); !until.IsZero() {
		fmt.Fprintf(&b, "  The soak of wave %d ends at %s.\n", st.Wave, clock(until))
	}
	if wave, need, by := s.Approval(time.Now()); wave > 0 {
		fmt.Fprintf(&b, "  Approvals of wave %d: %s\n", wave, because(fmt.Sprintf("%d of %d", len(by), need.Need), strings.Join(by, ", ")))
	}
	b.WriteString("Waves\n")
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, w := range st.Waves {
		counts := make(map[rollout.NodeState]int)
		for _, n := range w.Nodes {
			counts[st.Nodes[n].State]++
		}
		fmt.Fprintf(columns, "  %d\t%s\t%s\t%s\n", i+1, w.Name, w.State, countText(counts))
	}
	_ = columns.Flush()
	if gates := s.Gates(); len(gates) > 0 {
		b.WriteString("Gates\n")
		columns = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, g := range gates {
			fmt.Fprintf(columns, "  %s\t%s\t%s\n", gateName(g.Name, g.Place, g.Wave, g.Node), g.Outcome, safetext.OneLine(g.Reason))
		}
		_ = columns.Flush()
	}
	b.WriteString("Nodes\n")
	columns = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, n := range s.Created().Nodes {
		is := st.Nodes[n.Name]
		if len(st.Nodes) > maxNodes && (is.State == rollout.NodeDone && is.Changes == 0 || is.State == rollout.NodePending) {
			continue
		}
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\n", n.Name, is.State, releaseName(is.Release), safetext.OneLine(is.Reason))
	}
	_ = columns.Flush()
	_, err := v.Out.Write([]byte(safetext.TerminalString(b.String())))
	return err
}

// maxNodes is the number of nodes up to which rollout status prints nodes that are pending, or done without changes that noop mode has
// left.
const maxNodes = 50

// HistoryOptions are those of rollout history.
type HistoryOptions struct{ StateOptions }

// History carries out rollout history.
func (v *Invocation) History(ctx context.Context, o *HistoryOptions) error {
	b, err := v.open(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	ids, err := b.ledger.IDs(ctx)
	if err != nil {
		return failed(err)
	}
	slices.Reverse(ids)
	type entry struct {
		Rollout string        `json:"rollout"`
		Release string        `json:"release"`
		Parent  string        `json:"parent,omitempty"`
		State   rollout.Phase `json:"state"`
		Reason  string        `json:"reason"`
		Author  string        `json:"author"`
		Nodes   int           `json:"nodes"`
		Start   time.Time     `json:"start"`
		Driver  string        `json:"driver"`
	}
	list := make([]entry, 0, len(ids))
	for e, err := range b.ledger.Entries(ctx, ids) {
		if err != nil {
			return failed(err)
		}
		if e.Damaged != nil {
			b.ledger.Warn(e.ID, e.Damaged)
			continue
		}
		by := ""
		if !e.Ended() {
			if by, err = b.driver(ctx, e.ID); err != nil {
				return err
			}
		}
		list = append(list, entry{e.ID, e.Release, e.Parent, e.State, e.Reason, e.Author, e.Nodes, e.Start, by})
	}
	if v.Format.Data {
		return layout.WriteDocument(v.Out, map[string]any{"rollouts": list})
	}
	if len(list) == 0 {
		return v.say("No rollouts found. 'bolt rollout start RELEASE' starts one.")
	}
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, e := range list {
		state := string(e.State)
		if !e.State.Ended() && e.Driver == "" {
			state += " (not driven)"
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\t%s\n", e.Rollout, state, releaseName(e.Release), layout.Plural(e.Nodes, "node"), e.Author, safetext.OneLine(e.Reason))
	}
	_ = columns.Flush()
	_, err = v.Out.Write([]byte(safetext.TerminalString(text.String())))
	return err
}

// Show carries out rollout show: every event with its reason.
func (v *Invocation) Show(ctx context.Context, o *RolloutOptions) error {
	return v.Events(ctx, &EventsOptions{RolloutOptions: *o, all: true})
}

// EventsOptions are those of rollout events.
type EventsOptions struct {
	RolloutOptions
	since  string
	follow bool
	all    bool // for people, as lines
}

// Bind reads the flags and arguments.
func (o *EventsOptions) Bind(b *cli.Binder) {
	o.RolloutOptions.Bind(b)
	b.Text("since", &o.since)
	b.Switch("follow", &o.follow)
}

// Check refuses a number that is none.
func (o *EventsOptions) Check() error {
	_, err := o.after()
	return err
}

func (o *EventsOptions) after() (uint64, error) {
	if o.since == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(o.since, 10, 63)
	if err != nil {
		return 0, cli.Hinted(cli.Invalid("since", o.since), "give the number of an event, which is its revision")
	}
	return n, nil
}

// Events carries out rollout events.
func (v *Invocation) Events(ctx context.Context, o *EventsOptions) error {
	b, id, _, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	after, err := o.after()
	if err != nil {
		return err
	}
	s := new(rollout.State)
	told := tellerOf(s)
	out := bufio.NewWriter(v.Out)
	show := func(r rollout.Record) error {
		if err := s.Apply(r); err != nil {
			return failed(err)
		}
		if r.Revision <= after {
			return nil
		}
		if o.all && !v.Format.Data {
			_, err := fmt.Fprintf(out, "%5d  %s  %s\n", r.Revision, r.Time.Local().Format("2006-01-02 15:04:05"), paint(r.Event, v.Color, safetext.TerminalString(safetext.OneLine(told.describe(r.Event)))))
			return err
		}
		w := *v
		w.Out = out
		return w.writeEvent(id, r)
	}
	records, err := b.load(ctx, id)
	if err != nil {
		return failed(err)
	}
	for _, r := range records {
		if err := show(r); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil || !o.follow {
		return err
	}
	return b.follow(ctx, id, s, func(r rollout.Record) error {
		if err := show(r); err != nil {
			return err
		}
		return out.Flush()
	})
}

// load returns the events of a rollout.
func (b *book) load(ctx context.Context, id string) ([]rollout.Record, error) {
	var list []rollout.Record
	for e, err := range b.store.Events(ctx, ledger.Log(id), 0) {
		if err != nil {
			return nil, err
		}
		r, err := ledger.Decode(e)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// follow calls show with new events until the rollout has ended, or ctx ends. show folds them into s.
func (b *book) follow(ctx context.Context, id string, s *rollout.State, show func(rollout.Record) error) error {
	if s.Ended() {
		return nil
	}
	for e, err := range b.store.Watch(ctx, ledger.Log(id), store.Revision(s.Revision())) {
		if err != nil {
			return failed(err)
		}
		r, err := ledger.Decode(e)
		if err != nil {
			return failed(err)
		}
		if err := show(r); err != nil {
			return err
		}
		if s.Ended() {
			return nil
		}
	}
	return nil
}

// watchLines prints the state, and then each event as a line, until the rollout has ended.
func (v *Invocation) watchLines(ctx context.Context, o *RolloutOptions) error {
	b, id, s, err := v.find(ctx, o)
	if err != nil {
		return err
	}
	by, err := b.driver(ctx, id)
	if err != nil {
		return err
	}
	if err := v.printStatus(s, by); err != nil {
		return err
	}
	if !s.Ended() {
		look, stop := context.WithCancel(ctx)
		var looking sync.WaitGroup
		looking.Go(func() { v.lookAfter(look, b, id, by) })
		defer looking.Wait()
		defer stop()
	}
	if rollback, pending := s.Rollback(); pending {
		if err := v.watchFrom(ctx, b, rollback, new(rollout.State)); err != nil {
			return err
		}
	}
	return v.watchFrom(ctx, b, id, s)
}

// watchFrom prints the events of a rollout that the state does not have, and those of its rollback.
func (v *Invocation) watchFrom(ctx context.Context, b *book, id string, s *rollout.State) error {
	told := tellerOf(s)
	for _, g := range s.Gates() {
		told.gates[g.ID] = gateName(g.Name, g.Place, g.Wave, g.Node)
	}
	return b.follow(ctx, id, s, func(r rollout.Record) error {
		if err := s.Apply(r); err != nil {
			return failed(err)
		}
		if v.Format.Data {
			return v.writeEvent(id, r)
		}
		v.printLine(id, r, told)
		if e, is := r.Event.(*rollout.RollbackStarted); is {
			return v.watchFrom(ctx, b, e.Rollout, new(rollout.State))
		}
		return nil
	})
}
