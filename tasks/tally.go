package tasks

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"math/big"
	"slices"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
	"bolt/run"
)

// A Tally aggregates the outputs of a task over all targets. It stores only the data
// that its aggregates need.
type Tally struct {
	outputs []Output
	sums    []sum // one for each output
}

// A Total is the aggregate of one output.
type Total struct {
	Output Output
	Count  int // targets that have it
	// Values are sorted by the number of their targets, the largest number first. An
	// average is a single value without targets. A minimum or maximum is a single
	// value with its targets.
	Values []Tallied
}

// A Tallied is a value with its targets.
type Tallied struct {
	Value   any
	Count   int                 // number of targets with the value
	Targets []*inventory.Target // nil for an average and a count
}

// A sum aggregates the values of one output.
type sum interface {
	add(t *inventory.Target, v any)
	total() (count int, values []Tallied)
}

// Tally returns an empty Tally, nil for a task that promises no outputs.
func (t *Task) Tally() *Tally {
	if len(t.Outputs) == 0 {
		return nil
	}
	y := &Tally{outputs: t.Outputs}
	for i := range t.Outputs {
		var s sum
		switch o := &t.Outputs[i]; o.Aggregate {
		case Average:
			s = &mean{of: new(big.Float)}
		case Min, Max:
			s = &extreme{most: o.Aggregate == Max}
		default:
			s = &distinct{named: o.Aggregate != CountBy, values: make(map[[sha256.Size]byte]*Tallied)}
		}
		y.sums = append(y.sums, s)
	}
	return y
}

// TallyOf returns an empty Tally for an action. It returns nil if the action is not
// a task, or if the task promises no outputs.
func TallyOf(action run.Action) *Tally {
	if r, ok := action.(*Run); ok {
		return r.task.Tally()
	}
	return nil
}

// Outputs returns Totals in the form of an event; nil for a nil Tally.
func (y *Tally) Outputs(order []*inventory.Target) []event.Output {
	if y == nil {
		return nil
	}
	var list []event.Output
	for _, t := range y.Totals(order) {
		o := event.Output{Name: t.Output.Name, Description: t.Output.Description, Aggregate: string(t.Output.Aggregate), Count: t.Count}
		for _, v := range t.Values {
			names := make([]string, len(v.Targets))
			for i, target := range v.Targets {
				names[i] = target.SafeName()
			}
			o.Values = append(o.Values, event.OutputValue{Value: v.Value, Count: v.Count, Targets: names})
		}
		list = append(list, o)
	}
	return list
}

// Add adds the result of the task on a target.
func (y *Tally) Add(t *inventory.Target, result *ordered.Map) {
	for i := range y.outputs {
		if v, has := result.Get(y.outputs[i].Name); has {
			y.sums[i].add(t, v)
		}
	}
}

// Totals returns the aggregates of all outputs in the order of the metadata, with
// targets in the given order. Values that are not numbers are left out of an
// average, minimum or maximum.
func (y *Tally) Totals(order []*inventory.Target) []Total {
	at := make(map[*inventory.Target]int, len(order))
	for i, t := range order {
		at[t] = i
	}
	totals := make([]Total, len(y.sums))
	for i, s := range y.sums {
		totals[i].Output = y.outputs[i]
		totals[i].Count, totals[i].Values = s.total()
		for _, v := range totals[i].Values {
			slices.SortFunc(v.Targets, func(a, b *inventory.Target) int { return cmp.Compare(at[a], at[b]) })
		}
		slices.SortStableFunc(totals[i].Values, func(a, b Tallied) int {
			if c := cmp.Compare(b.Count, a.Count); c != 0 || len(a.Targets) == 0 || len(b.Targets) == 0 {
				return c
			}
			return cmp.Compare(at[a.Targets[0]], at[b.Targets[0]])
		})
	}
	return totals
}

// distinct stores each value with the number of its targets, and with the targets
// themselves if named is set.
type distinct struct {
	named  bool
	count  int
	values map[[sha256.Size]byte]*Tallied // by the digest of their JSON
}

func (d *distinct) add(t *inventory.Target, v any) {
	h := sha256.New()
	if safejson.Write(h, v) != nil {
		return // results are JSON
	}
	d.count++
	key := [sha256.Size]byte(h.Sum(nil))
	one := d.values[key]
	if one == nil {
		one = &Tallied{Value: v}
		d.values[key] = one
	}
	one.Count++
	if d.named {
		one.Targets = append(one.Targets, t)
	}
}

func (d *distinct) total() (int, []Tallied) {
	keys := slices.SortedFunc(maps.Keys(d.values), func(a, b [sha256.Size]byte) int { return slices.Compare(a[:], b[:]) })
	values := make([]Tallied, len(keys))
	for i, k := range keys {
		values[i] = *d.values[k]
	}
	return d.count, values
}

// mean computes an average without the limits of a float64 for the sum.
type mean struct {
	of    *big.Float
	count int
}

func (m *mean) add(_ *inventory.Target, v any) {
	if f := numeric(v); f != nil {
		m.of.Add(m.of, f)
		m.count++
	}
}

func (m *mean) total() (int, []Tallied) {
	if m.count == 0 {
		return 0, nil
	}
	f, _ := new(big.Float).Quo(m.of, big.NewFloat(float64(m.count))).Float64()
	return m.count, []Tallied{{Value: f, Count: m.count}}
}

// extreme is the smallest or largest number, with its targets.
type extreme struct {
	most  bool
	count int
	at    *big.Float
	best  Tallied
}

func (e *extreme) add(t *inventory.Target, v any) {
	f := numeric(v)
	if f == nil {
		return
	}
	e.count++
	c := 1
	if e.at != nil {
		if c = f.Cmp(e.at); !e.most {
			c = -c
		}
	}
	switch {
	case c > 0:
		e.at, e.best = f, Tallied{Value: v, Count: 1, Targets: []*inventory.Target{t}}
	case c == 0:
		e.best.Count++
		e.best.Targets = append(e.best.Targets, t)
	}
}

func (e *extreme) total() (int, []Tallied) {
	if e.count == 0 {
		return 0, nil
	}
	return e.count, []Tallied{e.best}
}

// numeric returns an exact number, nil if v is not a number.
func numeric(v any) *big.Float {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v)
	case float64:
		return new(big.Float).SetFloat64(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	}
	return nil
}
