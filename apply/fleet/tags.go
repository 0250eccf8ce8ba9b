package fleet

import (
	"context"
	"slices"
	"sync/atomic"

	"bolt/apply"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/inventory"
)

// Tags watches whether resources have one of the tags that are wanted.
type Tags struct {
	wanted          []string
	applied, tagged atomic.Bool
}

// NewTags returns a Tags for tags. If tags is empty, Tags watches for nothing.
func NewTags(wanted []string) *Tags { return &Tags{wanted: wanted} }

// Watch is a ReportFunc.
func (w *Tags) Watch(_ context.Context, _ *inventory.Target, c *catalog.Catalog, _ *report.Run) error {
	w.applied.Store(true)
	if slices.ContainsFunc(c.Resources(), func(r *catalog.Resource) bool { return apply.Tagged(r.Ref, r.Tags, w.wanted) }) {
		w.tagged.Store(true)
	}
	return nil
}

// Missed reports whether tags are wanted, catalogs were applied, and no resource of any of them has one of the tags.
func (w *Tags) Missed() bool { return len(w.wanted) > 0 && w.applied.Load() && !w.tagged.Load() }
