package output

import (
	"slices"
	"strings"

	"bolt/event"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output/layout"
)

// applied prints what became of the resources of one target.
func (h *human) applied(r *event.Result, name string) {
	switch {
	case r.OK():
		h.println(h.good("Finished on " + name + ":"))
	default:
		h.println(layout.Paint(layout.Red, h.o.Color, "Failed on "+name+":"))
	}
	h.interruption(interrupted(r))
	for i := range r.Applied.Resources {
		h.resource(&r.Applied.Resources[i])
	}
	h.resourceLogs(r.Applied.Logs)
	h.println("  " + r.Applied.String())
}

// interrupted is the text of an error beside those of resources, such as a lost connection; "" if there is none.
func interrupted(r *event.Result) string {
	if r.OK() || r.Err.Class == event.ClassFailed {
		return ""
	}
	return r.Err.Msg
}

// interruption prints why an apply ended early.
func (h *human) interruption(text string) {
	for line := range strings.Lines(text) {
		h.println("  " + layout.Paint(layout.Red, h.o.Color, safetext.TerminalString(strings.TrimSuffix(line, "\n"))))
	}
}

// resource prints the changes of a resource. A skipped resource is shown with --verbose only.
func (h *human) resource(r *event.Resource) {
	if r.Status == "skipped" && !h.o.Verbose {
		return
	}
	color := map[string]string{"failed": layout.Red, "changed": layout.Green, "noop": layout.Yellow, "skipped": layout.Yellow}[r.Status]
	ref := layout.Paint(color, h.o.Color, safetext.TerminalString(r.Ref))
	if r.Reason != "" {
		h.println("  " + ref + ": " + r.Status + ": " + safetext.TerminalString(r.Reason))
	}
	for _, c := range r.Changes {
		word := ""
		switch c.Status {
		case "failure":
			word = "failed: "
		case "noop":
			word = "noop: "
		}
		lines := strings.Split(strings.TrimRight(c.Message, "\n"), "\n")
		h.println("  " + ref + ": " + word + safetext.TerminalString(lines[0]))
		for _, l := range lines[1:] {
			h.println("    " + safetext.TerminalString(l))
		}
		h.unified(c.Diff)
	}
}

// unified prints a unified diff below its resource.
func (h *human) unified(text string) {
	for line := range strings.Lines(text) {
		line = safetext.TerminalString(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+"):
			line = layout.Paint(layout.Green, h.o.Color, line)
		case strings.HasPrefix(line, "-"):
			line = layout.Paint(layout.Red, h.o.Color, line)
		}
		h.println("    " + line)
	}
}

func (h *human) resourceLogs(logs []event.ResourceLog) {
	for _, l := range logs {
		if l.Level == "debug" || l.Level == "info" && !h.o.Verbose {
			continue
		}
		text := safetext.TerminalString(l.Message)
		if l.Ref != "" {
			text = safetext.TerminalString(l.Ref) + ": " + text
		}
		h.println("  " + strings.ToUpper(l.Level[:1]) + l.Level[1:] + ": " + text)
	}
}

// together collects what became of the resources of many targets, so that what is equal on several targets is
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
	error    string // why the apply ended early
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
	if text := interrupted(r); text != "" {
		t.join(t.resources, &t.order, "\x00\x00"+text, r.Target).error = text
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
	parts := []string{r.Ref, r.Status, r.Reason}
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
		if s.resource != nil && s.resource.Status == "skipped" && !h.o.Verbose {
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
		for _, s := range bySet[set] {
			switch {
			case s.resource != nil:
				h.resource(s.resource)
			case s.log != nil:
				h.resourceLogs([]event.ResourceLog{*s.log})
			default:
				h.interruption(s.error)
			}
		}
	}
	for _, s := range t.countList {
		h.println(name(s) + ": " + s.counts)
	}
}
