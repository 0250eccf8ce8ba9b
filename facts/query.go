package facts

import (
	"context"
	"sync"

	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
)

// A Query is a run.Action that reads the facts of targets from PuppetDB. One
// query requests the facts of a batch of targets. Targets are begun in order,
// so only the facts of a few batches are in memory.
type Query struct {
	ask     func(ctx context.Context, certnames []string) (*ordered.Map, error)
	batches map[*inventory.Target]*batch

	mu     sync.Mutex
	failed error // the error of the first failed query: no further query is made
}

// A batch is the targets of one query.
type batch struct {
	targets []*inventory.Target
	once    sync.Once
	err     error

	mu    sync.Mutex
	facts map[*inventory.Target]*ordered.Map // facts that were not taken yet
}

// atOnce is the number of targets in a query. Their facts together can have
// some megabytes.
const atOnce = 100

// NewQuery returns the action; ask returns facts by certname. NewQuery makes
// the first query at once: if PuppetDB is not reachable, this is one error
// instead of one for each target.
func NewQuery(ctx context.Context, targets []*inventory.Target, ask func(ctx context.Context, certnames []string) (*ordered.Map, error)) (*Query, error) {
	q := &Query{ask: ask, batches: make(map[*inventory.Target]*batch, len(targets))}
	var first, b *batch
	for i, t := range targets {
		if i%atOnce == 0 {
			b = &batch{}
		}
		if first == nil {
			first = b
		}
		b.targets = append(b.targets, t)
		q.batches[t] = b
	}
	if first == nil {
		return q, nil
	}
	return q, q.load(ctx, first)
}

// Name implements run.Action.
func (q *Query) Name() string { return Task }

// Object implements run.Action.
func (q *Query) Object() string { return FromPuppetDB }

// Here reports that targets are not connected to.
func (q *Query) Here() bool { return true }

// Do takes the facts of one target.
func (q *Query) Do(ctx context.Context, site *run.Site) error {
	facts, err := q.Take(ctx, site.Target)
	if err != nil {
		return err
	}
	if facts == nil {
		return noFacts("PuppetDB has no facts of a node that is called %s", nodeNames(certnames(ctx, site.Target)))
	}
	site.Result.Value = facts
	return nil
}

// Take returns the facts of a target, nil if PuppetDB does not know it. It can be called once
// for each target.
func (q *Query) Take(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
	b := q.batches[t]
	if err := q.load(ctx, b); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	facts := b.facts[t]
	delete(b.facts, t)
	return facts, nil
}

// load queries a batch, once.
func (q *Query) load(ctx context.Context, b *batch) error {
	b.once.Do(func() {
		q.mu.Lock()
		b.err = q.failed
		q.mu.Unlock()
		if b.err == nil {
			b.err = q.fill(ctx, b)
		}
		if b.err != nil {
			q.mu.Lock()
			q.failed = b.err
			q.mu.Unlock()
		}
	})
	return b.err
}

func (q *Query) fill(ctx context.Context, b *batch) error {
	var asked []string
	known := map[string]bool{}
	for _, t := range b.targets {
		for _, name := range certnames(ctx, t) {
			if !known[name] {
				known[name] = true
				asked = append(asked, name)
			}
		}
	}
	all, err := q.ask(ctx, asked)
	if err != nil {
		return err
	}
	b.facts = make(map[*inventory.Target]*ordered.Map, len(b.targets))
	for _, t := range b.targets {
		for _, name := range certnames(ctx, t) {
			if facts, ok := all.Value(name).(*ordered.Map); ok && facts.Len() > 0 {
				b.facts[t] = facts
				break
			}
		}
	}
	return nil
}

// certnames returns the possible certnames of a target in PuppetDB, the
// likeliest first: its host, or its name if the inventory gives it an address.
func certnames(ctx context.Context, t *inventory.Target) []string {
	var names []string
	if s, err := t.Settings(ctx); err == nil && s.Host != "" {
		names = append(names, s.Host)
	}
	if name := t.SafeName(); len(names) == 0 || names[0] != name {
		names = append(names, name)
	}
	return names
}

// nodeNames joins the names of a node for a message.
func nodeNames(names []string) string {
	if len(names) == 2 {
		return names[0] + " or " + names[1]
	}
	return names[0]
}
