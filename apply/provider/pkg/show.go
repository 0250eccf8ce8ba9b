package pkg

import (
	"context"
	"fmt"
	"strings"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// Show implements resource.Shower. Without a name, it shows the installed packages of the system's manager.
func (t packages) Show(ctx context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	names := []string{name}
	if name == "" {
		if names, err = installed(ctx, h); err != nil {
			return nil, err
		}
	}
	var items []*item
	for _, n := range unique(names) {
		it, err := t.New(&resource.Resource{Ref: catalog.Ref{Type: "Package", Title: n}, Params: &ordered.Map{}})
		if err != nil {
			return nil, err
		}
		items = append(items, it.(*item))
	}
	for i, err := range readAll(ctx, h, items) {
		it := items[i]
		if err != nil && name != "" { // in a list, a damaged package is one of many
			return nil, err
		}
		if name == "" && !it.is.installed() {
			continue
		}
		params := ordered.Of("ensure", it.shown())
		if it.is.held {
			params.Set("mark", "hold")
		}
		params.Set("provider", it.m.name)
		list = append(list, &resource.Resource{Ref: it.r.Ref, Params: params})
	}
	return list, nil
}

// listings are the commands that print the names of all packages, by the program of the database.
var listings = map[string][]string{
	"dpkg-query": {"-W", "-f", `${Package}\n`},
	"rpm":        {"-qa", "--nosignature", "--nodigest", "--qf", `%{NAME}\n`},
	"apk":        {"info"},
	"pacman":     {"-Qq"},
}

// installed are the names of all packages of the system.
func installed(ctx context.Context, h *resource.Host) ([]string, error) {
	m, err := platform(h)
	if err != nil {
		return nil, err
	}
	program := m.name
	switch m.name {
	case "apt", "dpkg":
		program = "dpkg-query"
	case "dnf", "yum", "zypper", "rpm":
		program = "rpm"
	}
	args := listings[program]
	if args == nil {
		return nil, fmt.Errorf("the packages of %s cannot be listed", m.name)
	}
	c, err := newCall(h, m, "")
	if err != nil {
		return nil, err
	}
	out, err := c.ask(ctx, append([]string{program}, args...)...)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out.Stdout)), nil
}
