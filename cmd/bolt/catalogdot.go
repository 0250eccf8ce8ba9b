package main

import (
	"slices"

	"bolt/catalog"
	"bolt/catalog/site"
)

// formatDot is the format of drawings of catalogs, in the language of Graphviz. Only "catalog
// compile" and "catalog show" have it.
const formatDot = "dot"

// withoutDot are the formats of a command that draws nothing.
func withoutDot(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == formatDot })
}

// formats has dot only for one node.
func (o *compileOptions) formats(all []string) ([]string, string) {
	if o.node == "" {
		return withoutDot(all), "a drawing has one node: name it with --node"
	}
	return all, ""
}

// formats has dot only for a whole catalog.
func (o *showCatalogOptions) formats(all []string) ([]string, string) {
	if len(o.args) > 1 {
		return withoutDot(all), "a drawing has all resources: name only the file"
	}
	return all, ""
}

// draw prints the drawing of a catalog. Errors go to standard error: what reads standard
// output is another program.
func (a *app) draw(c *catalog.Catalog) error {
	d, err := site.Draw(c)
	if err != nil {
		return a.failedCompile(err)
	}
	return written(d.WriteDot(a.sys.out))
}
