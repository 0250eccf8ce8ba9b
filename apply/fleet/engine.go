package fleet

import (
	"context"
	"os"
	"slices"

	"bolt/apply/plugins"
	"bolt/inventory"
	"bolt/modules"
)

// The programs that apply a catalog on a target: bolt's helper, or the Puppet that is installed there.
const (
	EngineBolt   = "bolt"
	EnginePuppet = "puppet"
)

// FeaturePuppet is the feature in the inventory of targets on which the installed Puppet applies catalogs.
const FeaturePuppet = "puppet-engine"

// A Puppet is the work of an installed Puppet. Plugins is the Ruby code of modules (package plugins); nil for none.
type Puppet struct{ Plugins []byte }

// EngineOf returns the program that applies catalogs on a target, by its features in the inventory.
func EngineOf(ctx context.Context, t *inventory.Target) (string, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return "", err
	}
	if slices.Contains(data.Features, FeaturePuppet) {
		return EnginePuppet, nil
	}
	return EngineBolt, nil
}

// PackPlugins packs the Ruby code of modules; nil if none of them has code.
func PackPlugins(path *modules.Path) ([]byte, error) {
	var list []plugins.Module
	for _, m := range path.All() {
		if !m.BuiltIn() {
			list = append(list, plugins.Module{Name: m.Name, Lib: os.DirFS(m.Path("lib"))})
		}
	}
	return plugins.Pack(list)
}
