package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// A Listing is a hook with the plugins that have it, by name.
type Listing struct {
	Hook    Hook
	Plugins []Entry
}

// An Entry is a plugin in a Listing.
type Entry struct{ Name, Description string }

// List returns all hooks with the plugins that have them: built-in plugins,
// modules and programs. A broken plugin of a module or program is left out,
// with a warning.
func (p *Plugins) List(ctx context.Context) ([]Listing, error) {
	names := p.builtIn()
	if p.opts.Modules != nil {
		for _, m := range p.opts.Modules.All() {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			if _, err := m.Stat(dataFile); err == nil {
				names = append(names, m.Name)
			} else if !errors.Is(err, fs.ErrNotExist) {
				p.opts.Warn("plugin_load_error", fmt.Sprintf("The plugin %s is not listed: %v", m.Name, err))
			}
		}
	}
	if p.opts.Programs != nil {
		names = append(names, p.opts.Programs.Names()...)
	}
	slices.Sort(names)
	var list []Listing
	for _, h := range Hooks() {
		list = append(list, Listing{Hook: h, Plugins: []Entry{}})
	}
	for _, name := range slices.Compact(names) {
		pl, err := p.find(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			p.opts.Warn("plugin_load_error", fmt.Sprintf("The plugin %s is not listed: %v", name, err))
			continue
		}
		for i := range list {
			h, ok := pl.hooks[list[i].Hook]
			if !ok {
				continue
			}
			about, err := p.describe(ctx, h)
			if err != nil && h.describe != nil && ctx.Err() == nil {
				p.opts.Warn("plugin_load_error", fmt.Sprintf("The plugin %s is not listed: %v", name, err))
				continue
			}
			if err != nil {
				return nil, err
			}
			list[i].Plugins = append(list[i].Plugins, Entry{Name: name, Description: about})
		}
	}
	for _, l := range list {
		slices.SortFunc(l.Plugins, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	}
	return list, nil
}

func (p *Plugins) describe(ctx context.Context, h hook) (string, error) {
	if h.describe != nil {
		return h.describe(ctx)
	}
	d, ok := p.opts.Tasks.(Describer)
	if h.task == "" || !ok {
		return h.about, nil
	}
	return d.Description(ctx, h.task)
}
