package types

import (
	"path"
	"strings"

	"bolt/catalog"
)

// The automatic edges of mgmt that Puppet does not have. mgmt queries PackageKit for the files of a package. bolt compares names, so
// the edges are known before the package is installed, and are the same on every machine.

// edges returns the resources on which a resource of a graph depends, without Puppet's autorequires.
func (a *auto) edges(r *catalog.Resource) []catalog.Ref {
	a.refs = nil
	switch r.Type {
	case "File":
		a.packages(pathOf(r))
	case "Service":
		a.unit(r)
	case "Exec":
		a.command(r)
		if group, is := r.Params.Value("group").(string); is && !isNumber(group) {
			a.add("Group", group)
		}
	}
	return a.refs
}

// nameOf returns the name of a resource.
func nameOf(r *catalog.Resource) string {
	if name, is := r.Params.Value("name").(string); is {
		return name
	}
	return r.Title
}

// own adds the packages that have a file, a service or a program with a name. In mgmt, packages make these edges, so autoedge of the package counts, too.
func (a *auto) own(name string) {
	if a.owners == nil {
		a.owners = make(map[string][]catalog.Ref)
		for _, r := range a.c.Resources() {
			if r.Type != "Package" || r.Virtual || r.Params.Value("ensure") == "absent" || r.Params.Value("ensure") == "purged" || !autoedge(r) {
				continue
			}
			for _, brought := range brings(nameOf(r)) {
				a.owners[brought] = append(a.owners[brought], r.Ref)
			}
		}
	}
	a.refs = append(a.refs, a.owners[name]...)
}

// brings returns the names that directories, files, programs and services of a package probably have. These are the name of the
// package and its part up to the first dash (drbd-utils has /etc/drbd.conf).
func brings(name string) []string {
	list := []string{name}
	if stem, _, more := strings.Cut(name, "-"); more && len(stem) > 1 {
		list = append(list, stem)
	}
	return append(list, others[name]...)
}

// others are the names that packages of Debian and Red Hat bring besides their own.
var others = map[string][]string{
	"cronie":                {"crond"},
	"docker-ce":             {"docker"},
	"docker.io":             {"docker", "containerd"},
	"libvirt-daemon-system": {"libvirt", "libvirtd"},
	"network-manager":       {"NetworkManager"},
	"nfs-kernel-server":     {"nfs-server", "exports"},
	"openssh-server":        {"ssh", "sshd"},
	"postgresql-server":     {"pgsql"},
	"samba":                 {"smbd", "nmbd", "smb"},
}

// below are the directories whose entries have the names of packages.
var below = []string{
	"/etc/default/", "/etc/sysconfig/", "/etc/logrotate.d/", "/etc/cron.d/", "/etc/", "/var/lib/", "/var/log/", "/var/cache/", "/var/spool/",
	"/usr/share/", "/usr/lib/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/", "/opt/",
}

// packages adds the packages that probably have a path.
func (a *auto) packages(file string) {
	for _, dir := range below {
		if rest, is := strings.CutPrefix(file, dir); is {
			entry, _, _ := strings.Cut(rest, "/")
			name, _, _ := strings.Cut(entry, ".")
			a.own(name)
			if entry != name { // docker.io
				a.own(entry)
			}
			return
		}
	}
}

// unit adds the packages and the unit file of a service.
func (a *auto) unit(r *catalog.Resource) {
	unit := nameOf(r)
	if path.Ext(unit) == "" {
		unit += ".service"
	}
	a.at("/etc/systemd/system/" + unit)
	a.at("/usr/lib/systemd/system/" + unit)
	a.at("/lib/systemd/system/" + unit)
	name, _, _ := strings.Cut(strings.TrimSuffix(unit, ".service"), "@")
	a.own(name)
	if daemon, is := strings.CutSuffix(name, "d"); is {
		a.own(daemon) // chronyd of chrony
	}
}

// command adds the packages of the program that an exec runs.
func (a *auto) command(r *catalog.Resource) {
	line := r.Title
	switch v := r.Params.Value("command").(type) {
	case string:
		line = v
	case []any:
		line = ""
		if len(v) > 0 {
			line, _ = v[0].(string)
		}
	}
	if program, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(program, "/") {
		a.packages(program)
	}
}
