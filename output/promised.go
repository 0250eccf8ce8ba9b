package output

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// outputData returns an output in its JSON form.
func outputData(o *event.Output) *ordered.Map {
	m := ordered.Of("aggregate", o.Aggregate, "count", o.Count)
	switch o.Aggregate {
	case "average", "min", "max":
		var v any
		if len(o.Values) > 0 {
			v = o.Values[0].Value
		}
		m.Set("value", v)
		if o.Aggregate != "average" && len(o.Values) > 0 {
			m.Set("targets", o.Values[0].Targets)
		}
	default:
		values := make([]any, len(o.Values))
		for i, v := range o.Values {
			one := ordered.Of("value", v.Value, "count", v.Count)
			if o.Aggregate == "summary" {
				one.Set("targets", v.Targets)
			}
			values[i] = one
		}
		m.Set("values", values)
	}
	return m
}

// outputsData returns all outputs by their names.
func outputsData(list []event.Output) *ordered.Map {
	m := &ordered.Map{}
	for i := range list {
		m.Set(list[i].Name, outputData(&list[i]))
	}
	return m
}

// outputs prints the outputs that are aggregated over all targets.
func (h *human) outputs(list []event.Output) {
	for i := range list {
		o := &list[i]
		title := o.Name + ", " + outputWords(o)
		if o.Description != "" {
			line, _, _ := strings.Cut(o.Description, "\n")
			title += ": " + layout.Truncated(line)
		}
		h.println(layout.Paint(layout.Cyan, h.o.Color, safetext.TerminalString(title)))
		for _, line := range outputLines(o) {
			h.println("  " + safetext.TerminalString(line))
		}
	}
}

// outputWords describes the aggregation of the values.
func outputWords(o *event.Output) string {
	of := " of " + layout.Plural(o.Count, "target")
	switch o.Aggregate {
	case "average", "min", "max":
		return map[string]string{"average": "average", "min": "minimum", "max": "maximum"}[o.Aggregate] + of
	case "count-by":
		return "counted" + of
	}
	return layout.Plural(len(o.Values), "value") + of
}

// maxShown is the number of values of an output that are printed for
// people.
const maxShown = 50

func outputLines(o *event.Output) []string {
	if len(o.Values) == 0 {
		return []string{"(no values)"}
	}
	shown := o.Values[:min(len(o.Values), maxShown)]
	texts, width := make([]string, len(shown)), 0
	for i, v := range shown {
		texts[i] = layout.OneLine(v.Value)
		if n := utf8.RuneCountInString(texts[i]); n <= 40 {
			width = max(width, n)
		}
	}
	var lines []string
	for i, v := range shown {
		line := texts[i]
		if pad := width - utf8.RuneCountInString(line); pad > 0 && o.Aggregate != "average" {
			line += strings.Repeat(" ", pad)
		}
		switch {
		case o.Aggregate == "count-by":
			line += "  " + strconv.Itoa(v.Count)
		case len(v.Targets) > 1:
			line += fmt.Sprintf("  %s (%s)", nodeset.Fold(v.Targets), layout.Plural(len(v.Targets), "target"))
		case len(v.Targets) == 1:
			line += "  " + v.Targets[0]
		}
		lines = append(lines, line)
	}
	if more := len(o.Values) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more; --format json prints them all", layout.Plural(more, "value")))
	}
	return lines
}
