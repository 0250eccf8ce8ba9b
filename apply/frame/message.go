package frame

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/ordered"
)

// A Hello is the first frame of the helper.
type Hello struct {
	Protocol int    `json:"protocol"`
	Build    string `json:"build"` // the first digits of the digest of the helper
	Run      string `json:"run"`
	Node     string `json:"node,omitempty"`
	Boot     string `json:"boot,omitempty"` // boot ID of the machine; "" if it is unknown
	Dir      string `json:"dir"`            // state directory
}

// A Need lists the data that the helper lacks. Nothing was changed.
type Need struct {
	Catalog  bool     `json:"catalog,omitempty"`
	Contents []string `json:"contents,omitempty"` // SHA-256, hexadecimal
}

// An Offer lists contents that can be sent, and where the machine has them if nothing has
// changed there.
type Offer struct {
	Contents []Offered `json:"contents"`
}

// Offered is one content of an Offer.
type Offered struct {
	Sum  string `json:"sum"`
	Path string `json:"path"`
}

// Counts are the numbers of resources of each status. Generated resources are not in them.
type Counts struct {
	Unchanged int `json:"unchanged"`
	Changed   int `json:"changed"`
	Noop      int `json:"noop"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
}

// Of returns the count of a status, nil for an unknown status.
func (c *Counts) Of(s report.Status) *int {
	switch s {
	case report.Unchanged:
		return &c.Unchanged
	case report.Changed:
		return &c.Changed
	case report.Noop:
		return &c.Noop
	case report.Failed:
		return &c.Failed
	case report.Skipped:
		return &c.Skipped
	}
	return nil
}

// A Stop is the reason why a run ended early: "" if it did not.
type Stop string

// The reasons.
const (
	StopLost   Stop = "lost"   // nobody reads the output of the helper any more
	StopSignal Stop = "signal" // a signal asked the helper to end
	StopAsked  Stop = "asked"  // bolt asked for the end of the run
	StopLeft   Stop = "left"   // bolt has ended the input of a watch
)

// Done is the last frame of the helper.
type Done struct {
	Counts  Counts   `json:"counts"`
	Stopped Stop     `json:"stopped,omitempty"`
	Refused *Refusal `json:"refused,omitempty"` // nothing was changed
	// Error is a failure of the helper itself in the middle of the run.
	Error string `json:"error,omitempty"`
	// Drift is set if the node does not have the expected release, and the run was in noop mode.
	Drift string `json:"drift,omitempty"`
	// Owed are resources that a later run will refresh, because this one did not come to it.
	Owed []string `json:"owed,omitempty"`
}

// A Round is the end of one check of a watch. The counts are for the resources that were checked.
type Round struct {
	Done
	// First is set for the first check of a catalog that bolt has sent. That check looks at all resources of the first catalog.
	// For a later catalog, it looks at the resources that differ from the previous catalog.
	First bool `json:"first,omitempty"`
}

// A Kind is the reason why a run was refused.
type Kind string

// The kinds.
const (
	KindBusy    Kind = "busy"    // another run holds the lock of the node
	KindStale   Kind = "stale"   // a run with a higher sequence number was here
	KindTwice   Kind = "twice"   // there was a run of this ID
	KindDrifted Kind = "drifted" // the node has another release than the expected one
	KindCatalog Kind = "catalog" // the catalog is wrong
	KindState   Kind = "state"   // the state directory cannot be used
	KindFile    Kind = "file"    // something else is in the place of a file of the state directory
	KindInput   Kind = "input"   // the input of the helper is wrong, or incomplete
	KindEngine  Kind = "engine"  // the engine puppet needs an installed Puppet
)

// A Refusal is the error of a run that was refused. Nothing was changed.
type Refusal struct {
	Kind     Kind     `json:"kind"`
	Messages []string `json:"messages"`
	Holder   *Holder  `json:"holder,omitempty"` // of KindBusy, if it is known
	Seq      int64    `json:"seq,omitempty"`    // the highest one, of KindStale
}

// A Holder is a run that has the lock of a node.
type Holder struct {
	Run   string    `json:"run"`
	Node  string    `json:"node,omitempty"`
	By    string    `json:"by"` // the user for whom it runs
	PID   int       `json:"pid,omitempty"`
	Start time.Time `json:"start"`
	// Watch is set for a check of a watch, which ends soon, so that other runs wait for it.
	Watch bool `json:"watch,omitempty"`
}

// A State is the outcome of a run.
type State string

// The states.
const (
	StateUnknown State = "unknown" // there is no journal: it changed nothing, or it was long ago
	StateRunning State = "running"
	StateEnded   State = "ended"
	StateBroken  State = "interrupted" // the helper was killed, or the machine went down
)

// A Fate describes the outcome of a run, as an answer to "asked".
type Fate struct {
	State State     `json:"state"`
	Node  string    `json:"node,omitempty"`
	By    string    `json:"by,omitempty"`
	Seq   int64     `json:"seq,omitempty"`
	Begin time.Time `json:"begin,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Rebooted is set if the machine was started again after a run that was interrupted.
	Rebooted bool `json:"rebooted,omitempty"`
	// Progress are the resources that were being changed when the run was interrupted, or now.
	Progress []string `json:"progress,omitempty"`
	Done     *Done    `json:"done,omitempty"`  // of a run that has ended
	Ended    []Ended  `json:"ended,omitempty"` // resources that were not unchanged, in order
}

// Facts are the facts of a machine.
type Facts struct {
	Facts *ordered.Map `json:"facts"`
	Notes []Note       `json:"notes,omitempty"`
}

// A Note is the reason why a fact is missing.
type Note struct {
	Fact   string `json:"fact"`
	Reason string `json:"reason"`
}

// States are the states of resources of one type.
type States struct {
	Resources []Shown `json:"resources"`
}

// Shown is the state of one resource.
type Shown struct {
	Title  string       `json:"title"`
	Params *ordered.Map `json:"parameters"`
}

// Ended is a resource of a Fate.
type Ended struct {
	Ref       string        `json:"ref"`
	Status    report.Status `json:"status"`
	Refreshed bool          `json:"refreshed,omitempty"`
}

// A Result is a report.Result on the wire.
type Result struct {
	Ref       string         `json:"ref"`
	Status    report.Status  `json:"status"`
	Refreshed bool           `json:"refreshed,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Events    []report.Event `json:"events,omitempty"`
	Attempts  int            `json:"attempts,omitempty"`
	Generated bool           `json:"generated,omitempty"`
	Parent    string         `json:"parent,omitempty"`
	Start     time.Time      `json:"start,omitzero"`
	Took      time.Duration  `json:"took,omitempty"`
}

// FromReport makes a Result.
func FromReport(r *report.Result) *Result {
	out := &Result{Ref: r.Ref.String(), Status: r.Status, Refreshed: r.Refreshed, Reason: r.Reason, Events: r.Events, Attempts: r.Attempts, Generated: r.Generated, Start: r.Start, Took: r.Took}
	if r.Parent != (catalog.Ref{}) {
		out.Parent = r.Parent.String()
	}
	return out
}

// Report returns the result, after a check of each part that has few values.
func (r *Result) Report() (*report.Result, error) {
	ref, err := catalog.ParseRef(r.Ref)
	if err != nil {
		return nil, err
	}
	out := &report.Result{Ref: ref, Status: r.Status, Refreshed: r.Refreshed, Reason: r.Reason, Events: r.Events, Attempts: r.Attempts, Generated: r.Generated, Start: r.Start, Took: r.Took}
	if r.Parent != "" {
		if out.Parent, err = catalog.ParseRef(r.Parent); err != nil {
			return nil, err
		}
	}
	if new(Counts).Of(r.Status) == nil {
		return nil, fmt.Errorf("%s has the unknown status %q", r.Ref, r.Status)
	}
	for _, e := range r.Events {
		switch e.Outcome {
		case report.Success, report.Failure, report.NoopOut, report.Audit:
		default:
			return nil, fmt.Errorf("%s has an event with the unknown outcome %q", r.Ref, e.Outcome)
		}
	}
	return out, nil
}

// Shorten removes the diffs of a result, and cuts events and long strings, so that it fits in a frame.
func (r *Result) Shorten() {
	const most = 8 << 10
	cut := func(s string) string { return s[:min(len(s), most)] }
	r.Events = append([]report.Event(nil), r.Events[:min(len(r.Events), 32)]...)
	for i := range r.Events {
		e := &r.Events[i]
		if e.Diff != "" {
			e.Diff = "(The diff was left out, because there is too much output.)\n"
		}
		e.Is, e.Should, e.Message = cut(e.Is), cut(e.Should), cut(e.Message)
	}
	r.Reason = cut(r.Reason)
}

const sumSize = 32

// Content writes a content.
func (w *Writer) Content(sum string, data []byte) error {
	raw, err := hex.DecodeString(sum)
	if err != nil || len(raw) != sumSize {
		return fmt.Errorf("%q is not a SHA-256", sum)
	}
	return w.Raw(TypeContent, raw, data)
}

// ParseContent takes the body of a Content apart. data is valid as long as body is.
func ParseContent(body []byte) (sum string, data []byte, err error) {
	if len(body) < sumSize {
		return "", nil, errors.New("body of a content is too short")
	}
	return hex.EncodeToString(body[:sumSize]), body[sumSize:], nil
}
