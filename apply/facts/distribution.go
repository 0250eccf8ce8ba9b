package facts

import (
	"slices"
	"strings"
	"unicode"

	"bolt/internal/lazyregexp"
)

// A distribution is the contents of the files that describe a Linux distribution.
type distribution struct {
	id        string            // of /etc/os-release, with facter's changes
	release   *release          // nil if it is not known
	kinds     []string          // the kinds of facter that it belongs to, from general to special
	osRelease map[string]string // with keys in lower case and facter's changes
	redhat    redhatRelease
}

// is reports whether the distribution belongs to a kind.
func (d *distribution) is(kind string) bool { return slices.Contains(d.kinds, kind) }

// A release is a version with its parts.
type release struct{ full, major, minor, patch string }

func (r *release) fact() any {
	if r == nil {
		return nil
	}
	return object{"full": r.full, "major": r.major, "minor": r.minor, "patch": r.patch}
}

// versioned splits a version; nil if there is none.
func versioned(full string) *release {
	if full == "" {
		return nil
	}
	parts := append(strings.Split(full, "."), "")
	return &release{full: full, major: parts[0], minor: parts[1]}
}

// parents are the more general kinds of the kinds that facter knows.
var parents = map[string]string{
	"elementary": "debian", "ubuntu": "debian", "linuxmint": "ubuntu", "raspbian": "debian", "devuan": "debian",
	"fedora": "rhel", "amzn": "rhel", "centos": "rhel", "ol": "rhel", "scientific": "rhel", "meego": "rhel",
	"oel": "rhel", "ovs": "rhel", "mariner": "rhel", "azurelinux": "rhel",
	"opensuse": "sles", "sled": "sles",
	"debian": "linux", "rhel": "linux", "sles": "linux", "archlinux": "linux", "gentoo": "linux",
	"alpine": "linux", "photon": "linux", "slackware": "linux", "mageia": "linux", "openwrt": "linux",
}

// kindsOf returns a kind after the kinds that it is special among; nil if facter does not know it.
func kindsOf(kind string) []string {
	if _, known := parents[kind]; !known {
		return nil
	}
	kinds := []string{}
	for ; kind != "linux"; kind = parents[kind] {
		kinds = append(kinds, kind)
	}
	slices.Reverse(kinds)
	return kinds
}

func (c *collector) distribution() *distribution {
	return c.dist.get(func() *distribution {
		d := &distribution{}
		text, _ := c.read("/etc/os-release")
		d.osRelease = parseOSRelease(text)
		text, _ = c.read("/etc/redhat-release")
		d.redhat = parseRedHatRelease(text)
		suse := strings.Fields(c.line("/etc/SuSE-release"))
		d.id = d.osRelease["id"]
		switch {
		case c.exists("/etc/arch-release"):
			d.id = "archlinux"
		case c.exists("/etc/devuan_version"):
			d.id = "devuan"
		case d.id != "":
		case d.redhat.description != "":
			d.id = "rhel"
		case len(suse) > 0:
			d.id = strings.ToLower(suse[0])
		}
		d.id = strings.ToLower(d.id)
		d.kinds = kindsOf(d.id)
		for _, like := range strings.Fields(d.osRelease["id_like"]) {
			if d.kinds == nil {
				d.kinds = kindsOf(like)
			}
		}
		d.release = c.release(d)
		return d
	})
}

// parseOSRelease reads os-release(5) as facter does, with its changes of some values.
func parseOSRelease(text string) map[string]string {
	v := map[string]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		key, value, is := strings.Cut(strings.ReplaceAll(strings.TrimSpace(line), `"`, ""), "=")
		if is {
			v[strings.ToLower(key)] = value
		}
	}
	if id := v["version_id"]; id != "" && !strings.Contains(id, ".") {
		v["version_id"] = id + ".0"
	}
	switch id := strings.ToLower(v["id"]); {
	case strings.Contains(id, "opensuse"):
		v["id"] = "opensuse"
	case strings.Contains(id, "sles_sap"):
		v["id"] = "sles"
	}
	if name := strings.Fields(v["name"]); len(name) > 0 {
		v["name"] = osName(name)
	}
	return v
}

// osName returns the name of the operating system, from the words of NAME.
func osName(words []string) string {
	all := strings.ToLower(strings.Join(words, " "))
	name := words[0]
	switch {
	case strings.HasPrefix(all, "sles"):
		return "SLES"
	case hasPrefix(all, "red", "oracle", "arch", "manjaro"):
		name = strings.Join(words[:min(2, len(words))], "")
		if hasPrefix(all, "arch", "manjaro") {
			name = capitalize(name)
		}
	case strings.HasSuffix(all, "azure linux"):
		name = strings.Join(words[1:min(3, len(words))], "")
	case strings.HasSuffix(all, "mariner"):
		name = words[len(words)-1]
	case strings.HasPrefix(all, "virtuozzo"):
		name += "Linux"
	}
	return name
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// capitalize returns s like Ruby's String#capitalize: the first letter in upper case, the others in lower case.
func capitalize(s string) string {
	r := []rune(strings.ToLower(s))
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// redhatRelease is /etc/redhat-release, such as "Rocky Linux release 9.5 (Blue Onyx)".
type redhatRelease struct{ description, id, name, version, codename string }

var parenthesized = lazyregexp.New(`(?s)release.*(\(.*\))`)

func parseRedHatRelease(text string) redhatRelease {
	r := redhatRelease{description: strings.TrimSpace(text)}
	before, after, is := strings.Cut(text, "release")
	words := slices.DeleteFunc(strings.Fields(before), func(w string) bool { return strings.EqualFold(w, "linux") })
	r.id = strings.Join(words, "")
	r.name = strings.Join(words[:min(2, len(words))], "")
	if f := strings.Fields(after); is && len(f) > 0 {
		r.version = f[0]
	}
	r.codename = inParentheses(text)
	return r
}

func inParentheses(text string) string {
	if m := parenthesized().FindStringSubmatch(text); m != nil {
		return strings.NewReplacer("(", "", ")", "").Replace(m[1])
	}
	return ""
}
