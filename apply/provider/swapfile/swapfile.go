// Package swapfile applies resources of the type swap_file: files that the kernel uses as swap space.
//
// The rules come from the module puppet-swap_file. The present state is read from /proc/swaps, and changed with
// mkswap(8), swapon(8) and swapoff(8). The size of the file is not managed: another resource makes the file.
package swapfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/blkid"
	"bolt/apply/provider/safepath"
	"bolt/apply/provider/tool"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// limit ends a program that hangs. To take a file out of use, the kernel reads all that is in it.
const limit = 30 * time.Minute

func program(name string) *tool.Tool {
	return &tool.Tool{Name: name, Hint: "Install the package util-linux on the target", Limit: limit}
}

// Type returns the type swap_file.
func Type() resource.Type { return swapFiles{} }

type swapFiles struct{}

// An item is one swap file.
type item struct {
	r      *resource.Resource
	file   string
	ensure string            // present, absent, or "": then nothing is managed
	given  map[string]string // the values of properties that cannot be changed
	is     map[string]string // the properties; nil if the file is not in use
}

// readOnly are the properties that are only compared.
var readOnly = []string{"type", "size", "used", "priority"}

// New implements resource.Type. As in Puppet, ensure is present by default if a property is given.
func (swapFiles) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{r: r, given: make(map[string]string)}
	x.file = f.Text("file", f.Text("name", r.Title))
	if !path.IsAbs(x.file) || strings.ContainsAny(x.file, "\r\n") {
		f.RefuseValue("file", "must be an absolute path", x.file)
	}
	for _, p := range readOnly {
		if text := f.Text(p, ""); text != "" {
			x.given[p] = text
		}
	}
	if len(x.given) > 0 {
		x.ensure = "present"
	}
	x.ensure = f.Text("ensure", x.ensure)
	return x, f.Err
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return swapFiles{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (swapFiles) ReadAll(_ context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() (map[string]map[string]string, error) { return used(h) }, func(x *item, all map[string]map[string]string) error {
		if x.is = all[path.Clean(x.file)]; x.is == nil {
			return nil
		}
		for _, p := range readOnly {
			if want, given := x.given[p]; given && want != x.is[p] && x.ensure != "absent" {
				h.Logf(x.r.Ref, report.Warning, "The %s is %s, not %s, and cannot be changed while the file is in use", p, x.is[p], want)
			}
		}
		return nil
	})
}

// Watch implements resource.Watcher. The kernel reports no changes of /proc/swaps.
func (x *item) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return append(resource.Paths(h.Path(x.file)), resource.Watch{Poll: true})
}

// used returns the swap files and devices that are in use, by path.
func used(h *resource.Host) (map[string]map[string]string, error) {
	text, err := os.ReadFile(h.Path("/proc/swaps"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the swap files that are in use are not known: /proc/swaps is missing")
	}
	if err != nil {
		return nil, err
	}
	return parse(string(text))
}

// parse reads /proc/swaps: a header, and lines with the path, the type, the size and the used space in KiB, and the priority.
func parse(text string) (map[string]map[string]string, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if !strings.HasPrefix(lines[0], "Filename") {
		return nil, errors.New("/proc/swaps has no header")
	}
	all := make(map[string]map[string]string)
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, errors.New("/proc/swaps has a line that does not have five fields")
		}
		all[unescape(f[0])] = map[string]string{"type": f[1], "size": f[2], "used": f[3], "priority": f[4]}
	}
	return all, nil
}

// unescape reverses the octal escapes of blanks in paths.
func unescape(name string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(name)
}

// Plan implements resource.Item.
func (x *item) Plan() ([]resource.Change, error) {
	switch {
	case x.ensure == "absent" && x.is != nil:
		return resource.Removed("swap_file"), nil
	case x.ensure == "present" && x.is == nil:
		return resource.Created("swap_file"), nil
	}
	return nil, nil
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if x.ensure == "absent" {
		return program("swapoff").Change(ctx, h, x.file)
	}
	f, err := x.open(h)
	if err != nil {
		return err
	}
	defer f.Close()
	// The programs get the descriptor, because the path can be exchanged meanwhile.
	const opened = "/proc/self/fd/3"
	keep := []*os.File{f}
	kind, err := blkid.Probe(ctx, h, opened, keep...)
	if err != nil {
		return err
	}
	switch kind {
	case "swap": // its UUID stays
	case "":
		if err := x.needEmpty(ctx, f); err != nil {
			return err
		}
		if err := change(ctx, h, "mkswap", opened, keep); err != nil {
			return err
		}
	case blkid.Partitions, blkid.Several:
		return fmt.Errorf("%s has other data (%s), and is not overwritten", x.file, map[string]string{blkid.Partitions: "partitions", blkid.Several: "more than one signature"}[kind])
	default:
		return fmt.Errorf("%s has data of the type %s, and is not overwritten", x.file, kind)
	}
	return change(ctx, h, "swapon", opened, keep)
}

func change(ctx context.Context, h *resource.Host, name, path string, keep []*os.File) error {
	out, err := program(name).Run(ctx, h, &resource.Command{Argv: []string{path}, Session: true, Keep: keep})
	if err != nil {
		return err
	}
	if err := out.Failure(name); err != nil {
		return fmt.Errorf("%s: %s", keep[0].Name(), strings.ReplaceAll(err.Error(), path, "the file"))
	}
	return nil
}

// open opens the file or the block device, but not a link.
func (x *item) open(h *resource.Host) (*os.File, error) {
	dir, name, err := safepath.Parent(h.Path(x.file))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.ELOOP {
		return nil, fmt.Errorf("%s is not a regular file", x.file)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: x.file, Err: err}
	}
	f := os.NewFile(uintptr(fd), x.file)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if kind := st.Mode & unix.S_IFMT; err == nil && kind != unix.S_IFREG && kind != unix.S_IFBLK {
		err = fmt.Errorf("%s is not a regular file", x.file)
	}
	if err == nil && st.Uid != 0 && st.Uid != uint32(os.Geteuid()) {
		err = fmt.Errorf("%s has an owner with the UID %d. This user could read the memory of other users. Change the owner", x.file, st.Uid)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// needEmpty returns an error if a regular file has a byte that is not zero. It does not read the holes of the file.
func (x *item) needEmpty(ctx context.Context, f *os.File) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	buf := make([]byte, 1<<20)
	for at := int64(0); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		data, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		switch err {
		case nil:
			at = data
		case unix.ENXIO:
			return nil // no data after at
		case unix.EINVAL: // the file system does not support holes
		default:
			return &fs.PathError{Op: "seek", Path: x.file, Err: err}
		}
		n, err := f.ReadAt(buf, at)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return fmt.Errorf("%s has data, and is not overwritten. If the data is not needed, remove the file and make it again", x.file)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at += int64(n)
	}
}
