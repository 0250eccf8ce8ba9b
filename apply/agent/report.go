package agent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/apply"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
)

// A puppetReport has the used members of Puppet's report (format 12). Older formats have the same members.
type puppetReport struct {
	Status   string                  `json:"status"`
	Logs     []puppetLog             `json:"logs"`
	Statuses map[string]puppetStatus `json:"resource_statuses"`
}

type puppetLog struct {
	Level   string    `json:"level"`
	Message string    `json:"message"`
	Source  string    `json:"source"`
	Time    time.Time `json:"time"`
}

type puppetStatus struct {
	Path            []string      `json:"containment_path"`
	Took            float64       `json:"evaluation_time"`
	Time            time.Time     `json:"time"`
	Failed          bool          `json:"failed"`
	FailedToRestart bool          `json:"failed_to_restart"`
	Changed         bool          `json:"changed"`
	Skipped         bool          `json:"skipped"`
	Events          []puppetEvent `json:"events"`
}

type puppetEvent struct {
	Audited  bool      `json:"audited"`
	Property any       `json:"property"`
	Is       any       `json:"previous_value"`
	Should   any       `json:"desired_value"`
	Was      any       `json:"historical_value"`
	Message  any       `json:"message"`
	Name     any       `json:"name"`
	Status   string    `json:"status"`
	Redacted bool      `json:"redacted"`
	Time     time.Time `json:"time"`
}

// level returns the level of a message in bolt's words.
func level(word string) report.Level {
	switch l := report.Level(word); l {
	case report.Debug, report.Info, report.Notice, report.Warning, report.Err:
		return l
	}
	return report.Err // alert, emerg, crit
}

// errors returns the messages of a report about the catalog as a whole.
func (r *puppetReport) errors(hide func(string) string) (list []string) {
	for _, l := range r.Logs {
		if level(l.Level) == report.Err {
			list = append(list, "Puppet: "+hide(l.Message))
		}
	}
	if list == nil {
		list = []string{"Puppet failed, and its report has no reason"}
	}
	return list
}

// maxComplaints is the number of lines of a Puppet without a report that are shown.
const maxComplaints = 10

// complaints returns the last errors that Puppet printed, or its last lines if it printed none.
func complaints(out *resource.Output, hide func(string) string) (list []string) {
	var last []string
	for line := range strings.SplitSeq(string(out.Stdout)+"\n"+string(out.Stderr), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		last = append(last, "Puppet: "+hide(line))
		if text, is := strings.CutPrefix(line, "Error: "); is && !strings.HasPrefix(text, "Facter:") {
			list = append(list, "Puppet: "+hide(text))
		}
	}
	if list == nil {
		list = last
	}
	if list == nil {
		list = []string{fmt.Sprintf("Puppet ended with exit code %d and printed nothing", out.Code)}
	}
	return list[max(0, len(list)-maxComplaints):]
}

// results makes the results of resources from the report.
func (r *puppetReport) results(c *catalog.Catalog, hide func(string) string, each func(*report.Result), log func(*report.Log)) {
	known := make(map[catalog.Ref]bool)
	byPath := make(map[string]*report.Result)
	var list []*report.Result
	for _, declared := range c.Resources() {
		if !apply.Reported(declared) {
			continue
		}
		known[declared.Ref] = true
		s, found := r.Statuses[declared.Ref.String()]
		if !found && declared.Type == "File" { // Puppet's titles of files have no slash at the end
			own := catalog.Ref{Type: "File", Title: strings.TrimRight(declared.Title, "/")}
			known[own] = true
			s, found = r.Statuses[own.String()]
		}
		if !found {
			list = append(list, &report.Result{Ref: declared.Ref, Status: report.Skipped, Reason: "Puppet ended before it came to the resource"})
			continue
		}
		res := s.result(declared.Ref, hide)
		for i := range res.Events {
			if e := &res.Events[i]; declared.Secret(e.Property) {
				e.Is, e.Should = report.Redacted, report.Redacted
			}
		}
		byPath["/"+strings.Join(s.Path, "/")] = res
		list = append(list, res)
	}
	list = append(list, r.generated(c, known, byPath, hide)...)
	var logs []*report.Log
	for _, l := range r.Logs {
		if made := l.made(byPath, hide); made != nil {
			logs = append(logs, made)
		}
	}
	for _, l := range logs { // before the results, as those who show an event of a resource expect
		log(l)
	}
	for _, res := range list {
		each(res)
	}
}

// generated returns the results of resources that the catalog does not have, parents first. Those to which nothing
// happened are left out.
func (r *puppetReport) generated(c *catalog.Catalog, known map[catalog.Ref]bool, byPath map[string]*report.Result, hide func(string) string) (list []*report.Result) {
	for text, s := range r.Statuses {
		ref, err := catalog.ParseRef(text)
		if err != nil || known[ref] || len(s.Events) == 0 && !s.Failed && !s.FailedToRestart {
			continue
		}
		if declared := (&catalog.Resource{Ref: ref}); !apply.Reported(declared) || c.Find(ref) != nil {
			continue
		}
		parent := parentOf(c, ref, s.Path)
		if parent == (catalog.Ref{}) {
			continue
		}
		res := s.result(ref, hide)
		res.Generated, res.Parent = true, parent
		byPath["/"+strings.Join(s.Path, "/")] = res
		list = append(list, res)
	}
	slices.SortFunc(list, func(a, b *report.Result) int { return strings.Compare(a.Ref.String(), b.Ref.String()) })
	return list
}

// parentOf returns the declared resource that a generated one comes from: the container that Puppet names, or
// the nearest directory above a file, or the first resource of the type that generates others.
func parentOf(c *catalog.Catalog, ref catalog.Ref, path []string) (parent catalog.Ref) {
	for i := len(path) - 2; i >= 0; i-- {
		if up, err := catalog.ParseRef(path[i]); err == nil {
			if r := c.Find(up); r != nil && apply.Reported(r) {
				return up
			}
		}
	}
	longest := -1
	for _, r := range c.Resources() {
		if !apply.Reported(r) {
			continue
		}
		switch {
		case ref.Type == "File" && (r.Type == "File" || r.Type == "Tidy"):
			at, is := r.Params.Value("path").(string)
			if !is {
				at = r.Title
			}
			if at = strings.TrimRight(at, "/"); strings.HasPrefix(ref.Title, at+"/") && len(at) > longest {
				parent, longest = r.Ref, len(at)
			}
		case longest < 0 && r.Type == "Resources" && strings.EqualFold(r.Title, ref.Type):
			parent, longest = r.Ref, 0
		}
	}
	if parent == (catalog.Ref{}) {
		for _, r := range c.Resources() {
			if apply.Reported(r) {
				return r.Ref
			}
		}
	}
	return parent
}

func (s *puppetStatus) result(ref catalog.Ref, hide func(string) string) *report.Result {
	res := &report.Result{Ref: ref, Status: report.Unchanged, Start: s.Time, Took: time.Duration(s.Took * float64(time.Second))}
	noop := false
	for _, e := range s.Events {
		made := e.made(hide)
		noop = noop || made.Outcome == report.NoopOut
		if made.Name == "refresh" || made.Name == "restarted" && made.Property == "" {
			res.Refreshed = res.Refreshed || made.Outcome == report.Success
		}
		res.Events = append(res.Events, made)
	}
	switch {
	case s.Failed || s.FailedToRestart:
		res.Status = report.Failed
		if !slices.ContainsFunc(res.Events, func(e report.Event) bool { return e.Outcome == report.Failure }) {
			res.Reason = "Puppet reports a failure without a reason"
		}
	case s.Skipped:
		res.Status, res.Reason = report.Skipped, "Puppet skipped it"
	case noop:
		res.Status = report.Noop
	case s.Changed:
		res.Status = report.Changed
	}
	return res
}

func (e *puppetEvent) made(hide func(string) string) report.Event {
	out := report.Event{Property: shown(e.Property), Name: shown(e.Name), Message: hide(shown(e.Message)), Is: hide(checksum(shown(e.Is))), Should: hide(checksum(shown(e.Should))), Time: e.Time}
	if e.Redacted {
		out.Is, out.Should = report.Redacted, report.Redacted
	}
	if e.Audited && !e.Redacted {
		out.Was = hide(checksum(shown(e.Was)))
	}
	switch e.Status {
	case "audit":
		out.Outcome = report.Audit
	case "failure":
		out.Outcome = report.Failure
	case "noop":
		out.Outcome = report.NoopOut
	default:
		out.Outcome = report.Success
	}
	return out
}

// shown returns a value for people.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// checksum returns the text of a checksum that Puppet has written in base64.
func checksum(text string) string {
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil && strings.HasPrefix(string(plain), "{") {
		return string(plain)
	}
	return text
}

// made returns the message for people, nil if the results have the same information. A diff becomes part of its event.
func (l *puppetLog) made(byPath map[string]*report.Result, hide func(string) string) *report.Log {
	out := &report.Log{Level: level(l.Level), Message: hide(l.Message), Time: l.Time}
	quiet := out.Level != report.Err && out.Level != report.Warning
	if !strings.HasPrefix(l.Source, "/") {
		// The text of a notify has Puppet as its source. Everything else that is not a problem is about Puppet, or about a class.
		if quiet && (l.Source != "Puppet" || strings.HasPrefix(l.Message, "Applied catalog in ") || strings.HasPrefix(l.Message, "Applying configuration version ")) {
			return nil
		}
		return out
	}
	res := byPath[l.Source]
	property := ""
	if res == nil {
		if at := strings.LastIndexByte(l.Source, '/'); at > 0 {
			res, property = byPath[l.Source[:at]], l.Source[at+1:]
		}
	}
	if res == nil {
		if quiet {
			return nil
		}
		return out
	}
	out.Ref = res.Ref.String()
	for i := range res.Events {
		e := &res.Events[i]
		if e.Message == out.Message {
			return nil
		}
		if e.Property == property && strings.HasPrefix(out.Message, "\n--- ") {
			e.Diff = headed(res.Ref, strings.TrimPrefix(out.Message, "\n"))
			return nil
		}
	}
	if res.Status == report.Skipped && strings.HasPrefix(out.Message, "Dependency ") {
		if failed, _, is := strings.Cut(strings.TrimPrefix(out.Message, "Dependency "), " has failures"); is {
			res.Reason = failed + " failed"
			return nil
		}
	}
	if res.Status == report.Skipped && out.Message == "Skipping because of failed dependencies" {
		return nil
	}
	return out
}

// headed returns a diff of Puppet whose two first lines have no times and no names of temporary files in them, so that equal diffs
// of several machines are equal.
func headed(ref catalog.Ref, diff string) string {
	lines := strings.SplitN(diff, "\n", 3)
	if len(lines) < 3 || !strings.HasPrefix(lines[1], "+++ ") {
		return diff
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(lines[0], "--- "), "\t")
	if name == "" {
		name = ref.Title
	}
	return fmt.Sprintf("--- %[1]s\n+++ %[1]s\n%s", name, lines[2])
}

// hider returns a function that replaces the secrets of a catalog. Puppet hides secrets in its own
// messages. Errors of types and programs can have secrets, too.
func hider(c *catalog.Catalog) func(string) string {
	var values []any
	for _, r := range c.Resources() {
		for name, v := range r.Params.All() {
			if plain, err := catalog.Plain(v); err == nil && r.Secret(name) {
				values = append(values, plain)
			}
		}
	}
	hiding := apply.Hiding(values)
	if hiding == nil {
		return func(text string) string { return text }
	}
	return hiding.Replace
}
