// Package choose selects some of the given targets: by an expression, and by a
// number or a percentage. It can require a minimum number of targets.
package choose

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/inventory"
	"bolt/inventory/match"
)

// A Choice selects some of the found targets and can require a minimum number.
// The zero Choice selects all.
type Choice struct {
	Where     *match.Expr // nil for all
	Limit     Limit
	Seed      string // of the sample; "" for a random one
	AtLeast   int
	FailEmpty bool // no target is an error
}

// A Limit is a number or a percentage of targets; the zero Limit is all.
type Limit struct {
	n        int
	percents bool
}

// ParseLimit reads a number of targets from 1, or percents from 1% to 100%.
func ParseLimit(text string) (l Limit, ok bool) {
	digits, percents := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || percents && n > 100 {
		return l, false
	}
	return Limit{n, percents}, true
}

// of returns how many of n targets are within the limit. Percentages are
// rounded up, so the result is 0 only for no targets.
func (l Limit) of(n int) int {
	limit := l.n
	switch {
	case limit == 0:
		return n
	case l.percents:
		limit = (n*limit + 99) / 100
	}
	return min(limit, n)
}

// Options set where a Choice writes its warnings and messages. Both are
// required.
type Options struct {
	Warn func(id, text string)
	Say  io.Writer // gets the seed of a random sample
}

// From returns the selected targets.
func (c *Choice) From(ctx context.Context, inv *inventory.Inventory, targets []*inventory.Target, o Options) ([]*inventory.Target, error) {
	among := len(targets)
	if c.Where != nil {
		var factless []*inventory.Target
		var err error
		if targets, factless, err = inv.Where(ctx, c.Where, targets); err != nil {
			return nil, err
		}
		if len(factless) > 0 {
			o.Warn("no_facts", fmt.Sprintf("The facts of %d of %d targets are missing or incomplete, so --where does not select them. "+
				"Run \"bolt facts collect\" to collect facts.", len(factless), among))
		}
	}
	switch {
	case len(targets) < c.AtLeast:
		return nil, tooFew("%s found, and --at-least %d says how many there must be: nothing is done.", wereTargets(len(targets)), c.AtLeast)
	case len(targets) == 0 && c.FailEmpty:
		return nil, tooFew("No target was found, and --when-empty fail makes that an error: nothing is done.")
	}
	n := c.Limit.of(len(targets))
	if n == len(targets) {
		return targets, nil
	}
	seed := c.Seed
	if seed == "" {
		seed = randomSeed()
		fmt.Fprintf(o.Say, "%d of %s chosen at random; --limit-seed %s chooses the same again.\n", n, wereTargets(len(targets)), seed)
	}
	return sample(targets, n, seed), nil
}

func tooFew(format string, args ...any) error {
	return fault.New("bolt/too-few-targets", format, args...)
}

// wereTargets returns text such as "12 targets were".
func wereTargets(n int) string {
	if n == 1 {
		return "1 target was"
	}
	return fmt.Sprintf("%d targets were", n)
}

// sample returns n of the targets, in their order. The selection depends only
// on the seed and the names: the seed defines an order of all names, and sample
// takes the first n. So a new target in the inventory changes at most one
// target of a sample, and a larger sample contains the smaller one.
func sample(targets []*inventory.Target, n int, seed string) []*inventory.Target {
	type place struct {
		sum    [sha256.Size]byte
		target int
	}
	places := make([]place, len(targets))
	for i, t := range targets {
		places[i] = place{sha256.Sum256([]byte(seed + "\x00" + t.Name)), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(slices.Compare(a.sum[:], b.sum[:]), cmp.Compare(a.target, b.target))
	})
	places = places[:n]
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.target, b.target) })
	chosen := make([]*inventory.Target, n)
	for i, p := range places {
		chosen[i] = targets[p.target]
	}
	return chosen
}

func randomSeed() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
