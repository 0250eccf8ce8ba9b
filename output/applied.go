package output

import (
	"bufio"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output/layout"
)

// applied prints the outcomes of the resources of one target.
func (h *human) applied(r *event.Result, name string) {
	switch {
	case r.OK():
		h.println(h.good("Finished on " + name + ":"))
	default:
		h.println(layout.Paint(layout.Red, h.o.Color, "Failed on "+name+":"))
	}
	h.interruption(interrupted(r))
	var skipped []*event.Resource
	for i := range r.Applied.Resources {
		res := &r.Applied.Resources[i]
		if res.Status == "skipped" {
			skipped = append(skipped, res)
		}
		h.resource(res)
	}
	h.skipped(skipped)
	h.resourceLogs(r.Applied.Logs)
	h.println("  " + r.Applied.String())
}

// PrintApplied prints the outcomes of the resources of one target for people, as the sink prints a single target.
func PrintApplied(o Options, name string, r *event.Result) error {
	h := newHuman(o, bufio.NewWriter(o.Out))
	h.applied(r, name)
	return h.out.Flush()
}

// interrupted returns an error beside the errors of resources, such as a lost connection; nil if there is
// none.
func interrupted(r *event.Result) *event.Error {
	if r.OK() || r.Err.Class == event.ClassFailed {
		return nil
	}
	return r.Err
}

// interruption prints the reason why an apply ended early.
func (h *human) interruption(e *event.Error) {
	if e == nil {
		return
	}
	for line := range strings.Lines(e.Msg) {
		h.println("  " + layout.Paint(layout.Red, h.o.Color, safetext.TerminalString(strings.TrimSuffix(line, "\n"))))
	}
	h.hint("  ", e.Hint)
}

// resource prints the changes of a resource.
func (h *human) resource(r *event.Resource) {
	if h.hides(r) {
		return
	}
	for _, line := range h.resourceLines(r) {
		h.println("  " + line)
	}
}

// putRight prints the outcome of a resource in a watch, with its time.
func (h *human) putRight(e event.TargetResource) {
	r := e.Resource
	if !h.o.Verbose && r.Status != "failed" {
		return
	}
	head := r.At.Format(time.TimeOnly) + " " + e.Target.SafeName() + ": "
	for i, line := range h.resourceLines(r) {
		if i == 0 || len(r.Changes) > 1 && strings.HasPrefix(line, h.refOf(r)) {
			line = head + line
		} else {
			line = strings.Repeat(" ", len(head)) + line
		}
		h.println(line)
	}
}

// hides reports whether a resource is not printed: it was skipped, or only failures are printed, or Stream
// has printed it.
func (h *human) hides(r *event.Resource) bool {
	return r.Status == "skipped" || h.lines != nil || !h.o.Verbose && r.Status != "failed"
}

// refOf returns the beginning of the lines about a resource.
func (h *human) refOf(r *event.Resource) string {
	color := map[string]string{"failed": layout.Red, "changed": layout.Green, "noop": layout.Yellow}[r.Status]
	return layout.Paint(color, h.o.Color, safetext.TerminalString(r.Ref)) + ": "
}

// resourceLines returns the lines about a resource.
func (h *human) resourceLines(r *event.Resource) (lines []string) {
	ref := h.refOf(r)
	if len(r.Changes) == 0 { // nothing else is known after the connection was lost
		return []string{ref + r.Status + safetext.TerminalString(reasonOf(r))}
	}
	for _, c := range r.Changes {
		word, at := "", ""
		switch c.Status {
		case "failure":
			word = "failed: "
			if r.Place != "" {
				at = " (" + safetext.TerminalString(r.Place) + ")"
			}
		case "noop":
			word = "would happen: "
		case "audit": // Puppet names the property as the source of the message
			word = safetext.TerminalString(c.Property) + ": "
		}
		for i, l := range strings.Split(strings.TrimRight(c.Message, "\n"), "\n") {
			l = safetext.TerminalString(l)
			if i == 0 {
				lines = append(lines, ref+word+l+at)
			} else {
				lines = append(lines, "  "+l)
			}
		}
		lines = append(lines, h.unified(c.Diff)...)
	}
	return lines
}

// skipped prints the lines about skipped resources.
func (h *human) skipped(list []*event.Resource) {
	if !h.o.Verbose {
		return
	}
	for _, line := range skips(list) {
		h.println("  " + layout.Paint(layout.Yellow, h.o.Color, line))
	}
}

func reasonOf(r *event.Resource) string {
	if r.Reason == "" {
		return ""
	}
	return ": " + r.Reason
}

// namedSkips is the number of skipped resources that are named for each reason.
const namedSkips = 3

// skips returns the lines about skipped resources, one for each reason.
func skips(list []*event.Resource) (lines []string) {
	byReason := make(map[string][]string)
	var reasons []string
	for _, r := range list {
		if byReason[r.Reason] == nil {
			reasons = append(reasons, r.Reason)
		}
		byReason[r.Reason] = append(byReason[r.Reason], r.Ref)
	}
	for _, reason := range reasons {
		refs := byReason[reason]
		text := strings.Join(refs[:min(namedSkips, len(refs))], ", ")
		if more := len(refs) - namedSkips; more > 0 {
			text += " and " + layout.Plural(more, "other resource")
		}
		if reason != "" {
			text += ": " + reason
		}
		lines = append(lines, "Skipped: "+safetext.TerminalString(text))
	}
	return lines
}

// unified returns the lines of a unified diff.
func (h *human) unified(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = safetext.TerminalString(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+"):
			line = layout.Paint(layout.Green, h.o.Color, line)
		case strings.HasPrefix(line, "-"):
			line = layout.Paint(layout.Red, h.o.Color, line)
		}
		lines = append(lines, "  "+line)
	}
	return lines
}

func (h *human) resourceLogs(logs []event.ResourceLog) {
	for _, l := range logs {
		if l.Level == "debug" || l.Level == "info" || !h.o.Verbose && l.Level != "err" {
			continue
		}
		text := safetext.TerminalString(l.Message)
		if l.Ref != "" {
			text = safetext.TerminalString(l.Ref) + ": " + text
		}
		h.println("  " + strings.ToUpper(l.Level[:1]) + l.Level[1:] + ": " + text)
	}
}

// together collects the outcomes of the resources of many targets, so that equal outcomes of several targets are
// printed once.
type together struct {
	resources map[string]*alike
	order     []*alike
	counts    map[string]*alike
	countList []*alike
}

// alike is a resource with an equal outcome on several targets, or their equal counts.
type alike struct {
	resource *event.Resource
	log      *event.ResourceLog
	error    *event.Error // the reason why the apply ended early
	counts   string
	targets  []*inventory.Target
}

func newTogether() *together {
	return &together{resources: make(map[string]*alike), counts: make(map[string]*alike)}
}

func (t *together) add(r *event.Result) {
	for i := range r.Applied.Resources {
		res := &r.Applied.Resources[i]
		t.join(t.resources, &t.order, resourceKey(res), r.Target).resource = res
	}
	for i := range r.Applied.Logs {
		l := &r.Applied.Logs[i]
		t.join(t.resources, &t.order, strings.Join([]string{"", l.Ref, l.Level, l.Message}, "\x00"), r.Target).log = l
	}
	if e := interrupted(r); e != nil {
		t.join(t.resources, &t.order, "\x00\x00"+e.Msg+"\x00"+e.Hint, r.Target).error = e
	}
	text := r.Applied.String()
	t.join(t.counts, &t.countList, text, r.Target).counts = text
}

func (t *together) join(in map[string]*alike, order *[]*alike, key string, target *inventory.Target) *alike {
	s := in[key]
	if s == nil {
		s = &alike{}
		in[key] = s
		*order = append(*order, s)
	}
	if len(s.targets) == 0 || s.targets[len(s.targets)-1] != target {
		s.targets = append(s.targets, target)
	}
	return s
}

// resourceKey is equal for resources that print the same.
func resourceKey(r *event.Resource) string {
	parts := []string{r.Ref, r.Status, r.Reason, r.Place}
	for _, c := range r.Changes {
		parts = append(parts, c.Property, c.Status, c.Message, c.Diff)
	}
	return strings.Join(parts, "\x00")
}

// print prints the resources with a heading for each set of targets, and then the counts.
func (t *together) print(h *human) {
	place := make(map[*inventory.Target]int)
	for i, target := range h.targets {
		place[target] = i
	}
	name := func(s *alike) string {
		slices.SortFunc(s.targets, func(a, b *inventory.Target) int { return place[a] - place[b] })
		text := nodeset.Fold(safeNames(s.targets))
		if len(s.targets) > 1 {
			text += " (" + layout.Plural(len(s.targets), "target") + ")"
		}
		return text
	}
	var sets []string
	bySet := make(map[string][]*alike)
	for _, s := range t.order {
		shown := s.error != nil || h.o.Verbose
		if s.resource != nil && (s.resource.Status != "skipped" || !h.o.Verbose) {
			shown = !h.hides(s.resource)
		}
		if !shown {
			continue
		}
		set := name(s)
		if bySet[set] == nil {
			sets = append(sets, set)
		}
		bySet[set] = append(bySet[set], s)
	}
	for _, set := range sets {
		h.println("On " + set + ":")
		var skipped []*event.Resource
		for _, s := range bySet[set] {
			switch {
			case s.resource != nil && s.resource.Status == "skipped":
				skipped = append(skipped, s.resource)
			case s.resource != nil:
				h.resource(s.resource)
			case s.log != nil:
				h.resourceLogs([]event.ResourceLog{*s.log})
			default:
				h.interruption(s.error)
			}
		}
		h.skipped(skipped)
	}
	for _, s := range t.countList {
		h.println(name(s) + ": " + s.counts)
	}
}
