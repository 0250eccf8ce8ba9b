package selinux

import (
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/resource"
)

type modules struct{}

// Module returns the type selmodule.
func Module() resource.Type { return modules{} }

// A module is a selmodule.
type module struct {
	name, file   string
	absent, sync bool
	loaded       bool
	differs      bool // the loaded module is not that of the file
}

// New implements resource.Type.
func (modules) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &module{name: f.Name("/"), absent: f.Text("ensure", "present") == "absent", sync: f.Bool("syncversion", false)}
	x.file = f.Text("selmodulepath", filepath.Join(f.Text("selmoduledir", "/usr/share/selinux/targeted"), x.name+".pp"))
	if !filepath.IsAbs(x.file) {
		f.RefuseValue("selmodulepath", "must be an absolute path", x.file)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *module) Read(ctx context.Context, h *resource.Host) error {
	text, err := program("semodule").Query(ctx, h, "--list")
	if err != nil {
		return err
	}
	x.loaded, x.differs = false, false
	version := ""
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == x.name {
			x.loaded, version = true, strings.Join(f[1:], "")
		}
	}
	if x.absent || !x.loaded || !x.sync {
		return nil
	}
	data, err := os.ReadFile(x.file)
	if err != nil {
		return err
	}
	if version == "" {
		// Differs from Puppet: the listing of policycoreutils 2.4 and later has no versions, and Puppet would load the
		// module at each run.
		x.differs, err = x.stored(h, data)
		return err
	}
	inFile, err := versionOf(data)
	if err != nil {
		return fmt.Errorf("%s: %w", x.file, err)
	}
	x.differs = inFile != version
	return nil
}

// stored compares the module with the one that the policy was built from.
func (x *module) stored(h *resource.Host, data []byte) (differs bool, err error) {
	files, err := filepath.Glob(h.Path("/var/lib/selinux/*/active/modules/*/" + x.name + "/hll"))
	if err != nil {
		return true, err
	}
	for _, file := range files {
		kept, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return true, err
		}
		plain, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(kept)))
		if err != nil { // the policy can be kept without compression
			plain = kept
		}
		if bytes.Equal(plain, data) {
			return false, nil
		}
	}
	return true, nil
}

// The parts of the file of a module, which libsepol writes: a package has sections, and the first one has the
// name and the version.
const (
	packageMagic = 0xf97cff8f
	afterHeaders = 14
)

// versionOf returns the version in the file of a module.
func versionOf(data []byte) (string, error) {
	bad := errors.New("it is not a compiled module of SELinux")
	take := func(n uint64) []byte {
		if uint64(len(data)) < n {
			data = nil
			return nil
		}
		part := data[:n]
		data = data[n:]
		return part
	}
	number := func() uint64 {
		if part := take(4); part != nil {
			return uint64(binary.LittleEndian.Uint32(part))
		}
		return 0
	}
	if number() != packageMagic || number() != 1 {
		return "", bad
	}
	take((number() + 1) * 4) // the places of the sections, and the magic number of the first one
	take(number())           // "SE Linux Module"
	take(number())
	take(afterHeaders)
	take(number()) // the name
	version := take(number())
	if version == nil {
		return "", bad
	}
	return string(version), nil
}

// Watch implements resource.Watcher.
func (x *module) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	list := watches(ctx, h)
	if x.sync && !x.absent {
		list = append(list, resource.Watch{Path: x.file})
	}
	return list
}

// Plan implements resource.Item.
func (x *module) Plan() ([]resource.Change, error) {
	switch {
	case x.absent && x.loaded:
		return resource.Removed("selmodule"), nil
	case x.absent:
		return nil, nil
	case !x.loaded:
		return resource.Created("selmodule"), nil
	case x.differs:
		return []resource.Change{{Property: "syncversion", Is: "false", Should: "true"}}, nil
	}
	return nil, nil
}

// Do implements resource.Item.
func (x *module) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	args := []string{"--install", x.file}
	switch {
	case c.Property == "syncversion":
		args[0] = "--upgrade"
	case x.absent:
		args = []string{"--remove", x.name}
	}
	err := program("semodule").Change(ctx, h, args...)
	return err
}
