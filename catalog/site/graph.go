package site

import (
	"bolt/catalog/yamlgraph"
	"bolt/puppet/syntax"
)

// source reads a manifest, or a graph in YAML.
func source(src Source) (*syntax.Program, error) {
	if yamlgraph.Is(src.Name) {
		return yamlgraph.Parse(src.Name, src.Text)
	}
	return syntax.Parse(syntax.NewFile(src.Name, src.Text), syntax.Options{})
}
