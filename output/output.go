package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"bolt/inventory"
	"bolt/run"
)

// A Renderer shows an action on targets. Its methods are called from one
// goroutine at a time. Each returns the first error of writing (a closed pipe,
// a full disk); after one, all later calls return it again and write nothing,
// so a caller may stop its work as soon as it sees one.
//
// A Renderer owns Result.Output of each Finished event that it is given: it
// closes the output when it has printed it, or could not, at the latest in End
// or Fatal. Of all else in an event, Event keeps only what is constant.
type Renderer interface {
	// Start prints what comes before all events.
	Start(Info) error
	// Event prints what an event shows, and flushes.
	Event(run.Event) error
	// End prints the summary and flushes. elapsed is the wall time of the
	// whole action; outputs are what a task's promised ones come to.
	End(elapsed time.Duration, outputs ...Output) error
	// Fatal stands instead of End for a fault after Start.
	Fatal(err error) error
}

// Info is what is known before an action begins.
type Info struct {
	// Action is as in event.Result. What is looked up (Lookup) has a layout of
	// its own: no time in the summary, as nothing ran, and in JSON a list.
	Action  string
	Object  string              // what is run or copied
	Targets []*inventory.Target // in the order of the summary
}

// Lookup is the action that prints values: each result has one as "value",
// unless an explanation was asked for alone.
const Lookup = "lookup"

// Format names an output format.
type Format string

// The formats of actions.
const (
	Human   Format = "human"
	JSON    Format = "json"
	NDJSON  Format = "ndjson" // one event a line, see docs/ndjson.md
	Rainbow Format = "rainbow"
)

// IsJSON reports whether programs are to read the format: then nothing else
// may be printed on standard output.
func (f Format) IsJSON() bool { return f == JSON || f == NDJSON }

// Options choose a Renderer. Out is required.
type Options struct {
	Format Format // "" is Human
	Out    io.Writer
	// Err takes the lines of Stream when Out carries a JSON document; nil
	// drops them.
	Err      io.Writer
	Color    bool // colours are wanted and Out can show them
	Terminal bool // Out is a terminal: control sequences in output are taken out
	Verbose  bool // print all results, not only failures and the summary (human formats)
	Stream   bool // print output line by line as it arrives
	Fold     bool // print equal results once, at the end (human formats)
	Diff     bool // as Fold, but print how results differ from the most frequent one
	// Now is the clock of NDJSON; nil is time.Now.
	Now func() time.Time
}

// New returns the Renderer that o asks for.
func New(o Options) (Renderer, error) {
	if o.Out == nil {
		return nil, errors.New("output: no writer")
	}
	o.Fold = o.Fold || o.Diff
	if o.Fold && o.Format.IsJSON() {
		return nil, fmt.Errorf("format %s: equal results can only be folded in the formats human and rainbow", o.Format)
	}
	out := bufio.NewWriter(o.Out)
	switch o.Format {
	case "", Human, Rainbow:
		return newHuman(o, out), nil
	case JSON:
		return newJSON(o, out), nil
	case NDJSON:
		return newNDJSON(o, out), nil
	}
	return nil, fmt.Errorf("format %s: must be one of human, json, ndjson, rainbow", o.Format)
}
