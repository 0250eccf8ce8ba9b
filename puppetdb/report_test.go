package puppetdb

import (
	"os"
	"slices"
	"testing"
	"time"

	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/ordered"
)

// TestReport: a real PuppetDB stores the report of an apply. It answers a command that it cannot carry out as one that waits, so the
// report is read again.
func TestReport(t *testing.T) {
	if _, err := os.Stat("/usr/share/puppetdb/puppetdb.jar"); err != nil || os.Getenv("BOLT_TEST_PUPPETDB") == "recorded" {
		t.Log("there is no PuppetDB")
		return
	}
	c, err := catalog.Parse([]byte(`{"name":"apply1","version":"v1","environment":"production","catalog_uuid":null,"resources":[
		{"type":"Class","title":"Web::Site"},
		{"type":"File","title":"/f","file":"/site.pp","line":3,"parameters":{}}, {"type":"Exec","title":"x","parameters":{}}, {"type":"Notify","title":"same","parameters":{}}, {"type":"Notify","title":"left","parameters":{}}],
		"edges":[{"source":"Class[Web::Site]","target":"File[/f]"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	ref := func(typ, title string) catalog.Ref { return catalog.Ref{Type: typ, Title: title} }
	done := &report.Run{ID: "2b19b8ae-0a8b-4c2d-b01f-b17bb3704aaf", Start: at, Took: 1500 * time.Millisecond, Results: []*report.Result{
		{Ref: ref("File", "/f"), Status: report.Changed, Start: at, Events: []report.Event{{Property: "mode", Name: "mode_changed", Outcome: report.Success, Is: "0600", Should: "0644", Message: "changed", Time: at}}},
		{Ref: ref("Exec", "x"), Status: report.Failed, Start: at, Events: []report.Event{{Outcome: report.Failure, Name: "resource_error", Message: "it failed", Time: at}, {Property: "returns", Outcome: report.Audit, Time: at}}},
		{Ref: ref("Notify", "same"), Status: report.Unchanged, Start: at},
		{Ref: ref("Notify", "left"), Status: report.Skipped, Reason: "Exec[x] failed", Start: at},
		{Ref: ref("File", "/f/below"), Status: report.Noop, Generated: true, Parent: ref("File", "/f"), Start: at, Events: []report.Event{{Property: "ensure", Name: "file_created", Outcome: report.NoopOut, Message: "would", Time: at}}},
	}, Logs: []report.Log{{Ref: "Exec[x]", Level: report.Warning, Message: "beware", Time: at}}}
	db := client(t, liveOptions(t))
	sent, err := db.Submit(t.Context(), Command{Name: "store_report", Version: report.PuppetDBVersion, Payload: done.PuppetDB(c, "0.1.0", "here", at.Add(2*time.Second)), Wait: time.Minute})
	if err != nil || !sent.Processed {
		t.Fatalf("%+v, %v", sent, err)
	}
	for query, want := range map[string]string{
		`reports[status, puppet_version, noop, noop_pending, producer, transaction_uuid, start_time, end_time, configuration_version] { certname = "apply1" }`: `[{"configuration_version":"v1","end_time":"2026-11-27T12:00:01.500Z","noop":false,"noop_pending":true,"producer":"here","puppet_version":"0.1.0","start_time":"2026-11-27T12:00:00.000Z","status":"failed","transaction_uuid":"2b19b8ae-0a8b-4c2d-b01f-b17bb3704aaf"}]`,
		`events[resource_type, resource_title, property, status, old_value, new_value, line, containing_class] { certname = "apply1" order by resource_title }`: `[{"containing_class":"Web::Site","line":3,"new_value":"0644","old_value":"0600","property":"mode","resource_title":"/f","resource_type":"File","status":"success"},` +
			`{"containing_class":"Web::Site","line":null,"new_value":null,"old_value":null,"property":"ensure","resource_title":"/f/below","resource_type":"File","status":"noop"},` +
			`{"containing_class":null,"line":null,"new_value":null,"old_value":null,"property":null,"resource_title":"left","resource_type":"Notify","status":"skipped"},` +
			`{"containing_class":null,"line":null,"new_value":null,"old_value":null,"property":null,"resource_title":"x","resource_type":"Exec","status":"failure"}]`,
		`nodes[latest_report_status] { certname = "apply1" }`: `[{"latest_report_status":"failed"}]`,
	} {
		rows, err := db.Rows(t.Context(), Query{Text: query})
		for i := range rows { // PuppetDB has no order of columns
			sorted := &ordered.Map{}
			m := rows[i].(*ordered.Map)
			for _, k := range slices.Sorted(slices.Values(m.Keys())) {
				sorted.Set(k, m.Value(k))
			}
			rows[i] = sorted
		}
		if err != nil || asJSON(t, rows) != want {
			t.Errorf("%s: got %s, %v, want %s", query, asJSON(t, rows), err, want)
		}
	}
}
