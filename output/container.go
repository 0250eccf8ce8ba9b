package output

import (
	"strings"

	"bolt/event"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// containerEnded prints the outcome of a container; the container's output is
// printed with --verbose only.
func (p *humanPlan) containerEnded(r *event.ContainerResult) {
	if r.Err() == nil {
		p.h.println(p.h.good(safetext.TerminalString("Finished: run container '" + r.Image + "' succeeded.")))
	} else {
		p.h.println(layout.Paint(layout.Red, p.h.o.Color, safetext.TerminalString("Finished: run container '"+r.Image+"' failed.")))
	}
	if p.h.o.Verbose {
		p.container(r)
	}
}

// container prints a result under its heading.
func (p *humanPlan) container(r *event.ContainerResult) {
	image, value := r.Image, r.Value
	if e := r.Err(); e != nil {
		p.h.println(layout.Paint(layout.Red, p.h.o.Color, safetext.TerminalString("Failed running container "+image+":")))
		msg, _ := e.Value("msg").(string)
		var b strings.Builder
		p.h.indent(&b, safetext.TerminalString(msg))
		p.h.println(layout.Paint(layout.Red, p.h.o.Color, strings.TrimSuffix(b.String(), "\n")))
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
