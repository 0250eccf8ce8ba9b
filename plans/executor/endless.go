package executor

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// Plans and branches that begin each other without end are ended, all of them:
// what is begun comes to its end, nothing is begun any more, and the error that
// says so is that of the run, whatever catches errors on its way.
const (
	// maxInside is how many plans, and how many branches, may be in work inside each
	// other: many times what people write.
	maxInside = 200
	// maxAgain is how many branches may be in work at once whose call is in work
	// around them, too: with two branches each time, 200 of them inside each other
	// would be more than can be counted.
	maxAgain = 10_000
)

// A planCall is a plan in work.
type planCall struct {
	name  string
	by    *planCall // the plan that called it; nil for that of the run
	depth int       // how many plans are around it
}

// A branchCall is a branch in work.
type branchCall struct {
	at    syntax.Position // of the call that began it
	in    *branchCall     // the branch around it, nil for none
	depth int             // how many branches are around it
	again bool            // one of them was begun by the same call
}

// beginPlan returns the call of a plan, or the error that there are too many.
func (x *Executor) beginPlan(s *eval.Site, name string) (*planCall, error) {
	if err := x.ending(); err != nil {
		return nil, err
	}
	p := &planCall{name: name, by: flowOf(s).plan}
	if p.by != nil {
		p.depth = p.by.depth + 1
	}
	if p.depth < maxInside {
		return p, nil
	}
	x.endless = failf(palError, "%d plans are in work inside each other, and there cannot be more. %s", p.depth, p.cycle())
	return nil, x.endless
}

// beginBranch returns a branch that is begun, or the error that there are too
// many. Who has begun one calls endBranch, with the turn as here.
func (x *Executor) beginBranch(s *eval.Site) (*branchCall, error) {
	if err := x.ending(); err != nil {
		return nil, err
	}
	f := flowOf(s)
	b := &branchCall{at: s.Position(), in: f.branch}
	if b.in != nil {
		b.depth = b.in.depth + 1
	}
	for o := b.in; o != nil && !b.again; o = o.in {
		b.again = o.at == b.at
	}
	switch {
	case b.depth >= maxInside:
		x.endless = failf(palError, "%d branches are in work inside each other, and there cannot be more. %s", b.depth, f.plan.cycle())
	case b.again && x.inAgain >= maxAgain:
		x.endless = failf(palError, "%d branches are in work inside of what begins them, and there cannot be more. %s", x.inAgain, f.plan.cycle())
	}
	if x.endless != nil {
		return nil, x.endless
	}
	if b.again {
		x.inAgain++
	}
	return b, nil
}

func (x *Executor) endBranch(b *branchCall) {
	if b.again {
		x.inAgain--
	}
}

// ends reports whether an error is what ends the run.
func (x *Executor) ends(err error) bool {
	end := x.ending()
	return end != nil && errors.Is(err, end)
}

// maxCycle is how many plans of a cycle are named.
const maxCycle = 8

// cycle says how the plan came to call itself, if it did, and what to do.
func (p *planCall) cycle() string {
	const advice = "hat calls itself needs a condition under which it does not."
	if p == nil {
		return "W" + advice
	}
	names := []string{p.name}
	q := p.by
	for ; q != nil && q.name != p.name; q = q.by {
		names = append(names, q.name)
	}
	switch {
	case q == nil:
		return "W" + advice
	case len(names) == 1:
		return p.name + " calls itself: w" + advice
	case len(names) > maxCycle:
		return fmt.Sprintf("%s calls %s, and by %d more comes back to itself: w%s", p.name, names[len(names)-1], len(names)-2, advice)
	}
	var b strings.Builder
	b.WriteString(p.name)
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(" calls " + names[i])
		if i > 0 {
			b.WriteString(", which")
		}
	}
	return b.String() + ": w" + advice
}
