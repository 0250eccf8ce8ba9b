package run

import (
	"bolt/event"
	"bolt/event/capture"
	"bolt/inventory"
)

// Kind says what an Event tells.
type Kind uint8

// The kinds of Event, in the order in which a target produces them.
const (
	Started  Kind = iota // work on the target begins: its turn has come
	Output               // a piece of output, as it arrived
	Finished             // the target is done; Result is set
)

// Event is one thing that happened on one target. Data is only valid during
// the call of the sink. Who receives a Finished event owns the Output of its
// Result, and closes it.
type Event struct {
	Kind   Kind
	Target *inventory.Target
	Stream capture.Stream // of Data, for Output
	Data   []byte
	Result *event.Result // for Finished
}
