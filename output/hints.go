package output

import (
	"context"
	"fmt"
	"io"
	"strings"

	"bolt/event"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
)

// hint prints the hint of an error below the error, indented as the error. It prints each text once,
// and nothing if hints are apart from the errors.
func (h *human) hint(indent, text string) {
	if text == "" || h.o.apart() || h.hinted[text] {
		return
	}
	h.hinted[text] = true
	h.println(indent + strings.ReplaceAll("hint: "+safetext.TerminalString(text), "\n", "\n"+indent))
}

// hints is a sink that prints hints apart from the errors: about targets after another sink has
// printed the end of the action, about an error that ended the action directly after it. A hundred
// targets with the same problem result in one hint.
type hints struct {
	next    event.Sink
	o       Options
	w       io.Writer // Err of o
	order   []string
	targets map[string][]string
}

func newHints(next event.Sink, o Options) *hints {
	return &hints{next: next, o: o, w: discardNil(o.Err), targets: make(map[string][]string)}
}

// Event passes an event to next, and prints the hints unless next returns an error.
func (h *hints) Event(ctx context.Context, e event.Event) error {
	if err := h.next.Event(ctx, e); err != nil {
		return err
	}
	switch e := e.(type) {
	case event.TargetEnd:
		if e.Step == nil && h.o.Format != NDJSON { // its events have the hints
			h.add(e.Result)
		}
	case event.ActionEnd:
		h.print()
	case event.Failed:
		printApart(h.o, e)
	}
	return nil
}

func (h *hints) add(r *event.Result) {
	if r.OK() || r.Err.Hint == "" {
		return
	}
	if h.targets[r.Err.Hint] == nil {
		h.order = append(h.order, r.Err.Hint)
	}
	h.targets[r.Err.Hint] = append(h.targets[r.Err.Hint], r.Target.SafeName())
}

// maxHints limits the number of hints about targets.
const maxHints = 8

func (h *hints) print() {
	for i, hint := range h.order {
		if i == maxHints {
			fmt.Fprintf(h.w, "hint: %d more, see --format ndjson\n", len(h.order)-i)
			return
		}
		fmt.Fprintf(h.w, "hint for %s: %s\n", safetext.TerminalString(nodeset.Fold(h.targets[hint])), safetext.TerminalString(hint))
	}
}

// printApart prints the parts of an error that are not in Out.
func printApart(o Options, e event.Failed) {
	w := discardNil(o.Err)
	_, _ = io.WriteString(w, excerptOf(o, e))
	printLines(w, e.Trace)
	if e.Hint != "" {
		fmt.Fprintf(w, "hint: %s\n", safetext.TerminalString(e.Hint))
	}
}

func printLines(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		_, _ = io.WriteString(w, safetext.TerminalString(strings.TrimSuffix(line, "\n"))+"\n")
	}
}
