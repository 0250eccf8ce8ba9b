package report

import (
	"slices"
	"strings"
	"time"

	"bolt/catalog"
	"bolt/format/ordered"
)

// A Run is the result of applying one catalog: the results of all resources, in the order of arrival.
type Run struct {
	ID      string // of the run
	Noop    bool
	Start   time.Time
	Took    time.Duration
	Stopped bool   // it was ended before all resources had their turn
	Why     string // it was stopped, if that is known
	Results []*Result
	Logs    []Log
}

// Counts are the numbers of resources by their status.
type Counts struct{ Changed, Failed, Unchanged, Skipped, Noop, Refreshed int }

// Count counts the resources.
func (r *Run) Count() (c Counts) {
	for _, res := range r.Results {
		switch res.Status {
		case Changed:
			c.Changed++
		case Failed:
			c.Failed++
		case Skipped:
			c.Skipped++
		case Noop:
			c.Noop++
		default:
			c.Unchanged++
		}
		if res.Refreshed {
			c.Refreshed++
		}
	}
	return c
}

// Silent reports whether the resource was as wanted at the first attempt, and no audited property has changed.
func (r *Result) Silent() bool {
	return r.Status == Unchanged && len(r.Events) == 0 && r.Attempts == 0
}

// Failure returns the text of the first failure of a result; "" if it has not failed.
func (r *Result) Failure() string {
	if r.Status != Failed {
		return ""
	}
	for _, e := range r.Events {
		if e.Outcome == Failure {
			return e.Message
		}
	}
	return r.Reason
}

// Data returns the apply report, as --report writes it:
//
//	{"run": ID, "noop": false, "resources": [{"ref": "File[/x]", "status": "changed", "refreshed": false}, ...]}
//
// A resource has "reason" if it was skipped, and "attempts" if it was tried again after a failure. It has "generated" and "parent"
// if the catalog does not have it, and "events" if something happened to it.
func (r *Run) Data() *ordered.Map {
	list := make([]any, 0, len(r.Results))
	for _, res := range r.Results {
		m := ordered.Of("ref", res.Ref.String(), "status", string(res.Status), "refreshed", res.Refreshed)
		if res.Reason != "" {
			m.Set("reason", res.Reason)
		}
		if res.Generated {
			m.Set("generated", true)
			m.Set("parent", res.Parent.String())
		}
		if res.Attempts > 0 {
			m.Set("attempts", int64(res.Attempts))
		}
		if len(res.Events) > 0 {
			events := make([]any, len(res.Events))
			for i := range res.Events {
				events[i] = res.Events[i].data()
			}
			m.Set("events", events)
		}
		list = append(list, m)
	}
	return ordered.Of("run", r.ID, "noop", r.Noop, "stopped", r.Stopped, "resources", list)
}

func (e *Event) data() *ordered.Map {
	m := &ordered.Map{}
	if e.Property != "" {
		m.Set("property", e.Property)
	}
	m.Set("name", e.Name)
	m.Set("status", string(e.Outcome))
	if e.Is != "" || e.Should != "" {
		m.Set("is", e.Is)
		m.Set("should", e.Should)
	}
	if e.Was != "" {
		m.Set("was", e.Was)
	}
	m.Set("message", e.Message)
	if e.Diff != "" {
		m.Set("diff", e.Diff)
	}
	return m
}

// reportFormat is the version of Puppet's report format that Puppet writes.
const reportFormat = 12

// Puppet returns the run as a report of Puppet (format 12). version is the version of Puppet in the report.
// The reference is the page "Report format" of Puppet's documentation.
func (r *Run) Puppet(c *catalog.Catalog, version string) *ordered.Map {
	paths := pathsOf(c)
	statuses := &ordered.Map{}
	var m metrics
	for _, res := range r.Results {
		s := r.status(c, res, paths.of(res))
		m.add(res, s)
		statuses.Set(res.Ref.String(), s)
	}
	status := "unchanged"
	switch {
	case m.failed+m.failedRestart > 0:
		status = "failed"
	case m.changed > 0:
		status = "changed"
	}
	return ordered.Of(
		"host", c.Name, "time", stamp(r.Start), "configuration_version", c.Version, "transaction_uuid", r.ID,
		"report_format", int64(reportFormat), "puppet_version", version, "status", status,
		"transaction_completed", !r.Stopped, "noop", r.Noop, "noop_pending", m.noop > 0,
		"environment", ordered.Optional(c.Environment), "logs", r.logs(paths), "metrics", m.data(r.Took),
		"resource_statuses", statuses, "corrective_change", false,
		"catalog_uuid", ordered.Optional(c.UUID), "cached_catalog_status", "not_used", "code_id", ordered.Optional(c.CodeID),
	)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000+00:00") }

// paths are the containers of resources.
type paths struct {
	catalog   *catalog.Catalog
	container map[catalog.Ref]catalog.Ref
}

func pathsOf(c *catalog.Catalog) paths { return paths{c, c.Containers()} }

// of returns the containment path of a resource: Stage[main], the names of classes, and the resource.
func (p paths) of(res *Result) []string {
	list := []string{res.Ref.String()}
	at := res.Ref
	if res.Generated {
		at = res.Parent
	}
	for range len(p.container) { // a cycle of containers is not possible, and is not followed for ever
		up, contained := p.container[at]
		if !contained {
			break
		}
		name := up.String()
		if up.Type == "Class" {
			name = catalog.Capitals(up.Title)
		}
		list = append(list, name)
		at = up
	}
	slices.Reverse(list)
	return list
}

func (r *Run) status(c *catalog.Catalog, res *Result, path []string) *ordered.Map {
	var file string
	var line int
	tags := []string{strings.ToLower(res.Ref.Type)}
	if declared := c.Find(res.Ref); declared != nil {
		file, line, tags = declared.File, declared.Line, declared.Tags
	}
	s := ordered.Of("title", res.Ref.Title, "file", ordered.Optional(file), "line", optional(line),
		"resource", res.Ref.String(), "resource_type", res.Ref.Type, "provider_used", nil,
		"containment_path", ordered.Strings(path), "evaluation_time", res.Took.Seconds(), "tags", ordered.Strings(tags),
		"time", stamp(res.Start), "failed", res.Status == Failed)
	changes, differences := 0, 0
	failedRestart := false
	events := make([]any, 0, len(res.Events))
	for i := range res.Events {
		e := &res.Events[i]
		switch e.Outcome {
		case Success:
			changes++
		case Failure:
			failedRestart = failedRestart || e.Name == "refresh"
		}
		if e.Outcome != Audit {
			differences++
		}
		events = append(events, e.puppet())
	}
	for _, pair := range []struct {
		key   string
		value any
	}{
		{"failed_to_restart", failedRestart}, {"changed", changes > 0}, {"out_of_sync", differences > 0},
		{"skipped", res.Status == Skipped}, {"change_count", int64(changes)}, {"out_of_sync_count", int64(differences)},
		{"events", events}, {"corrective_change", false},
	} {
		s.Set(pair.key, pair.value)
	}
	return s
}

func (e *Event) puppet() *ordered.Map {
	return ordered.Of("audited", e.Outcome == Audit || e.Was != "", "property", ordered.Optional(e.Property),
		"previous_value", ordered.Optional(e.Is), "desired_value", ordered.Optional(e.Should), "historical_value", ordered.Optional(e.Was),
		"message", e.Message, "name", e.Name, "status", string(e.Outcome), "time", stamp(e.Time),
		"redacted", e.Is == Redacted, "corrective_change", false)
}

// Redacted stands for the value of a secret in an Event.
const Redacted = "[redacted]"

func optional(line int) any {
	if line == 0 {
		return nil
	}
	return int64(line)
}

// logs returns the messages of the run, and a message for each event.
func (r *Run) logs(p paths) []any {
	list := make([]any, 0, len(r.Logs))
	source := make(map[string]string)
	add := func(level Level, source, message string, at time.Time) {
		list = append(list, ordered.Of("level", string(level), "message", message, "source", source,
			"tags", []any{string(level)}, "time", stamp(at), "file", nil, "line", nil))
	}
	for _, res := range r.Results {
		path := "/" + strings.Join(p.of(res), "/")
		source[res.Ref.String()] = path
		for i := range res.Events {
			e := &res.Events[i]
			at := path
			if e.Property != "" {
				at += "/" + e.Property
			}
			add(e.level(), at, e.Message, e.Time)
		}
	}
	for _, l := range r.Logs {
		at := "bolt"
		if s := source[l.Ref]; s != "" {
			at = s
		}
		add(l.Level, at, l.Message, l.Time)
	}
	return list
}

func (e *Event) level() Level {
	if e.Outcome == Failure {
		return Err
	}
	return Notice
}

// metrics returns the numbers of a report.
type metrics struct {
	total, skipped, failed, failedRestart, restarted, changed, noop, differ int
	changes, failures, successes, noops, audits                             int
	took                                                                    map[string]float64
	types                                                                   []string
}

func (m *metrics) add(res *Result, s *ordered.Map) {
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&m.total, true)
	count(&m.skipped, res.Status == Skipped)
	count(&m.failed, res.Status == Failed)
	count(&m.failedRestart, s.Value("failed_to_restart") == true)
	count(&m.restarted, res.Refreshed)
	count(&m.changed, s.Value("changed") == true)
	count(&m.noop, res.Status == Noop)
	count(&m.differ, s.Value("out_of_sync") == true)
	for _, e := range res.Events {
		count(&m.successes, e.Outcome == Success)
		count(&m.failures, e.Outcome == Failure)
		count(&m.noops, e.Outcome == NoopOut)
		count(&m.audits, e.Outcome == Audit)
	}
	m.changes = m.successes
	if m.took == nil {
		m.took = make(map[string]float64)
	}
	typ := strings.ToLower(res.Ref.Type)
	if _, known := m.took[typ]; !known {
		m.types = append(m.types, typ)
	}
	m.took[typ] += res.Took.Seconds()
}

func (m *metrics) data(took time.Duration) *ordered.Map {
	row := func(name string, value any) any {
		label := strings.ReplaceAll(name, "_", " ")
		return []any{name, strings.ToUpper(label[:1]) + label[1:], value}
	}
	group := func(name string, rows ...any) *ordered.Map {
		return ordered.Of("name", name, "label", strings.ToUpper(name[:1])+name[1:], "values", rows)
	}
	n := func(i int) any { return int64(i) }
	var times []any
	for _, typ := range m.types {
		times = append(times, row(typ, m.took[typ]))
	}
	times = append(times, row("total", took.Seconds()))
	return ordered.Of(
		"resources", group("resources", row("total", n(m.total)), row("skipped", n(m.skipped)), row("failed", n(m.failed)),
			row("failed_to_restart", n(m.failedRestart)), row("restarted", n(m.restarted)), row("changed", n(m.changed)),
			row("out_of_sync", n(m.differ)), row("scheduled", n(0)), row("corrective_change", n(0))),
		"time", group("time", times...),
		"changes", group("changes", row("total", n(m.changes))),
		"events", group("events", row("total", n(m.successes+m.failures+m.noops+m.audits)), row("failure", n(m.failures)),
			row("success", n(m.successes)), row("noop", n(m.noops)), row("audit", n(m.audits))),
	)
}
