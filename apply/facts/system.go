package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/internal/lazyregexp"
)

// system is the part of the kernel's interface that is not files.
type system struct {
	uname func() (uts, error)
	// statfs returns the sizes of the file system at a path.
	statfs func(path string) (fsSize, error)
	// dump returns the messages of a dump of the kernel's network tables.
	dump func(what int) ([]byte, error)
	// ids are the user and the group of the process.
	ids func() (uid, gid int)
	// cpuid is the signature of the hypervisor in the processor, "" if there is none.
	cpuid func() string
	// lookup is a name server's canonical name of a host.
	lookup func(c *collector, host string) string
}

// uts is the result of uname(2).
type uts struct{ sysname, nodename, release, version, machine string }

type fsSize struct{ size, free, available uint64 } // in bytes

func (c *collector) kernelMajor() (any, error) {
	parts := strings.SplitN(c.uts.release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], "."), nil
}

var digits = lazyregexp.New(`\d+`)

func (c *collector) kernelVersion() (any, error) {
	return strings.Join(digits().FindAllString(c.uts.release, 3), "."), nil
}

// filesystems returns the file systems that the kernel knows and that need a device.
func (c *collector) filesystems() (any, error) {
	text, _ := c.read("/proc/filesystems")
	var names []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 1 && f[0] != "fuseblk" {
			names = append(names, f[0])
		}
	}
	slices.Sort(names)
	return strings.Join(names, ","), nil
}

func (c *collector) fips() (any, error) {
	return c.line("/proc/sys/crypto/fips_enabled") == "1", nil
}

func (c *collector) load() (any, error) {
	f := strings.Fields(c.line("/proc/loadavg"))
	if len(f) < 3 {
		return nil, nil
	}
	out := object{}
	for i, name := range []string{"1m", "5m", "15m"} {
		n, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return nil, fmt.Errorf("parse /proc/loadavg: %v", err)
		}
		out[name] = n
	}
	return out, nil
}

func (c *collector) path() (any, error) { return c.env("PATH"), nil }

// uptime returns the uptime of the machine. In a Docker container, it is the age of the first process.
func (c *collector) uptime() (any, error) {
	text := c.line("/proc/uptime")
	whole, _, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if text == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("parse /proc/uptime: %v", err)
	}
	if c.detect().container == "docker" {
		if started, is := startTime(c.line("/proc/1/stat")); is {
			seconds = max(0, seconds-started)
		}
	}
	days, hours := seconds/86400, seconds/3600
	text = fmt.Sprintf("%d days", days)
	switch days {
	case 0:
		text = fmt.Sprintf("%d:%02d hours", hours, seconds/60%60)
	case 1:
		text = "1 day"
	}
	return object{"seconds": seconds, "hours": hours, "days": days, "uptime": text}, nil
}

// ticks is the number of clock ticks a second in /proc, which is 100 on all architectures of Linux
// that Go supports.
const ticks = 100

// startTime returns when a process was started, in seconds after the machine. The argument is its
// /proc/PID/stat: the second field is a name in parentheses that can have spaces and parentheses.
func startTime(stat string) (int64, bool) {
	_, rest, is := cutLast(stat, ")")
	f := strings.Fields(rest)
	if !is || len(f) < 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(f[19], 10, 64)
	return n / ticks, err == nil && n >= 0
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// zoneName is the name at the start of a time zone such as CET-1CEST, which names no file.
var zoneName = lazyregexp.New(`^:?([A-Za-z]{3,})`)

// timezone returns the abbreviation of the time zone, such as "CET".
func (c *collector) timezone() (any, error) {
	name := c.env("TZ")
	path := "/etc/localtime"
	if name != "" {
		path = "/usr/share/zoneinfo/" + strings.TrimPrefix(name, ":")
		if strings.HasPrefix(strings.TrimPrefix(name, ":"), "/") {
			path = strings.TrimPrefix(name, ":")
		}
	}
	if data, is := c.read(path); is {
		zone, err := time.LoadLocationFromTZData(name, []byte(data))
		if err != nil {
			return "UTC", fmt.Errorf("read %s: %v", path, err)
		}
		abbreviation, _ := time.Now().In(zone).Zone()
		return abbreviation, nil
	}
	if m := zoneName().FindStringSubmatch(name); m != nil {
		return m[1], nil
	}
	return "UTC", nil
}
