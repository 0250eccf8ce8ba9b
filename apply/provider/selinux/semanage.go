package selinux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/safetext"
)

func semanage() *tool.Tool {
	return &tool.Tool{Name: "semanage", Limit: limit,
		Hint: "Install the package policycoreutils-python-utils (policycoreutils-python before RHEL 8) on the target"}
}

type ports struct{}

// Port returns the type selinux_port.
func Port() resource.Type { return ports{} }

// A port is a resource of the type selinux_port.
type port struct {
	proto, ports, seltype string // ports is a number, or two numbers with -
	absent                bool
	is                    portState
}

// A portState is the type of ports. local is set if the type is not from the policy itself.
type portState struct {
	seltype string
	local   bool
}

// New implements resource.Type.
func (ports) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &port{proto: f.Text("protocol", ""), seltype: f.Word("seltype", "", ""), absent: f.Text("ensure", "present") == "absent"}
	if x.proto != "tcp" && x.proto != "udp" {
		f.RefuseValue("protocol", "must be tcp or udp", x.proto)
	}
	limits := make([]int64, 2)
	for i, p := range []string{"low_port", "high_port"} {
		n, err := r.Int(p, 0)
		if limits[i] = n; err != nil || n < 1 || n > 65535 {
			f.Refuse(p, "must be a number from 1 to 65535")
		}
	}
	if x.ports = strconv.FormatInt(limits[0], 10); limits[1] != limits[0] {
		x.ports += "-" + strconv.FormatInt(limits[1], 10)
	}
	if limits[1] < limits[0] {
		f.Refuse("high_port", "must not be below low_port")
	}
	if x.seltype == "" && !x.absent {
		f.Refuse("seltype", "must be given")
	}
	if r.Params.Value("source") != nil {
		f.Refuse("source", "cannot be set: it shows where the definition is from")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *port) Read(ctx context.Context, h *resource.Host) error {
	return ports{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader, with one query for all definitions and one query for local definitions.
func (ports) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() (map[string]portState, error) {
		all := make(map[string]portState)
		for _, args := range [][]string{{"port", "-l", "-n"}, {"port", "-l", "-n", "-C"}} {
			text, err := semanage().Query(ctx, h, args...)
			if err != nil {
				return nil, err
			}
			if err := parsePorts(text, len(args) == 4, all); err != nil {
				return nil, err
			}
		}
		return all, nil
	}, func(x *port, all map[string]portState) error {
		x.is = all[x.proto+" "+x.ports]
		return nil
	})
}

// parsePorts reads lines with a type, a protocol, and a list of ports.
func parsePorts(text string, local bool, all map[string]portState) error {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3 {
			return fmt.Errorf("semanage printed %q, which is not a type with a protocol and ports", safetext.Message(line))
		}
		for _, p := range f[2:] {
			key := f[1] + " " + strings.TrimSuffix(p, ",")
			if _, known := all[key]; !known || local {
				all[key] = portState{f[0], local}
			}
		}
	}
	return nil
}

// Watch implements resource.Watcher.
func (x *port) Watch(ctx context.Context, h *resource.Host) []resource.Watch { return watches(ctx, h) }

// Plan implements resource.Item. A definition of the policy cannot be removed.
func (x *port) Plan() ([]resource.Change, error) {
	exists := x.is.seltype != ""
	if x.absent && exists && !x.is.local {
		return nil, nil
	}
	changes := resource.Ensure("selinux_port", exists, x.absent)
	if changes == nil && !x.absent && x.is.seltype != x.seltype {
		changes = []resource.Change{{Property: "seltype", Is: x.is.seltype, Should: x.seltype}}
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *port) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	switch {
	case x.absent:
		return semanage().Change(ctx, h, "port", "-d", "-p", x.proto, x.ports)
	case c.Property == "seltype":
		return semanage().Change(ctx, h, "port", "-m", "-t", x.seltype, "-p", x.proto, x.ports)
	}
	return semanage().Change(ctx, h, "port", "-a", "-t", x.seltype, "-p", x.proto, x.ports)
}

type permissives struct{}

// Permissive returns the type selinux_permissive.
func Permissive() resource.Type { return permissives{} }

// A permissive is a resource of the type selinux_permissive.
type permissive struct {
	seltype        string
	absent, exists bool
}

// New implements resource.Type.
func (permissives) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &permissive{seltype: f.Word("seltype", f.Text("name", r.Title), ""), absent: f.Text("ensure", "present") == "absent"}
	if x.seltype == "" {
		f.Refuse("seltype", "must be given")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *permissive) Read(ctx context.Context, h *resource.Host) error {
	return permissives{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. semanage prints a type a line, below headings of several words.
func (permissives) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() (map[string]bool, error) {
		text, err := semanage().Query(ctx, h, "permissive", "-l")
		all := make(map[string]bool)
		for line := range strings.Lines(text) {
			all[strings.TrimSpace(line)] = true
		}
		return all, err
	}, func(x *permissive, all map[string]bool) error {
		x.exists = all[x.seltype]
		return nil
	})
}

// Watch implements resource.Watcher.
func (x *permissive) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	return watches(ctx, h)
}

// Plan implements resource.Item.
func (x *permissive) Plan() ([]resource.Change, error) {
	return resource.Ensure("selinux_permissive", x.exists, x.absent), nil
}

// Do implements resource.Item.
func (x *permissive) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	arg := "-a"
	if x.absent {
		arg = "-d"
	}
	return semanage().Change(ctx, h, "permissive", arg, x.seltype)
}

// contexts returns the path of a file with the contexts of files, for the policy of the host.
func contexts(ctx context.Context, h *resource.Host, name string) (string, error) {
	dir, err := policy(ctx, h)
	return dir + "/contexts/files/" + name, err
}

// watches returns the sources of events of the policy. The tools write these directories anew for each change of the policy that lasts.
// They also write locks, beside these directories, when they only read.
func watches(ctx context.Context, h *resource.Host) []resource.Watch {
	dir, err := policy(ctx, h)
	if err != nil {
		return []resource.Watch{{Poll: true}}
	}
	return []resource.Watch{{Path: dir + "/policy", Tree: true}, {Path: dir + "/contexts/files", Tree: true}}
}

// policy returns the directory of the policy of the host.
func policy(ctx context.Context, h *resource.Host) (string, error) {
	text, exists, err := textfile.Read(ctx, h.Path("/etc/selinux/config"))
	if err == nil && !exists {
		err = errors.New("the machine has no SELinux: /etc/selinux/config is missing")
	}
	name := "targeted"
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if value = strings.TrimSpace(value); strings.TrimSpace(key) == "SELINUXTYPE" && value != "" && !strings.ContainsAny(value, "/.") {
			name = value
		}
	}
	return h.Path("/etc/selinux/" + name), err
}
