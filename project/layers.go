package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/format/yaml"
)

// Names of the layers that are not files.
const (
	builtinLayer = "default"
	flagLayer    = "command line"
)

// layer is one source of settings, with its name in messages.
type layer struct {
	name string
	data *ordered.Map
}

// readLayers returns all layers. Later layers override earlier ones.
func readLayers(ctx context.Context, t *tables, p *Project, s Sources, flags *ordered.Map, warn Warn) ([]layer, error) {
	layers := []layer{{builtinLayer, builtinSettings(p, s)}}
	for _, dir := range s.defaultsDirs() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		file := filepath.Join(dir, DefaultsFileName)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // HOME may be /dev/null
			continue
		}
		data, err := t.readDefaults(ctx, file, warn)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer{file, data})
	}
	layers = append(layers, layer{p.File(), p.settings})

	top, err := t.flagSettings(flags, s)
	if err != nil {
		return nil, err
	}
	if err := enforceAudit(s, layers, warn); err != nil {
		return nil, err
	}
	return append(layers, layer{flagLayer, top}), nil
}

// defaultsDirs returns the directories of bolt-defaults.yaml files: the
// administrator's, then the user's.
func (s Sources) defaultsDirs() []string {
	var dirs []string
	if s.SystemDir != "" {
		dirs = append(dirs, s.SystemDir)
	}
	if s.Home != "" {
		dirs = append(dirs, filepath.Join(s.Home, ".puppetlabs", "etc", "bolt"))
	}
	return dirs
}

// systemDefaults returns the path of the administrator's file.
func (s Sources) systemDefaults() string { return filepath.Join(s.SystemDir, DefaultsFileName) }

// DefaultConcurrency is the default number of concurrent targets, unless the limit of
// open files is low.
const DefaultConcurrency = 100

const (
	fewFiles       = 300 // if OpenFiles is smaller, the default concurrency is lower
	filesPerTarget = 7
)

func (s Sources) concurrency() int {
	if s.OpenFiles == 0 || s.OpenFiles >= fewFiles {
		return DefaultConcurrency
	}
	return max(1, int(s.OpenFiles)/filesPerTarget)
}

func builtinSettings(p *Project, s Sources) *ordered.Map {
	logs := ordered.Of("console", &ordered.Map{})
	if isDir(p.Dir) {
		logs.Set(debugLog, ordered.Of("level", "debug", "append", false))
	}
	return ordered.Of(
		"analytics", false,
		applyKey, &ordered.Map{},
		"color", true,
		"compile-concurrency", int64(runtime.NumCPU()),
		"concurrency", int64(s.concurrency()),
		"disable-warnings", []any{},
		"format", "human",
		"log", logs,
		"module-install", &ordered.Map{},
		"plugin-hooks", &ordered.Map{},
		"plugins", &ordered.Map{},
		poolKey, string(PoolAuto),
		"puppetdb", &ordered.Map{},
		"puppetdb-instances", &ordered.Map{},
		"save-rerun", true,
		"spinner", true,
		"stream", false,
		"transport", "ssh",
	)
}

// readDefaults reads a bolt-defaults.yaml. It moves the keys of inventory-config to
// the top level.
func (t *tables) readDefaults(ctx context.Context, file string, warn Warn) (*ordered.Map, error) {
	data, err := yaml.ReadMap(ctx, file, "config")
	if err != nil {
		return nil, err
	}
	if err := t.check(data, t.pick(defaultsKeys), file, warn); err != nil {
		return nil, err
	}
	settings := &ordered.Map{}
	var ofProject, ofInventory []string
	for k, v := range data.All() {
		switch {
		case t.isInventoryKey(k):
			ofInventory = append(ofInventory, k)
		case slices.Contains(defaultsKeys, k):
			settings.Set(k, v)
		case slices.Contains(projectKeys, k):
			ofProject = append(ofProject, k)
		}
	}
	if ofProject != nil {
		warn("unsupported_project_config", fmt.Sprintf("%s does not configure single projects, so these keys have no effect: %s. "+
			"Put them into %s.", file, strings.Join(ofProject, ", "), FileName))
	}
	if ofInventory != nil {
		warn("unsupported_inventory_config", fmt.Sprintf("Keys at the top of %s do not configure transports, so these have no effect: %s. "+
			"Put them under 'inventory-config', or into inventory.yaml.", file, strings.Join(ofInventory, ", ")))
	}
	nested, _ := settings.Value("inventory-config").(*ordered.Map)
	settings.Delete("inventory-config")
	for k, v := range nested.All() {
		if t.isInventoryKey(k) {
			settings.Set(k, v)
		}
	}
	if _, ok := settings.Value("transport").(*ordered.Map); ok {
		return nil, schema.ValidationError(file, []string{
			"Value at 'inventory-config.transport' is a plugin reference, which is unsupported at this location"})
	}
	return settings, nil
}

// flagSettings converts the command line's values to the form of a file. A transport
// option is set for each transport that has it.
func (t *tables) flagSettings(flags *ordered.Map, s Sources) (*ordered.Map, error) {
	top, checked := &ordered.Map{}, &ordered.Map{}
	for k, v := range flags.All() {
		v = t.flagPath(k, v, s)
		if slices.Contains(flagKeys, k) {
			checked.Set(k, v)
		}
		if _, ok := t.settings[k]; ok || k == "inventoryfile" {
			top.Set(k, v)
		}
		for _, name := range t.transports {
			if _, ok := t.inventory.Properties[name].Properties[k]; ok {
				m, _ := top.Value(name).(*ordered.Map)
				if m == nil {
					m = &ordered.Map{}
					top.Set(name, m)
				}
				m.Set(k, v)
			}
		}
	}
	if err := t.check(checked, t.pick(flagKeys), flagLayer, nil); err != nil {
		return nil, err
	}
	for _, name := range t.transports {
		if m, ok := top.Get(name); ok {
			if err := schema.Validate(m, t.inventory.Properties[name], flagLayer, nil); err != nil {
				return nil, err
			}
		}
	}
	return top, nil
}

// flagPath returns an absolute path if the value is a path. Paths of the command line
// are relative to the working directory, and paths in files to the project.
func (t *tables) flagPath(key string, v any, s Sources) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	switch {
	case slices.Contains(t.paths, key):
		return s.expand(text, s.Cwd)
	case key == "modulepath":
		dirs := []any{}
		for _, dir := range filepath.SplitList(text) {
			dirs = append(dirs, s.expand(dir, s.Cwd))
		}
		return dirs
	}
	return v
}

// check is schema.Validate, except that it accepts Sources.OwnFormats. The schema does
// not have them, because messages about invalid values list the schema's values, and
// must list Puppet Bolt's formats only.
func (t *tables) check(data *ordered.Map, s *schema.Schema, where string, warn Warn) error {
	if f, is := data.Value("format").(string); is && slices.Contains(t.ownFormats, f) {
		data = data.Clone()
		data.Delete("format")
	}
	return schema.Validate(data, s, where, warn)
}

// merge merges the layers. sources holds the name of the last layer that has each key.
func (t *tables) merge(layers []layer) (settings *ordered.Map, sources map[string]string, err error) {
	settings, sources = &ordered.Map{}, make(map[string]string)
	for _, l := range layers {
		for k, v := range l.data.All() {
			old, known := settings.Get(k)
			if known {
				v = t.mergeSetting(k, old, v)
			}
			settings.Set(k, v)
			sources[k] = l.name
		}
	}
	if plugins, _ := settings.Value("plugins").(*ordered.Map); plugins != nil {
		if _, ok := plugins.Get("puppetdb"); ok {
			return nil, nil, fault.New("bolt/plugin-error",
				"%s configures the PuppetDB plugin under 'plugins'. Put that under 'puppetdb'.", sources["plugins"])
		}
	}
	return settings, sources, nil
}

// mergeSetting follows Puppet Bolt's rules for each key (lib/bolt/config.rb,
// merge_config_layers). Neither value is changed.
func (t *tables) mergeSetting(key string, low, high any) any {
	switch key {
	case "plugins":
		return overlay(low, high, func(a, b any) any { return overlay(a, b, nil) })
	case applyKey, auditKey, factCacheKey, "log", "plugin-hooks", "puppetdb", "puppetdb-instances", "puppetserver":
		return overlay(low, high, nil)
	case poolKey:
		return mergePool(low, high)
	case "disable-warnings":
		a, _ := low.([]any)
		b, _ := high.([]any)
		return slices.Concat(a, b)
	case "analytics":
		return low == true && high == true
	}
	if a, ok := low.(*ordered.Map); ok && t.isInventoryKey(key) {
		if b, ok := high.(*ordered.Map); ok {
			return a.Merge(b)
		}
	}
	return high
}

// overlay merges two maps. If both maps have a key, the value is the result of both,
// or the value of high if both is nil.
func overlay(low, high any, both func(a, b any) any) any {
	a, ok1 := low.(*ordered.Map)
	b, ok2 := high.(*ordered.Map)
	if !ok1 || !ok2 {
		return high
	}
	m := a.Clone()
	for k, v := range b.All() {
		if old, ok := m.Get(k); ok && both != nil {
			v = both(old, v)
		}
		m.Set(k, v)
	}
	return m
}
