package rollout

import (
	"bytes"
	"encoding/json"
	"time"
)

// Line returns an event as programs get it, as one line of JSON without its end: {"rollout": ID, "revision": N, "time": TIME,
// "event": {"type": TYPE, …}}. data is the event as Encode returns it.
func Line(rollout string, revision uint64, at time.Time, data json.RawMessage) ([]byte, error) {
	head, err := json.Marshal(struct {
		Rollout  string    `json:"rollout"`
		Revision uint64    `json:"revision"`
		Time     time.Time `json:"time"`
	}{rollout, revision, at})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(head[:len(head)-1])
	b.WriteString(`,"event":`)
	b.Write(data)
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Types returns the types of all events, in the order of docs/rollout-reference.md.
func Types() []string {
	return []string{
		"created", "edited", "driver_started", "driver_stopped", "governed", "wave_started", "wave_ended", "soak_started",
		"node_started", "node_state", "node_asked", "node_stop", "node_finished", "node_retry", "node_soaking", "node_ended",
		"hook_started", "hook_finished", "gate_started", "gate_ended", "gate_measure", "gate_measured",
		"preview_started", "preview_ended", "preview_finished",
		"paused", "resumed", "approved", "rejected", "promoted", "skipped", "retried", "abort_requested", "superseded",
		"rollback_requested", "rollback_started", "rollback_finished", "clock_moved", "state", "ended",
	}
}
