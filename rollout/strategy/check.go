package strategy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/internal/spelling"
	"bolt/rollout/gate"
)

const (
	// maxPlaces bounds the places of a governor, because each of them is a lease.
	maxPlaces = 1000
	// The name of a governor is a part of the names of leases.
	maxName     = 100
	nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
)

// maxFactor bounds the growth of a ramp.
const maxFactor = 1000

// Check returns the mistakes of a strategy that its types cannot exclude. Problems have paths,
// but no lines.
func (s *Strategy) Check() []Problem {
	c := &checker{s: s}
	c.action()
	c.waves()
	c.limits()
	c.approvals()
	for i := range s.Gates {
		c.gate(index("gates", i), &s.Gates[i], s.Gates[:i])
	}
	for i, w := range s.Windows {
		c.zone(index("windows", i)+".tz", w.TZ)
		if w.From >= 24*60 {
			c.wrong(index("windows", i)+".from", "a window must open before 24:00")
		}
	}
	for i, f := range s.Freeze {
		c.freeze(index("freeze", i), f)
	}
	c.hook("hooks.before_node", s.Hooks.Before)
	c.hook("hooks.after_node", s.Hooks.After)
	if s.Targets.AtLeast > 0 && s.Targets.Empty == SucceedEmpty {
		c.wrong("targets.when_empty", "at_least and when_empty: succeed contradict each other")
	}
	return c.problems
}

type checker struct {
	s        *Strategy
	problems []Problem
}

func (c *checker) wrong(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func (c *checker) zone(path string, z Zone) {
	if _, err := z.Location(); err != nil {
		c.wrong(path, "%v", err)
	}
}

func (c *checker) params(path string, params map[string]any) {
	if _, err := json.Marshal(params); err != nil {
		c.wrong(path, "parameters must be data that JSON can write: %v", err)
	}
}

func (c *checker) action() {
	a := c.s.Action
	if a.IsZero() {
		return
	}
	c.params("action.params", a.Params)
	switch {
	case a.Plan == "" && a.Task == "":
		c.wrong("action", "an action needs the key plan or task")
	case a.Plan != "" && a.Task != "":
		c.wrong("action", "an action cannot have both a plan and a task")
	case c.s.Kind == Check:
		c.wrong("kind", "a rollout of the kind check applies catalogs in noop mode; plans and tasks have no such mode")
	case c.s.Rules.OnFailure == RollbackAction:
		c.wrong("strategy.on_failure", "a plan or task cannot be rolled back. Use pause or abort")
	case c.s.Rules.Preview != Preview{}:
		c.wrong("strategy.noop_first", "a plan or task has no noop mode")
	}
}

func (c *checker) waves() {
	waves := c.s.Rules.Waves
	if len(waves) == 0 {
		c.wrong("strategy.waves", "the list of waves is empty")
	}
	all := false
	for i, w := range waves {
		path := index("strategy.waves", i)
		var by []string
		for _, selector := range []struct {
			key string
			set bool
		}{{"count", w.Count > 0}, {"percent", w.Percent != 0}, {"group", w.Group != ""}, {"where", w.Where != ""}, {"ramp", w.Ramp != nil}, {"rest", w.Rest}} {
			if selector.set {
				by = append(by, selector.key)
			}
		}
		switch {
		case len(by) == 0:
			c.wrong(path, "a wave needs one of the keys count (at least 1), percent, group, where, ramp and rest")
		case len(by) > 1:
			c.wrong(path+"."+by[1], "a wave can have only one of the keys %s", strings.Join(by, " and "))
		case all:
			c.wrong(path, "no node is left for this wave, because the wave before takes all nodes")
		}
		if r := w.Ramp; r != nil {
			switch {
			case r.Start < 1:
				c.wrong(path+".ramp.start", "a ramp must start with at least 1 node")
			case !(r.Factor >= 1 && r.Factor <= maxFactor):
				c.wrong(path+".ramp.factor", "the factor must be from 1 to %d", maxFactor)
			case r.Max != 0 && r.Max < r.Start:
				c.wrong(path+".ramp.max", "max must be at least start")
			}
		}
		if w.Name == FirstWave || w.Name == RestWave {
			c.wrong(path+".name", "%s is a word of approvals. Choose another name", w.Name)
		}
		if w.Name != "" && slices.ContainsFunc(waves[:i], func(o Wave) bool { return o.Name == w.Name }) {
			c.wrong(path+".name", "two waves have the name %s", w.Name)
		}
		all = all || w.Ramp != nil || w.Rest
	}
	if len(waves) > 0 && !all {
		c.wrong(index("strategy.waves", len(waves)-1), "the last wave must take the nodes that are left. Add {rest: true}, or a ramp")
	}
}

func (c *checker) limits() {
	r := &c.s.Rules
	if r.Parallel.Max < 1 {
		c.wrong("strategy.concurrency.max", "max must be at least 1")
	}
	for f, n := range r.Parallel.Per {
		if n < 1 {
			c.wrong("strategy.concurrency.per."+string(f), "the limit of %s must be at least 1", f)
		}
	}
	if g := r.Parallel.Governor; g != (Governor{}) {
		switch {
		case g.Name == "" || strings.Trim(g.Name, nameLetters) != "" || len(g.Name) > maxName:
			c.wrong("strategy.concurrency.governor.name", "the name of a governor must have at most %d lowercase letters, digits, hyphens and underscores", maxName)
		case g.Max < 1 || g.Max > maxPlaces:
			c.wrong("strategy.concurrency.governor.max", "max must be from 1 to %d", maxPlaces)
		}
	}
	if c.s.Kind == Check && r.OnFailure == RollbackAction {
		c.wrong("strategy.on_failure", "a rollout of the kind check has no rollback. Use pause or abort")
	}
}

func (c *checker) approvals() {
	a := c.s.Approvals
	names := []string{FirstWave, RestWave}
	for _, w := range c.s.Rules.Waves {
		if w.Name != "" {
			names = append(names, w.Name)
		}
	}
	for i, name := range a.Before {
		if !slices.Contains(names, name) {
			more := ". Use " + spelling.Or(names)
			if near := spelling.Near(name, names); near != "" {
				more = fmt.Sprintf(". Did you mean %q?", near)
			}
			c.wrong(index("approvals.before", i), "%q is not the name of a wave%s", name, more)
		}
	}
	if a.Need < 1 && len(a.Before) > 0 {
		c.wrong("approvals.need", "need must be at least 1")
	}
	few := func(path string, users []string) {
		if n := len(distinct(users)); n > 0 && n < a.Need {
			c.wrong(path, "%d users must approve, but only %d can", a.Need, n)
		}
	}
	few("approvals.users", a.Users)
	for i, w := range c.s.Rules.Waves {
		few(index("strategy.waves", i)+".approve", w.Approve)
	}
}

func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func (c *checker) gate(path string, g *gate.Spec, before []gate.Spec) {
	if g.Name == "" {
		c.wrong(path, "a gate needs the key name")
	}
	if slices.ContainsFunc(before, func(o gate.Spec) bool { return o.Name == g.Name }) {
		c.wrong(path+".name", "two gates have the name %s", g.Name)
	}
	if len(g.At) == 0 {
		c.wrong(path, "a gate needs the key at: a list of before, node, wave and background")
	}
	for i, p := range g.At {
		if slices.Contains(g.At[:i], p) {
			c.wrong(index(path+".at", i), "%s is there twice", p)
		}
	}
	kinds := 0
	for _, set := range []bool{g.HTTP != nil, g.Command != "", g.Script != "", g.Task != "", g.Plan != "", g.PQL != ""} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		c.wrong(path, "a gate needs exactly one of the keys http, command, script, task, plan and pql")
	}
	if g.HTTP != nil && g.HTTP.URL == "" {
		c.wrong(path+".http", "a request needs the key url")
	}
	if g.PQL != "" && g.OK == "" {
		c.wrong(path+".pql", "a query needs the key ok, such as ok: 'result < 5'")
	}
	if g.Params != nil && g.Task == "" && g.Plan == "" {
		c.wrong(path+".params", "only a task or plan has parameters")
	}
	c.params(path+".params", g.Params)
}

func (c *checker) freeze(path string, f Freeze) {
	c.zone(path+".tz", f.TZ)
	_, err := ParseMoment(string(f.From))
	_, err2 := ParseMoment(string(f.To))
	switch {
	case err != nil || err2 != nil:
		c.wrong(path, "a freeze needs the keys from and to")
	case !f.To.End(time.UTC).After(f.From.Start(time.UTC)):
		c.wrong(path+".to", "the freeze ends before it begins")
	}
}

func (c *checker) hook(path string, h Hook) {
	if h.Task != "" && h.Command != "" {
		c.wrong(path, "a hook can have either a task or a command")
	}
	if h.Params != nil && h.Task == "" {
		c.wrong(path+".params", "only a task has parameters")
	}
	c.params(path+".params", h.Params)
}
