package lvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

type filesystems struct{}

// Filesystem returns the type filesystem.
func Filesystem() resource.Type { return filesystems{} }

type filesystem struct {
	name, kind string
	command    string // mkfs_cmd; "" for mkfs.KIND or mkswap
	options    []string
	is         string // the file system that the device has; "" for none
}

// onAIX are the parameters for AIX.
var onAIX = strings.Fields("initial_size size ag_size large_files compress frag nbpi logname logsize maxext mountguard agblksize extended_attributes encrypted isnapshot " +
	"mount_options vix log_partitions nodename accounting mountgroup atboot perms device volume_group")

// New implements resource.Type.
func (filesystems) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &filesystem{kind: word(&f, "fs_type", ""), command: word(&f, "mkfs_cmd", ""), options: strings.Fields(f.Text("options", ""))}
	x.name = device(&f, "name", f.Text("name", r.Title))
	if x.kind == "" || strings.Contains(x.kind, "/") {
		f.RefuseValue("fs_type", "must be a type such as ext4 or xfs", x.kind)
	}
	if f.Text("ensure", "present") == "absent" {
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
	x.is, err = probe(ctx, h, x.name)
	return err
}

// attribute is a value in a line of blkid.
var attribute = lazyregexp.New(` (PTTYPE|TYPE)="([^"]*)"`)

// What probe returns for a device without one file system.
const (
	partitions = "partitions"
	several    = "several" // signatures
)

// Exit codes of blkid(8) that are not failures.
const (
	blkidNothing    = 2 // also for a device that cannot be read
	blkidAmbivalent = 8 // several signatures
)

// probe returns the file system of a device, "" for none. It is also "" for a device that does not exist. It reads the device itself,
// because the lists of udev can be old.
func probe(ctx context.Context, h *resource.Host, device string) (string, error) {
	blkid := &tool.Tool{Name: "blkid", Hint: "Install the package util-linux on the target", Limit: limit}
	out, err := blkid.Run(ctx, h, &resource.Command{Argv: []string{"-p", "-s", "TYPE", "-s", "PTTYPE", device}})
	if err != nil {
		return "", err
	}
	switch out.Code {
	case blkidNothing:
		return "", checkReadable(h.Path(device))
	case blkidAmbivalent:
		return several, nil
	}
	return parseBlkid(string(out.Stdout)), out.Failure("blkid")
}

// checkReadable returns an error for a device that exists and cannot be read.
func checkReadable(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// parseBlkid reads a line such as: /dev/vg/lv: TYPE="ext4".
func parseBlkid(text string) (kind string) {
	_, text, _ = strings.Cut(text, ": ")
	for _, m := range attribute().FindAllStringSubmatch(" "+text, -1) {
		switch {
		case m[1] == "TYPE":
			kind = m[2]
		case kind == "":
			kind = partitions
		}
	}
	return kind
}

// Plan implements resource.Item.
func (x *filesystem) Plan() ([]resource.Change, error) {
	switch x.is {
	case x.kind:
		return nil, nil
	case "":
		return ensure("filesystem", false, false), nil
	case several:
		return nil, fmt.Errorf("%s has more than one signature, and is not overwritten. If the signatures are not needed, remove them with wipefs", x.name)
	case partitions:
		return nil, fmt.Errorf("%s has partitions, and these are not overwritten. If they are not needed, remove them with wipefs", x.name)
	}
	return nil, fmt.Errorf("%s has a file system of the type %s, and it is not overwritten. If it is not needed, remove it with wipefs", x.name, x.is)
}

// forced are options without which the programs ask questions.
var forced = map[string]string{"reiserfs": "-q", "xfs": "-f"}

// Do implements resource.Item.
func (x *filesystem) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if _, err := os.Stat(h.Path(x.name)); err != nil {
		return err
	}
	// Somebody can have made a file system since Read, also the program of another resource.
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
	if strings.HasPrefix(name, "/") {
		out, err := h.Run(ctx, &resource.Command{Argv: append(append([]string{name}, args...), x.options...), Env: h.Environ(), Session: true, Timeout: limit})
		if err != nil {
			return err
		}
		return out.Failure(name)
	}
	if err := mkfs.Change(ctx, h, append(args, x.options...)...); err != nil || x.kind != "swap" {
		return err
	}
	return program("swapon").Change(ctx, h, x.name)
}
