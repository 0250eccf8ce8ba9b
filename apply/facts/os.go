package facts

import (
	"regexp"
	"strings"

	"bolt/internal/lazyregexp"
)

func (c *collector) os() (any, error) {
	d := c.distribution()
	return object{
		"name":         d.name(),
		"family":       d.family(),
		"architecture": d.architecture(c.uts.machine),
		"hardware":     c.uts.machine,
		"release":      d.release.fact(),
		"distro":       c.distro(d),
		"selinux":      c.selinux(),
	}, nil
}

func (d *distribution) name() string {
	switch {
	case d.is("linuxmint"):
		return capitalize(d.osRelease["id"])
	case d.is("rhel") && d.osRelease["name"] == "":
		return d.redhat.name
	}
	return d.osRelease["name"]
}

// families have words of the ids of their distributions. facter looks for them in this order.
var families = []struct{ name, words string }{
	{"RedHat", "redhat rhel fedora centos scientific ascendos cloudlinux psbm oraclelinux ovs oel amazon xenserver xcp-ng virtuozzo photon mariner azurelinux"},
	{"Debian", "debian ubuntu huaweios linuxmint devuan kde"},
	{"Suse", "sles sled suse"},
	{"Gentoo", "gentoo"},
	{"Archlinux", "arch manjaro"},
	{"Mandrake", "mandrake mandriva mageia"},
}

func (d *distribution) family() string {
	switch {
	case d.is("rhel"):
		return "RedHat"
	case d.is("sles"):
		return "Suse"
	}
	id := first(d.osRelease["id_like"], d.osRelease["id"])
	for _, f := range families {
		for _, word := range strings.Fields(f.words) {
			if strings.Contains(strings.ToLower(id), word) {
				return capitalize(f.name) // "Redhat" for those that are not of facter's kind rhel
			}
		}
	}
	return capitalize(id)
}

var intel32 = lazyregexp.New(`i[3456]86|pentium`)

func (d *distribution) architecture(machine string) string {
	switch {
	case intel32().MatchString(machine):
		return "i386"
	case machine == "x86_64" && d.is("debian"):
		return "amd64"
	}
	return machine
}

// releaseFile is a file with the version of a distribution.
type releaseFile struct {
	kind, path string
	version    func() *regexp.Regexp // the first group that matches; nil means all of the file
}

var (
	releaseLine = lazyregexp.New(`release (\d[\d.]*)`)
	// releaseFiles are the files that come before the version of os-release, from special to general.
	releaseFiles = []releaseFile{
		{"linuxmint", "/etc/linuxmint/info", lazyregexp.New(`(?m)^RELEASE=(\d+)`)},
		{"devuan", "/etc/devuan_version", nil},
		{"meego", "/etc/meego-release", releaseLine},
		{"ol", "/etc/oracle-release", releaseLine},
		{"oel", "/etc/enterprise-release", releaseLine},
		{"ovs", "/etc/ovs-release", releaseLine},
		{"mariner", "/etc/mariner-release", lazyregexp.New(`CBL-Mariner ([0-9.]+)`)},
		{"azurelinux", "/etc/azurelinux-release", lazyregexp.New(`AZURELINUX_BUILD_NUMBER=([0-9.]+)`)},
		{"amzn", "/etc/system-release", lazyregexp.New(`release (\d[\d.]*)|Amazon Linux (\d+)`)},
		{"gentoo", "/etc/gentoo-release", releaseLine},
		{"alpine", "/etc/alpine-release", nil},
		{"photon", "/etc/lsb-release", lazyregexp.New(`DISTRIB_RELEASE="(\d+\.\d+)`)},
		{"slackware", "/etc/slackware-version", lazyregexp.New(`Slackware ([0-9.]+)`)},
		{"mageia", "/etc/mageia-release", lazyregexp.New(`Mageia release ([0-9.]+)`)},
		{"openwrt", "/etc/openwrt_version", lazyregexp.New(`(?m)^(\d+.\d+.*)`)},
	}
)

// release returns the version of the distribution.
func (c *collector) release(d *distribution) *release {
	switch {
	case d.is("archlinux"):
		return versioned(c.uts.release) // there are no versions; facter takes that of the kernel
	case d.is("linuxmint"): // by its file, below
	case d.is("ubuntu"):
		if v := d.osRelease["version_id"]; v != "" {
			return &release{full: v, major: v}
		}
		return nil
	case d.is("sles"):
		return sles(d.osRelease["version_id"])
	}
	for _, f := range releaseFiles {
		if !d.is(f.kind) {
			continue
		}
		v := c.line(f.path)
		if f.version != nil {
			v = match(f.version(), v)
		}
		if v != "" {
			return versioned(v)
		}
		return versioned(d.osRelease["version_id"])
	}
	switch {
	case d.is("debian"):
		return debianRelease(c.line("/etc/debian_version"))
	case d.is("rhel"):
		return versioned(first(d.redhat.version, d.osRelease["version_id"]))
	}
	return versioned(d.osRelease["version_id"])
}

// match returns the first group of re that matched.
func match(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return first(m[1:]...)
	}
	return ""
}

func sles(version string) *release {
	r := versioned(version)
	if r != nil {
		_, r.minor, _ = cutLast(version, ".")
	}
	return r
}

var leadingZero = lazyregexp.New(`^0([1-9])`)

// debianRelease parses /etc/debian_version: "12.11", or "trixie/sid" before a release.
func debianRelease(text string) *release {
	r := versioned(text)
	if r != nil {
		r.minor = leadingZero().ReplaceAllString(r.minor, "$1")
	}
	return r
}

// distro returns the distribution as the tool lsb_release describes it.
func (c *collector) distro(d *distribution) any {
	o := d.osRelease
	switch {
	case d.is("debian"):
		r := debianRelease(c.line("/etc/debian_version"))
		if d.is("ubuntu") {
			r = nil
			if v := o["version_id"]; v != "" {
				r = &release{full: v, major: v}
			}
		} else if d.is("devuan") {
			r = versioned(c.lsb()["DISTRIB_RELEASE"])
		}
		return object{"codename": debianCodename(o), "description": o["pretty_name"], "id": capitalize(o["id"]), "release": r.fact()}
	case d.is("sles"):
		id := "SUSE"
		if strings.HasPrefix(o["version_id"], "12") {
			id = "SUSE LINUX"
		}
		return object{"codename": first(o["version_codename"], "n/a"), "description": o["pretty_name"], "id": id, "release": sles(o["version_id"]).fact()}
	case d.is("amzn"):
		text := c.line("/etc/system-release")
		r := parseRedHatRelease(text)
		v := d.release
		if v != nil {
			v = &release{full: v.full, major: v.major, minor: v.minor}
			if parts := strings.SplitN(v.full, ".", 3); len(parts) == 3 {
				v.patch, _, _ = strings.Cut(parts[2], ".")
			}
		}
		return object{"codename": first(inParentheses(text), "n/a"), "description": text, "id": r.id, "release": v.fact()}
	case d.is("ol"):
		r := versioned(first(d.redhat.version, o["version_id"]))
		return object{"codename": d.redhat.codename, "description": o["pretty_name"], "id": capitalize(o["id"]), "release": r.fact()}
	case d.is("rhel"):
		r := versioned(first(d.redhat.version, o["version_id"]))
		return object{"codename": d.redhat.codename, "description": d.redhat.description, "id": d.redhat.id, "release": r.fact()}
	}
	// facter runs lsb_release for all others.
	if c.program("lsb_release") == "" {
		return nil
	}
	lsb := c.lsb()
	out := object{
		"codename":    first(lsb["DISTRIB_CODENAME"], o["version_codename"], "n/a"),
		"description": first(lsb["DISTRIB_DESCRIPTION"], o["pretty_name"], "n/a"),
		"id":          first(lsb["DISTRIB_ID"], capitalize(o["id"]), "n/a"),
		"release":     versioned(first(lsb["DISTRIB_RELEASE"], o["version_id"], "n/a")).fact(),
	}
	if len(lsb) > 0 { // the tool for systems without this file does not print it
		out["specification"] = first(lsb["LSB_VERSION"], "n/a")
	}
	return out
}

// lsb returns the values of /etc/lsb-release, which the program lsb_release reads.
func (c *collector) lsb() map[string]string {
	text, _ := c.read("/etc/lsb-release")
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), "="); is {
			out[key] = strings.Trim(value, `"`)
		}
	}
	return out
}

var (
	lastParentheses = lazyregexp.New(`\(.*\)$`)
	twoWords        = lazyregexp.New(`([A-Za-z]+)\s[A-Za-z]+`)
)

// debianCodename returns the codename, which old releases have in VERSION only.
func debianCodename(o map[string]string) string {
	if name, is := o["version_codename"]; is {
		return name
	}
	if name := strings.NewReplacer("(", "", ")", "").Replace(lastParentheses().FindString(o["version"])); name != "" {
		return name
	}
	return strings.ToLower(match(twoWords(), o["version"]))
}

// selinux returns the state of SELinux. Like facter, it returns disabled if the configuration is missing.
func (c *collector) selinux() any {
	config, configured := c.read("/etc/selinux/config")
	at := c.selinuxMount()
	if at == "" || !configured {
		return object{"enabled": false}
	}
	out := object{"enabled": true, "enforced": false, "current_mode": "permissive", "policy_version": c.line(at + "/policyvers")}
	if c.line(at+"/enforce") == "1" {
		out["enforced"], out["current_mode"] = true, "enforcing"
	}
	for line := range strings.Lines(config) {
		if v, is := strings.CutPrefix(line, "SELINUX="); is {
			out["config_mode"] = strings.TrimSpace(v)
		}
		if v, is := strings.CutPrefix(line, "SELINUXTYPE="); is {
			out["config_policy"] = strings.TrimSpace(v)
		}
	}
	return out
}

// selinuxMount returns the first place where selinuxfs is mounted; "" if there is none.
func (c *collector) selinuxMount() string {
	text, _ := c.read("/proc/self/mounts")
	for _, m := range parseMounts(text) {
		if m.kind == "selinuxfs" || m.device == "selinuxfs" {
			return m.path
		}
	}
	return ""
}
