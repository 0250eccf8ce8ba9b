package catalogs

import (
	"slices"

	"bolt/catalog"
	"bolt/catalog/site"
)

// FormatDot is the format of drawings of catalogs, in the language of Graphviz. Only "catalog
// compile" and "catalog show" have it.
const FormatDot = "dot"

// Draws reports whether the catalog is drawn.
func (o *ShowOptions) Draws() bool { return o.format == FormatDot }

// withoutDot are the formats of a command that draws nothing.
func withoutDot(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == FormatDot })
}

// Formats has dot only for one node.
func (o *CompileOptions) Formats(all []string) ([]string, string) {
	if o.node == "" {
		return withoutDot(all), "a drawing has one node: name it with --node"
	}
	return all, ""
}

// Formats has dot only for a whole catalog.
func (o *ShowOptions) Formats(all []string) ([]string, string) {
	if len(o.args) > 1 {
		return withoutDot(all), "a drawing has all resources: name only the file"
	}
	return all, ""
}

// draw prints the drawing of a catalog. Errors go to standard error: what reads standard
// output is another program.
func (v *Invocation) draw(c *catalog.Catalog) error {
	d, err := site.Draw(c)
	if err != nil {
		return err
	}
	return d.WriteDot(v.Out)
}
