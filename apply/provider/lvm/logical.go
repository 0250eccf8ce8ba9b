package lvm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/provider/blkid"
	"bolt/apply/provider/tool"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

type logicalVolumes struct{}

// LogicalVolume returns the type logical_volume.
func LogicalVolume() resource.Type { return logicalVolumes{} }

type logicalVolume struct {
	r           *resource.Resource
	name, group string
	absent      bool
	size        string  // "" if it is not managed
	bytes       float64 // of size
	minimum     bool    // a larger volume is right, too
	resize      bool    // the file system with the volume
	stripes     string
	thin, pool  bool   // a volume in a thin pool, or the pool
	thinpool    string // the pool of the volume
	args        []string
	yes         bool
	exists      bool
	isBytes     float64
	extent      float64
	isStripes   string
}

var (
	sizeForm   = lazyregexp.New(`^([0-9]+(?:\.[0-9]+)?)([KMGTPE])`)
	extentForm = lazyregexp.New(`^\d+(%(vg|pvs|free|origin)?)?$`)
)

// parseSize returns a size in bytes.
func parseSize(text string) (float64, bool) {
	m := sizeForm().FindStringSubmatch(strings.ToUpper(text))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return n * math.Pow(1024, float64(strings.Index("KMGTPE", m[2])+1)), err == nil
}

// New implements resource.Type.
func (logicalVolumes) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &logicalVolume{r: r, name: f.Word("name", r.Title, ","), group: f.Word("volume_group", "", ","), absent: f.Text("ensure", "present") == "absent",
		size: f.Word("size", "", ","), stripes: f.Word("stripes", "", ","), minimum: f.Bool("size_is_minsize", false), resize: f.Bool("resize_fs", true), yes: f.Bool("yes_flag", false)}
	if x.name == "" || strings.Contains(x.name, "/") {
		f.RefuseValue("name", "must be a name without slashes", x.name)
	}
	if x.group == "" {
		f.Refuse("volume_group", "must be given")
	}
	switch pool := f.Word("thinpool", "false", ","); pool {
	case "true":
		x.pool = true
	case "false", "":
	default:
		x.thin, x.thinpool = true, pool
	}
	for _, p := range strings.Fields("mirror mirrorlog region_size no_sync range") {
		if r.Params.Value(p) != nil && !x.absent {
			f.Refuse(p, "is not supported: use --engine puppet for this volume")
		}
	}
	initial, extents := f.Word("initial_size", "", ","), f.Word("extents", "", ",")
	for p, text := range map[string]string{"size": x.size, "initial_size": initial, "poolmetadatasize": f.Text("poolmetadatasize", "")} {
		if _, ok := parseSize(text); text != "" && !ok {
			f.RefuseValue(p, "must be a size such as 500M or 1.5G", text)
		}
	}
	x.bytes, _ = parseSize(x.size)
	if extents != "" && !extentForm().MatchString(strings.ToLower(extents)) {
		f.RefuseValue("extents", "must be a number, or a percentage such as 100%FREE", extents)
	}
	for _, p := range strings.Fields("stripes stripesize") {
		if text := f.Text(p, ""); strings.Trim(text, "0123456789") != "" {
			f.RefuseValue(p, "must be a number", text)
		}
	}
	x.create(&f, initial, extents)
	return x, f.Err
}

// create sets the arguments of lvcreate.
func (x *logicalVolume) create(f *resource.Fields, initial, extents string) {
	if !x.pool {
		x.args = append(x.args, "-n", x.name)
	}
	option := "--size"
	if x.thin {
		option = "--virtualsize"
	}
	size := x.size
	if size == "" {
		size = initial
	}
	if size != "" {
		x.args = append(x.args, option, size)
	}
	if extents == "" && size == "" {
		extents = "100%FREE"
	}
	if extents != "" {
		x.args = append(x.args, "--extents", extents)
	}
	for _, p := range strings.Fields("stripes stripesize poolmetadatasize alloc readahead persistent minor type") {
		text := f.Word(p, "", ",")
		if p == "persistent" && text != "" {
			text = map[bool]string{true: "y", false: "n"}[f.Bool(p, false)]
		}
		if text != "" {
			x.args = append(x.args, "--"+p, text)
		}
	}
	switch {
	case x.thin:
		x.args = append(x.args, "--thin", x.group+"/"+x.thinpool)
	case x.pool:
		x.args = append(x.args, "--thin", x.group+"/"+x.name)
	default:
		x.args = append(x.args, x.group)
	}
	if x.yes {
		x.args = append(x.args, "--yes")
	}
}

func (x *logicalVolume) path() string { return "/dev/" + x.group + "/" + x.name }

// Read implements resource.Item.
func (x *logicalVolume) Read(ctx context.Context, h *resource.Host) error {
	return logicalVolumes{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (logicalVolumes) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() ([][]string, error) {
		return list(ctx, h, "lvs", "lv_name,vg_name,lv_size,vg_extent_size,stripes")
	}, func(x *logicalVolume, rows [][]string) (err error) {
		i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == x.name && row[1] == x.group })
		if x.exists = i >= 0; !x.exists {
			return nil
		}
		x.isStripes = rows[i][4]
		if x.isBytes, err = strconv.ParseFloat(rows[i][2], 64); err == nil {
			x.extent, err = strconv.ParseFloat(rows[i][3], 64)
		}
		return err
	})
}

// readable returns a size for people.
func readable(bytes float64) string {
	unit := 0
	for bytes >= 1024 && unit < len("BKMGTPE")-1 {
		bytes, unit = bytes/1024, unit+1
	}
	return strconv.FormatFloat(math.Round(bytes*100)/100, 'f', -1, 64) + "BKMGTPE"[unit:unit+1]
}

// Plan implements resource.Item. lvcreate rounds a size up to whole extents, so a volume of that size is right.
func (x *logicalVolume) Plan() ([]resource.Change, error) {
	changes := resource.Ensure("logical_volume", x.exists, x.absent)
	if changes != nil || x.absent {
		return changes, nil
	}
	if x.size != "" {
		want := x.bytes
		if x.extent > 0 {
			want = math.Ceil(want/x.extent) * x.extent
		}
		switch {
		case want < x.isBytes && !x.minimum:
			return nil, fmt.Errorf("the volume has %s, more than %s. A smaller size can destroy data, so make the volume smaller by hand, or set size_is_minsize", readable(x.isBytes), x.size)
		case want > x.isBytes:
			changes = append(changes, resource.Change{Property: "size", Is: readable(x.isBytes), Should: x.size})
		}
	}
	if x.stripes != "" && x.stripes != x.isStripes {
		return nil, fmt.Errorf("the volume has %s stripes, not %s, and LVM cannot change them", x.isStripes, x.stripes)
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *logicalVolume) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	switch {
	case x.absent:
		if kind, err := blkid.Probe(ctx, h, x.path()); err == nil && kind == "swap" {
			_ = program("swapoff").Change(ctx, h, x.path()) // fails if it is not in use; lvremove refuses volumes in use
		}
		return program("lvremove").Change(ctx, h, "-f", x.path())
	case c.Property == "size":
		return x.extend(ctx, h)
	}
	if err := program("lvcreate").Change(ctx, h, x.args...); err != nil {
		return err
	}
	// The next resource can use the device.
	if h.Find("udevadm") != "" {
		if err := program("udevadm").Change(ctx, h, "settle", "--timeout=30"); err != nil {
			h.Logf(x.r.Ref, report.Warning, "The device may not be ready: %v", err)
		}
	}
	return nil
}

// extend makes the volume larger, and its file system.
func (x *logicalVolume) extend(ctx context.Context, h *resource.Host) error {
	args := []string{"-L", x.size, x.path()}
	if x.yes {
		args = append(args, "--yes")
	}
	if !x.resize {
		return program("lvextend").Change(ctx, h, args...)
	}
	// All that can stop the change of the file system is checked first: a later run does not see that it failed.
	kind, err := blkid.Probe(ctx, h, x.path())
	if err != nil {
		return err
	}
	mounted := "" // [SWAP] for swap in use
	if kind == "xfs" || kind == "swap" {
		if mounted, err = program("lsblk").Query(ctx, h, "-o", "MOUNTPOINT", "-nr", x.path()); err != nil {
			return err
		}
		mounted = strings.TrimSpace(mounted)
	}
	if kind == "xfs" && mounted == "" {
		return fmt.Errorf("the volume has an XFS file system that is not mounted, so it cannot become larger. Mount it first")
	}
	if err := program("lvextend").Change(ctx, h, args...); err != nil {
		return err
	}
	switch kind {
	case "ext3", "ext4":
		return program("resize2fs").Change(ctx, h, x.path())
	case "xfs": // works on the mount point
		return program("xfs_growfs").Change(ctx, h, mounted)
	case "swap":
		names := []string{"swapoff", "mkswap", "swapon"}
		if mounted != "[SWAP]" {
			names = []string{"mkswap"}
		}
		for _, name := range names {
			if err := program(name).Change(ctx, h, x.path()); err != nil {
				return err
			}
		}
	}
	return nil
}
