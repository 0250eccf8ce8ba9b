package openssl

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/login"
	"bolt/apply/provider/safepath"
	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// A file is the file of a resource: its presence, owner, group and mode. The types of this package differ in the
// contents.
type file struct {
	r                  *resource.Resource
	kind               string   // the type, such as ssl_pkey
	what               string   // the contents, such as certificate
	blocks             []string // the types of PEM blocks that the file can have
	path               string
	ensure             string // present, absent, or "" if it is not managed
	owner, group, mode string // "" if they are not managed

	is   state
	want struct{ uid, gid uint32 } // Read
	// wrong is the reason to replace a file that exists; "" for none.
	wrong string
}

// A state has the properties of a file. The zero state stands for a missing file.
type state struct {
	exists   bool
	text     string
	uid, gid uint32
	mode     uint32
	// owner and group are names for messages. ownerKnown and groupKnown are set if the wanted owner and group exist.
	owner, group           string
	ownerKnown, groupKnown bool
}

var fileMode = lazyregexp.New(`^0[0-7]{3}$`)

// newFile reads the parameters that the types share. As in Puppet, ensure is present by default if the owner, the
// group or the mode is managed.
func newFile(f *resource.Fields, kind, what string, blocks ...string) file {
	x := file{
		r:      f.R,
		kind:   kind,
		what:   what,
		blocks: blocks,
		path:   filepath.Clean(f.Text("path", f.R.Title)),
		owner:  f.Text("owner", ""),
		group:  f.Text("group", ""),
		mode:   f.Text("mode", ""),
	}
	if x.owner != "" || x.group != "" || x.mode != "" {
		x.ensure = "present"
	}
	x.ensure = f.Text("ensure", x.ensure)
	needPath(f, "path", x.path)
	if x.mode != "" && !fileMode().MatchString(x.mode) {
		f.RefuseValue("mode", "must be an octal number of four digits that begins with 0, such as 0600", x.mode)
	}
	return x
}

func needPath(f *resource.Fields, param, path string) {
	if !filepath.IsAbs(path) {
		f.RefuseValue(param, "must be an absolute path", path)
	}
}

// read finds the state of the file.
func (x *file) read(ctx context.Context, h *resource.Host) error {
	x.is, x.wrong = state{}, ""
	at, err := safepath.Open(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(at.Fd()), &st)
	if err := cmp.Or(err, at.Close()); err != nil {
		return err
	}
	if x.is.text, x.is.exists, err = textfile.Read(ctx, x.path); err != nil {
		return err
	}
	x.is.uid, x.is.gid, x.is.mode = st.Uid, st.Gid, st.Mode&0o7777
	if x.owner != "" {
		x.is.owner = strconv.Itoa(int(st.Uid))
		if u, err := login.FindUser(ctx, h, x.is.owner); err == nil {
			x.is.owner = u.Name
		}
	}
	if x.group != "" {
		x.is.group = strconv.Itoa(int(st.Gid))
	}
	return x.lookUp(ctx, h, false)
}

// lookUp finds the numbers of the wanted owner and group. With noop, they can be missing.
func (x *file) lookUp(ctx context.Context, h *resource.Host, must bool) error {
	if x.owner != "" {
		u, err := login.FindUser(ctx, h, x.owner)
		x.is.ownerKnown = err == nil
		switch {
		case err == nil:
			x.want.uid = u.UID
		case must || !errors.Is(err, login.ErrUnknown):
			return err
		}
	}
	if x.group != "" {
		gid, err := login.FindGroup(ctx, h, x.group)
		x.is.groupKnown = err == nil
		x.want.gid = gid
		if err != nil && (must || !errors.Is(err, login.ErrUnknown)) {
			return err
		}
	}
	return nil
}

// Plan implements resource.Item.
func (x *file) Plan() (changes []resource.Change, err error) {
	switch {
	case x.ensure == "absent" && x.is.exists:
		return resource.Removed(x.kind), nil
	case x.ensure == "present" && !x.is.exists:
		return resource.Created(x.kind), nil
	case x.ensure == "present" && x.wrong != "":
		if err := x.alone(); err != nil {
			return nil, err
		}
		return []resource.Change{{Property: "ensure", Name: x.kind + "_created", Is: "absent", Should: "present", Message: "created again, because " + x.wrong}}, nil
	case !x.is.exists:
		return nil, nil
	}
	add := func(property, is, should string) {
		changes = append(changes, resource.Change{Property: property, Is: is, Should: should})
	}
	if x.owner != "" && (!x.is.ownerKnown || x.is.uid != x.want.uid) {
		add("owner", x.is.owner, x.owner)
	}
	if x.group != "" && (!x.is.groupKnown || x.is.gid != x.want.gid) {
		add("group", x.is.group, x.group)
	}
	if x.mode != "" && x.is.mode != x.bits() {
		add("mode", fmt.Sprintf("%04o", x.is.mode), x.mode)
	}
	return changes, nil
}

// Watch implements resource.Watcher.
func (x *file) Watch(context.Context, *resource.Host) []resource.Watch { return resource.Paths(x.path) }

// bits returns the wanted mode.
func (x *file) bits() uint32 {
	n, _ := strconv.ParseUint(x.mode, 8, 16) // New has checked it
	return uint32(n)
}

// change makes a change of Plan. contents makes the text of the file; a file that did not exist gets the mode
// fresh, unless mode is managed.
func (x *file) change(ctx context.Context, h *resource.Host, c *resource.Change, fresh fs.FileMode, contents func() (string, error)) error {
	if c.Property != "ensure" {
		return x.dress(ctx, h)
	}
	if x.ensure == "absent" {
		return x.remove(h)
	}
	return x.create(ctx, h, fresh, contents)
}

func (x *file) create(ctx context.Context, h *resource.Host, fresh fs.FileMode, contents func() (string, error)) error {
	if err := x.lookUp(ctx, h, true); err != nil { // before the work
		return err
	}
	text, err := contents()
	if err != nil {
		return err
	}
	return x.write(ctx, h, text, fresh)
}

// write replaces the text of the file, and then sets its owner, group and mode.
func (x *file) write(ctx context.Context, h *resource.Host, text string, fresh fs.FileMode) error {
	if x.is.exists {
		if err := h.Backup(x.path); err != nil {
			return err
		}
	}
	if err := textfile.Write(x.path, text, fresh); err != nil {
		return err
	}
	return x.dress(ctx, h)
}

func (x *file) remove(h *resource.Host) error {
	if x.kind != "ssl_pkey" { // no copy of a private key that must be gone
		if err := h.Backup(x.path); err != nil {
			return err
		}
	}
	dir, name, err := safepath.Parent(x.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil && err != unix.ENOENT {
		return &fs.PathError{Op: "remove", Path: x.path, Err: err}
	}
	return nil
}

// dress sets the owner, the group and the mode of the file. The mode is last, because a change of the owner takes
// bits away.
func (x *file) dress(ctx context.Context, h *resource.Host) error {
	if err := x.lookUp(ctx, h, true); err != nil {
		return err
	}
	at, err := safepath.Open(x.path)
	if err != nil {
		return err
	}
	defer at.Close()
	uid, gid := -1, -1
	if x.owner != "" {
		uid = int(x.want.uid)
	}
	if x.group != "" {
		gid = int(x.want.gid)
	}
	if uid >= 0 || gid >= 0 {
		if err := unix.Fchownat(int(at.Fd()), "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
			return &fs.PathError{Op: "chown", Path: x.path, Err: err}
		}
	}
	if x.mode != "" {
		return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", at.Fd()), fs.FileMode(x.bits()))
	}
	return nil
}

// block returns the PEM block in the file. The error is for a file that exists and has none.
func (x *file) block() (*pem.Block, error) {
	block := find([]byte(x.is.text), x.blocks...)
	if block == nil {
		return nil, fmt.Errorf("%s has no %s in PEM format. bolt does not replace it; move it away first", x.path, x.what)
	}
	return block, nil
}

// alone returns an error for a file with more than one PEM block, such as a certificate with its key or its chain. The new file would
// have only one block.
func (x *file) alone() error {
	if n := strings.Count("\n"+x.is.text, "\n-----BEGIN "); n > 1 {
		return fmt.Errorf("%s has %d blocks in PEM format, and would lose all but the %s. bolt does not replace it; move it away first", x.path, n, x.what)
	}
	return nil
}

// again makes the file again because of a refresh. A file that is absent, or was made just now, stays.
func (x *file) again(ctx context.Context, h *resource.Host, made []resource.Change, contents func() (string, error)) error {
	if x.ensure == "absent" {
		return nil
	}
	for _, c := range made {
		if c.Property == "ensure" {
			return nil
		}
	}
	if x.is.exists {
		if _, err := x.block(); err != nil {
			return err
		}
		if err := x.alone(); err != nil {
			return err
		}
	}
	return x.create(ctx, h, 0o644, contents)
}
