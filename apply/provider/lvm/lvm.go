// Package lvm applies resources of the types physical_volume, volume_group, logical_volume and filesystem: volumes of LVM and
// the file systems on them.
//
// The rules come from the module puppetlabs-lvm on Linux. One query of pvs(8), vgs(8) or lvs(8) reads all resources of a type. If a
// device has another file system, bolt does not make a new file system on it.
package lvm

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// limit ends a program that hangs. A large file system takes minutes to be made.
const limit = 30 * time.Minute

func program(name string) *tool.Tool {
	return &tool.Tool{Name: name, Hint: "Install the package lvm2 on the target", Limit: limit}
}

// list runs a reporting program and returns the columns of its lines.
func list(ctx context.Context, h *resource.Host, name, columns string) ([][]string, error) {
	text, err := program(name).Query(ctx, h, "--noheadings", "--separator", ",", "--units", "b", "--nosuffix", "-o", columns)
	if err != nil {
		return nil, err
	}
	return rows(name, text, strings.Count(columns, ",")+1)
}

// rows splits lines at commas.
func rows(name, text string, columns int) (list [][]string, err error) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != columns {
			return nil, fmt.Errorf("%s printed %q, which does not have %d columns", name, safetext.Message(line), columns)
		}
		list = append(list, f)
	}
	return list, nil
}

// resolve returns the device to which links lead.
func resolve(h *resource.Host, device string) string {
	if real, err := filepath.EvalSymlinks(h.Path(device)); err == nil {
		return "/" + strings.TrimPrefix(strings.TrimPrefix(real, h.Root), "/")
	}
	return device
}

func device(f *resource.Fields, param, text string) string {
	if !path.IsAbs(text) || strings.ContainsAny(text, " \t\r\n,") {
		f.RefuseValue(param, "must be an absolute path", text)
	}
	return text
}

type physicalVolumes struct{}

// PhysicalVolume returns the type physical_volume.
func PhysicalVolume() resource.Type { return physicalVolumes{} }

type physicalVolume struct {
	name, unlessVG string
	absent, force  bool
	exists         bool
	skip           bool // the group of unless_vg exists
}

// New implements resource.Type.
func (physicalVolumes) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &physicalVolume{unlessVG: f.Word("unless_vg", "", ","), absent: f.Text("ensure", "present") == "absent", force: f.Bool("force", false)}
	x.name = device(&f, "name", f.Text("name", r.Title))
	return x, f.Err
}

// Read implements resource.Item.
func (x *physicalVolume) Read(ctx context.Context, h *resource.Host) error {
	return physicalVolumes{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (physicalVolumes) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	var groups []string
	return tool.ReadAll(items, func() ([]string, error) {
		var devices []string
		volumes, err := list(ctx, h, "pvs", "pv_name")
		for _, v := range volumes {
			devices = append(devices, v[0], resolve(h, v[0]))
		}
		if err == nil && slices.ContainsFunc(items, func(i resource.Item) bool { return i.(*physicalVolume).unlessVG != "" }) {
			var rows [][]string
			rows, err = list(ctx, h, "vgs", "vg_name")
			for _, g := range rows {
				groups = append(groups, g[0])
			}
		}
		return devices, err
	}, func(x *physicalVolume, devices []string) error {
		x.exists = slices.Contains(devices, x.name) || slices.Contains(devices, resolve(h, x.name))
		x.skip = x.unlessVG != "" && slices.Contains(groups, x.unlessVG)
		return nil
	})
}

// Plan implements resource.Item.
func (x *physicalVolume) Plan() ([]resource.Change, error) {
	if x.skip {
		return nil, nil
	}
	return resource.Ensure("physical_volume", x.exists, x.absent), nil
}

// Do implements resource.Item.
func (x *physicalVolume) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	switch {
	case x.absent:
		return program("pvremove").Change(ctx, h, x.name)
	case x.force:
		return program("pvcreate").Change(ctx, h, "--force", x.name)
	}
	return program("pvcreate").Change(ctx, h, x.name)
}

type volumeGroups struct{}

// VolumeGroup returns the type volume_group.
func VolumeGroup() resource.Type { return volumeGroups{} }

type volumeGroup struct {
	name, extentSize string
	volumes          []string // nil if they are not managed
	absent           bool
	follow, once     bool // followsymlinks, createonly
	exists           bool
	is               []string
}

// New implements resource.Type.
func (volumeGroups) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &volumeGroup{name: f.Word("name", r.Title, ","), extentSize: f.Word("extent_size", "", ","), volumes: f.Texts("physical_volumes"),
		absent: f.Text("ensure", "present") == "absent", follow: f.Bool("followsymlinks", false), once: f.Bool("createonly", false)}
	for _, v := range x.volumes {
		device(&f, "physical_volumes", v)
	}
	if len(x.volumes) == 0 && !x.absent && x.volumes != nil {
		f.Refuse("physical_volumes", "must have at least one device")
	}
	if x.name == "" || strings.Contains(x.name, "/") {
		f.RefuseValue("name", "must be a name without slashes", x.name)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *volumeGroup) Read(ctx context.Context, h *resource.Host) error {
	return volumeGroups{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. A row is a physical volume with its group.
func (volumeGroups) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() ([][]string, error) { return list(ctx, h, "pvs", "pv_name,vg_name") }, func(x *volumeGroup, rows [][]string) error {
		x.exists, x.is = false, nil
		for _, row := range rows {
			if row[1] == x.name {
				x.exists = true
				x.is = append(x.is, row[0])
			}
		}
		if !x.follow {
			return nil
		}
		for _, names := range [][]string{x.is, x.volumes} {
			for i, name := range names {
				names[i] = resolve(h, name)
			}
		}
		return nil
	})
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(v string) bool { return slices.Contains(b, v) })
}

// Plan implements resource.Item.
func (x *volumeGroup) Plan() ([]resource.Change, error) {
	changes := resource.Ensure("volume_group", x.exists, x.absent)
	switch {
	case !x.exists && !x.absent && x.volumes == nil:
		return nil, fmt.Errorf("the volume group does not exist, and the parameter physical_volumes is not given")
	case changes != nil || x.absent || x.once || x.volumes == nil:
		return changes, nil
	case len(without(x.is, x.volumes)) > 0 || len(without(x.volumes, x.is)) > 0:
		changes = append(changes, resource.Change{Property: "physical_volumes", Is: strings.Join(x.is, ", "), Should: strings.Join(x.volumes, ", ")})
	}
	return changes, nil
}

// Do implements resource.Item. New volumes are added before others are removed, so that there is room for their data.
func (x *volumeGroup) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	switch {
	case x.absent:
		return program("vgremove").Change(ctx, h, x.name)
	case c.Property == "ensure":
		args := append([]string{x.name}, x.volumes...)
		if x.extentSize != "" {
			args = append(args, "-s", x.extentSize)
		}
		return program("vgcreate").Change(ctx, h, args...)
	}
	if added := without(x.volumes, x.is); len(added) > 0 {
		if err := program("vgextend").Change(ctx, h, append([]string{x.name}, added...)...); err != nil {
			return err
		}
	}
	if removed := without(x.is, x.volumes); len(removed) > 0 {
		if err := program("vgreduce").Change(ctx, h, append([]string{x.name}, removed...)...); err != nil {
			return fmt.Errorf("%w. If data is on the volume, move it first, with pvmove", err)
		}
	}
	return nil
}
