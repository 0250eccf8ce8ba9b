package main

import (
	"context"
	"fmt"
	"time"

	"bolt/audit"
	"bolt/cli"
	"bolt/output/listing"
)

type showAuditOptions struct {
	files       []string
	filter      audit.Filter
	since, last cli.Optional
}

func (o *showAuditOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Text("actor", &o.filter.Actor)
	b.Text("action", &o.filter.Action)
	b.Text("on", &o.filter.Target)
	b.Switch("failed", &o.filter.Failed)
	b.Optional("since", &o.since)
	b.Optional("last", &o.last)
}

func showAudit(ctx context.Context, a *app, o *showAuditOptions) error {
	f := o.filter
	if text := o.since.Text; o.since.Given {
		var ok bool
		if f.Since, ok = audit.ParseSince(text, time.Now()); !ok {
			return hinted(usagef("Invalid parameter specified for option '--since': %s", text), "give a time ago (90m, 12h, 7d) or a date (2026-01-31, 2026-01-31T15:04:05Z)")
		}
	}
	last := -1
	if o.last.Given {
		var err error
		if last, err = audit.ParseLast(o.last.Text); err != nil {
			return usagef("Invalid parameter specified for option '--last': %v", err)
		}
	}
	files, err := audit.FilesOf("audit show", a.config.Audit.Path, o.files)
	if err != nil {
		return err
	}
	out := listing.NewAudit(a.sys.out, a.listOptions())
	matched, others, err := audit.Select(ctx, files, f, last, func(e *audit.Entry) error { return written(out.Entry(e)) })
	if err != nil {
		return err
	}
	if err := out.End(); err != nil {
		return written(err)
	}
	if matched == 0 && !a.format().Data {
		// With formats for programs this message is not printed.
		if _, err := fmt.Fprintln(a.sys.err, "No records match."); err != nil {
			return written(err)
		}
	}
	if others > 0 {
		a.logs.Warn("audit", fmt.Sprintf("%d lines are no records: bolt audit verify tells more.", others))
	}
	return nil
}

type verifyAuditOptions struct {
	files  []string
	expect cli.Optional
}

func (o *verifyAuditOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Optional("expect", &o.expect)
}

func verifyAudit(ctx context.Context, a *app, o *verifyAuditOptions) error {
	expect, ok := audit.ParseHash(o.expect.Text)
	if o.expect.Given && !ok {
		return hinted(usagef("Invalid parameter specified for option '--expect': it is no SHA-256"), "bolt audit verify prints the hash of the last record, 64 digits")
	}
	files, err := audit.FilesOf("audit verify", a.config.Audit.Path, o.files)
	if err != nil {
		return err
	}
	report, err := audit.Verify(ctx, files, expect)
	if err != nil {
		return err
	}
	if err := listing.PrintAuditReport(a.sys.out, a.listOptions(), files, report, expect != ""); err != nil {
		return written(err)
	}
	if !report.OK(expect != "") {
		return errPrinted
	}
	return nil
}
