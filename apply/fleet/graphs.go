package fleet

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/report"
	"bolt/catalog"
	"bolt/catalog/drawing"
	"bolt/format/fault"
	"bolt/internal/atomicfile"
	"bolt/inventory"
)

// Graphs writes two drawings of the catalog of each target to a directory, for Graphviz: TARGET.before.dot before it is applied, and
// TARGET.dot afterwards. In the second drawing, the colour of a resource is its status, and its tooltip has the reason. Only the owner can
// read the files.
type Graphs struct{ dir string }

// NewGraphs makes the directory if it is missing. The error is a *fault.Error.
func NewGraphs(dir string) (*Graphs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.File(dir, err, "The directory '%s' for graphs could not be made: %v", dir, fault.WithoutPath(err))
	}
	return &Graphs{dir}, nil
}

// looks has the colours of each status: the fill and the outline.
var looks = map[report.Status][2]string{
	report.Unchanged: {"#eafaf1", "#27ae60"},
	report.Changed:   {"#aed6f1", "#1f618d"},
	report.Noop:      {"#fcf3cf", "#b7950b"},
	report.Failed:    {"#f5b7b1", "#922b21"},
	report.Skipped:   {"#f2f3f4", "#909497"},
}

// Before is a CatalogFunc.
func (g *Graphs) Before(_ context.Context, t *inventory.Target, c *catalog.Catalog) error {
	return g.write(t, c, ".before.dot", nil)
}

// After is a ReportFunc.
func (g *Graphs) After(_ context.Context, t *inventory.Target, c *catalog.Catalog, done *report.Run) error {
	return g.write(t, c, ".dot", done.Results)
}

func (g *Graphs) write(t *inventory.Target, c *catalog.Catalog, ext string, results []*report.Result) error {
	name := filepath.Join(g.dir, fileOf(t)+ext)
	d, err := drawing.Of(c)
	if err != nil {
		return fault.File(name, err, "The catalog of %s could not be drawn: %v", t.SafeName(), err)
	}
	for _, r := range results {
		m := drawing.Mark{Fill: looks[r.Status][0], Line: looks[r.Status][1], Note: string(r.Status)}
		reason := r.Reason
		if text := r.Failure(); text != "" {
			reason = text
		}
		if reason != "" {
			m.Note += ": " + reason
		}
		d.Mark(r.Ref, m)
	}
	var b bytes.Buffer
	err = d.WriteDot(&b)
	if err == nil {
		err = atomicfile.WriteOwn(name, b.Bytes(), 0o600)
	}
	if err != nil {
		return fault.File(name, err, "The graph of %s could not be written: %v", t.SafeName(), fault.WithoutPath(err))
	}
	return nil
}

// fileOf returns a file name for the name of a target.
func fileOf(t *inventory.Target) string { return strings.ReplaceAll(t.SafeName(), "/", "_") }
