package listing

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"bolt/environment/program"
	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// place returns "file:line:column" without unknown parts.
func place(f *program.Finding) string {
	var parts []string
	if f.File != "" {
		parts = append(parts, strings.ReplaceAll(f.File, "\n", `\n`)) // a finding has one line
	}
	if f.Line > 0 {
		parts = append(parts, fmt.Sprint(f.Line))
		if f.Column > 0 {
			parts = append(parts, fmt.Sprint(f.Column))
		}
	}
	return strings.Join(parts, ":")
}

// writeFinding prints a finding for people.
func writeFinding(w io.Writer, color bool, f *program.Finding) {
	level := layout.Paint(colorOf(f.Level), color, f.Level+":")
	msg := f.Msg
	if f.ID != "" {
		msg += " [ID: " + f.ID + "]" // as in the log
	}
	if at := place(f); at != "" && f.Kind != "" {
		fmt.Fprintf(w, "%s: %s %s\n", safetext.TerminalString(at), level, safetext.TerminalString(msg))
	} else {
		fmt.Fprintf(w, "%s %s\n", level, safetext.TerminalString(msg))
	}
	for line := range strings.Lines(f.Excerpt) {
		fmt.Fprintf(w, "  %s\n", safetext.TerminalString(strings.TrimSuffix(line, "\n")))
	}
	for _, frame := range f.Stack {
		fmt.Fprintf(w, "  from %s\n", safetext.TerminalString(frame))
	}
}

func colorOf(level string) string {
	switch level {
	case "error", "err", "alert", "crit", "emerg":
		return layout.Red
	case "warning", "deprecation":
		return layout.Yellow
	}
	return layout.Cyan
}

// findingData returns a finding as data for JSON.
func findingData(f *program.Finding) *ordered.Map {
	m := ordered.Of("level", f.Level, "message", f.Msg)
	if f.Kind != "" {
		m.Set("kind", f.Kind)
	}
	if f.File != "" {
		m.Set("file", f.File)
	}
	if f.Line > 0 {
		m.Set("line", int64(f.Line))
	}
	if f.Column > 0 {
		m.Set("column", int64(f.Column))
	}
	if len(f.Stack) > 0 {
		m.Set("stack", texts(f.Stack))
	}
	return m
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func findings(list []program.Finding) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = findingData(&list[i])
	}
	return out
}

// PrintSaid prints the log messages and the problems of a program as text.
// Callers pass standard error, because the program's value goes to standard
// output.
func PrintSaid(w io.Writer, color bool, list ...program.Finding) error {
	out := bufio.NewWriter(w)
	for i := range list {
		writeFinding(out, color, &list[i])
	}
	return out.Flush()
}

// PrintEvaluation prints the outcome of a program: as JSON all of it, as text
// only its value. If the output is not a terminal, the bytes of the value are
// not changed.
func PrintEvaluation(w io.Writer, f layout.Format, terminal, color bool, e *program.Evaluation) error {
	out := bufio.NewWriter(w)
	if f.Data {
		m := &ordered.Map{}
		if len(e.Errors) > 0 {
			m.Set("error", findingData(&e.Errors[0]))
			if len(e.Errors) > 1 {
				m.Set("errors", findings(e.Errors))
			}
		} else {
			m.Set("value", e.Value)
			m.Set("type", e.Type)
			m.Set("string", e.String)
		}
		if len(e.Logs) > 0 {
			m.Set("logs", findings(e.Logs))
		}
		return layout.WriteDocument(w, m)
	}
	text := safetext.String
	if terminal {
		text = safetext.TerminalString
	}
	switch {
	case len(e.Errors) > 0:
	case e.Rendered:
		_, _ = out.WriteString(text(e.String))
	default:
		fmt.Fprintf(out, "%s\n", text(e.Text))
		fmt.Fprintf(out, "%s\n", layout.Paint(layout.Cyan, color, "type: "+safetext.TerminalString(e.Type)))
	}
	return out.Flush()
}

// PrintEvaluationLine prints the outcome of one expression of a batch on one
// line: value, type and string, or an error with line, column, message and
// kind. The error has a file if it is not in the expression itself, and a stack
// if there are calls around it. The id, if there is one, comes first; the logs
// come last.
func PrintEvaluationLine(w *bufio.Writer, e *program.Evaluation) error {
	answer := &ordered.Map{}
	if e.ID != nil {
		answer.Set("id", e.ID)
	}
	if len(e.Errors) == 0 {
		answer.Set("value", e.Value)
		answer.Set("type", e.Type)
		answer.Set("string", e.String)
	} else {
		first := e.Errors[0]
		m := &ordered.Map{}
		if first.File != "" {
			m.Set("file", first.File)
		}
		if first.Line > 0 {
			m.Set("line", int64(first.Line))
		}
		if first.Column > 0 {
			m.Set("column", int64(first.Column))
		}
		m.Set("message", first.Msg)
		m.Set("kind", first.Kind)
		if len(first.Stack) > 0 {
			m.Set("stack", texts(first.Stack))
		}
		answer.Set("error", m)
	}
	if len(e.Logs) > 0 {
		answer.Set("logs", findings(e.Logs))
	}
	return layout.WriteLine(w, answer)
}

// PrintFindings prints the problems of files. If there are none, it prints
// nothing in text formats.
func PrintFindings(w io.Writer, f layout.Format, color bool, list []program.Finding) error {
	if f.Data {
		return layout.WriteDocument(w, ordered.Of("problems", findings(list)))
	}
	out := bufio.NewWriter(w)
	for i := range list {
		writeFinding(out, color, &list[i])
	}
	return out.Flush()
}
