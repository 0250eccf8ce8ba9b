package service

import (
	"context"
	"fmt"
	"strings"

	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// openrc is the manager of Alpine and Gentoo.
type openrc struct{}

func (openrc) running(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasstatus {
		return base{}.running(ctx, h, x)
	}
	return succeeds(ctx, h, program("/sbin/rc-service", x.name, "status"))
}

func (openrc) start(ctx context.Context, h *resource.Host, x *item) error {
	return must(ctx, h, program("/sbin/rc-service", x.name, "start"))
}

func (openrc) stop(ctx context.Context, h *resource.Host, x *item) error {
	return must(ctx, h, program("/sbin/rc-service", x.name, "stop"))
}

func (openrc) restart(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasrestart {
		return false, nil
	}
	return true, must(ctx, h, program("/sbin/rc-service", x.name, "restart"))
}

func (openrc) enabled(ctx context.Context, h *resource.Host, x *item) error {
	out, err := run(ctx, h, program("/bin/rc-status", "-C", "-a"))
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("/bin/rc-status -C -a exited with code %d: %s", out.Code, safetext.Message(strings.TrimSpace(string(out.Stdout))))
	}
	x.state.enabled = inRunlevel(string(out.Stdout), x.name)
	return nil
}

// inRunlevel is true if a service is listed under a runlevel. The dynamic runlevels have services that were started
// by hand or are needed by others.
func inRunlevel(listing, name string) string {
	runlevel := false
	for l := range strings.Lines(listing) {
		l = strings.TrimRight(l, "\n")
		if l != strings.TrimLeft(l, " \t") {
			service, _, found := strings.Cut(strings.TrimSpace(l), "[")
			if found && runlevel && strings.TrimSpace(service) == name {
				return "true"
			}
			continue
		}
		runlevel = strings.HasPrefix(l, "Runlevel: ")
	}
	return "false"
}

func (openrc) enable(ctx context.Context, h *resource.Host, x *item) error {
	verb := "add"
	if x.enable == "false" {
		verb = "del"
	}
	return must(ctx, h, program("/sbin/rc-update", "-C", verb, x.name))
}
