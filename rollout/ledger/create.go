package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/rollout"
	"bolt/rollout/strategy"
	"bolt/store"
	"bolt/store/hold"
)

func now() time.Time { return time.Now().UTC() }

// stampForm is the form of the time in IDs.
const stampForm = "20060102-150405"

// NewID returns the ID of a new rollout, from the time and the name of its strategy or its release. The ID is never that
// of a rollback.
func NewID(name string, at time.Time) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	const most = 60 // bytes; the names of logs have a limit
	id := at.UTC().Format(stampForm) + "-" + name[:min(len(name), most)]
	if IsRollback(id) { // the name is such as prod-rollback
		id += "-rollout"
	}
	return id
}

// rollbackMark is in the IDs of rollbacks.
const rollbackMark = "-rollback"

// IsRollback reports whether an ID is that of a rollback.
func IsRollback(id string) bool {
	at := strings.LastIndex(id, rollbackMark)
	return at >= 0 && strings.Trim(id[at+len(rollbackMark):], "-0123456789") == ""
}

// Origin returns the ID of the rollout that a rollback takes back. For other IDs, it returns the ID itself.
func Origin(id string) string {
	if IsRollback(id) {
		id = id[:strings.LastIndex(id, rollbackMark)]
	}
	return id
}

// Rollbacks returns the IDs of the rollbacks of a rollout, the oldest first.
func (l *Ledger) Rollbacks(ctx context.Context, id string) ([]string, error) {
	names, err := l.logs.Names(ctx, Log(id+rollbackMark))
	var ids []string
	for _, name := range names {
		name = strings.TrimPrefix(name, prefix)
		if IsRollback(name) && strings.LastIndex(name, rollbackMark) == len(id) {
			ids = append(ids, name)
		}
	}
	return ids, err
}

// A BusyError is the error of Create if other rollouts have some of the nodes.
type BusyError struct {
	Others []Other
}

// An Other is a rollout that has not ended, with one of the nodes.
type Other struct {
	Rollout, Node string
	Phase         rollout.Phase
}

func (e *BusyError) Error() string {
	o := e.Others[0]
	return fmt.Sprintf("node %s is in rollout %s, which has not ended (it is %s)", o.Node, o.Rollout, o.Phase)
}

// creating is the lease under which rollouts are made, so that of two rollouts with the same node the later one is
// refused.
const creating = "rollouts"

// Create begins the log of a rollout. If there is a later rollout, it gets another ID. The error is a *BusyError if
// another rollout that has not ended has one of its nodes, and ErrMoved if the check must be planned again. A rollout whose log is damaged, and whose end is therefore not known, is an
// error if it has one of the nodes, or if its nodes are not known. Create waits while another process makes a rollout.
func (l *Ledger) Create(ctx context.Context, c *rollout.Created, holder string) error {
	wait := func(*store.HeldError) error { return nil }
	return hold.While(ctx, l.logs, creating, holder, wait, func(ctx context.Context, _ store.Fence) error { return l.create(ctx, c) })
}

func (l *Ledger) create(ctx context.Context, c *rollout.Created) error {
	ids, err := l.IDs(ctx)
	if err != nil {
		return err
	}
	nodes := make(map[string]bool, len(c.Nodes))
	for _, n := range c.Nodes {
		nodes[n.Name] = true
	}
	busy := &BusyError{}
	for e, err := range l.Entries(ctx, ids) {
		if err != nil {
			return err
		}
		if e.Ended() {
			e.summarize(ctx)
			continue
		}
		node, err := e.shared(ctx, func(name string) bool { return nodes[name] })
		if err != nil {
			return err
		}
		if node != "" {
			busy.Others = append(busy.Others, Other{Rollout: e.ID, Node: node, Phase: e.State})
		}
	}
	if busy.Others != nil {
		return busy
	}
	if c.Rollout, err = l.free(ctx, c.Rollout); err != nil {
		return err
	}
	if err := l.renew(ctx, c); err != nil {
		return err
	}
	_, err = l.Append(ctx, c.Rollout, 0, 0, c)
	return err
}

// ErrMoved is the error of Create for a check that compares a node with the release that it had when the check was planned, if the node has
// another release by now. Such a check would report drift, or bring the old release back.
var ErrMoved = errors.New("the release of a node has changed since the check was planned")

// renew enters the present releases of the nodes. Other rollouts can have ended since the rollout was planned: while a user was asked, or
// the rollout waited for them.
func (l *Ledger) renew(ctx context.Context, c *rollout.Created) error {
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	last, err := l.Last(ctx, names)
	if err != nil {
		return err
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		of, known := last[n.Name]
		if !known {
			continue
		}
		if c.Strategy.Kind == strategy.Check && n.Release != "" && n.Release == n.Previous && n.Release != of.Release {
			return ErrMoved
		}
		of.Note(n)
	}
	return nil
}

// free returns an ID with the same name as another ID that comes after those of all rollouts.
func (l *Ledger) free(ctx context.Context, id string) (string, error) {
	ids, err := l.IDs(ctx)
	if err != nil || len(ids) == 0 || stamp(id) > stamp(ids[len(ids)-1]) {
		return id, err
	}
	at, err := time.Parse(stampForm, stamp(ids[len(ids)-1]))
	if err != nil || len(id) <= len(stampForm) {
		return "", fault.New(Kind, "The store has a rollout with the ID '%s', which bolt has not made", ids[len(ids)-1])
	}
	return NewID(id[len(stampForm)+1:], at.Add(time.Second)), nil
}

// stamp is the time in an ID.
func stamp(id string) string { return id[:min(len(id), len(stampForm))] }

// A Last is the release of a node, as the rollouts of a store know it.
type Last struct {
	Release, Catalog string
	Healthy          bool
}

// Note enters the release in a node of a new rollout.
func (l Last) Note(n *rollout.Node) {
	n.Previous, n.PreviousCatalog, n.Unhealthy, n.Uncertain = l.Release, l.Catalog, !l.Healthy, !l.Healthy
}

// Last returns the releases that the last rollouts have left on nodes. Nodes without a rollout
// are left out. Runs in noop mode, and rollouts of plans and tasks, leave nothing. A log that is damaged, and that can
// have the last release of a node, is an error.
func (l *Ledger) Last(ctx context.Context, nodes []string) (map[string]Last, error) {
	ids, err := l.IDs(ctx)
	if err != nil {
		return nil, err
	}
	missing := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		missing[n] = true
	}
	last := make(map[string]Last, len(nodes))
	slices.Reverse(ids)
	for e, err := range l.Entries(ctx, ids) {
		if err != nil {
			return nil, err
		}
		if len(missing) == 0 {
			break
		}
		if !e.Leaves && e.Damaged == nil {
			continue
		}
		node, err := e.shared(ctx, func(name string) bool { return missing[name] })
		if err != nil {
			return nil, err
		}
		if node == "" {
			continue
		}
		if err := e.left(ctx, func(name string, is Last) {
			if missing[name] {
				last[name] = is
				delete(missing, name)
			}
		}); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// left calls each for the nodes on which the rollout has left a known release.
func (e *Entry) left(ctx context.Context, each func(node string, is Last)) error {
	names, err := e.names(ctx)
	if err != nil {
		return err
	}
	f, err := e.fates(ctx)
	if err != nil {
		return err
	}
	for i, is := range f.Nodes {
		if is.Left {
			each(names[i], Last{f.Releases[is.Release], is.Catalog, is.Healthy})
		}
	}
	return nil
}

// Since returns a later rollout that is in the way of the rollback of a rollout, and a node of both; "" if there is none. Such
// a rollout has run on the node, or has not ended and so can still run on it. The rollout's own rollbacks are left out.
func (l *Ledger) Since(ctx context.Context, s *rollout.State) (id, node string, err error) {
	ids, err := l.IDs(ctx)
	if err != nil {
		return "", "", err
	}
	own := s.Created().Rollout
	ids = slices.DeleteFunc(ids, func(id string) bool { return id <= own || strings.HasPrefix(id, own+rollbackMark) })
	for other, err := range l.Entries(ctx, ids) {
		if err != nil {
			return "", "", err
		}
		if other.Ended() && !other.Leaves {
			continue
		}
		ran := make(map[string]bool)
		if other.Ended() {
			names, err := other.names(ctx)
			if err != nil {
				return "", "", err
			}
			f, err := other.fates(ctx)
			if err != nil {
				return "", "", err
			}
			for i, is := range f.Nodes {
				ran[names[i]] = is.Ran
			}
		}
		node, err := other.shared(ctx, func(name string) bool {
			_, has := s.Node(name)
			return has && (!other.Ended() || ran[name])
		})
		if node != "" || err != nil {
			return other.ID, node, err
		}
	}
	return "", "", nil
}
