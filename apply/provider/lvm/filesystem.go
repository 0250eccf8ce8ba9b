package lvm

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bolt/apply/provider/blkid"
	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

type filesystems struct{}

// Filesystem returns the type filesystem.
func Filesystem() resource.Type { return filesystems{} }

type filesystem struct {
	name, kind string
	command    string // mkfs_cmd; "" for mkfs.KIND or mkswap
	options    []string
	managed    bool   // ensure is given; it has no default
	is         string // the file system that the device has; "" for none
}

// onAIX are the parameters for AIX.
var onAIX = strings.Fields("initial_size size ag_size large_files compress frag nbpi logname logsize maxext mountguard agblksize extended_attributes encrypted isnapshot " +
	"mount_options vix log_partitions nodename accounting mountgroup atboot perms device volume_group")

// New implements resource.Type.
func (filesystems) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &filesystem{kind: f.Word("fs_type", "", ","), command: f.Word("mkfs_cmd", "", ","), options: strings.Fields(f.Text("options", ""))}
	x.name = device(&f, "name", f.Text("name", r.Title))
	if x.kind == "" || strings.Contains(x.kind, "/") {
		f.RefuseValue("fs_type", "must be a type such as ext4 or xfs", x.kind)
	}
	ensure := f.Text("ensure", "")
	x.managed = ensure != ""
	if ensure == "absent" {
		f.Refuse("ensure", "cannot be absent: file systems are not removed")
	}
	for _, p := range onAIX {
		if r.Params.Value(p) != nil {
			f.Refuse(p, "is for AIX only")
		}
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *filesystem) Read(ctx context.Context, h *resource.Host) (err error) {
	if !x.managed {
		return nil
	}
	x.is, err = blkid.Probe(ctx, h, x.name)
	return err
}

// Plan implements resource.Item.
func (x *filesystem) Plan() ([]resource.Change, error) {
	if !x.managed {
		return nil, nil
	}
	switch x.is {
	case x.kind:
		return nil, nil
	case "":
		return resource.Ensure("filesystem", false, false), nil
	case blkid.Several:
		return nil, fmt.Errorf("%s has more than one signature, and is not overwritten. If the signatures are not needed, remove them with wipefs", x.name)
	case blkid.Partitions:
		return nil, fmt.Errorf("%s has partitions, and these are not overwritten. If they are not needed, remove them with wipefs", x.name)
	}
	return nil, fmt.Errorf("%s has a file system of the type %s, and it is not overwritten. If it is not needed, remove it with wipefs", x.name, x.is)
}

// forced are options that keep the programs from prompting.
var forced = map[string]string{"reiserfs": "-q", "xfs": "-f"}

// Do implements resource.Item.
func (x *filesystem) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if _, err := os.Stat(h.Path(x.name)); err != nil {
		return err
	}
	// Another program can have made a file system since Read, such as the program of another resource.
	if err := x.Read(ctx, h); err != nil {
		return err
	}
	if x.is != "" {
		_, err := x.Plan()
		return err
	}
	name := x.command
	switch {
	case name != "":
	case x.kind == "swap":
		name = "mkswap"
	default:
		name = "mkfs." + x.kind
	}
	args := []string{x.name}
	if option := forced[x.kind]; option != "" {
		args = append(args, option)
	}
	mkfs := &tool.Tool{Name: name, Hint: "Install the tools of the file system on the target", Limit: limit}
	if err := mkfs.Change(ctx, h, append(args, x.options...)...); err != nil || x.kind != "swap" {
		return err
	}
	return program("swapon").Change(ctx, h, x.name)
}
