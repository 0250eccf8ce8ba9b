// Package facts collects the facts of the Linux machine that it runs on, under the names and with
// the values of facter 4.11: its structured core facts, and external facts in files.
//
// Core facts come from files below /proc, /sys, /run and /etc and from system calls. A program is
// run only if no file has the value: getent for a user that is missing in /etc/passwd, blkid for
// partitions that are missing in the database of udev, and external facts that are programs.
//
// Some facts of facter are not collected: legacy facts, custom facts (they are Ruby code), ruby,
// augeas, cloud, the metadata of clouds, xen.domains and zfs. Also missing are values that facter
// takes from the programs dmidecode and vmware, and from lsb_release on Red Hat's systems
// (os.distro.specification).
package facts

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

// version is the version of facter that is imitated, which is the fact facterversion.
const version = "4.11.0"

// Options are the sources of facts. The zero value is this machine with an empty environment.
type Options struct {
	// Root is put in front of the paths of files; "" on a real machine. Tests set it.
	Root string
	// Env is the environment, "NAME=value": PATH is a fact, TZ is the time zone, HOME has external
	// facts of a user, and FACTER_NAME is an external fact itself. Programs are run with it.
	Env []string
	// Run runs a program; nil means resource.Exec.
	Run func(ctx context.Context, c *resource.Command) (*resource.Output, error)
	// ProgramLimit is how long an external fact may run; 0 means 30 seconds.
	ProgramLimit time.Duration
	// Note takes the name of each fact that could not be collected, and the reason. For an external
	// fact, the name is the path of its file. nil discards the notes.
	Note func(fact string, err error)

	sys system // nil functions mean those of this machine; tests set them
}

const (
	programLimit = 30 * time.Second
	// answerLimit is how long a name server or a file server may take to answer.
	answerLimit = 3 * time.Second
	// fileLimit is the number of bytes that are read of a file. The largest that is needed,
	// /proc/cpuinfo, has about 1,500 for each processor.
	fileLimit = 8 << 20
)

// A collector holds the data that several facts need. Only one goroutine uses it.
type collector struct {
	ctx   context.Context
	o     Options
	uts   uts
	mount lazy[[]mount]
	dist  lazy[*distribution]
	virt  lazy[*virtual]
}

// lazy is a value that is computed when it is first needed.
type lazy[T any] struct {
	known bool
	value T
}

func (l *lazy[T]) get(compute func() T) T {
	if !l.known {
		l.value, l.known = compute(), true
	}
	return l.value
}

// Collect collects all facts. It always returns: facts that fail are left out and noted. If ctx ends,
// the facts that were not collected yet are left out.
func Collect(ctx context.Context, o Options) *ordered.Map {
	if o.Run == nil {
		o.Run = resource.Exec
	}
	if o.Note == nil {
		o.Note = func(string, error) {}
	}
	if o.ProgramLimit == 0 {
		o.ProgramLimit = programLimit
	}
	o.sys = o.sys.orThis()
	c := &collector{ctx: ctx, o: o}
	facts := map[string]any{}
	c.guard("kernel", func() (err error) {
		c.uts, err = o.sys.uname()
		return err
	})
	for _, f := range core {
		c.guard(f.name, func() error {
			v, err := f.collect(c)
			if !empty(v) {
				facts[f.name] = v
			}
			return err
		})
	}
	c.guard("external facts", func() error { return c.external(facts) })
	return sorted(facts)
}

// core is the list of core facts. A function can return both a value and an error for a part of it
// that is missing.
var core = []struct {
	name    string
	collect func(*collector) (any, error)
}{
	{"disks", (*collector).disks},
	{"dmi", (*collector).dmi},
	{"facterversion", func(*collector) (any, error) { return version, nil }},
	{"filesystems", (*collector).filesystems},
	{"fips_enabled", (*collector).fips},
	{"hypervisors", (*collector).hypervisors},
	{"identity", (*collector).identity},
	{"is_virtual", (*collector).isVirtual},
	{"kernel", func(c *collector) (any, error) { return c.uts.sysname, nil }},
	{"kernelmajversion", (*collector).kernelMajor},
	{"kernelrelease", func(c *collector) (any, error) { return c.uts.release, nil }},
	{"kernelversion", (*collector).kernelVersion},
	{"load_averages", (*collector).load},
	{"memory", (*collector).memory},
	{"mountpoints", (*collector).mountpoints},
	{"networking", (*collector).networking},
	{"os", (*collector).os},
	{"partitions", (*collector).partitions},
	{"path", (*collector).path},
	{"processors", (*collector).processors},
	{"ssh", (*collector).ssh},
	{"system_uptime", (*collector).uptime},
	{"timezone", (*collector).timezone},
	{"virtual", (*collector).virtual},
}

// Names returns the names of the core facts that Collect can collect.
func Names() []string {
	names := make([]string, len(core))
	for i, f := range core {
		names[i] = f.name
	}
	return names
}

// guard runs f and notes its error. A panic becomes an error, because a machine can have files of
// an unexpected form.
func (c *collector) guard(name string, f func() error) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Note(name, fmt.Errorf("internal error: %v\n%s", p, debug.Stack()))
		}
	}()
	err := c.ctx.Err()
	if err == nil {
		err = f()
	}
	if err != nil {
		c.o.Note(name, err)
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	}
	return false
}

// An object is a fact that has parts. Parts that are nil or empty are left out when it becomes an
// ordered.Map; values are those of an ordered.Map or objects.
type object map[string]any

// sorted returns a map in the order of its keys, as facter prints facts.
func sorted(m map[string]any) *ordered.Map {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := &ordered.Map{}
	for _, k := range keys {
		v := m[k]
		if o, is := v.(object); is {
			if part := sorted(o); part.Len() > 0 {
				out.Set(k, part)
			}
		} else if !empty(v) {
			out.Set(k, plain(v))
		}
	}
	return out
}

func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case uint64:
		return int64(v)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = strings.ToValidUTF8(s, "\uFFFD")
		}
		return list
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	}
	return v
}

// file returns the path of a system file.
func (c *collector) file(name string) string {
	if c.o.Root == "" {
		return name
	}
	return filepath.Join(c.o.Root, name)
}

// read returns the start of a file, and whether it could be read. A missing file is a missing fact
// and not an error.
func (c *collector) read(name string) (string, bool) {
	path := c.file(name)
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() { // opening a fifo can block
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileLimit))
	return string(data), err == nil
}

// line returns a file without white space around it; "" if it cannot be read.
func (c *collector) line(name string) string {
	s, _ := c.read(name)
	return strings.TrimSpace(s)
}

func (c *collector) exists(name string) bool {
	_, err := os.Stat(c.file(name))
	return err == nil
}

func (c *collector) isLink(name string) bool {
	fi, err := os.Lstat(c.file(name))
	return err == nil && fi.Mode()&os.ModeSymlink != 0
}

func (c *collector) isDir(name string) bool {
	fi, err := os.Stat(c.file(name))
	return err == nil && fi.IsDir()
}

// list returns the names in a directory, sorted.
func (c *collector) list(name string) []string {
	entries, err := os.ReadDir(c.file(name))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// env returns the value of an environment variable.
func (c *collector) env(name string) string {
	for _, pair := range slices.Backward(c.o.Env) {
		if v, is := strings.CutPrefix(pair, name+"="); is {
			return v
		}
	}
	return ""
}

// program returns the path of a program, "" if there is none.
func (c *collector) program(name string) string {
	for _, dir := range append(filepath.SplitList(c.env("PATH")), "/usr/sbin", "/usr/bin", "/sbin", "/bin") {
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(c.file(path)); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// output runs a program in the C locale for up to limit.
func (c *collector) output(limit time.Duration, argv ...string) (*resource.Output, error) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, limit, fmt.Errorf("it was stopped after %v", limit))
	defer cancel()
	env := slices.DeleteFunc(slices.Clone(c.o.Env), func(pair string) bool { return strings.HasPrefix(pair, "LC_ALL=") })
	return c.o.Run(ctx, &resource.Command{Argv: argv, Env: append(env, "LC_ALL=C")})
}
