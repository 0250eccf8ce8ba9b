package rollout

import (
	"fmt"
	"math"
)

// A bound is a limit of failures: how many there are and how many are tolerated.
type bound struct {
	failed, tolerated int
	text              string // "2 nodes of wave 1 failed, failures.count is 1"
}

// bounds returns the limits of failures of the strategy. In each, one failure more than are tolerated
// stops the rollout.
func (d *decision) bounds() []bound {
	f := d.rules().Failures
	var list []bound
	scope := func(name string, failed, whole int) {
		if f.Count != nil {
			list = append(list, bound{failed, *f.Count, fmt.Sprintf("failures in %s: %d, failures.count is %d", name, failed, *f.Count)})
		}
		if f.Percent != nil {
			list = append(list, bound{failed, f.Percent.Down(whole), fmt.Sprintf("failures in %s: %d of %d nodes, failures.percent is %s", name, failed, whole, f.Percent)})
		}
	}
	if f.Scope != "rollout" && d.wave > 0 {
		scope(fmt.Sprintf("wave %d", d.wave), d.sums.inWave, len(d.created.Waves[d.wave-1].Nodes))
	}
	if f.Scope != "wave" {
		scope("the rollout", d.sums.failed, len(d.nodes))
	}
	if f.Consecutive != nil {
		list = append(list, bound{d.sums.inRow, *f.Consecutive, fmt.Sprintf("failures in a row: %d, failures.consecutive is %d", d.sums.inRow, *f.Consecutive)})
	}
	return list
}

// exceeded returns why the rollout must not go on: too many failures, a failed gate, or no
// progress. It returns "" if it can.
func (d *decision) exceeded() string {
	if d.sums.failed > 0 {
		for _, b := range d.bounds() {
			if b.failed > b.tolerated {
				return b.text
			}
		}
	}
	if d.gateFailed != "" {
		return d.gateFailed
	}
	end := d.progressEnd()
	if end == 0 {
		return ""
	}
	if d.at >= end {
		return fmt.Sprintf("no node was finished for %s, the progress deadline", d.rules().Progress)
	}
	d.wakeAt(end)
	return ""
}

// ownRoom returns the number of nodes that the limits of the rollout alone let start now, and the limit that holds back the
// others.
func (d *decision) ownRoom() (free int, why string) {
	r := d.rules()
	flight := len(d.flight)
	free, why = r.Parallel.Max-flight, fmt.Sprintf("concurrency.max is %d", r.Parallel.Max)
	if r.Failures.Strict {
		least := math.MaxInt32
		for _, b := range d.bounds() {
			least = min(least, b.tolerated-b.failed)
		}
		if n := least + 1 - flight; n < free {
			free, why = n, "the limits of failures tolerate no more"
		}
	}
	if !r.MaxUnavailable.IsZero() {
		most := max(r.MaxUnavailable.Down(len(d.nodes)), 1)
		if n := most - flight - d.sums.unavailable; n < free {
			free, why = n, fmt.Sprintf("max_unavailable is %s (%d nodes), and %d have failed", r.MaxUnavailable, most, d.sums.unavailable)
		}
	}
	return max(free, 0), why
}

// startNodes starts as many nodes of the present wave as the limits allow.
func (d *decision) startNodes() {
	free, why := d.room()
	heads := make(map[*bucket]int)
	load := make(map[int32]int)
	// A person can let nodes of earlier waves be repeated, so nodes of several strata can wait.
	stratum, fixed := "", len(d.flight) > 0
	if fixed {
		stratum = d.stratum(int(d.flight[0]))
	}
	waits := func(b *bucket, k int) bool { return d.nodes[b.nodes[k].node].bucket == b }
	for ; free > 0; free-- {
		var best *bucket
		for _, b := range d.queue.order {
			k := heads[b]
			for k < len(b.nodes) && !waits(b, k) {
				k++
			}
			if k > 0 {
				heads[b] = k
			}
			if k == len(b.nodes) || best != nil && best.nodes[heads[best]].rank < b.nodes[k].rank || fixed && b.stratum != stratum || d.full(b, load) {
				continue
			}
			best = b
		}
		if best == nil {
			why = "concurrency.per lets no node start"
			break
		}
		d.start(int(best.nodes[heads[best]].node))
		stratum, fixed = best.stratum, true
		heads[best]++
		for _, l := range best.limits {
			load[l]++
		}
	}
	if len(d.events) == 0 && len(d.flight) == 0 && d.queue.waiting > 0 && !d.waitsForPlace() {
		d.emit(&Paused{Reason: "no node can start: " + why, Why: PauseBlocked})
	}
}

// full reports whether a limit of concurrency.per lets no node of a bucket start. load has the nodes
// that start in the same decision.
func (d *decision) full(b *bucket, load map[int32]int) bool {
	for _, l := range b.limits {
		if d.limits[l].load+load[l] >= d.limits[l].max {
			return true
		}
	}
	return false
}
