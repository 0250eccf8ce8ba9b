package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Type implements Event.
func (*Created) Type() string           { return "created" }
func (*DriverStarted) Type() string     { return "driver_started" }
func (*DriverStopped) Type() string     { return "driver_stopped" }
func (*Governed) Type() string          { return "governed" }
func (*NodeStarted) Type() string       { return "node_started" }
func (*NodeProgress) Type() string      { return "node_state" }
func (*NodeAsked) Type() string         { return "node_asked" }
func (*NodeStop) Type() string          { return "node_stop" }
func (*NodeFinished) Type() string      { return "node_finished" }
func (*NodeRetry) Type() string         { return "node_retry" }
func (*NodeSoaking) Type() string       { return "node_soaking" }
func (*NodeEnded) Type() string         { return "node_ended" }
func (*HookStarted) Type() string       { return "hook_started" }
func (*HookFinished) Type() string      { return "hook_finished" }
func (*GateStarted) Type() string       { return "gate_started" }
func (*GateMeasure) Type() string       { return "gate_measure" }
func (*GateMeasured) Type() string      { return "gate_measured" }
func (*GateEnded) Type() string         { return "gate_ended" }
func (*PreviewStarted) Type() string    { return "preview_started" }
func (*PreviewFinished) Type() string   { return "preview_finished" }
func (*PreviewEnded) Type() string      { return "preview_ended" }
func (*WaveStarted) Type() string       { return "wave_started" }
func (*WaveEnded) Type() string         { return "wave_ended" }
func (*SoakStarted) Type() string       { return "soak_started" }
func (*Paused) Type() string            { return "paused" }
func (*Resumed) Type() string           { return "resumed" }
func (*Approved) Type() string          { return "approved" }
func (*Rejected) Type() string          { return "rejected" }
func (*Promoted) Type() string          { return "promoted" }
func (*Skipped) Type() string           { return "skipped" }
func (*Retried) Type() string           { return "retried" }
func (*AbortRequested) Type() string    { return "abort_requested" }
func (*Superseded) Type() string        { return "superseded" }
func (*RollbackRequested) Type() string { return "rollback_requested" }
func (*RollbackStarted) Type() string   { return "rollback_started" }
func (*RollbackFinished) Type() string  { return "rollback_finished" }
func (*Edited) Type() string            { return "edited" }
func (*ClockMoved) Type() string        { return "clock_moved" }
func (*PhaseChanged) Type() string      { return "state" }
func (*Ended) Type() string             { return "ended" }

// newEvent returns an empty event of a type, nil if the type is unknown.
func newEvent(name string) Event {
	switch name {
	case "created":
		return new(Created)
	case "driver_started":
		return new(DriverStarted)
	case "driver_stopped":
		return new(DriverStopped)
	case "governed":
		return new(Governed)
	case "node_started":
		return new(NodeStarted)
	case "node_state":
		return new(NodeProgress)
	case "node_asked":
		return new(NodeAsked)
	case "node_stop":
		return new(NodeStop)
	case "node_finished":
		return new(NodeFinished)
	case "node_retry":
		return new(NodeRetry)
	case "node_soaking":
		return new(NodeSoaking)
	case "node_ended":
		return new(NodeEnded)
	case "hook_started":
		return new(HookStarted)
	case "hook_finished":
		return new(HookFinished)
	case "gate_started":
		return new(GateStarted)
	case "gate_measure":
		return new(GateMeasure)
	case "gate_measured":
		return new(GateMeasured)
	case "gate_ended":
		return new(GateEnded)
	case "preview_started":
		return new(PreviewStarted)
	case "preview_finished":
		return new(PreviewFinished)
	case "preview_ended":
		return new(PreviewEnded)
	case "wave_started":
		return new(WaveStarted)
	case "wave_ended":
		return new(WaveEnded)
	case "soak_started":
		return new(SoakStarted)
	case "paused":
		return new(Paused)
	case "resumed":
		return new(Resumed)
	case "approved":
		return new(Approved)
	case "rejected":
		return new(Rejected)
	case "promoted":
		return new(Promoted)
	case "skipped":
		return new(Skipped)
	case "retried":
		return new(Retried)
	case "abort_requested":
		return new(AbortRequested)
	case "superseded":
		return new(Superseded)
	case "rollback_requested":
		return new(RollbackRequested)
	case "rollback_started":
		return new(RollbackStarted)
	case "rollback_finished":
		return new(RollbackFinished)
	case "edited":
		return new(Edited)
	case "clock_moved":
		return new(ClockMoved)
	case "state":
		return new(PhaseChanged)
	case "ended":
		return new(Ended)
	}
	return nil
}

// Encode writes an event as one JSON object, with the key "type" first.
func Encode(e Event) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteString(`{"type":"` + e.Type() + `"`)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	at := b.Len()
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Type(), err)
	}
	data := bytes.TrimRight(b.Bytes(), "\n")
	if data[at+1] == '}' {
		return append(data[:at], '}'), nil
	}
	data[at] = ','
	return data, nil
}

// Decode reads an event. Unknown types and keys are errors, because a decision cannot be made
// without the knowledge of all events.
func Decode(data []byte) (Event, error) {
	name, rest, err := split(data)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if e := fast(name, rest); e != nil {
		return e, nil
	}
	e := newEvent(name)
	if e == nil {
		return nil, fmt.Errorf("unknown event %q: it may be of a newer version of bolt", name)
	}
	dec := json.NewDecoder(io.MultiReader(strings.NewReader("{"), bytes.NewReader(rest)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e); err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("event %s: there is text after it", name)
	}
	return e, nil
}

// split returns the type of an event, and the event without the key "type" and without its opening brace. Encode
// writes that key first, which spares a second pass over the event and a copy.
func split(data []byte) (name string, rest []byte, err error) {
	const head = `{"type":"`
	if after, ok := bytes.CutPrefix(data, []byte(head)); ok {
		if i := bytes.IndexByte(after, '"'); i >= 0 && i+1 < len(after) {
			switch name := string(after[:i]); after[i+1] {
			case ',':
				if i+2 < len(after) && after[i+2] == '"' {
					return name, after[i+2:], nil
				}
			case '}':
				return name, after[i+1:], nil
			}
		}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(keys["type"], &name); err != nil {
		return "", nil, fmt.Errorf("the key type is missing, or not a string")
	}
	delete(keys, "type")
	rest, err = json.Marshal(keys)
	return name, bytes.TrimPrefix(rest, []byte("{")), err
}
