package service

import (
	"context"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// systemd is the manager of most systems.
type systemd struct{}

// A unit has the properties of a service that systemctl show prints.
type unit struct{ id, load, active, file string }

// readUnits finds the states of many services. The results are in the order of the services.
func readUnits(ctx context.Context, h *resource.Host, items []*item) []error {
	errs := make([]error, len(items))
	if len(items) == 0 {
		return errs
	}
	units := show(ctx, h, items)
	enabled := areEnabled(ctx, h, items, units)
	for i, x := range items {
		u := units[x.name]
		x.state = state{}
		switch _, own := x.commands["status"]; {
		case x.ensure == "":
		case own || u.active == "":
			errs[i] = x.readRunning(ctx, h)
		default:
			x.state.running = u.active == "active" || u.active == "reloading" || u.active == "refreshing"
		}
		if _, managed := x.enables(); !managed || errs[i] != nil {
			continue
		}
		if word := enabled[x.name]; word != "" {
			x.judge(h, word)
		} else {
			errs[i] = systemd{}.enabled(ctx, h, x)
		}
	}
	return errs
}

// show queries services with one command. The result is nil if the answer is not one for each: in a chroot, systemctl
// has none.
func show(ctx context.Context, h *resource.Host, items []*item) map[string]unit {
	argv := []string{"systemctl", "show", "--no-pager", "--property=Id,LoadState,ActiveState,UnitFileState", "--"}
	var names []string
	for _, x := range items {
		if !strings.ContainsAny(x.name, "*?[") { // systemctl takes these for patterns
			names = append(names, x.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	out, err := query(ctx, h, append(argv, names...)...)
	if err != nil || out.Code != 0 {
		return nil
	}
	blocks := strings.Split(strings.TrimSpace(string(out.Stdout)), "\n\n")
	if len(blocks) != len(names) {
		return nil
	}
	units := make(map[string]unit)
	for i, name := range names {
		var u unit
		for l := range strings.Lines(blocks[i]) {
			key, value, _ := strings.Cut(strings.TrimSpace(l), "=")
			switch key {
			case "Id":
				u.id = value
			case "LoadState":
				u.load = value
			case "ActiveState":
				u.active = value
			case "UnitFileState":
				u.file = value
			}
		}
		units[name] = u
	}
	return units
}

// query runs a program whose output is read.
func query(ctx context.Context, h *resource.Host, argv ...string) (*resource.Output, error) {
	return h.Run(ctx, &resource.Command{Argv: argv, Env: append(env(h), "LC_ALL=C"), Timeout: resource.QueryLimit})
}

// areEnabled queries how services are enabled with one command. UnitFileState is not sufficient: it is the state at
// the last reload. If an answer cannot be assigned to a service, the service is not in the result: systemctl prints
// nothing for unknown services, and the answers for init scripts before all others.
func areEnabled(ctx context.Context, h *resource.Host, items []*item, units map[string]unit) map[string]string {
	var names []string
	for _, x := range items {
		u := units[x.name]
		_, managed := x.enables()
		own := u.id == x.name || u.id == x.name+".service" // and not an alias
		if managed && own && (u.load == "loaded" || u.load == "masked") && u.file != "" && u.file != "generated" {
			names = append(names, x.name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	out, err := query(ctx, h, append([]string{"systemctl", "is-enabled", "--"}, names...)...)
	if err != nil {
		return nil
	}
	words := strings.Fields(string(out.Stdout))
	if len(words) != len(names) {
		return nil
	}
	enabled := make(map[string]string)
	for i, name := range names {
		enabled[name] = words[i]
	}
	return enabled
}

// judge fills in the state from a word of systemctl is-enabled, as Puppet does.
func (x *item) judge(h *resource.Host, word string) {
	s := &x.state
	s.enabled, s.settled = "false", false
	switch word {
	case "enabled", "enabled-runtime", "alias", "generated":
		s.enabled = "true"
	case "static":
		// A static service has no [Install] section: it can only be masked.
		s.enabled, s.settled = "true", x.enable != "mask"
	case "indirect":
		s.settled = true
	case "masked":
		if x.enable == "mask" {
			s.enabled = "mask"
		}
	}
	if s.settled && s.enabled != x.enable {
		h.Logf(x.r.Ref, report.Debug, "the service is %s, so it cannot be enabled or disabled", word)
	}
}

func (systemd) enabled(ctx context.Context, h *resource.Host, x *item) error {
	out, err := query(ctx, h, "systemctl", "is-enabled", "--", x.name)
	if err != nil {
		return err
	}
	word := strings.TrimSpace(string(out.Stdout))
	if word == "" && out.Code != 0 && linked(h, x.name) == "true" { // an init script
		word = "enabled"
	}
	x.judge(h, word)
	return nil
}

func (systemd) running(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	out, err := query(ctx, h, "systemctl", "is-active", "--", x.name)
	return err == nil && out.Code == 0, err
}

func systemctl(ctx context.Context, h *resource.Host, verb string, x *item) error {
	return must(ctx, h, program("systemctl", verb, "--", x.name))
}

// reload makes systemd read the files of a unit if they have changed. It also finds out whether the unit is
// masked. Files and masks can be made in the same run, after Read.
func reload(ctx context.Context, h *resource.Host, x *item) (masked bool, err error) {
	need := func() (string, string, error) {
		out, err := query(ctx, h, "systemctl", "show", "--no-pager", "--property=NeedDaemonReload,LoadState", "--", x.name)
		if err != nil {
			return "", "", err
		}
		values := make(map[string]string)
		for l := range strings.Lines(string(out.Stdout)) {
			key, value, _ := strings.Cut(strings.TrimSpace(l), "=")
			values[key] = value
		}
		return values["NeedDaemonReload"], values["LoadState"], nil
	}
	old, load, err := need()
	if err != nil {
		return false, err
	}
	if old == "yes" {
		if err := must(ctx, h, program("systemctl", "daemon-reload")); err != nil {
			return false, err
		}
		if _, load, err = need(); err != nil {
			return false, err
		}
	}
	return load == "masked" || load == "", nil
}

func (systemd) start(ctx context.Context, h *resource.Host, x *item) error {
	masked, err := reload(ctx, h, x)
	if err != nil {
		return err
	}
	if masked {
		if err := systemctl(ctx, h, "unmask", x); err != nil {
			return err
		}
	}
	return explain(ctx, h, x, systemctl(ctx, h, "start", x))
}

func (systemd) stop(ctx context.Context, h *resource.Host, x *item) error {
	return explain(ctx, h, x, systemctl(ctx, h, "stop", x))
}

func (systemd) restart(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if _, err := reload(ctx, h, x); err != nil {
		return true, err
	}
	return true, explain(ctx, h, x, systemctl(ctx, h, "restart", x))
}

// explain logs the lines of the journal about a failure.
func explain(ctx context.Context, h *resource.Host, x *item, err error) error {
	if err == nil {
		return nil
	}
	out, failed := query(ctx, h, "journalctl", "--no-pager", "--quiet", "-n", "50", "--since", "5 minutes ago", "-u", x.name)
	if failed == nil && out.Code == 0 {
		for l := range strings.Lines(string(out.Stdout)) {
			h.Logf(x.r.Ref, report.Err, "%s", strings.TrimRight(l, "\n"))
		}
	}
	return err
}

func (systemd) enable(ctx context.Context, h *resource.Host, x *item) error {
	switch x.enable {
	case "false":
		return systemctl(ctx, h, "disable", x)
	case "true":
		if err := systemctl(ctx, h, "unmask", x); err != nil {
			return err
		}
		return systemctl(ctx, h, "enable", x)
	}
	// A mask hides the unit, so its links are removed first.
	out, err := query(ctx, h, "systemctl", "cat", "--", x.name)
	if err != nil {
		return err
	}
	if out.Code == 0 {
		if err := systemctl(ctx, h, "disable", x); err != nil {
			return err
		}
	}
	return systemctl(ctx, h, "mask", x)
}
