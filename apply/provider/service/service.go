// Package service applies resources of the type service: programs that run in the background.
//
// A manager starts the services of a host: systemd, OpenRC, the init scripts of Debian, Red Hat and others,
// or only the commands of the resource (Puppet's provider base). One call of systemctl show and one of
// systemctl is-enabled read the states of all services of systemd that can be applied next.
package service

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Type returns the type service.
func Type() resource.Type { return serviceType{} }

type serviceType struct{}

// An item is one service.
type item struct {
	r    *resource.Resource
	name string
	// ensure is running, stopped, or "" if it is not managed. enable is true, false, mask or "".
	ensure, enable string
	provider       string // "" for the one of the host
	commands       map[string]command
	binary         string
	pattern        *regexp.Regexp
	noPattern      error // why there is no pattern
	hasstatus      bool
	hasrestart     bool
	path           []string // of init scripts; nil for that of the host

	m     manager
	state state
}

// A state is the result of Read.
type state struct {
	running bool
	// enabled is true, false or mask. settled is set if the manager cannot change it, and it counts as wanted.
	enabled string
	settled bool
}

// A manager starts and stops services. The methods for which a resource has a command are
// called only if the command is not given.
type manager interface {
	// running reports whether a service runs.
	running(ctx context.Context, h *resource.Host, x *item) (bool, error)
	start(ctx context.Context, h *resource.Host, x *item) error
	stop(ctx context.Context, h *resource.Host, x *item) error
	// restart reports whether the manager can restart. If it cannot, the service is stopped and started.
	restart(ctx context.Context, h *resource.Host, x *item) (can bool, err error)
}

// An enabler is a manager that knows which services start at boot.
type enabler interface {
	// enabled fills in state.enabled and state.settled.
	enabled(ctx context.Context, h *resource.Host, x *item) error
	// enable makes it so that x.enable is the state.
	enable(ctx context.Context, h *resource.Host, x *item) error
}

// Read finds the state of one service.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return serviceType{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll finds the states of services. Those of systemd are read together.
func (serviceType) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	errs := make([]error, len(items))
	var units []*item
	var places []int
	for i, it := range items {
		x := it.(*item)
		if errs[i] = x.choose(h); errs[i] != nil {
			continue
		}
		if _, is := x.m.(systemd); is {
			units, places = append(units, x), append(places, i)
			continue
		}
		errs[i] = x.read(ctx, h)
	}
	for i, err := range readUnits(ctx, h, units) {
		errs[places[i]] = err
	}
	return errs
}

// choose finds the manager of the service.
func (x *item) choose(h *resource.Host) (err error) {
	if x.m, err = find(h, x.provider); err != nil {
		return err
	}
	_, can := x.m.(enabler)
	_, masks := x.m.(systemd)
	switch {
	case x.enable == "mask" && !masks:
		return fmt.Errorf("only systemd can mask services")
	case x.enable != "" && !can:
		h.Logf(x.r.Ref, report.Info, "the parameter enable is ignored, because this host has nothing that starts services at boot")
	}
	return nil
}

// enables returns the enabler if enable is managed.
func (x *item) enables() (e enabler, managed bool) {
	e, can := x.m.(enabler)
	return e, can && x.enable != ""
}

func (x *item) read(ctx context.Context, h *resource.Host) error {
	x.state = state{}
	if x.ensure != "" {
		if err := x.readRunning(ctx, h); err != nil {
			return err
		}
	}
	if e, managed := x.enables(); managed {
		return e.enabled(ctx, h, x)
	}
	return nil
}

// readRunning asks the command for the status, or the manager.
func (x *item) readRunning(ctx context.Context, h *resource.Host) (err error) {
	if c, given := x.commands["status"]; given {
		out, err := run(ctx, h, c)
		x.state.running = err == nil && out.Code == 0
		return err
	}
	x.state.running, err = x.m.running(ctx, h, x)
	return err
}

// Plan compares the states. If ensure differs, Do changes enable together with it, as in Puppet.
func (x *item) Plan() ([]resource.Change, error) {
	is := "stopped"
	if x.state.running {
		is = "running"
	}
	if x.ensure != "" && x.ensure != is {
		c := resource.Change{Property: "ensure", Name: "service_stopped", Is: is, Should: x.ensure}
		if x.ensure == "running" {
			c.Name, c.NoRefresh = "service_started", true
		}
		return []resource.Change{c}, nil
	}
	if !x.enableDiffers() {
		return nil, nil
	}
	c := resource.Change{Property: "enable", Name: "service_disabled", Is: x.state.enabled, Should: x.enable}
	if x.enable == "true" {
		c.Name = "service_enabled"
	}
	return []resource.Change{c}, nil
}

func (x *item) enableDiffers() bool {
	_, managed := x.enables()
	return managed && !x.state.settled && x.state.enabled != x.enable
}

// Do makes a change.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	e, managed := x.enables()
	if c.Property == "enable" {
		return e.enable(ctx, h, x)
	}
	do := x.start
	if x.ensure == "stopped" {
		do = x.stop
	}
	if err := do(ctx, h); err != nil {
		return err
	}
	if !managed {
		return nil
	}
	if err := e.enabled(ctx, h, x); err != nil { // starting a service can unmask it
		return err
	}
	if x.enableDiffers() {
		return e.enable(ctx, h, x)
	}
	return nil
}

// Refresh restarts the service if it runs.
func (x *item) Refresh(ctx context.Context, h *resource.Host, _ []resource.Change) error {
	if err := x.readRunning(ctx, h); err != nil {
		return err
	}
	if !x.state.running {
		h.Logf(x.r.Ref, report.Debug, "the service does not run, so it is not restarted")
		return nil
	}
	if c, given := x.commands["restart"]; given {
		return must(ctx, h, c)
	}
	if can, err := x.m.restart(ctx, h, x); can {
		return err
	}
	if err := x.stop(ctx, h); err != nil {
		return err
	}
	return x.start(ctx, h)
}

func (x *item) start(ctx context.Context, h *resource.Host) error {
	if c, given := x.commands["start"]; given {
		return must(ctx, h, c)
	}
	return x.m.start(ctx, h, x)
}

func (x *item) stop(ctx context.Context, h *resource.Host) error {
	if c, given := x.commands["stop"]; given {
		return must(ctx, h, c)
	}
	return x.m.stop(ctx, h, x)
}

// Watch implements resource.Watcher. systemd makes a link in the directory of units for each unit that starts, and removes it when the
// unit stops, also after a crash. It enables units by links, too. That needs no connection to the message bus, and no process that
// waits. The links are not an interface that systemd promises, so the state is also read from time to time, with one call for all services.
func (x *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	unit := x.name
	if !strings.Contains(unit, ".") {
		unit += ".service"
	}
	list := []resource.Watch{{Poll: true}}
	if x.ensure != "" {
		list = append(list, resource.Watch{Path: h.Path("/run/systemd/units/invocation:" + unit)})
	}
	if x.enable != "" {
		list = append(list, resource.Watch{Path: h.Path("/etc/systemd/system"), Tree: true})
	}
	return list
}
