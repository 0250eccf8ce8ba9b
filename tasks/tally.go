package tasks

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"bolt/internal/ordered"
	"bolt/internal/safetext"
	"bolt/inventory"
)

// A Tally is what the outputs of a task come to over all targets.
type Tally struct {
	outputs []Output
	values  []map[string]*Tallied // for each output, by the JSON text of the value
	counts  []int                 // targets that have the output
}

// A Tallied is a value with the targets that have it.
type Tallied struct {
	Value   any
	Targets []*inventory.Target
}

// Tally returns an empty one, nil for a task that promises nothing.
func (t *Task) Tally() *Tally {
	if len(t.Outputs) == 0 {
		return nil
	}
	y := &Tally{outputs: t.Outputs, values: make([]map[string]*Tallied, len(t.Outputs)), counts: make([]int, len(t.Outputs))}
	for i := range y.values {
		y.values[i] = make(map[string]*Tallied)
	}
	return y
}

// Add takes what the task returned on a target.
func (y *Tally) Add(t *inventory.Target, result *ordered.Map) {
	for i := range y.outputs {
		v, has := result.Get(y.outputs[i].Name)
		if !has {
			continue
		}
		var key strings.Builder
		if safetext.WriteJSON(&key, v) != nil {
			continue // results are JSON
		}
		y.counts[i]++
		one := y.values[i][key.String()]
		if one == nil {
			one = &Tallied{Value: v}
			y.values[i][key.String()] = one
		}
		one.Targets = append(one.Targets, t)
	}
}

// A Total is what one output comes to.
type Total struct {
	Output Output
	Count  int // targets that have it
	// Values by how many targets have them, the most first. An average has one,
	// of no target; a minimum or maximum one with the targets that have it.
	Values []Tallied
}

// Totals returns what all outputs come to, in the order of the metadata. What is
// no number is left out of an average, minimum or maximum.
func (y *Tally) Totals() []Total {
	totals := make([]Total, len(y.outputs))
	for i, o := range y.outputs {
		totals[i] = Total{Output: o, Count: y.counts[i]}
		var all []Tallied
		for _, key := range slices.Sorted(maps.Keys(y.values[i])) {
			all = append(all, *y.values[i][key])
		}
		switch o.Aggregate {
		case Average:
			totals[i].Values, totals[i].Count = average(all)
		case Min, Max:
			totals[i].Values, totals[i].Count = extreme(all, o.Aggregate == Max)
		default:
			slices.SortStableFunc(all, func(a, b Tallied) int { return cmp.Compare(len(b.Targets), len(a.Targets)) })
			totals[i].Values = all
		}
	}
	return totals
}

func average(all []Tallied) ([]Tallied, int) {
	sum, n := 0.0, 0
	for _, v := range all {
		if f, ok := numeric(v.Value); ok {
			sum += f * float64(len(v.Targets))
			n += len(v.Targets)
		}
	}
	if n == 0 {
		return nil, 0
	}
	return []Tallied{{Value: sum / float64(n)}}, n
}

func extreme(all []Tallied, most bool) ([]Tallied, int) {
	n := 0
	var best Tallied
	var at float64
	for _, v := range all {
		f, ok := numeric(v.Value)
		if !ok {
			continue
		}
		if n == 0 || most && f > at || !most && f < at {
			best, at = v, f
		}
		n += len(v.Targets)
	}
	if n == 0 {
		return nil, 0
	}
	return []Tallied{best}, n
}

func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	}
	return 0, false
}
