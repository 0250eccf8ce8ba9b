// Package auditing makes the recorder of the audit log, and carries out the commands that show and verify the log.
//
// Mistakes of the user are *cli.UsageError.
package auditing

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"bolt/audit"
	"bolt/audit/recorder"
	"bolt/cli"
	"bolt/internal/logging"
	"bolt/output/listing"
	"bolt/project"
)

// An Invocation has the parts of one invocation of bolt that the commands and the recorder use.
type Invocation struct {
	Version   string // of bolt
	Getenv    func(name string) string
	Terminals []*os.File // the first of them that is a terminal is the terminal of the user
	Project   string     // the directory
	Setting   project.Audit
	RunAs     string // of the command line; "" for none
	Redact    func(text string) string
	Logs      *logging.Log
	Out, Err  io.Writer
	How       listing.Options
}

// Actor returns the user of this process, for records.
func (v *Invocation) Actor() audit.Actor {
	return audit.ThisProcess(v.Version, v.Getenv, v.Terminals...)
}

// Recorder returns the sink that writes the audit log; nil if there is none.
func (v *Invocation) Recorder() *recorder.Recorder {
	if v.Setting.Path == "" {
		return nil
	}
	return recorder.New(recorder.Options{
		Log: audit.New(v.Setting.Path, time.Now), Request: audit.NewRequest(), Actor: v.Actor(), Project: v.Project,
		RunAs: v.RunAs, Required: v.Setting.Required, Redact: v.Redact, Warnings: v.Logs,
	})
}

// ShowOptions are the options of audit show.
type ShowOptions struct {
	files       []string
	filter      audit.Filter
	since, last cli.Optional
}

// Bind reads the flags and arguments.
func (o *ShowOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Text("actor", &o.filter.Actor)
	b.Text("action", &o.filter.Action)
	b.Text("on", &o.filter.Target)
	b.Switch("failed", &o.filter.Failed)
	b.Optional("since", &o.since)
	b.Optional("last", &o.last)
}

// Show carries out audit show.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	f := o.filter
	if text := o.since.Text; o.since.Given {
		var ok bool
		if f.Since, ok = audit.ParseSince(text, time.Now()); !ok {
			return cli.Hinted(cli.Errorf("Invalid parameter specified for option '--since': %s", text), "give a time ago (90m, 12h, 7d) or a date (2026-01-31, 2026-01-31T15:04:05Z)")
		}
	}
	last := -1
	if o.last.Given {
		var err error
		if last, err = audit.ParseLast(o.last.Text); err != nil {
			return cli.Errorf("Invalid parameter specified for option '--last': %v", err)
		}
	}
	files, err := audit.FilesOf("audit show", v.Setting.Path, o.files)
	if err != nil {
		return err
	}
	out := listing.NewAudit(v.Out, v.How)
	matched, others, err := audit.Select(ctx, files, f, last, out.Entry)
	if err != nil {
		return err
	}
	if err := out.End(); err != nil {
		return err
	}
	if matched == 0 && !v.How.Format.Data {
		// With formats for programs this message is not printed.
		if _, err := fmt.Fprintln(v.Err, "No records match."); err != nil {
			return err
		}
	}
	if others > 0 {
		v.Logs.Warn("audit", fmt.Sprintf("%d lines are not records. Run 'bolt audit verify'.", others))
	}
	return nil
}

// VerifyOptions are the options of audit verify.
type VerifyOptions struct {
	files  []string
	expect cli.Optional
}

// Bind reads the flags and arguments.
func (o *VerifyOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Optional("expect", &o.expect)
}

// Verify carries out audit verify. If the log is damaged, or lacks the record of --expect, it returns cli.ErrFailed.
func (v *Invocation) Verify(ctx context.Context, o *VerifyOptions) error {
	expect, ok := audit.ParseHash(o.expect.Text)
	if o.expect.Given && !ok {
		return cli.Hinted(cli.Errorf("Invalid parameter specified for option '--expect': not a SHA-256 hash (64 hexadecimal digits)"), "'bolt audit verify' prints the hash of the last record")
	}
	files, err := audit.FilesOf("audit verify", v.Setting.Path, o.files)
	if err != nil {
		return err
	}
	report, err := audit.Verify(ctx, files, expect)
	if err != nil {
		return err
	}
	if err := listing.PrintAuditReport(v.Out, v.How, files, report, expect != ""); err != nil {
		return err
	}
	if !report.OK(expect != "") {
		return cli.ErrFailed
	}
	return nil
}
