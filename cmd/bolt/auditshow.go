package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bolt/audit"
	"bolt/cli"
	"bolt/format/fault"
	"bolt/output/listing"
)

// auditWarning is the ID of warnings about the audit log.
const auditWarning = "audit"

// auditFiles are those that are named, or the log with the files that it was
// rotated to.
func (a *app) auditFiles(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	if a.config.Audit.Path == "" {
		return nil, &fault.Error{Kind: audit.Kind, Msg: "There is no audit log: no configuration names one.",
			Hint: "audit: {path: audit.jsonl} in bolt-project.yaml does; or name a file: bolt audit show FILE."}
	}
	return audit.New(a.config.Audit.Path, time.Now).Files(), nil
}

type showAuditOptions struct {
	files       []string
	filter      audit.Filter
	since, last cli.Optional
}

func (o *showAuditOptions) bind(b *cli.Binder) {
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
	if text := o.last.Text; o.last.Given {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxLast {
			return usagef("Invalid parameter specified for option '--last': it is a number up to %d, not %s", maxLast, text)
		}
		last = n
	}
	files, err := a.auditFiles(o.files)
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
	if matched == 0 && !a.format().IsJSON() {
		// Where programs read the actions they are not told this.
		if _, err := fmt.Fprintln(a.sys.err, "No records match."); err != nil {
			return written(err)
		}
	}
	if others > 0 {
		a.logs.Warn(auditWarning, fmt.Sprintf("%d lines are no records: bolt audit verify tells more.", others))
	}
	return nil
}

// maxLast is how many of the last actions can be asked for: they are held in memory.
const maxLast = 10000

type verifyAuditOptions struct {
	files  []string
	expect cli.Optional
}

func (o *verifyAuditOptions) bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Optional("expect", &o.expect)
}

func verifyAudit(ctx context.Context, a *app, o *verifyAuditOptions) error {
	expect := strings.ToLower(strings.TrimSpace(o.expect.Text))
	if o.expect.Given && (len(expect) != 64 || strings.Trim(expect, "0123456789abcdef") != "") {
		return hinted(usagef("Invalid parameter specified for option '--expect': it is no SHA-256"), "bolt audit verify prints the hash of the last record, 64 digits")
	}
	files, err := a.auditFiles(o.files)
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
