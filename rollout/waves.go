package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"bolt/rollout/strategy"
)

// A Spec has the parts of a new rollout.
type Spec struct {
	Rollout   string
	Release   string
	Sequence  uint64
	Strategy  strategy.Strategy
	Nodes     []Node // in any order; their names are unique
	Author    string
	Noop      bool
	Emergency bool
	// IgnoreDrift is that of Created.
	IgnoreDrift bool
	Reason      string
}

// New returns the first event of a rollout, with its waves. The nodes of the event are in the order
// of their names.
func New(spec Spec) (*Created, error) {
	c := &Created{
		Rollout: spec.Rollout, Release: spec.Release, Sequence: spec.Sequence, Strategy: spec.Strategy, StrategyDigest: spec.Strategy.Digest(),
		Nodes: slices.Clone(spec.Nodes), Author: spec.Author, Noop: spec.Noop, Emergency: spec.Emergency, IgnoreDrift: spec.IgnoreDrift, Reason: spec.Reason,
	}
	slices.SortFunc(c.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	c.Waves = waves(&c.Strategy, c.Nodes)
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("rollout %s: %w", spec.Rollout, err)
	}
	if n := spec.Strategy.Targets.AtLeast; len(c.Nodes) < n {
		return nil, fmt.Errorf("rollout %s: there are %d nodes, and the strategy needs at least %d", spec.Rollout, len(c.Nodes), n)
	}
	if len(c.Nodes) == 0 && spec.Strategy.Targets.Empty != strategy.SucceedEmpty {
		return nil, fmt.Errorf("rollout %s: the targets do not match any node", spec.Rollout)
	}
	return c, nil
}

// check returns an error if no rollout can begin with the event.
func (c *Created) check() error {
	if c.Rollout == "" {
		return fmt.Errorf("the rollout has no name")
	}
	if problems := c.Strategy.Check(); len(problems) > 0 {
		return fmt.Errorf("strategy: %s: %s", problems[0].Path, problems[0].Text)
	}
	return checkWaves(&c.Strategy, c.Nodes, c.Waves)
}

// checkWaves checks that the waves are a partition of the nodes.
func checkWaves(st *strategy.Strategy, nodes []Node, waves []Wave) error {
	names := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("the node %q is there twice, or has no name", n.Name)
		}
		names[n.Name] = true
	}
	seen := make([]bool, len(nodes))
	count := 0
	for i, w := range waves {
		if w.Step < 1 || w.Step > len(st.Rules.Waves) || len(w.Nodes) == 0 {
			return fmt.Errorf("wave %d is of no step of the strategy, or has no nodes", i+1)
		}
		for _, n := range w.Nodes {
			if n < 0 || n >= len(nodes) || seen[n] {
				return fmt.Errorf("wave %d has a node that does not exist or is in two waves", i+1)
			}
			seen[n] = true
			count++
		}
	}
	if count != len(nodes) {
		return fmt.Errorf("%d nodes are in no wave", len(nodes)-count)
	}
	return nil
}

// waves divides the nodes. Each wave has at least one node. The rules:
//
//   - Each step takes nodes that no earlier step has taken, in the order of the strategy.
//   - A percentage is of all nodes, rounded up.
//   - With strata, each step makes one wave for each value of the fact, in the order of the
//     values. Counts and percentages are then of the nodes with that value.
func waves(st *strategy.Strategy, nodes []Node) []Wave {
	var list []Wave
	strata := stratify(st, nodes)
	for i := range st.Rules.Waves {
		step := &st.Rules.Waves[i]
		if step.Ramp != nil {
			list = append(list, ramp(step, i+1, strata)...)
			continue
		}
		for _, s := range strata {
			var taken []int
			switch {
			case step.Count > 0:
				taken = s.take(step.Count)
			case step.Percent != 0:
				taken = s.take(step.Percent.Up(s.whole))
			case step.Rest:
				taken = s.take(len(s.left))
			default:
				taken = s.matching(nodes, i+1)
			}
			list = s.wave(list, stepName(step), i+1, taken)
		}
	}
	return list
}

// ramp makes the waves of a ramp: one round after the other, in each round a wave for each stratum.
func ramp(step *strategy.Wave, number int, strata []*stratum) []Wave {
	var list []Wave
	size := float64(step.Ramp.Start)
	for round := 1; ; round++ {
		before := len(list)
		for _, s := range strata {
			list = s.wave(list, stepName(step)+" "+strconv.Itoa(round), number, s.take(int(size)))
		}
		if len(list) == before {
			return list
		}
		size = min(math.Ceil(size*step.Ramp.Factor), math.MaxInt32)
		if m := step.Ramp.Max; m > 0 {
			size = min(size, float64(m))
		}
	}
}

func stepName(w *strategy.Wave) string {
	switch {
	case w.Name != "":
		return w.Name
	case w.Count > 0:
		return "count " + strconv.Itoa(w.Count)
	case w.Percent != 0:
		return w.Percent.String() + " %"
	case w.Group != "":
		return "group " + w.Group
	case w.Where != "":
		return "where " + w.Where
	case w.Ramp != nil:
		return "ramp"
	}
	return "rest"
}

// A stratum is the nodes with one value of the fact strata, or all nodes.
type stratum struct {
	value string
	named bool
	whole int
	left  []int
}

func (s *stratum) take(n int) []int {
	n = min(n, len(s.left))
	taken := s.left[:n:n]
	s.left = s.left[n:]
	return taken
}

// matching takes the nodes that match a step.
func (s *stratum) matching(nodes []Node, step int) []int {
	var taken, left []int
	for _, i := range s.left {
		if slices.Contains(nodes[i].Steps, step) {
			taken = append(taken, i)
		} else {
			left = append(left, i)
		}
	}
	s.left = left
	return taken
}

// wave appends a wave with nodes, unless there are none.
func (s *stratum) wave(list []Wave, name string, step int, nodes []int) []Wave {
	if len(nodes) == 0 {
		return list
	}
	if s.named {
		value := s.value
		if value == "" {
			value = "no value"
		}
		name += " in " + value
	}
	return append(list, Wave{Name: name, Step: step, Stratum: s.value, Nodes: slices.Clone(nodes)})
}

// stratify returns the strata in the order of their values, with their nodes in order.
func stratify(st *strategy.Strategy, nodes []Node) []*stratum {
	all := ordered(st, nodes)
	if st.Strata == "" {
		return []*stratum{{whole: len(all), left: all}}
	}
	by := make(map[string]*stratum)
	var list []*stratum
	for _, i := range all {
		value := nodes[i].Facts[st.Strata]
		s := by[value]
		if s == nil {
			s = &stratum{value: value, named: true}
			by[value] = s
			list = append(list, s)
		}
		s.left = append(s.left, i)
		s.whole++
	}
	slices.SortFunc(list, func(a, b *stratum) int { return cmp.Compare(a.value, b.value) })
	return list
}

// ordered returns the indexes of the nodes in the order of the strategy. Nodes that its rules do
// not order are in the order of their names.
func ordered(st *strategy.Strategy, nodes []Node) []int {
	keys := make([][]uint64, len(nodes)) // of hashes
	index := make([]int, len(nodes))
	for i, n := range nodes {
		index[i] = i
		for _, o := range st.Order {
			var k uint64
			switch o.By {
			case strategy.UnhealthyFirst:
				if !n.Unhealthy {
					k = 1
				}
			case strategy.StableHash:
				k = hash(n.Name)
			case strategy.Random:
				k = hash(strconv.FormatInt(o.Seed, 10) + " " + n.Name)
			}
			keys[i] = append(keys[i], k)
		}
	}
	slices.SortFunc(index, func(a, b int) int {
		for i, o := range st.Order {
			c := cmp.Compare(keys[a][i], keys[b][i])
			switch o.By {
			case strategy.ByName:
				c = cmp.Compare(nodes[a].Name, nodes[b].Name)
			case strategy.ByFact:
				c = cmp.Compare(nodes[a].Facts[o.Fact], nodes[b].Facts[o.Fact])
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(nodes[a].Name, nodes[b].Name)
	})
	return index
}

func hash(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}
