package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/inventory"
	"bolt/inventory/match"
)

// A choice is what the command line says about which of the targets that were
// found are meant, and how many there must be.
type choice struct {
	where     *match.Expr // nil for all
	limit     int         // a number of targets, or of percents; 0 for all
	percents  bool
	seed      string // of the sample; "" for a random one
	atLeast   int
	failEmpty bool
}

// The values of --when-empty.
const (
	emptyOK   = "ok"
	emptyFail = "fail"
)

// choiceFlags are the flags that make a choice.
var choiceFlags = []string{"where", "limit", "limit-seed", "at-least", "when-empty"}

// choosing reports whether the command line makes a choice.
func choosing(v flagValues) bool { return slices.ContainsFunc(choiceFlags, v.has) }

// choiceOf reads the flags that make a choice. Errors are about the command line.
func choiceOf(v flagValues) (*choice, error) {
	c := &choice{seed: v.last("limit-seed")}
	var err error
	if v.has("where") {
		if c.where, err = match.Parse(v.last("where")); err != nil {
			return nil, usagef("Invalid parameter specified for option '--where': %v", err)
		}
	}
	bad := func(name, hint string) error {
		return hinted(usagef("Invalid parameter specified for option '--%s': %s", name, v.last(name)), "%s", hint)
	}
	if v.has("limit") {
		text, percents := strings.CutSuffix(v.last("limit"), "%")
		c.limit, err = strconv.Atoi(text)
		c.percents = percents
		if err != nil || c.limit < 1 || percents && c.limit > 100 {
			return nil, bad("limit", "give a number of targets from 1, or percents from 1% to 100%")
		}
	}
	switch {
	case !v.has("limit-seed"):
	case !v.has("limit"):
		return nil, usagef("Option '--limit-seed' can only be specified with '--limit'")
	case c.seed == "":
		return nil, bad("limit-seed", "give any text; without the option the choice is random")
	}
	if v.has("at-least") {
		if c.atLeast, err = strconv.Atoi(v.last("at-least")); err != nil || c.atLeast < 1 {
			return nil, bad("at-least", "give a number of targets from 1")
		}
	}
	if v.has("when-empty") {
		c.failEmpty = v.last("when-empty") == emptyFail
		if !c.failEmpty && v.last("when-empty") != emptyOK {
			return nil, bad("when-empty", "it can be "+emptyFail+" or "+emptyOK)
		}
	}
	return c, nil
}

// choose leaves of targets those that the command line means.
func (a *app) choose(ctx context.Context, inv *inventory.Inventory, targets []*inventory.Target) ([]*inventory.Target, error) {
	c, err := choiceOf(a.values)
	if err != nil {
		return nil, err
	}
	among := len(targets)
	if c.where != nil {
		var factless []*inventory.Target
		if targets, factless, err = inv.Where(ctx, c.where, targets); err != nil {
			return nil, err
		}
		if len(factless) > 0 {
			a.logs.Warn("no_facts", fmt.Sprintf("Nothing is known of the facts of %d of %d targets, or not enough for --where: they are left out. "+
				"\"bolt facts collect\" collects facts.", len(factless), among))
		}
	}
	switch {
	case len(targets) < c.atLeast:
		return nil, tooFew("%s found, and --at-least %d says how many there must be: nothing is done.", wereTargets(len(targets)), c.atLeast)
	case len(targets) == 0 && c.failEmpty:
		return nil, tooFew("No target was found, and --when-empty fail makes that an error: nothing is done.")
	}
	n := c.size(len(targets))
	if n == len(targets) {
		return targets, nil
	}
	seed := c.seed
	if seed == "" {
		seed = randomSeed()
		fmt.Fprintf(a.console, "%d of %s chosen at random; --limit-seed %s chooses the same again.\n", n, wereTargets(len(targets)), seed)
	}
	return sample(targets, n, seed), nil
}

func tooFew(format string, args ...any) error {
	return fault.New("bolt/too-few-targets", format, args...)
}

// wereTargets is "12 targets were".
func wereTargets(n int) string {
	if n == 1 {
		return "1 target was"
	}
	return fmt.Sprintf("%d targets were", n)
}

// size is how many of n targets the limit leaves: percents are rounded up, so
// that a share of some targets is never none.
func (c *choice) size(n int) int {
	limit := c.limit
	switch {
	case limit == 0:
		return n
	case c.percents:
		limit = (n*limit + 99) / 100
	}
	return min(limit, n)
}

// sample takes n of targets, in their order. Which ones depends on the seed and
// on their names alone: each name has its place in a seed's own order, and the
// first n are taken. So a target that is added to an inventory changes at most
// one place of a sample, and a larger sample has the smaller one in it.
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
