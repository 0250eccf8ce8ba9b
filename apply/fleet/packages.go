package fleet

import (
	"context"
	"errors"
	"strings"

	"bolt/apply/remote"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/run"
	"bolt/transport"
)

// packageManagers has the package managers that both the task package and the helper support: the helper's
// providers by the names of the task. apk is left out: its command add does not upgrade a package.
var packageManagers = map[string]string{"": "", "apt": "apt", "aptitude": "apt", "dnf": "dnf", "yum": "yum", "zypper": "zypper", "pacman": "pacman"}

// Package makes the change of the task package through the helper. The helper does not interrupt its
// transaction, waits for the lock of the package database, and first repairs an interrupted transaction. The
// value has the form of the task's value. done is false if the task itself must run: nothing was changed then.
func (d *Delivery) Package(ctx context.Context, site *run.Site, params *ordered.Map) (value *ordered.Map, done bool, err error) {
	text := func(name string) string {
		s, _ := params.Value(name).(string)
		return s
	}
	name, version, action := text("name"), text("version"), text("action")
	manager, known := packageManagers[text("provider")]
	// A file has another name than its package, and options mean different things to the managers.
	if !known || text("manager_options") != "" || action == "status" || strings.HasPrefix(name, "/") {
		return nil, false, nil
	}
	was, err := d.packageState(ctx, site, name)
	if err != nil || was == nil || was.provider != manager && manager != "" || packageManagers[was.provider] != was.provider || action == "upgrade" && was.version == "" {
		return nil, false, unlessUnusable(err)
	}
	ran, err := d.deliverPackage(ctx, site, name, packageWish(action, version, was), was.provider)
	if err != nil {
		return nil, true, err
	}
	for _, r := range ran.Results {
		if msg := r.Failure(); msg != "" {
			return ordered.Of("status", "failure", "_error", ordered.Of("kind", "bash-error", "msg", msg, "details", &ordered.Map{})), true, nil
		}
	}
	if ran.Stopped {
		return nil, true, errors.New("the helper was stopped before it could change the package")
	}
	is, err := d.packageState(ctx, site, name)
	if err == nil && is == nil {
		err = errors.New("the state of the package is not known after the change")
	}
	if err != nil {
		return nil, true, err
	}
	value = packageValue(action, was, is)
	if action == "install" && version != "" {
		foreseen := *d
		foreseen.Noop = true
		ran, err := foreseen.deliverPackage(ctx, site, name, "latest", was.provider)
		if err != nil {
			return nil, true, err
		}
		for _, r := range ran.Results {
			for _, e := range r.Events {
				if e.Outcome == report.NoopOut {
					value.Set("latest", e.Should)
				}
			}
		}
	}
	return value, true, nil
}

// deliverPackage applies a catalog with one package.
func (d *Delivery) deliverPackage(ctx context.Context, site *run.Site, name, ensure, provider string) (*report.Run, error) {
	c := &catalog.Catalog{Name: site.Target.Name}
	if err := c.Add(&catalog.Resource{Kind: catalog.KindType, Ref: catalog.Ref{Type: "Package", Title: name}, Params: ordered.Of("ensure", ensure, "provider", provider)}); err != nil {
		return nil, err
	}
	return d.Deliver(ctx, site, c, func(*report.Result) {})
}

// A packageState is a package on a target.
type packageState struct {
	version  string // the installed version; "" if none is installed
	leftover bool   // its configuration still exists
	provider string
}

// packageState returns nil if the helper does not know the state.
func (d *Delivery) packageState(ctx context.Context, site *run.Site, name string) (*packageState, error) {
	list, err := remote.State(ctx, site.Conn, d.Target(site), "Package", name)
	if _, failed := errors.AsType[*remote.FailedError](err); failed || err == nil && len(list) != 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &packageState{}
	s.provider, _ = list[0].Params.Value("provider").(string)
	switch ensure, _ := list[0].Params.Value("ensure").(string); ensure {
	case "absent", "purged":
		s.leftover = ensure == "absent"
	default:
		s.version = ensure
	}
	return s, nil
}

// packageWish returns the parameter ensure for an action. Like the package managers, install upgrades an
// installed package.
func packageWish(action, version string, was *packageState) string {
	switch {
	case action == "uninstall":
		return "absent"
	case version != "":
		return version
	case action == "upgrade" || was.version != "":
		return "latest"
	}
	return "present"
}

// packageValue returns a value in the form of the task's value.
func packageValue(action string, was, is *packageState) *ordered.Map {
	switch {
	case action == "upgrade":
		return ordered.Of("old_version", was.version, "version", is.version)
	case action == "install":
		return ordered.Of("status", "installed", "version", is.version)
	case is.leftover && is.provider == "apt":
		return ordered.Of("status", "deinstall ok config-files")
	}
	return ordered.Of("status", "uninstalled")
}

// unlessUnusable returns nil for the error of a target on which the helper cannot run.
func unlessUnusable(err error) error {
	if e, is := errors.AsType[*transport.Error](err); is && e.Class == transport.ClassBootstrap {
		return nil
	}
	return err
}
