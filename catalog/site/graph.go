package site

import (
	"bolt/catalog"
	"bolt/catalog/drawing"
	"bolt/catalog/yamlgraph"
	"bolt/format/fault"
	"bolt/puppet/syntax"
)

// source reads a manifest, or a graph in YAML.
func source(src Source) (*syntax.Program, error) {
	if yamlgraph.Is(src.Name) {
		return yamlgraph.Parse(src.Name, src.Text)
	}
	return syntax.Parse(syntax.NewFile(src.Name, src.Text), syntax.Options{})
}

// Draw draws a catalog. The error is a *fault.Error.
func Draw(c *catalog.Catalog) (*drawing.Drawing, error) {
	d, err := drawing.Of(c)
	if err != nil {
		return nil, &fault.Error{Kind: Kind, Msg: err.Error(), Err: err}
	}
	return d, nil
}
