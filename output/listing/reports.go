package listing

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"bolt/apply/history"
	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/output/layout"
	"bolt/release"
	"bolt/store"
)

// Reports is the data of "report list".
type Reports struct {
	List    []*history.Summary
	Missing []string // targets without reports
	Dir     string   // the directory of the reports
	Chosen  bool     // there can be other reports
}

// PrintReports prints a line for each report. JSON is one document, NDJSON has a line for each report.
func PrintReports(w io.Writer, o Options, r *Reports) error {
	out := bufio.NewWriter(w)
	switch o.Format {
	case layout.JSON:
		list := make([]any, len(r.List))
		for i, s := range r.List {
			var err error
			if list[i], err = asData(s); err != nil {
				return err
			}
		}
		missing := append([]string{}, r.Missing...)
		return layout.WriteDocument(w, ordered.Of("reports", list, "missing", missing, "directory", r.Dir))
	case layout.NDJSON:
		for _, s := range r.List {
			if err := writeData(out, s); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	if len(r.List) == 0 {
		text := "No reports found. 'bolt apply' in a project with a bolt-project.yaml keeps them."
		if r.Chosen {
			text = "No report matches."
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	rows := [][]string{{"Time", "Node", "Status", "Changed", "Failed", "Release", "Run"}}
	bad := 0
	for _, s := range r.List {
		status := string(s.Status)
		if s.Noop && s.Status != history.Noop {
			status += " (noop)"
		}
		if s.Status.Bad() {
			bad++
		}
		rows = append(rows, []string{s.Time.Local().Format(seconds), cell(s.Node), cell(status),
			strconv.Itoa(s.Counts.Changed + s.Counts.Noop), strconv.Itoa(s.Counts.Failed), cell(releaseID(s.Release)), cell(short(s.Run))})
	}
	heading(out, o.Color, "Reports")
	grid(out, rows)
	_ = out.WriteByte('\n')
	if len(r.Missing) > 0 {
		heading(out, o.Color, "Targets without reports")
		fmt.Fprintf(out, "  %s (%s)\n\n", oneLine(nodeset.Fold(r.Missing)), layout.Plural(len(r.Missing), "target"))
	}
	heading(out, o.Color, "Report count")
	fmt.Fprintf(out, "  %d total, %d failed or stopped\n", len(r.List), bad)
	return out.Flush()
}

// seconds is the layout of times for people.
const seconds = "2006-01-02 15:04:05"

// short returns the beginning of the ID of a run.
func short(run string) string { return run[:min(8, len(run))] }

// releaseID names a release; "" for none.
func releaseID(id string) string {
	if id == "" {
		return ""
	}
	return release.Short(store.Digest(id))
}

// PrintReportHead prints the lines above the outcomes of a report.
func PrintReportHead(w io.Writer, o Options, s *history.Summary) error {
	out := bufio.NewWriter(w)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s %s\n", layout.Paint(layout.Cyan, o.Color, name+":"), oneLine(value))
		}
	}
	line("Run", s.Run)
	line("Time", s.Time.Local().Format(seconds)+", "+layout.Duration(time.Duration(s.Took*float64(time.Second))))
	line("User", s.By)
	line("Release", releaseID(s.Release))
	line("Rollout", s.Rollout)
	if s.Noop {
		line("Noop", "nothing was changed")
	}
	if s.Omitted > 0 {
		line("Left out", strconv.Itoa(s.Omitted)+" resources or messages, because the report is too large")
	}
	return out.Flush()
}

// PrintReport prints a report as JSON, or as NDJSON: the summary, and then a line for each resource and message.
func PrintReport(w io.Writer, o Options, r *history.Report) error {
	if o.Format != layout.NDJSON {
		data, err := asData(r)
		if err != nil {
			return err
		}
		return layout.WriteDocument(w, data)
	}
	out := bufio.NewWriter(w)
	if err := writeData(out, &r.Summary); err != nil {
		return err
	}
	for i := range r.Resources {
		if err := writeData(out, map[string]any{"resource": &r.Resources[i]}); err != nil {
			return err
		}
	}
	for i := range r.Logs {
		if err := writeData(out, map[string]any{"log": &r.Logs[i]}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// asData returns a value with JSON tags as data whose JSON is safe for a terminal.
func asData(v any) (*ordered.Map, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	m := &ordered.Map{}
	return m, m.UnmarshalJSON(text)
}

func writeData(out *bufio.Writer, v any) error {
	data, err := asData(v)
	if err != nil {
		return err
	}
	return layout.WriteLine(out, data)
}
