package executor

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// If plans or branches begin each other without end, all of them are ended. The ones
// that have begun run to their end, and nothing new begins. The error that reports
// it ends the run, even if the plan catches errors.
const (
	// maxInside is how many plans, and how many branches, may run nested in each
	// other. It is many times higher than in any real plan.
	maxInside = 200
	// maxAgain is how many branches may run at once that are nested in a branch
	// begun by the same call. With two branches at each level, 200 levels would be
	// too many to count.
	maxAgain = 10_000
)

// A planCall is a running plan.
type planCall struct {
	name  string
	by    *planCall // the plan that called it; nil for the plan of the run
	depth int       // how many plans enclose it
}

// A branchCall is a running branch.
type branchCall struct {
	at    syntax.Position // of the call that began the branch
	in    *branchCall     // the enclosing branch, nil for none
	depth int             // how many branches enclose it
	again bool            // the same call began an enclosing branch
}

// beginPlan returns the call of a plan, or an error if too many plans are nested.
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
	x.endless = failf(palError, "%d plans are nested in each other, which is the limit. %s", p.depth, p.cycle())
	return nil, x.endless
}

// beginBranch returns a new branch, or an error if there are too many. The caller
// must call endBranch later, and hold the turn for both calls.
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
		x.endless = failf(palError, "%d branches are nested in each other, which is the limit. %s", b.depth, f.plan.cycle())
	case b.again && x.inAgain >= maxAgain:
		x.endless = failf(palError, "%d branches are nested in a branch that the same call began, which is the limit. %s", x.inAgain, f.plan.cycle())
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

// ends reports whether an error is the error that ends the run.
func (x *Executor) ends(err error) bool {
	end := x.ending()
	return end != nil && errors.Is(err, end)
}

// maxCycle is how many plans of a cycle are named.
const maxCycle = 8

// cycle returns how the plan came to call itself, if it did, and advice.
func (p *planCall) cycle() string {
	const advice = " plan that calls itself must have a condition that ends the recursion."
	if p == nil {
		return "A" + advice
	}
	names := []string{p.name}
	q := p.by
	for ; q != nil && q.name != p.name; q = q.by {
		names = append(names, q.name)
	}
	switch {
	case q == nil:
		return "A" + advice
	case len(names) == 1:
		return p.name + " calls itself: a" + advice
	case len(names) > maxCycle:
		return fmt.Sprintf("%s calls %s, which calls %[1]s through %[3]d more plans: a%[4]s", p.name, names[len(names)-1], len(names)-2, advice)
	}
	var b strings.Builder
	b.WriteString(p.name)
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(" calls " + names[i])
		if i > 0 {
			b.WriteString(", which")
		}
	}
	return b.String() + ": a" + advice
}
