package rollouts

import (
	"fmt"
	"strings"
	"time"

	"bolt/internal/nodeset"
	"bolt/output/layout"
	"bolt/release"
	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/strategy"
	"bolt/store"
)

// because adds a reason to a text.
func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// by adds a person and a reason to a text.
func by(text, who, reason string) string {
	if who != "" {
		text += " by " + who
	}
	return because(text, reason)
}

// waveName names a wave for people.
func waveName(s *rollout.State, wave int) string {
	var waves []rollout.Wave
	if s != nil && s.Created() != nil {
		waves = s.Created().Waves
	}
	if wave < 1 || wave > len(waves) {
		return fmt.Sprintf("wave %d", wave)
	}
	w := waves[wave-1]
	name := w.Name
	if w.Stratum != "" {
		name += ", " + w.Stratum
	}
	return fmt.Sprintf("wave %d of %d (%s)", wave, len(waves), name)
}

// releaseName names a release for people.
func releaseName(id string) string {
	if id == "" {
		return "no release"
	}
	return "release " + release.Short(store.Digest(id))
}

// A teller describes the events of a rollout in their order.
type teller struct {
	state *rollout.State
	gates map[string]string // names of gates by their IDs
}

func tellerOf(s *rollout.State) *teller { return &teller{s, make(map[string]string)} }

// gate names a gate by its ID.
func (t *teller) gate(id string) string {
	if name := t.gates[id]; name != "" {
		return name
	}
	return "gate " + id
}

// describe describes an event in words.
func (t *teller) describe(e rollout.Event) string {
	s := t.state
	switch e := e.(type) {
	case *rollout.Created:
		text := fmt.Sprintf("rollout of %s to %s in %s", what(e), layout.Plural(len(e.Nodes), "node"), layout.Plural(len(e.Waves), "wave"))
		return by(text, e.Author, e.Reason)
	case *rollout.DriverStarted:
		return "driven by " + e.Holder
	case *rollout.DriverStopped:
		return because("the driver has stopped", e.Reason)
	case *rollout.PhaseChanged:
		return because(string(e.State), e.Reason)
	case *rollout.Ended:
		return because(string(e.State), e.Reason)
	case *rollout.WaveStarted:
		return waveName(s, e.Wave) + " starts"
	case *rollout.WaveEnded:
		return waveName(s, e.Wave) + " is over"
	case *rollout.SoakStarted:
		return fmt.Sprintf("%s soaks until %s", waveName(s, e.Wave), clock(e.Until))
	case *rollout.Paused:
		return by("paused", e.By, e.Reason)
	case *rollout.Resumed:
		return by("resumed", e.By, e.Reason)
	case *rollout.Approved:
		return by(waveName(s, e.Wave)+" is approved", e.By, e.Reason)
	case *rollout.Rejected:
		return by(waveName(s, e.Wave)+" is rejected", e.By, e.Reason)
	case *rollout.Promoted:
		return by("promoted", e.By, e.Reason)
	case *rollout.Retried:
		text := "failed nodes are repeated"
		if e.Nodes != nil {
			text = strings.Join(e.Nodes, ", ") + ": repeated"
		}
		return by(text, e.By, e.Reason)
	case *rollout.AbortRequested:
		return by("abort ("+string(e.Mode)+")", e.By, e.Reason)
	case *rollout.Superseded:
		return by("superseded by rollout "+e.Rollout, e.By, e.Reason)
	case *rollout.RollbackRequested:
		return by("rollback", e.By, e.Reason)
	case *rollout.RollbackStarted:
		return because(fmt.Sprintf("rollback of %s as rollout %s", layout.Plural(e.Nodes, "node"), e.Rollout), e.Reason)
	case *rollout.RollbackFinished:
		return because(fmt.Sprintf("rollback %s: %s, %s back", e.Rollout, e.State, layout.Plural(len(e.Nodes), "node")), e.Reason)
	case *rollout.Edited:
		return by("the strategy was edited", e.By, e.Reason)
	case *rollout.ClockMoved:
		return because(fmt.Sprintf("the clock has moved by %v", time.Duration(e.By).Round(time.Second)), e.Reason)
	case *rollout.PreviewEnded:
		return because("the preview is over", e.Reason)
	case *rollout.Governed:
		return layout.Plural(e.Places, "place") + " of the governor"
	case *rollout.GateStarted:
		t.gates[e.ID] = gateName(e.Gate, e.Place, e.Wave, e.Node)
		return t.gates[e.ID] + " is measured"
	case *rollout.GateEnded:
		return because(t.gate(e.ID)+": "+string(e.Outcome), e.Reason)
	case *rollout.GateMeasured:
		return because(fmt.Sprintf("%s, measurement %d: %s", t.gate(e.ID), e.Number, e.Outcome), e.Reason)
	case *rollout.GateMeasure:
		return fmt.Sprintf("%s, measurement %d", t.gate(e.ID), e.Number)
	}
	return describeNode(e)
}

// describeNode describes an event of a node.
func describeNode(e rollout.Event) string {
	switch e := e.(type) {
	case *rollout.NodeStarted:
		text := "started"
		if e.Attempt > 1 {
			text += fmt.Sprintf(" (attempt %d)", e.Attempt)
		}
		if e.Noop {
			text += " in noop mode"
		}
		return e.Node + ": " + because(text, e.Reason)
	case *rollout.NodeProgress:
		return e.Node + ": " + string(e.State)
	case *rollout.NodeAsked:
		return e.Node + ": " + because("asked for the result of its run", e.Reason)
	case *rollout.NodeStop:
		return e.Node + ": " + because("the run is stopped", e.Reason)
	case *rollout.NodeFinished:
		text := string(e.Outcome)
		switch {
		case e.Changes > 0 && e.Changed:
			text += ", " + layout.Plural(e.Changes, "change")
		case e.Changes > 0:
			text += ", " + layout.Plural(e.Changes, "resource") + " would change"
		}
		if e.Run != "" {
			text += fmt.Sprintf(" (run %.8s)", e.Run) // for bolt report show
		}
		return e.Node + ": " + because(text, e.Reason)
	case *rollout.NodeRetry:
		return e.Node + ": " + because("repeated after "+clock(e.Until), e.Reason)
	case *rollout.NodeSoaking:
		return e.Node + ": " + because("observed until "+clock(e.Until), e.Reason)
	case *rollout.NodeEnded:
		return e.Node + ": " + because("ended as "+string(e.State), e.Reason)
	case *rollout.HookStarted:
		return e.Node + ": hook " + string(e.Hook)
	case *rollout.HookFinished:
		text := "succeeded"
		if !e.OK {
			text = because("failed", e.Reason)
		}
		return e.Node + ": hook " + string(e.Hook) + " " + text
	case *rollout.PreviewStarted:
		return e.Node + ": preview"
	case *rollout.PreviewFinished:
		return e.Node + ": " + because(fmt.Sprintf("preview: %s, %s", e.Outcome, layout.Plural(e.Changes, "change")), e.Reason)
	case *rollout.Skipped:
		return e.Node + ": " + by("skipped", e.By, e.Reason)
	}
	return e.Type()
}

// what names the thing that a rollout brings to nodes.
func what(c *rollout.Created) string {
	switch a := c.Strategy.Action; {
	case a.Plan != "":
		return "plan " + a.Plan
	case a.Task != "":
		return "task " + a.Task
	case c.Release == "" && c.Strategy.Kind == strategy.Check:
		return "the releases of the nodes"
	case c.Release == "":
		return "the releases that the nodes had before"
	}
	return releaseName(c.Release)
}

func gateName(name string, place gate.Place, wave int, node string) string {
	switch place {
	case gate.Node:
		return fmt.Sprintf("gate %s of %s", name, node)
	case gate.Wave:
		return fmt.Sprintf("gate %s of wave %d", name, wave)
	case gate.Before:
		return fmt.Sprintf("gate %s before the first wave", name)
	}
	return fmt.Sprintf("gate %s in the background", name)
}

// important reports whether people see an event while a rollout is driven. The others repeat it, or are
// frequent.
func important(e rollout.Event) bool {
	switch e := e.(type) {
	case *rollout.DriverStopped, *rollout.Governed, *rollout.NodeProgress, *rollout.NodeFinished, *rollout.GateMeasure, *rollout.PreviewStarted, *rollout.HookStarted, *rollout.Ended, *rollout.WaveEnded:
		return false
	case *rollout.PhaseChanged: // the other states follow from other events
		return e.State == rollout.AwaitingApproval || e.State == rollout.AwaitingWindow || e.State == rollout.Validating || e.State == rollout.NoopPreview
	case *rollout.GateMeasured:
		return e.Outcome != gate.Successful
	case *rollout.HookFinished:
		return !e.OK
	}
	return true
}

// paint colours the line of an event.
func paint(e rollout.Event, on bool, text string) string {
	color := colorOf(e)
	return layout.Paint(color, on && color != "", text)
}

// colorOf returns the colour of an event; "" for none.
func colorOf(e rollout.Event) string {
	switch e := e.(type) {
	case *rollout.NodeEnded:
		switch {
		case e.State == rollout.NodeDone:
			return layout.Green
		case e.Counted:
			return layout.Red
		}
		return layout.Yellow
	case *rollout.Paused, *rollout.AbortRequested, *rollout.RollbackStarted, *rollout.RollbackRequested:
		return layout.Yellow
	case *rollout.GateEnded:
		if e.Outcome != gate.Successful {
			return layout.Red
		}
		return layout.Green
	case *rollout.WaveStarted:
		return layout.Cyan
	}
	return ""
}

func clock(t time.Time) string {
	local := t.Local()
	if now := time.Now(); local.YearDay() == now.YearDay() && local.Year() == now.Year() {
		return local.Format("15:04:05")
	}
	return local.Format("2006-01-02 15:04:05")
}

// fold writes names with ranges.
func fold(names []string) string { return nodeset.Fold(names) }
