package service

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"bolt/apply/resource"
)

// initd runs init scripts. It does not know which of them run at boot.
type initd struct{}

// script finds the init script of a service.
func (x *item) script(h *resource.Host) (string, error) {
	dirs := x.path
	if dirs == nil {
		dirs = []string{h.Path("/etc/init.d")}
	}
	for _, suffix := range []string{"", ".sh"} {
		for _, dir := range dirs {
			file := path.Join(dir, x.name+suffix)
			if _, err := os.Stat(file); err == nil {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("init script %s does not exist in %v", x.name, dirs)
}

func (initd) do(ctx context.Context, h *resource.Host, x *item, verb string) error {
	script, err := x.script(h)
	if err != nil {
		return err
	}
	return must(ctx, h, program(script, verb))
}

func (initd) running(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasstatus {
		return base{}.running(ctx, h, x)
	}
	script, err := x.script(h)
	if err != nil {
		return false, err
	}
	return succeeds(ctx, h, program(script, "status"))
}

func succeeds(ctx context.Context, h *resource.Host, c command) (bool, error) {
	out, err := run(ctx, h, c)
	return err == nil && out.Code == 0, err
}

func (d initd) start(ctx context.Context, h *resource.Host, x *item) error {
	return d.do(ctx, h, x, "start")
}

func (d initd) stop(ctx context.Context, h *resource.Host, x *item) error {
	return d.do(ctx, h, x, "stop")
}

func (d initd) restart(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasrestart {
		return false, nil
	}
	return true, d.do(ctx, h, x, "restart")
}

// debian is initd with the programs of Debian.
type debian struct{ initd }

func (debian) running(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasstatus {
		return base{}.running(ctx, h, x)
	}
	return succeeds(ctx, h, program("/usr/sbin/service", x.name, "status"))
}

// enabled looks for links that start the service.
//
// Differs from Puppet: Puppet asks invoke-rc.d, whose answer depends on the present runlevel, and which knows
// none in a container.
func (debian) enabled(_ context.Context, h *resource.Host, x *item) error {
	x.state.enabled = linked(h, x.name)
	return nil
}

// linked is true if init scripts start a service in one of the usual runlevels.
func linked(h *resource.Host, name string) string {
	links, _ := filepath.Glob(h.Path("/etc/rc[2345].d") + "/S[0-9][0-9]*")
	for _, l := range links {
		if filepath.Base(l)[len("S00"):] == name {
			return "true"
		}
	}
	return "false"
}

func (debian) enable(ctx context.Context, h *resource.Host, x *item) error {
	if x.enable == "false" {
		return must(ctx, h, program("/usr/sbin/update-rc.d", x.name, "disable"))
	}
	// A script that was disabled has links already, which defaults would leave as they are.
	if err := must(ctx, h, program("/usr/sbin/update-rc.d", "-f", x.name, "remove")); err != nil {
		return err
	}
	return must(ctx, h, program("/usr/sbin/update-rc.d", x.name, "defaults"))
}

// redhat is for releases of Red Hat before systemd.
type redhat struct{}

func (redhat) running(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasstatus {
		return base{}.running(ctx, h, x)
	}
	return succeeds(ctx, h, program("/sbin/service", x.name, "status"))
}

func (redhat) start(ctx context.Context, h *resource.Host, x *item) error {
	return must(ctx, h, program("/sbin/service", x.name, "start"))
}

func (redhat) stop(ctx context.Context, h *resource.Host, x *item) error {
	return must(ctx, h, program("/sbin/service", x.name, "stop"))
}

func (redhat) restart(ctx context.Context, h *resource.Host, x *item) (bool, error) {
	if !x.hasrestart {
		return false, nil
	}
	return true, must(ctx, h, program("/sbin/service", x.name, "restart"))
}

func (redhat) enabled(ctx context.Context, h *resource.Host, x *item) error {
	on, err := succeeds(ctx, h, program("/sbin/chkconfig", x.name))
	x.state.enabled = fmt.Sprint(on)
	return err
}

func (redhat) enable(ctx context.Context, h *resource.Host, x *item) error {
	if x.enable == "false" {
		return must(ctx, h, program("/sbin/chkconfig", "--level", "0123456", x.name, "off"))
	}
	if err := must(ctx, h, program("/sbin/chkconfig", "--add", x.name)); err != nil {
		return err
	}
	return must(ctx, h, program("/sbin/chkconfig", x.name, "on"))
}
