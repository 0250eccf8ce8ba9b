// Package watch shows a rollout on a terminal.
//
// A [View] folds the events of a rollout, and of its rollback, one by one. Frame makes the lines of a terminal from the
// view, a time and a size. It has no clock and no terminal, so tests compare its lines. package output/fullscreen draws
// them.
//
// All texts of the log can come from targets and persons. Frame makes each of them safe for a terminal.
package watch

import (
	"slices"
	"time"

	"bolt/rollout"
)

// maxNotes is the number of decisions that a View keeps: more than the rows of a terminal.
const maxNotes = 200

// A View is what is known of a rollout. It is not safe for concurrent use.
type View struct {
	tell  Tell
	main  *part
	back  *part // the rollback; nil if there is none
	notes []note
}

// Tell returns an event in words, with their style ([fullscreen.Span]); "" if people need not see the event. The state
// has the event.
type Tell func(s *rollout.State, e rollout.Event) (text, style string)

// A note is an event in words.
type note struct {
	time        time.Time
	text, style string
}

// A part is one rollout of a view.
type part struct {
	id     string
	state  *rollout.State
	work   map[int]*work // by the index of the node
	failed []int         // indexes of nodes that have failed, in the order of their failures; some may have another run now
}

// work is what is known of a node in work, besides its state.
type work struct {
	since time.Time
	limit time.Duration // of the run; 0 if there is none
	until time.Time     // of the wait for another run, or of the healthy time
}

// New returns the view of a rollout without events.
func New(id string, tell Tell) *View {
	return &View{tell: tell, main: newPart(id)}
}

func newPart(id string) *part {
	return &part{id: id, state: new(rollout.State), work: make(map[int]*work)}
}

// Rollback returns the ID of the rollback whose events the view needs, after the given revision; "" if it needs none.
func (v *View) Rollback() (id string, after uint64) {
	name, pending := v.main.state.Rollback()
	if !pending {
		return "", 0
	}
	if v.back == nil || v.back.id != name {
		return name, 0
	}
	return name, v.back.state.Revision()
}

// Revision returns the number of the last event of the rollout.
func (v *View) Revision() uint64 { return v.main.state.Revision() }

// State returns the fold of the events of the rollout. The caller must not change it.
func (v *View) State() *rollout.State { return v.main.state }

// Apply folds an event of the rollout, or of its rollback. After an error, the view is as it was.
func (v *View) Apply(id string, r rollout.Record) error {
	p := v.main
	if id != p.id {
		if v.back == nil || v.back.id != id {
			v.back = newPart(id)
		}
		p = v.back
	}
	if err := p.state.Apply(r); err != nil {
		return err
	}
	p.see(r)
	if text, style := v.tell(p.state, r.Event); text != "" {
		if len(v.notes) == maxNotes {
			v.notes = slices.Delete(v.notes, 0, 1)
		}
		v.notes = append(v.notes, note{r.Time, text, style})
	}
	return nil
}

// see notes the times of nodes in work, and failures.
func (p *part) see(r rollout.Record) {
	at := func(node string) *work {
		i, ok := p.state.Index(node)
		if !ok {
			return new(work)
		}
		if p.work[i] == nil {
			p.work[i] = &work{since: r.Time}
		}
		return p.work[i]
	}
	switch e := r.Event.(type) {
	case *rollout.HookStarted:
		at(e.Node).until = time.Time{}
	case *rollout.NodeStarted:
		*at(e.Node) = work{since: r.Time, limit: time.Duration(e.Timeout)}
	case *rollout.NodeFinished:
		at(e.Node).limit = 0
	case *rollout.NodeRetry:
		at(e.Node).until = e.Until
	case *rollout.NodeSoaking:
		at(e.Node).until = e.Until
	case *rollout.NodeEnded:
		i, _ := p.state.Index(e.Node)
		delete(p.work, i)
		if class(e.State) == failed {
			p.failed = append(slices.DeleteFunc(p.failed, func(k int) bool { return k == i }), i)
		}
	case *rollout.ClockMoved:
		for _, w := range p.work {
			w.since = w.since.Add(time.Duration(e.By))
			if !w.until.IsZero() {
				w.until = w.until.Add(time.Duration(e.By))
			}
		}
	case *rollout.Edited:
		clear(p.work)
		p.failed = nil
	}
}

// Clocks reports whether a frame can change although there are no events.
func (v *View) Clocks() bool {
	for _, p := range v.parts() {
		if len(p.work) > 0 || !p.state.SoakUntil().IsZero() || !p.state.ProgressUntil().IsZero() {
			return true
		}
	}
	return false
}

// parts returns the rollout, and its rollback while that is in work.
func (v *View) parts() []*part {
	if _, pending := v.main.state.Rollback(); pending && v.back != nil && v.back.state.Created() != nil {
		return []*part{v.main, v.back}
	}
	return []*part{v.main}
}

// A kind sorts the states of nodes.
type kind int

const (
	done kind = iota
	failed
	inWork
	waiting
	skipped
	cancelled
	rolledBack
	kinds int = iota
)

// name returns the word for a number of nodes.
func (k kind) name() string {
	return [...]string{"done", "failed", "in work", "waiting", "skipped", "cancelled", "rolled back"}[k]
}

// class returns the kind of the end of a node.
func class(s rollout.NodeState) kind {
	switch s {
	case rollout.NodeDone:
		return done
	case rollout.NodeSkipped:
		return skipped
	case rollout.NodeCancelled:
		return cancelled
	case rollout.NodeRolledBack:
		return rolledBack
	}
	if s.Ended() {
		return failed
	}
	return waiting
}

// kindOf returns the kind of a node.
func kindOf(n rollout.NodeLook) kind {
	if n.InWork {
		return inWork
	}
	return class(n.State)
}

// A tally counts nodes by kind.
type tally [kinds]int

func (t *tally) total() (n int) {
	for _, k := range t {
		n += k
	}
	return n
}

// tallies counts the nodes of each wave, from 0.
func (p *part) tallies() []tally {
	list := make([]tally, len(p.state.Created().Waves))
	for n := range p.state.Each() {
		list[n.Wave-1][kindOf(n)]++
	}
	return list
}
