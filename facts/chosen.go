package facts

import (
	"context"
	"fmt"
	"time"

	"bolt/facts/factcache"
	"bolt/format/ordered"
	"bolt/internal/period"
)

// Chosen provides stored facts for the selection of targets and for catalogs, and warns if
// these facts are old or damaged.
type Chosen struct {
	store  *Store
	maxAge time.Duration
	told   map[string]bool // targets whose facts are old
	old    int             // number of targets whose facts are old and that Warn has not reported yet
	oldest time.Duration
}

// NewChosen returns a Chosen that reads from a store. Facts older than maxAge
// are old.
func NewChosen(s *Store, maxAge time.Duration) *Chosen {
	return &Chosen{store: s, maxAge: maxAge, told: make(map[string]bool)}
}

// Of returns the stored facts of a target: the named facts, or all if facts is
// nil. It returns nil if no facts are stored. It fits
// inventory.Options.CachedFacts.
func (c *Chosen) Of(ctx context.Context, name string, facts []string) (*ordered.Map, error) {
	want := factcache.Only(facts...)
	if facts == nil {
		want = factcache.All()
	}
	r, err := c.store.Record(ctx, name, want)
	if err != nil || r == nil {
		return nil, err
	}
	if age := r.Age(c.store.Now); age > c.maxAge && !c.told[name] {
		c.told[name] = true
		c.old++
		c.oldest = max(c.oldest, age)
	}
	return r.Facts, nil
}

// Warn warns once for each target whose facts were used and are old or damaged. A nil Chosen
// has provided none.
func (c *Chosen) Warn(warn func(id, text string)) {
	if c == nil {
		return
	}
	c.store.WarnDamaged(warn)
	if c.old == 0 {
		return
	}
	of := "1 target"
	if c.old > 1 {
		of = fmt.Sprintf("%d targets", c.old)
	}
	age := period.Text(c.maxAge)
	warn("old_facts", fmt.Sprintf("bolt used facts of %s that are older than %s, the oldest from %s ago. Run 'bolt facts collect --older-than %s' to collect them again.", of, age, period.Text(c.oldest), age))
	c.old = 0
}
