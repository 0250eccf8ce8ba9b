package output

import (
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
)

// containerFinished says how it went; what the container printed is for people
// who want to know.
func (p *PlanRun) containerFinished(image string, value *ordered.Map) {
	if containerError(value) == nil {
		p.h.println(p.h.good(safetext.TerminalString("Finished: run container '" + image + "' succeeded.")))
	} else {
		p.h.println(paint(red, p.h.o.Color, safetext.TerminalString("Finished: run container '"+image+"' failed.")))
	}
	if p.h.o.Verbose {
		p.container(image, value)
	}
}

// Container shows a result that the plan has returned, or that ended it.
func (p *PlanRun) Container(image string, value, data, failure *ordered.Map) error {
	switch {
	case p.json && failure != nil:
		return p.data(failure)
	case p.json:
		return p.data(data)
	}
	p.container(image, value)
	return p.h.out.Flush()
}

func containerError(value *ordered.Map) *ordered.Map {
	e, _ := value.Value("_error").(*ordered.Map)
	return e
}

// container prints a result under its heading.
func (p *PlanRun) container(image string, value *ordered.Map) {
	if e := containerError(value); e != nil {
		p.h.println(paint(red, p.h.o.Color, safetext.TerminalString("Failed running container "+image+":")))
		msg, _ := e.Value("msg").(string)
		var b strings.Builder
		p.h.indent(&b, safetext.TerminalString(msg))
		p.h.println(paint(red, p.h.o.Color, strings.TrimSuffix(b.String(), "\n")))
		return
	}
	p.h.println(p.h.good(safetext.TerminalString("Finished running container " + image + ":")))
	silent := true
	for _, stream := range []string{"stdout", "stderr"} {
		text, _ := value.Value(stream).(string)
		if strings.TrimSpace(text) == "" {
			continue
		}
		silent = false
		var b strings.Builder
		p.h.indent(&b, p.h.plain(text))
		p.h.println("  " + strings.ToUpper(stream) + ":")
		p.h.indent(p.h.out, b.String())
	}
	if silent {
		p.h.println(safetext.TerminalString("  Running container " + image + " completed successfully with no result"))
	}
}
