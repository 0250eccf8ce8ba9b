package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"bolt/apply/agent"
	"bolt/apply/bundle"
	"bolt/apply/frame"
	"bolt/apply/report"
)

// agentName is the directory below that of the contents of a run in which Puppet finds its input.
const agentName = "puppet"

// puppet applies the catalog with the installed Puppet. Only Asked with a stop ends the run early, after the present resource. A lost
// connection and signals do not end it.
func (r *run) puppet(ctx context.Context) (int, error) {
	h := r.host()
	program, err := agent.Find(h)
	if err != nil {
		return 0, &refused{frame.KindEngine, err}
	}
	owed, err := r.lock.Owed(r.q.Node)
	if err != nil {
		return 0, err
	}
	job := &agent.Job{Catalog: r.catalog, Dir: r.dir.Path(incomingName, r.q.Run, agentName), Noop: r.q.Noop, Tags: r.q.Tags, SkipTags: r.q.SkipTags, Stop: r.dir.StopPath(r.q.Run)}
	if err := os.Mkdir(job.Dir, 0o700); err != nil {
		return 0, err
	}
	if r.q.Plugins != "" {
		in, err := r.plugins()
		if err != nil {
			return 0, err
		}
		defer in.Close()
		job.Plugins = in
	}
	r.begun = sync.OnceValue(func() error { return r.begin(ctx, r.q.Run) })
	if err := r.begun(); err != nil {
		return 0, err
	}
	done := &frame.Done{}
	err = job.Apply(ctx, h, program, r.result, func(l *report.Log) { r.s.log(l) })
	done.Counts = r.counts
	if r.dir.Stopping(r.q.Run) && r.counts.Skipped > 0 { // the request may have come after the last resource
		done.Stopped = frame.StopAsked
	}
	// Refreshes that earlier runs of bolt itself left are still to be done.
	for _, ref := range owed {
		done.Owed = append(done.Owed, ref.String())
	}
	if no, is := errors.AsType[*agent.RefusedError](err); is {
		done.Error = no.Error()
		if err := r.journal.Done(done, time.Now()); err != nil {
			return 0, err
		}
		return 0, &refused{frame.KindCatalog, errors.Join(parted(no.Messages)...)}
	}
	if err != nil {
		done.Error = err.Error()
	}
	r.end(done, nil)
	return r.last(done), nil
}

const (
	pluginsName = "plugins"
	keepPlugins = 3
)

// lacksPlugins reports whether the package of plugins must be sent.
func (r *run) lacksPlugins() bool {
	return bundle.IsSum(r.q.Plugins) && !r.store.Has(r.q.Plugins) && !bundle.InPlace(r.dir.Path(pluginsName, r.q.Plugins), r.q.Plugins)
}

// plugins opens the package of plugins, and keeps it for the next run.
func (r *run) plugins() (io.ReadCloser, error) {
	if err := r.dir.Make(pluginsName); err != nil {
		return nil, err
	}
	name := r.dir.Path(pluginsName, r.q.Plugins)
	if r.store.Has(r.q.Plugins) {
		if err := os.Rename(r.dir.Path(incomingName, r.q.Run, r.q.Plugins), name); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // a package that is in use stays the longest
	return bundle.Verify(f, r.q.Plugins), r.dir.Prune(pluginsName, "*", keepPlugins)
}

// parted converts messages to errors.
func parted(messages []string) []error {
	list := make([]error, len(messages))
	for i, m := range messages {
		list[i] = errors.New(m)
	}
	return list
}
