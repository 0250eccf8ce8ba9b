package fleet

import (
	"cmp"
	"context"
	"io"
	"time"

	"bolt/apply/bundle"
	"bolt/apply/remote"
	"bolt/apply/remote/embedded"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
)

// A Delivery applies catalogs on targets through the helper. Only Helpers must be set: embedded.Built returns the helpers of this
// program.
type Delivery struct {
	Helpers *embedded.Set
	// Dir is the state directory on the targets; "" for the helper's own. Setting is the name of the setting for it.
	Dir, Setting   string
	By             string // the user for whom it runs
	Noop, Diffs    bool
	Tags, SkipTags []string
	Sema           int // resources that are applied at a time on a target; 0 for no limit
	// Puppet returns the work of the Puppet that is installed on a target, or nil if the helper itself applies the catalog. If
	// Puppet is nil, the helper applies all catalogs.
	Puppet   func(ctx context.Context, t *inventory.Target) (*Puppet, error)
	Continue bool // apply the rest of a catalog after the connection was lost
	// Run returns the ID of the run on a target. Asked finds the run by this ID. If Run is nil, each run gets a
	// new ID.
	Run func(t *inventory.Target) string
	// Seq is the sequence number of the controller, as in remote.Job. 0 is always accepted.
	Seq int64
	// Release and Expected are those of remote.Job.
	Release, Expected string
	// Ended takes the outcome of a run that came to its end; nil discards.
	Ended func(*remote.Outcome)
	// Open opens a content of a catalog, as in remote.Job; nil opens the file that the catalog names.
	Open func(c bundle.Content) (io.ReadCloser, error)
}

func (d *Delivery) run(t *inventory.Target) string {
	if d.Run == nil {
		return ""
	}
	return d.Run(t)
}

// Target returns the settings with which the helper runs on a target.
func (d *Delivery) Target(site *run.Site) *remote.Target {
	cmd := site.Command()
	return &remote.Target{Helpers: d.Helpers, Label: cmd.Label, RunAs: cmd.RunAs, TmpDir: cmd.TmpDir, Dir: d.Dir, DirSetting: d.Setting}
}

// Deliver is the function for Apply.Deliver.
func (d *Delivery) Deliver(ctx context.Context, site *run.Site, c *catalog.Catalog, each func(*report.Result)) (*report.Run, error) {
	job, err := d.job(ctx, site.Target, c)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	done := &report.Run{ID: cmp.Or(d.run(site.Target), transport.NewPrivateName()), Noop: d.Noop, Start: start}
	job.Run = done.ID
	job.Result = func(r *report.Result) {
		if r.Start.IsZero() { // it was as wanted, so the helper sends no more about it
			r.Start = start
		}
		done.Results = append(done.Results, r)
		each(r)
	}
	job.Log = func(l *report.Log) { done.Logs = append(done.Logs, *l) }
	out, err := remote.Apply(ctx, site.Conn, d.Target(site), job)
	if err != nil {
		err = d.resume(ctx, site, c, done.ID, done, err)
	}
	done.Took, done.Stopped = time.Since(start), err != nil
	if err != nil {
		done.Why = err.Error()
	}
	if out != nil {
		if d.Ended != nil {
			d.Ended(out)
		}
		done.Stopped = done.Stopped || out.Stopped != ""
		if out.Error != "" {
			done.Logs = append(done.Logs, report.Log{Level: report.Err, Message: out.Error, Time: time.Now()})
			done.Stopped = true
		}
	}
	if len(done.Results) == 0 && err != nil {
		return nil, err
	}
	return done, err
}

// job returns the job of applying a catalog on a target, without its ID and functions.
func (d *Delivery) job(ctx context.Context, t *inventory.Target, c *catalog.Catalog) (*remote.Job, error) {
	job := &remote.Job{
		Catalog: c, Node: c.Name, Seq: d.Seq, Open: d.Open, By: d.By, Noop: d.Noop, Diffs: d.Diffs, Tags: d.Tags, SkipTags: d.SkipTags, Sema: d.Sema, Continue: d.Continue,
		Release: d.Release, Expected: d.Expected,
	}
	if d.Puppet == nil {
		return job, nil
	}
	p, err := d.Puppet(ctx, t)
	if err == nil && p != nil {
		job.Puppet, job.Plugins, job.Sema = true, p.Plugins, 0 // Puppet applies one resource at a time
	}
	return job, err
}
