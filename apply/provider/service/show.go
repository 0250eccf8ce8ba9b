package service

import (
	"context"
	"os"
	"strings"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// Show implements resource.Shower. A service that does not exist is stopped, as in Puppet.
func (t serviceType) Show(ctx context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	m, err := find(h, "")
	if err != nil {
		return nil, err
	}
	enable := "true"
	names := []string{name}
	_, units := m.(systemd)
	switch {
	case units && name == "":
		enable = "mask"
		if names, err = unitFiles(ctx, h); err != nil {
			return nil, err
		}
	case units: // a masked service is shown as one
		enable = "mask"
	case name == "":
		names = scripts(h)
	}
	var items []resource.Item
	for _, n := range names {
		r := &resource.Resource{Ref: catalog.Ref{Type: "Service", Title: n}, Params: ordered.Of("ensure", "running", "enable", enable)}
		it, err := t.New(r)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	for i, err := range t.ReadAll(ctx, h, items) {
		if err != nil {
			return nil, err
		}
		x := items[i].(*item)
		params := ordered.Of("ensure", "stopped")
		if x.state.running {
			params.Set("ensure", "running")
		}
		if _, managed := x.enables(); managed {
			params.Set("enable", x.state.enabled)
		}
		list = append(list, &resource.Resource{Ref: x.r.Ref, Params: params})
	}
	return list, nil
}

// unitFiles are the services that systemd knows, without templates.
func unitFiles(ctx context.Context, h *resource.Host) (names []string, err error) {
	out, err := query(ctx, h, "systemctl", "list-unit-files", "--type=service", "--full", "--all", "--no-pager", "--no-legend")
	if err == nil {
		err = out.Failure("systemctl")
	}
	if err != nil {
		return nil, err
	}
	for l := range strings.Lines(string(out.Stdout)) {
		if f := strings.Fields(l); len(f) > 1 && strings.HasSuffix(f[0], ".service") && !strings.Contains(f[0], "@.") {
			names = append(names, f[0])
		}
	}
	return names, nil
}

// notServices are files in the directory of init scripts that start no service.
var notServices = map[string]bool{"README": true, "functions": true, "functions.sh": true, "rc": true, "rcS": true, "skeleton": true, "halt": true, "reboot": true, "single": true, "killall": true, "sendsigs": true, "umountfs": true, "umountroot": true, "umountnfs.sh": true}

// scripts are the services that have an init script.
func scripts(h *resource.Host) (names []string) {
	files, _ := os.ReadDir(h.Path("/etc/init.d")) // without it there are none
	for _, f := range files {
		if info, err := os.Stat(h.Path("/etc/init.d/" + f.Name())); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !notServices[f.Name()] && !strings.HasPrefix(f.Name(), ".") {
			names = append(names, f.Name())
		}
	}
	return names
}
