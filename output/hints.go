package output

import (
	"context"
	"fmt"
	"io"

	"bolt/event"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
)

// Hints is a sink that prints advice about failures of an action after another sink
// has printed its end. A hundred targets with the same problem result in one hint.
type Hints struct {
	next    event.Sink
	w       io.Writer
	order   []string
	targets map[string][]string
}

// NewHints returns a Hints behind next. The hints go to w, standard error.
func NewHints(next event.Sink, w io.Writer) *Hints {
	return &Hints{next: next, w: w, targets: make(map[string][]string)}
}

// Event passes an event to next, and prints the hints after the last event unless next
// returns an error.
func (h *Hints) Event(ctx context.Context, e event.Event) error {
	if err := h.next.Event(ctx, e); err != nil {
		return err
	}
	switch e := e.(type) {
	case event.TargetEnd:
		if e.Step == nil {
			h.add(e.Result)
		}
	case event.ActionEnd:
		h.print()
	}
	return nil
}

func (h *Hints) add(r *event.Result) {
	if r.OK() || r.Err.Hint == "" {
		return
	}
	if h.targets[r.Err.Hint] == nil {
		h.order = append(h.order, r.Err.Hint)
	}
	h.targets[r.Err.Hint] = append(h.targets[r.Err.Hint], r.Target.SafeName())
}

// maxHints limits the number of hints.
const maxHints = 8

func (h *Hints) print() {
	for i, hint := range h.order {
		if i == maxHints {
			fmt.Fprintf(h.w, "hint: %d more, see --format ndjson\n", len(h.order)-i)
			return
		}
		fmt.Fprintf(h.w, "hint for %s: %s\n", safetext.TerminalString(nodeset.Fold(h.targets[hint])), safetext.TerminalString(hint))
	}
}
