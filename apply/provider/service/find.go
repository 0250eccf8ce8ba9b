package service

import (
	"fmt"
	"os"
	"path"
	"strings"

	"bolt/apply/resource"
)

// find returns a manager by name, or the manager of the host. It uses the same signs as Puppet.
func find(h *resource.Host, name string) (manager, error) {
	for _, c := range candidates(h) {
		if c.name == name || name == "" && c.unusable == "" {
			if c.unusable != "" {
				return nil, fmt.Errorf("the provider %s cannot be used on this host: %s", name, c.unusable)
			}
			return c.manager, nil
		}
	}
	return nil, fmt.Errorf("bolt does not have the provider %s: give one of %s, or none for that of the host", name, strings.Join(providers, ", "))
}

type candidate struct {
	name     string
	manager  manager
	unusable string // the reason; "" if it can be used
}

// candidates are all managers. The first one that can be used is that of the host.
func candidates(h *resource.Host) []candidate {
	first, _ := os.ReadFile(h.Path("/proc/1/comm"))
	booted := strings.Contains(string(first), "systemd")
	all := []candidate{
		{"systemd", systemd{}, missing(h, "systemctl")},
		{"debian", debian{}, missing(h, "/usr/sbin/update-rc.d", "/usr/sbin/invoke-rc.d", "/usr/sbin/service")},
		{"openrc", openrc{}, missing(h, "/bin/rc-status", "/sbin/rc-service", "/sbin/rc-update")},
		{"redhat", redhat{}, missing(h, "/sbin/chkconfig", "/sbin/service")},
		{"init", initd{}, ""},
		{"base", base{}, ""},
	}
	if !booted {
		all[0].unusable = "process 1 is not systemd"
	} else if all[1].unusable == "" {
		all[1].unusable = "process 1 is systemd"
	}
	// Puppet leaves these systems to their own providers.
	if like := family(h); like["debian"] || like["rhel"] || like["fedora"] {
		all[4].unusable = "use debian, redhat or systemd"
	}
	return all
}

// missing returns a message that names the missing program.
func missing(h *resource.Host, programs ...string) string {
	for _, p := range programs {
		found := false
		for _, dir := range []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"} {
			file := p
			if !path.IsAbs(p) {
				file = path.Join(dir, p)
			}
			if _, err := os.Stat(h.Path(file)); err == nil {
				found = true
				break
			}
		}
		if !found {
			return p + " is not there"
		}
	}
	return ""
}

// family returns the names of the system, and of the systems that it is like.
func family(h *resource.Host) map[string]bool {
	names := make(map[string]bool)
	data, _ := os.ReadFile(h.Path("/etc/os-release"))
	for l := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		if key == "ID" || key == "ID_LIKE" {
			for _, name := range strings.Fields(strings.Trim(value, `"'`)) {
				names[name] = true
			}
		}
	}
	return names
}
