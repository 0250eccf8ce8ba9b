// Package mount applies resources of the type mount: lines of fstab(5), and file systems that are mounted.
//
// Only the line of the resource is changed in fstab; all others stay as they are. Mounted file systems
// are read from /proc/self/mounts, and changed with mount(8) and umount(8).
package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// Type returns the type mount.
func Type() resource.Type { return mountType{} }

type mountType struct{}

// An item is one mount.
type item struct {
	r       *resource.Resource
	name    string
	ensure  string // defined, mounted, unmounted, absent, or "" if it is not managed
	want    [fieldCount]string
	managed [fieldCount]bool
	target  string // "" for /etc/fstab
	remount bool   // the file system can be remounted, and need not be unmounted

	state   string // Read: absent, ghost (mounted, but not in fstab), mounted or unmounted
	is      *line  // nil if fstab has none
	changes int    // Plan: the number of changes of properties
}

func (x *item) file(h *resource.Host) string {
	if x.target == "" {
		return h.Path("/etc/fstab")
	}
	return x.target
}

// mountsFile has a line for each mounted file system.
const mountsFile = "/proc/self/mounts"

// Read finds the line, and whether the file system is mounted.
func (x *item) Read(_ context.Context, h *resource.Host) error {
	lines, err := readLines(x.file(h))
	if err != nil {
		return err
	}
	mounts, err := readLines(h.Path(mountsFile))
	if err != nil {
		return err
	}
	if len(mounts) == 0 && x.ensure == "mounted" {
		// In many chroots /proc is not mounted. With a guess, each run would mount the file system once more.
		return errors.New("it is not known whether the file system is mounted: " + mountsFile + " is missing or empty")
	}
	x.is = find(lines, x.name)
	mounted := find(mounts, x.name) != nil
	switch {
	case mounted && x.is == nil:
		x.state = "ghost"
	case mounted:
		x.state = "mounted"
	case x.is != nil:
		x.state = "unmounted"
	default:
		x.state = "absent"
	}
	return nil
}

func (x *item) mounted() bool { return x.state == "mounted" || x.state == "ghost" }

// Plan compares the states. If ensure differs, Do changes the line together with it, as in Puppet.
func (x *item) Plan() ([]resource.Change, error) {
	if x.ensure != "" && x.ensure != x.state && !(x.ensure == "defined" && x.is != nil) {
		if x.ensure != "absent" && x.is == nil {
			for _, f := range []field{device, fstype} {
				if x.want[f] == "" {
					return nil, fmt.Errorf("the mount cannot be added to %s without the parameter %s", fstab, fieldNames[f])
				}
			}
		}
		return []resource.Change{{Property: "ensure", Name: x.event(), Is: x.state, Should: x.ensure}}, nil
	}
	if x.is == nil {
		return nil, nil
	}
	var changes []resource.Change
	for f := range fieldCount {
		if x.managed[f] && x.is.fields[f] != x.want[f] {
			changes = append(changes, resource.Change{Property: fieldNames[f], Is: x.is.fields[f], Should: x.want[f]})
		}
	}
	x.changes = len(changes)
	return changes, nil
}

// event is the name of the change of ensure.
func (x *item) event() string {
	switch {
	case x.ensure == "absent":
		return "mount_deleted"
	case x.ensure == "mounted":
		return "mount_mounted"
	case x.ensure == "unmounted" && x.mounted():
		return "mount_unmounted"
	}
	return "mount_created"
}

// Do makes a change. A mounted file system gets its new options after the last one.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	if c.Property == "ensure" {
		return x.settle(ctx, h)
	}
	for f := range fieldCount {
		if fieldNames[f] != c.Property {
			continue
		}
		if err := x.write(h, func(l *line) { l.fields[f] = x.want[f] }); err != nil {
			return err
		}
	}
	if x.changes--; x.changes == 0 {
		return x.again(ctx, h)
	}
	return nil
}

// settle brings the mount to the state of ensure.
func (x *item) settle(ctx context.Context, h *resource.Host) error {
	if x.ensure == "absent" {
		if x.mounted() {
			if err := run(ctx, h, "umount", x.name); err != nil {
				return err
			}
		}
		return x.write(h, nil)
	}
	if err := x.write(h, x.fill); err != nil {
		return err
	}
	switch {
	case x.ensure == "mounted" && !x.mounted():
		return run(ctx, h, "mount", x.name)
	case x.ensure == "unmounted" && x.mounted():
		return run(ctx, h, "umount", x.name)
	}
	return nil
}

// fill gives a line all wanted values.
func (x *item) fill(l *line) {
	for f := range fieldCount {
		if x.managed[f] {
			l.fields[f] = x.want[f]
		}
	}
}

// Refresh remounts the file system. It has just been done if there were changes.
func (x *item) Refresh(ctx context.Context, h *resource.Host, made []resource.Change) error {
	if len(made) > 0 {
		return nil
	}
	return x.again(ctx, h)
}

func (x *item) again(ctx context.Context, h *resource.Host) error {
	swap := x.want[fstype] == "swap" || x.is != nil && x.is.fields[fstype] == "swap"
	switch {
	case swap || !x.mounted():
		return nil
	case x.remount:
		return run(ctx, h, "mount", "-o", "remount", x.name)
	}
	if err := run(ctx, h, "umount", x.name); err != nil {
		return err
	}
	return run(ctx, h, "mount", x.name)
}

func run(ctx context.Context, h *resource.Host, argv ...string) error {
	out, err := h.Run(ctx, &resource.Command{Argv: argv, Env: h.Env, Session: true, Combined: true, Timeout: resource.ChangeLimit})
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("%s exited with code %d: %s", strings.Join(argv, " "), out.Code, safetext.Message(strings.TrimSpace(string(out.Stdout))))
	}
	return nil
}

// write changes the line of the mount, or adds it. If change is nil, the line is removed.
func (x *item) write(h *resource.Host, change func(*line)) error {
	file := x.file(h)
	lines, err := readLines(file)
	if err != nil {
		return err
	}
	old := find(lines, x.name)
	var text strings.Builder
	for _, l := range lines {
		if l != old {
			text.WriteString(l.text + "\n")
			continue
		}
		if change == nil {
			continue
		}
		before := l.fields
		if change(l); l.fields == before {
			return nil
		}
		text.WriteString(l.String() + "\n")
	}
	if old == nil && change != nil {
		l := &line{name: x.name}
		l.fields[options] = "defaults"
		change(l)
		text.WriteString(l.String() + "\n")
	}
	if old == nil && change == nil {
		return nil
	}
	if _, err := os.Lstat(file); err == nil {
		if err := h.Backup(file); err != nil {
			return err
		}
	}
	return textfile.Write(file, text.String(), 0o644)
}

// readLines reads a file of the form of fstab; none if it is not there.
func readLines(file string) (lines []*line, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for l := range strings.Lines(string(data)) {
		lines = append(lines, parse(strings.TrimSuffix(l, "\n")))
	}
	return lines, nil
}

// Watch implements resource.Watcher. The table of mounted file systems has no events that inotify can see.
func (x *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	return []resource.Watch{{Path: x.file(h)}, {Poll: true}}
}
