package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bolt/apply/report"
)

// A Status is how a run ended.
type Status string

// The statuses. If several are true, the first one is the status.
const (
	Failed    Status = "failed"    // a resource failed
	Stopped   Status = "stopped"   // the run ended before all resources had their turn
	Changed   Status = "changed"   // a resource was changed or refreshed
	Noop      Status = "noop"      // a resource would be changed without noop
	Unchanged Status = "unchanged" // everything was as wanted
)

// Bad reports whether the node is not known to be as wanted because of a failure.
func (s Status) Bad() bool { return s == Failed || s == Stopped }

// Counts are the numbers of resources by their status.
type Counts struct {
	Changed   int `json:"changed"`
	Failed    int `json:"failed"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
	Noop      int `json:"noop"`
}

// status returns the status of a run with these counts.
func (c *Counts) status(stopped bool) Status {
	switch {
	case c.Failed > 0:
		return Failed
	case stopped:
		return Stopped
	case c.Changed > 0:
		return Changed
	case c.Noop > 0:
		return Noop
	}
	return Unchanged
}

// A Summary is a report without its resources and messages.
type Summary struct {
	Node    string    `json:"node"`
	Run     string    `json:"run"`
	Time    time.Time `json:"time"` // of the begin
	Took    float64   `json:"took"` // seconds
	Status  Status    `json:"status"`
	Noop    bool      `json:"noop"` // the whole run
	Release string    `json:"release,omitempty"`
	Rollout string    `json:"rollout,omitempty"`
	By      string    `json:"by,omitempty"` // USER@HOST
	Counts  Counts    `json:"counts"`
	// Error is why the run ended before all resources had their turn.
	Error string `json:"error,omitempty"`
	// Omitted is the number of resources and messages that were left out because the report is too large.
	Omitted int `json:"omitted,omitempty"`
}

// A Report is the report of one run on a node.
type Report struct {
	Summary
	// Resources are those that were not unchanged, or whose audited properties have changed.
	Resources []Resource   `json:"resources"`
	Logs      []report.Log `json:"logs"`
}

// A Resource is the outcome of one resource.
type Resource struct {
	Ref       string        `json:"ref"`
	Status    report.Status `json:"status"`
	Refreshed bool          `json:"refreshed,omitempty"`
	Attempts  int           `json:"attempts,omitempty"` // if there were several
	Reason    string        `json:"reason,omitempty"`   // for which it was skipped
	Place     string        `json:"place,omitempty"`    // of the declaration, FILE:LINE
	Took      float64       `json:"took,omitempty"`     // seconds
	Events    []Event       `json:"events,omitempty"`
}

// An Event is the change of one property of a resource, or a refresh. The fields are those of report.Event.
type Event struct {
	Property string         `json:"property,omitempty"`
	Name     string         `json:"name,omitempty"`
	Status   report.Outcome `json:"status"`
	Is       string         `json:"is,omitempty"`
	Should   string         `json:"should,omitempty"`
	Was      string         `json:"was,omitempty"`
	Message  string         `json:"message"`
	Diff     string         `json:"diff,omitempty"`
}

const (
	// format is the version of the format of files.
	format = 1
	// maxBody bounds the resources and messages of a report. A report of 1,000 changes has about 300 KiB.
	maxBody = 1 << 20
	// maxHead bounds the first line.
	maxHead = 64 << 10
	maxFile = maxHead + maxBody
)

var errCut = errors.New("it is not complete")

// A head is the first line of a file. Bytes is the length of the other lines.
type head struct {
	Format int   `json:"format"`
	Bytes  int64 `json:"bytes"`
	Summary
}

// A line is one of the other lines. Exactly one field is set.
type line struct {
	Resource *Resource   `json:"resource,omitempty"`
	Log      *report.Log `json:"log,omitempty"`
}

// encode returns the content of the file of a report. A report that is too large loses its diffs. If it is still too
// large, it loses resources that have not failed and messages from its end, and then failed resources.
func encode(r *Report) ([]byte, error) {
	lines, size, err := encodeLines(r, true)
	if err == nil && size > maxBody {
		lines, size, err = encodeLines(r, false)
	}
	if err != nil {
		return nil, err
	}
	h := head{Format: format, Summary: r.Summary}
	if size > maxBody {
		lines, h.Omitted = fit(lines, r)
	}
	body := bytes.Join(lines, nil)
	h.Bytes = int64(len(body))
	first, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(first) >= maxHead {
		return nil, fmt.Errorf("the summary has more than %d bytes", maxHead)
	}
	return append(append(first, '\n'), body...), nil
}

// leftOut stands for a diff.
const leftOut = "(The diff was left out, because the report is too large.)\n"

// encodeLines returns the lines of resources and messages, and their length.
func encodeLines(r *Report, diffs bool) (lines [][]byte, size int, err error) {
	add := func(l line) {
		if err != nil {
			return
		}
		var text []byte
		if text, err = json.Marshal(l); err == nil {
			lines = append(lines, append(text, '\n'))
			size += len(text) + 1
		}
	}
	for i := range r.Resources {
		res := r.Resources[i]
		if !diffs {
			res.Events = append([]Event(nil), res.Events...)
			for k := range res.Events {
				if res.Events[k].Diff != "" {
					res.Events[k].Diff = leftOut
				}
			}
		}
		add(line{Resource: &res})
	}
	for i := range r.Logs {
		add(line{Log: &r.Logs[i]})
	}
	return lines, size, err
}

// fit returns the lines that fit into a file, those of failed resources first, and the number of the others.
func fit(lines [][]byte, r *Report) (fitting [][]byte, omitted int) {
	fits := make([]bool, len(lines))
	left := maxBody
	for _, failed := range []bool{true, false} {
		for i, text := range lines {
			is := i < len(r.Resources) && r.Resources[i].Status == report.Failed
			if is == failed && len(text) <= left {
				fits[i] = true
				left -= len(text)
			}
		}
	}
	for i, text := range lines {
		if fits[i] {
			fitting = append(fitting, text)
		}
	}
	return fitting, len(lines) - len(fitting)
}

func parseHead(text []byte) (*head, error) {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	switch {
	case h.Format > format:
		return nil, fmt.Errorf("it has the format %d, but this version of bolt reads the format %d", h.Format, format)
	case h.Format < 1 || h.Node == "" || h.Time.IsZero() || h.Bytes < 0:
		return nil, errors.New("line 1: it is not the summary of a report")
	}
	return &h, nil
}

// Parse reads the content of a file.
func Parse(data []byte) (*Report, error) {
	first, rest, ended := bytes.Cut(data, []byte{'\n'})
	h, err := parseHead(first)
	if err != nil {
		return nil, err
	}
	if !ended || int64(len(rest)) != h.Bytes {
		return nil, errCut
	}
	r := &Report{Summary: h.Summary, Resources: []Resource{}, Logs: []report.Log{}}
	n := 1
	for text := range bytes.Lines(rest) {
		n++
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case l.Resource != nil:
			r.Resources = append(r.Resources, *l.Resource)
		case l.Log != nil:
			r.Logs = append(r.Logs, *l.Log)
		}
	}
	return r, nil
}

// Of returns the report of a run without its resources and messages. The caller sets the other fields of the summary.
func Of(done *report.Run) *Report {
	n := done.Count()
	r := &Report{Summary: Summary{Run: done.ID, Time: done.Start.UTC(), Took: done.Took.Seconds(), Noop: done.Noop,
		Counts: Counts{Changed: n.Changed, Failed: n.Failed, Unchanged: n.Unchanged, Skipped: n.Skipped, Noop: n.Noop}}}
	r.Status = r.Counts.status(done.Stopped)
	return r
}
