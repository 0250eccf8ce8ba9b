package listing

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bolt/audit"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// Audit prints the actions of an audit log, one after the other: one line each, or
// a JSON array.
type Audit struct {
	out *bufio.Writer
	o   Options
	n   int
}

// NewAudit returns an Audit. The caller must call End.
func NewAudit(w io.Writer, o Options) *Audit { return &Audit{out: bufio.NewWriter(w), o: o} }

// Entry prints an action.
func (a *Audit) Entry(e *audit.Entry) error {
	a.n++
	if a.o.Format.Data {
		before := ",\n"
		if a.n == 1 {
			before = `{"actions":[`
		}
		_, _ = a.out.WriteString(before)
		text, err := json.Marshal(struct {
			Begin *audit.Record `json:"begin"`
			End   *audit.Record `json:"end"`
		}{e.Begin, e.End})
		if err != nil {
			return err
		}
		_, err = a.out.Write(text)
		return err
	}
	_, err := a.out.WriteString(a.line(e) + "\n")
	return err
}

// maxOnLine limits a name or a command on a line, in characters.
const maxOnLine = 100

func (a *Audit) line(e *audit.Entry) string {
	r := e.Begin
	if r == nil {
		r = e.End
	}
	var b strings.Builder
	who := r.Actor.User
	if s := r.Actor.SudoUser; s != "" && s != who {
		who = s + " as " + who
	}
	fmt.Fprintf(&b, "%s  %s@%s  ", r.Time.Local().Format("2006-01-02 15:04:05"), onLine(who), onLine(r.Actor.Host))
	if r.Step > 0 {
		fmt.Fprintf(&b, "step %d: ", r.Step)
	}
	b.WriteString(onLine(r.Name))
	if r.Object != "" {
		b.WriteString(" " + onLine(r.Object))
	}
	if r.Dest != "" {
		b.WriteString(" to " + onLine(r.Dest))
	}
	if r.Noop {
		b.WriteString(" (noop)")
	}
	if n := r.Targets; n != nil {
		b.WriteString(" on " + shownNames(n))
	}
	if r.RunAs != "" {
		b.WriteString(" as " + onLine(r.RunAs))
	}
	b.WriteString(": ")
	o := e.Outcome()
	color := layout.Green
	switch {
	case o == nil:
		b.WriteString(layout.Paint(layout.Yellow, a.o.Color, "no end is recorded"))
		return b.String()
	case o.Status != audit.Success:
		color = layout.Red
	}
	b.WriteString(layout.Paint(color, a.o.Color, onLine(string(o.Status))))
	if o.Failed > 0 {
		b.WriteString(", " + strconv.Itoa(o.Failed) + " failed")
		if o.FailedOn != nil {
			b.WriteString(": " + shownNames(o.FailedOn))
		}
	}
	if o.NotBegun > 0 {
		b.WriteString(", " + strconv.Itoa(o.NotBegun) + " not begun")
	}
	b.WriteString(" in " + layout.Duration(time.Duration(o.Elapsed*float64(time.Second))))
	return b.String()
}

func shownNames(n *audit.Names) string {
	text := n.Folded
	if len(n.Odd) > 0 {
		text = strings.Trim(text+","+strings.Join(n.Odd, ","), ",")
	}
	if text = onLine(text); n.Count > 1 {
		text += " (" + strconv.Itoa(n.Count) + ")"
	}
	return text
}

// onLine makes text of unknown origin safe for one line of output.
func onLine(s string) string {
	text := []rune(strings.Join(strings.Fields(safetext.TerminalString(s)), " "))
	if len(text) > maxOnLine {
		return string(text[:maxOnLine-1]) + "…"
	}
	return string(text)
}

// End ends the output.
func (a *Audit) End() error {
	switch {
	case !a.o.Format.Data:
	case a.n == 0:
		_, _ = a.out.WriteString(`{"actions":[]}` + "\n")
	default:
		_, _ = a.out.WriteString("]}\n")
	}
	return a.out.Flush()
}

// PrintAuditReport prints the result of verifying an audit log.
func PrintAuditReport(w io.Writer, o Options, files []string, r *audit.Report, expected bool) error {
	if o.Format.Data {
		text, err := json.Marshal(struct {
			Files []string `json:"files"`
			OK    bool     `json:"ok"`
			*audit.Report
		}{files, r.OK(expected), r})
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	out := bufio.NewWriter(w)
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	switch {
	case r.Break != nil:
		say("%s", layout.Paint(layout.Red, o.Color, "The chain is broken at "+safetext.TerminalString(r.Break.File)+":"+strconv.Itoa(r.Break.Line)+": "+r.Break.Why+"."))
		say("%s before it. The records after it were not checked.", layout.Plural(r.Records, "record")+was(r.Records))
	case r.Records == 0:
		say("The audit log does not hold records.")
	default:
		say("%s", layout.Paint(layout.Green, o.Color, layout.Plural(r.Records, "record")+", the chain is whole."))
		say("The last one is record %d: %s", r.Last, r.Hash)
	}
	if r.Before != "" {
		say("The records before record %d are in other files; the hash of the last one is: %s", r.First, r.Before)
	}
	if r.Torn > 0 {
		say("%s cut off by a crash or a full disk, as the next record shows.", layout.Plural(r.Torn, "line")+was(r.Torn))
	}
	if r.Cut {
		say("The last line is cut off. It is not a record.")
	}
	if expected && !r.Found {
		say("%s", layout.Paint(layout.Red, o.Color, "The record that --expect names is not among them: the log was changed before it, or cut off."))
	}
	return out.Flush()
}

func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}
