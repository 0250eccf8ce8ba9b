package apply

import (
	"context"
	"slices"
	"time"

	"bolt/apply/resource"
	"bolt/catalog"
)

// A Watched is a resource whose state can change after the run.
type Watched struct {
	Ref     catalog.Ref
	Watches []resource.Watch // at least one, unless Once is set
	// Once is set if the resource is not checked again (poll of Meta is negative). Otherwise Poll is the time between two checks, in place of
	// events; 0 if there is none.
	Once bool
	Poll time.Duration
	// Limit is the number of checks in a second, of which Burst can come at once; 0 for the limits of package watch.
	Limit float64
	Burst int
	// Scheduled is set if a schedule can exclude the resource now, and allow it later.
	Scheduled bool
	// After are the resources directly after a resource whose Watches have Every.
	After []catalog.Ref
	// Noop is set if the resource is never changed.
	Noop bool
}

// Watched returns the resources whose states can change, with the sources of their events, in the order of
// the catalog. Resources that tags exclude are not among them.
func (r *Run) Watched(ctx context.Context) (list []Watched) {
	for _, st := range r.steps {
		if st.item == nil || st.meta.Hidden || r.excluded(st) != "" {
			continue
		}
		if st.meta.Poll < 0 {
			list = append(list, Watched{Ref: st.ref, Once: true})
			continue
		}
		watches := []resource.Watch{{Poll: true}}
		if w, is := st.item.(resource.Watcher); is && st.meta.Poll == 0 {
			watches = w.Watch(ctx, r.host)
		}
		if len(watches) == 0 {
			continue
		}
		w := Watched{Ref: st.ref, Watches: watches, Scheduled: st.meta.schedule != "", Noop: st.noop(&r.o),
			Poll: st.meta.Poll, Limit: st.meta.Limit, Burst: st.meta.Burst}
		if slices.ContainsFunc(watches, func(w resource.Watch) bool { return w.Every > 0 }) {
			w.After = st.next()
		}
		list = append(list, w)
	}
	return list
}

// next returns the resources directly after a step. The members of a container are also directly after it.
func (s *step) next() (refs []catalog.Ref) {
	seen := make(map[*step]bool)
	var walk func(*step)
	walk = func(from *step) {
		for _, l := range from.after {
			switch {
			case seen[l.to]:
			case l.to.item != nil:
				refs = append(refs, l.to.ref)
			default:
				walk(l.to)
			}
			seen[l.to] = true
		}
	}
	walk(s)
	return refs
}

// excluded returns the reason for which tags exclude a step; "" if they do not.
func (r *Run) excluded(st *step) string {
	switch {
	case len(r.o.SkipTags) > 0 && st.tagged(r.o.SkipTags):
		return "it has a tag that is to be skipped"
	case len(r.o.Tags) > 0 && !st.tagged(r.o.Tags):
		return "it has none of the wanted tags"
	}
	return ""
}
