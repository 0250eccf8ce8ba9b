package report

import (
	"time"

	"bolt/catalog"
	"bolt/format/ordered"
)

// PuppetDBVersion is the version of the command "store report" for which Run.PuppetDB makes the payload.
const PuppetDBVersion = 8

// PuppetDB returns the run as the payload of PuppetDB's command "store report". version has the same meaning as
// for Run.Puppet. producer is the name of the machine that sends it, and sent is the time. As with Puppet, it
// has only resources with events and skipped resources.
func (r *Run) PuppetDB(c *catalog.Catalog, version, producer string, sent time.Time) *ordered.Map {
	full := r.Puppet(c, version)
	environment := c.Environment
	if environment == "" {
		environment = "production"
	}
	return ordered.Of(
		"certname", c.Name, "environment", environment, "puppet_version", version, "report_format", int64(reportFormat),
		"configuration_version", c.Version, "start_time", stamp(r.Start), "end_time", stamp(r.Start.Add(r.Took)),
		"producer_timestamp", stamp(sent), "producer", ordered.Optional(producer), "transaction_uuid", r.ID,
		"catalog_uuid", full.Value("catalog_uuid"), "code_id", full.Value("code_id"), "job_id", nil,
		"cached_catalog_status", full.Value("cached_catalog_status"), "status", full.Value("status"),
		"noop", r.Noop, "noop_pending", full.Value("noop_pending"), "corrective_change", false,
		"logs", full.Value("logs"), "metrics", flat(full.Value("metrics").(*ordered.Map)), "resources", resources(full.Value("resource_statuses").(*ordered.Map)),
	)
}

// flat returns a list of metrics, each with its category.
func flat(groups *ordered.Map) []any {
	list := []any{}
	for category, group := range groups.All() {
		rows, _ := group.(*ordered.Map).Value("values").([]any)
		for _, row := range rows {
			row := row.([]any) // name, label, value
			list = append(list, ordered.Of("category", category, "name", row[0], "value", row[2]))
		}
	}
	return list
}

func resources(statuses *ordered.Map) []any {
	list := []any{}
	for _, v := range statuses.All() {
		s := v.(*ordered.Map)
		events := []any{}
		for _, v := range s.Value("events").([]any) {
			e := v.(*ordered.Map)
			if e.Value("status") == string(Audit) {
				continue
			}
			events = append(events, ordered.Of("status", e.Value("status"), "timestamp", e.Value("time"), "name", e.Value("name"),
				"property", e.Value("property"), "old_value", e.Value("previous_value"), "new_value", e.Value("desired_value"),
				"message", e.Value("message"), "corrective_change", false))
		}
		if len(events) == 0 && s.Value("skipped") != true {
			continue
		}
		list = append(list, ordered.Of("resource_type", s.Value("resource_type"), "resource_title", s.Value("title"), "timestamp", s.Value("time"),
			"skipped", s.Value("skipped"), "file", s.Value("file"), "line", s.Value("line"), "containment_path", s.Value("containment_path"),
			"corrective_change", false, "events", events))
	}
	return list
}
