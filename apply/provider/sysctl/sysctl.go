// Package sysctl applies resources of the type sysctl: kernel parameters, in /proc/sys and in a file that is read
// at boot (sysctl.conf(5)).
//
// The rules are those of the module augeasproviders_sysctl. Lines of the file that the resource is not about stay
// as they are.
package sysctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"bolt/apply/provider/textfile"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// Type returns the type sysctl.
func Type() resource.Type { return sysctlType{} }

type sysctlType struct{}

// An item is one kernel parameter.
type item struct {
	r        *resource.Resource
	name     string
	absent   bool
	property string // that has the value: value or val; "" if it is not managed
	value    string
	comment  *string // nil if it is not managed
	target   string  // "" for the default
	apply    bool
	persist  bool
	silent   bool

	known bool // Read: the kernel has the parameter
	live  string
	file  *file
}

// New implements resource.Type.
func (sysctlType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{
		r:       r,
		name:    f.Text("name", r.Title),
		absent:  f.Text("ensure", "present") == "absent",
		target:  f.Text("target", ""),
		apply:   f.Bool("apply", true),
		persist: f.Bool("persist", true),
		silent:  f.Bool("silent", false),
	}
	for _, property := range []string{"val", "value"} {
		if text, given, _ := r.Text(property); given {
			x.property, x.value = property, f.Text(property, "")
			if strings.ContainsAny(text, "\r\n") {
				f.Refuse(property, "must be one line")
			}
		}
	}
	if f.R.Params.Value("comment") != nil {
		text := f.Text("comment", "")
		x.comment = &text
		if strings.ContainsAny(text, "\r\n") {
			f.Refuse("comment", "must be one line")
		}
	}
	if x.target != "" && !filepath.IsAbs(x.target) {
		f.RefuseValue("target", "must be an absolute path", x.target)
	}
	if strings.ContainsAny(x.name, "=#; \t\r\n") {
		f.Refuse("name", "must be the name of a kernel parameter, such as net.ipv4.ip_forward")
	}
	for part := range strings.SplitSeq(place(x.name), "/") {
		if part == "" || part == "." || part == ".." {
			f.Refuse("name", "must be the name of a kernel parameter, such as net.ipv4.ip_forward")
		}
	}
	return x, f.Err
}

// place returns the path of a parameter below /proc/sys. In names, the roles of dots and slashes are
// exchanged, as for sysctl(8): net.ipv4.conf.eth0/1.forwarding is of the interface eth0.1.
func place(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, name)
}

func (x *item) kernelFile(h *resource.Host) string { return h.Path("/proc/sys/" + place(x.name)) }

// targetFile is the file for the values. Debian 13 has no /etc/sysctl.conf.
func (x *item) targetFile(ctx context.Context, h *resource.Host) (string, error) {
	if x.target != "" {
		return x.target, nil
	}
	text, _, err := textfile.Read(ctx, h.Path("/etc/os-release"))
	if err != nil {
		return "", err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		fields[name] = strings.Trim(value, `"'`)
	}
	major, _, _ := strings.Cut(fields["VERSION_ID"], ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 13 && fields["ID"] == "debian" {
		return h.Path("/etc/sysctl.d/99-puppet.conf"), nil
	}
	return h.Path("/etc/sysctl.conf"), nil
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	target, err := x.targetFile(ctx, h)
	if err != nil {
		return err
	}
	if x.file, err = open(ctx, target); err != nil {
		return err
	}
	value, err := os.ReadFile(x.kernelFile(h))
	x.known, x.live = err == nil, strings.TrimSpace(string(value))
	switch {
	case err == nil || missing(err):
		return nil
	case errors.Is(err, fs.ErrPermission): // some parameters can only be written
		x.known = true
		return nil
	}
	return err
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// equal compares values, in which the width of blanks does not count.
func equal(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// Plan implements resource.Item.
func (x *item) Plan() ([]resource.Change, error) {
	is, persistent := x.file.value(x.name)
	switch {
	case x.absent && persistent:
		return resource.Removed("sysctl"), nil
	case x.absent:
		return nil, nil
	case !x.known && !persistent && x.silent:
		return nil, nil
	case !x.known && !persistent:
		return nil, fmt.Errorf("%s is not a kernel parameter of this machine. Load its module first, or set silent to true", x.name)
	}
	var changes []resource.Change
	if x.property != "" {
		live := x.live
		if x.silent { // the kernel gets the value only together with the file
			live = x.value
		}
		alive := !x.apply || equal(live, x.value)
		stored := !x.persist || persistent && equal(is, x.value)
		if !alive || !stored {
			changes = append(changes, x.change(is, live, alive, stored))
		}
	}
	if x.comment != nil && x.persist {
		if is := x.file.comment(x.name); is != *x.comment {
			changes = append(changes, resource.Change{Property: "comment", Is: is, Should: *x.comment})
		}
	}
	return changes, nil
}

// change describes a new value with the words of the module.
func (x *item) change(is, live string, alive, stored bool) resource.Change {
	c := resource.Change{Property: x.property, Is: is, Should: x.value}
	if stored {
		c.Is = live
	}
	config := fmt.Sprintf("configuration value from '%s' to '%s'", is, x.value)
	kernel := fmt.Sprintf("live value from '%s' to '%s'", live, x.value)
	switch {
	case x.r.Secret(x.property):
		return c
	case alive:
		c.Message = "changed " + config
	case stored:
		c.Message = "changed " + kernel
	default:
		c.Message = "changed " + config + " and " + kernel
	}
	return c
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	f, err := open(ctx, x.file.path) // other resources can have changed it
	if err != nil {
		return err
	}
	if c.Property == "ensure" {
		f.remove(x.name)
		return f.write(h)
	}
	if x.persist {
		if x.property != "" {
			f.set(x.name, x.value)
		}
		if c.Property == "comment" {
			f.setComment(x.name, *x.comment)
		}
		if err := f.write(h); err != nil {
			return err
		}
	}
	if !x.apply || x.property == "" || equal(x.live, x.value) {
		return nil
	}
	err = write(x.kernelFile(h), x.value)
	if err != nil && x.silent {
		h.Logf(x.r.Ref, report.Debug, "The kernel does not accept the value: %v", err)
		return nil
	}
	if err == nil {
		x.live = x.value
	}
	return err
}

// write gives a value to the kernel with one system call, as it must be.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	return cmp.Or(err, f.Close())
}

// Watch implements resource.Watcher. The kernel reports no changes of its parameters.
func (x *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	list := []resource.Watch{{Path: h.Path("/etc/sysctl.d"), Tree: true}, {Path: h.Path("/etc/sysctl.conf")}, {Poll: true}}
	if x.target != "" {
		list = append(list, resource.Watch{Path: x.target})
	}
	return list
}
