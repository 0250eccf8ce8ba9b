package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// advance decides the next events of the whole rollout: gates, preview, waves, soaks and the start of nodes.
func (d *decision) advance() {
	if d.paused || d.stop.end != "" {
		return
	}
	if d.wave == 0 && !d.before() || len(d.events) > 0 {
		return
	}
	if d.wave > 0 {
		d.startScoped(gate.Background)
	}
	if len(d.events) > 0 {
		return
	}
	switch {
	case d.wave == 0 || d.step == waveOver:
		d.nextWave()
	case d.step == waveSoak:
		if d.at < d.soakUntil && !d.soaked {
			d.wakeAt(d.soakUntil)
			return
		}
		d.emit(&WaveEnded{Wave: d.wave, Reason: "the soak is over"})
	case d.queue.waiting > 0:
		if d.open() {
			d.startNodes()
		}
	case len(d.flight) == 0:
		if d.startScoped(gate.Wave) {
			d.soak()
		}
	}
}

// startScoped starts the gates of a place that are missing. It reports whether all of them have passed.
func (d *decision) startScoped(p gate.Place) bool {
	passed := true
	for _, spec := range d.created.Strategy.GatesAt(p) {
		at := slices.IndexFunc(d.scoped, func(g *gateRun) bool { return g.place == p && g.spec.Name == spec.Name })
		if at < 0 {
			e := &GateStarted{Gate: spec.Name, Place: p}
			if p == gate.Wave {
				e.Wave = d.wave
			}
			d.startGate(e, spec)
			passed = false
			continue
		}
		passed = passed && d.scoped[at].passed()
	}
	return passed
}

func (d *decision) soak() {
	soak := d.rules().Waves[d.created.Waves[d.wave-1].Step-1].Soak
	if soak == 0 {
		d.emit(&WaveEnded{Wave: d.wave, Reason: "all nodes of the wave have ended"})
		return
	}
	until := d.clock.wall(d.at + int64(time.Duration(soak)))
	d.emit(&SoakStarted{Wave: d.wave, Until: until, Reason: "soak of " + soak.String()})
}

// before decides the gates and the preview that come before the first wave. It reports whether both are over.
func (d *decision) before() bool {
	if !d.startScoped(gate.Before) {
		return false
	}
	r, p := d.rules().Preview, &d.preview
	if !r.All || p.over && (p.odd == 0 || p.accepted) {
		return true
	}
	if p.over {
		reason := fmt.Sprintf("the preview of %d nodes needs attention, the first is %s", p.odd, p.oddNode)
		if r.Unexpected == strategy.AbortPreview {
			d.emit(&AbortRequested{Mode: Drain, Reason: reason})
		} else {
			d.emit(&Paused{Reason: reason, Why: PausePreview})
		}
		return false
	}
	if p.finished == len(d.nodes) {
		d.emit(&PreviewEnded{Reason: fmt.Sprintf("%d nodes examined", p.finished)})
		return false
	}
	free := d.rules().Parallel.Max - len(p.flight)
	preview := func(i int) {
		d.emit(&PreviewStarted{Node: d.name(i), Run: d.runID("preview", i, 1), Session: d.session, Timeout: d.rules().Node.Timeout})
		free--
	}
	for _, i := range p.again {
		if free > 0 {
			preview(int(i))
		}
	}
	for i := p.next; i < len(d.nodes) && free > 0; i++ {
		preview(i)
	}
	return false
}

// nextWave starts the next wave, unless it must wait, or ends the rollout.
func (d *decision) nextWave() {
	if d.wave == len(d.created.Waves) {
		d.emit(&Ended{State: Succeeded, Reason: d.summary()})
		return
	}
	if p, _ := d.waits(); p != "" {
		return
	}
	d.emit(&WaveStarted{Wave: d.wave + 1, Reason: "wave " + d.created.Waves[d.wave].Name})
}

func (d *decision) summary() string {
	text := fmt.Sprintf("%d of %d nodes are done", d.sums.done, len(d.nodes))
	switch n := d.sums.ended - d.sums.done; n {
	case 0:
	case 1:
		text += ", 1 is not"
	default:
		text += fmt.Sprintf(", %d are not", n)
	}
	if !d.created.Noop && d.created.Strategy.Kind != strategy.Check {
		return text
	}
	nodes, resources, changed := 0, 0, 0
	for i := range d.nodes {
		if d.nodes[i].changed { // a check in a window
			changed++
		}
		if n := int(d.nodes[i].would); n > 0 {
			nodes, resources = nodes+1, resources+n
		}
	}
	switch changed {
	case 0:
	case 1:
		text += "; 1 node was changed"
	default:
		text += fmt.Sprintf("; %d nodes were changed", changed)
	}
	switch nodes {
	case 0:
		if changed > 0 {
			return text
		}
		return text + "; no node would change"
	case 1:
		text += "; 1 node would change"
	default:
		text += fmt.Sprintf("; %d nodes would change", nodes)
	}
	return text + " (" + strings.TrimSuffix(would(resources), " would change") + ")"
}

// waits returns the phase in which the next wave waits, with the reason; "" if it can start.
func (d *decision) waits() (Phase, string) {
	if wave, need, by := d.Approval(d.now); len(by) < need.Need {
		users := "any user"
		if len(need.Users) > 0 {
			users = strings.Join(need.Users, ", ")
		}
		return AwaitingApproval, fmt.Sprintf("wave %d (%s) waits for approval by %s: %d of %d", wave, d.created.Waves[d.wave].Name, users, len(by), need.Need)
	}
	if !d.calendar.Open && d.created.Strategy.Kind != strategy.Check {
		return AwaitingWindow, d.calendar.Reason
	}
	return "", ""
}

// stands reports whether an approval is valid at a time: not expired, and for the present release and strategy.
func (s *State) stands(a approval, need strategy.Approval, at int64) bool {
	if a.Release != s.created.Release || a.Strategy != s.created.StrategyDigest {
		return false
	}
	if need.Expires > 0 && at >= a.at+int64(need.Expires) {
		return false
	}
	return (len(need.Users) == 0 || slices.Contains(need.Users, a.By)) && !(need.NotAuthor && a.By == s.created.Author)
}

// need returns the approvals that a wave needs, from 1. Of the waves that one step makes, only the
// first needs them.
func (s *State) need(wave int) strategy.Approval {
	if wave < 1 || wave > len(s.created.Waves) {
		return strategy.Approval{}
	}
	step := s.created.Waves[wave-1].Step
	if wave > 1 && s.created.Waves[wave-2].Step == step {
		return strategy.Approval{}
	}
	return s.created.Strategy.Approval(step, wave == 1)
}

// phaseNow returns the phase of the rollout, and the reason.
func (d *decision) phaseNow() (Phase, string) {
	switch {
	case d.stop.end == RolledBack:
		return RollingBack, d.stop.reason
	case d.stop.end != "":
		return Aborting, d.stop.reason
	case d.paused:
		return PausedPhase, d.pauseReason
	}
	if d.wave == 0 || d.step == waveOver {
		if d.wave == 0 && slices.ContainsFunc(d.scoped, func(g *gateRun) bool { return !g.passed() }) {
			return Validating, "gates before the first wave"
		}
		if d.wave == 0 && d.rules().Preview.All && !d.preview.over {
			return NoopPreview, "a run without changes before the first wave"
		}
		return d.waits()
	}
	wave := fmt.Sprintf("wave %d of %d: %s", d.wave, len(d.created.Waves), d.created.Waves[d.wave-1].Name)
	switch {
	case d.step == waveGates:
		return Gating, "gates of " + wave
	case d.step == waveSoak:
		return Soaking, wave + " soaks until " + d.clock.wall(d.soakUntil).Format(time.RFC3339)
	case d.queue.waiting > 0 && !d.open():
		return AwaitingWindow, d.calendar.Reason
	case d.waitsForPlace():
		return Running, wave + ", waits for a place of the governor " + d.rules().Parallel.Governor.Name
	}
	return Running, wave
}
