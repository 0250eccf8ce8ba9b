package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/safepath"
	"bolt/apply/resource"
)

// The modes of new files and directories without the parameter mode.
const (
	fileMode      = 0o644
	directoryMode = 0o755
)

// write gives the file its content. old is the state of a file that keeps its attributes, nil for a new file. A
// link is replaced by a file, also if links is follow. Differs from Puppet: the file then has the mode of the
// file behind the link, and not 0777.
func (f *item) write(ctx context.Context, h *resource.Host, p place, old *state) error {
	if err := f.removable(); err != nil {
		return err
	}
	stage, path := p, filepath.Join(filepath.Dir(f.path), temporary(p.name))
	if f.staging != "" {
		path = filepath.Join(f.staging, temporary(p.name))
		var err error
		if stage, err = openParent(path); err != nil {
			return fmt.Errorf("staging_location: %w", err)
		}
		defer stage.close()
	}
	stage.name = filepath.Base(path)
	t, err := create(stage)
	if err != nil {
		return err
	}
	defer t.discard()
	if err := f.fill(ctx, h, t); err != nil {
		return err
	}
	if err := f.dress(t, old); err != nil {
		return err
	}
	if t.size > 0 {
		if err := f.t.flusher.sync(t.File); err != nil {
			return err
		}
	}
	if f.validate != "" && (f.hasContent || f.sources != nil) {
		if err := f.checkCommand(ctx, h, path); err != nil {
			return err
		}
	}
	if f.is.kind == directory {
		if err := f.remove(ctx, h, p); err != nil {
			return err
		}
	} else if err := f.backUp(ctx, h, p, false); err != nil {
		return err
	}
	placed, err := t.rename(p)
	if err != nil {
		return err
	}
	f.known = inodeOf(&placed)
	// An owner that does not exist fails a new file after it was written, as in Puppet. An old file fails with the
	// change of its owner.
	if old == nil {
		for what, a := range map[string]*account{"user": f.want.owner, "group": f.want.group} {
			if a != nil && a.unknown != "" {
				_, err := a.id(what)
				return err
			}
		}
	}
	return nil
}

// fill writes the content, and checks it against the wanted checksum.
func (f *item) fill(ctx context.Context, h *resource.Host, t *temp) error {
	from, err := f.contents(ctx, h)
	if err != nil {
		return err
	}
	defer from.Close()
	var to io.Writer = t
	var sum *summer
	k, _, _ := parts(f.want.sum)
	if k.hashed() && (!f.hasContent || f.sum != "") {
		sum = k.summer()
		to = io.MultiWriter(t, sum)
	}
	if t.size, err = io.Copy(to, from); err != nil {
		return err
	}
	if sum != nil && sum.String() != f.want.sum {
		return fmt.Errorf("the content has the checksum %s instead of %s, so it is not used", sum, f.want.sum)
	}
	return nil
}

// dress gives a temporary file its attributes.
func (f *item) dress(t *temp, old *state) error {
	var made unix.Stat_t
	if err := unix.Fstat(int(t.Fd()), &made); err != nil {
		return err
	}
	uid, gid, bits := made.Uid, made.Gid, uint32(fileMode)
	if old != nil {
		uid, gid, bits = old.st.Uid, old.st.Gid, old.mode()
	}
	if f.want.mode != nil {
		var err error
		if bits, err = f.want.mode.apply(bits, false); err != nil {
			return err
		}
	}
	if a := f.want.owner; a != nil && a.unknown == "" && !a.has(uid) && os.Geteuid() == 0 {
		uid = uint32(a.ids[0])
	}
	if a := f.want.group; a != nil && a.unknown == "" && !a.has(gid) && (old != nil || f.want.owner == nil || f.want.owner.unknown == "") {
		gid = uint32(a.ids[0])
	}
	if old != nil && (uid != old.st.Uid || gid != old.st.Gid) && (f.want.mode == nil || !f.want.mode.octal) {
		// The special bits were given for the old owner and the old content. chown(2) also clears them.
		bits &^= unix.S_ISUID | unix.S_ISGID
	}
	if uid != made.Uid || gid != made.Gid {
		if err := t.Chown(int(uid), int(gid)); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(int(t.Fd()), bits); err != nil {
		return &fs.PathError{Op: "chmod", Path: t.Name(), Err: err}
	}
	return f.labelNew(t, old)
}

// checkCommand runs validate_cmd for a file.
func (f *item) checkCommand(ctx context.Context, h *resource.Host, path string) error {
	line := strings.ReplaceAll(f.validate, f.mark, quoted(path))
	out, err := h.Run(ctx, &resource.Command{Argv: []string{"/bin/sh", "-c", line}, Env: h.Environ(), Dir: "/", Timeout: resource.QueryLimit})
	switch {
	case err != nil:
		return fmt.Errorf("validate_cmd: %w", err)
	case out.Code == 0:
		return nil
	case f.secret() || f.r.Secret("validate_cmd"):
		return fmt.Errorf("the new content was refused: validate_cmd: exit code %d", out.Code)
	}
	return fmt.Errorf("the new content was refused: %w", out.Failure("validate_cmd"))
}

// quoted quotes a path for the shell if that is needed.
func quoted(path string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:,="
	if strings.Trim(path, safe) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// A temp is a temporary file.
type temp struct {
	*os.File
	at   place
	size int64
	gone bool // renamed
}

// create makes the temporary file of a place, and removes the temporary file of a killed run.
func create(at place) (*temp, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := openat(at, flags, 0o600)
	if err == unix.EEXIST {
		if err = unix.Unlinkat(at.dir, at.name, 0); err == nil {
			fd, err = openat(at, flags, 0o600)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: at.path(), Err: err}
	}
	return &temp{File: os.NewFile(uintptr(fd), at.path()), at: at}, nil
}

// discard removes the file unless it was renamed.
func (t *temp) discard() {
	t.Close()
	if !t.gone {
		unix.Unlinkat(t.at.dir, t.at.name, 0)
	}
}

// rename moves the file to a place, and returns its state. Where that is on another file system, a copy is moved.
func (t *temp) rename(to place) (st unix.Stat_t, err error) {
	if err := unix.Fstat(int(t.Fd()), &st); err != nil {
		return st, err
	}
	err = unix.Renameat(t.at.dir, t.at.name, to.dir, to.name)
	if err == unix.EXDEV {
		return t.copy(to)
	}
	if err != nil {
		return st, &fs.PathError{Op: "rename", Path: to.path(), Err: err}
	}
	t.gone = true
	return st, nil
}

func (t *temp) copy(to place) (st unix.Stat_t, err error) {
	near := to
	near.name = temporary(to.name)
	c, err := create(near)
	if err != nil {
		return st, err
	}
	defer c.discard()
	fd, err := openat(t.at, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return st, &fs.PathError{Op: "open", Path: t.Name(), Err: err}
	}
	from := reader(fd)
	defer from.Close()
	if err := unix.Fstat(fd, &st); err != nil {
		return st, err
	}
	if _, err := io.Copy(c, from); err != nil {
		return st, err
	}
	if err := errors.Join(c.Chown(int(st.Uid), int(st.Gid)), unix.Fchmod(int(c.Fd()), st.Mode&0o7777), c.Sync()); err != nil {
		return st, err
	}
	return c.rename(to)
}

// makeDirectory makes a directory with its attributes, and replaces an object at its path.
func (f *item) makeDirectory(ctx context.Context, h *resource.Host, p place) error {
	bits := uint32(directoryMode)
	if f.want.mode != nil {
		var err error
		if bits, err = f.want.mode.apply(bits, true); err != nil {
			return err
		}
	}
	if err := f.remove(ctx, h, p); err != nil {
		return err
	}
	if err := unix.Mkdirat(p.dir, p.name, bits); err != nil {
		return &fs.PathError{Op: "mkdir", Path: f.path, Err: err}
	}
	// The umask of the process can clear bits, and mkdir does not set the special bits.
	if err := f.made(p, directory); err != nil {
		return err
	}
	err := f.held(p, func(fd int, now *unix.Stat_t) error { return chmod(p, fd, bits|now.Mode&unix.S_ISGID) })
	if err != nil {
		return &fs.PathError{Op: "chmod", Path: f.path, Err: err}
	}
	return f.finish(p)
}

// doLink makes the link. An existing link is replaced in one step, so the path always exists.
func (f *item) doLink(ctx context.Context, h *resource.Host, p place) error {
	if f.want.target == "" {
		return errors.New("a link needs the parameter target")
	}
	if err := f.removable(); err != nil {
		return err
	}
	if !f.is.exists() {
		if err := unix.Symlinkat(f.want.target, p.dir, p.name); err != nil {
			return &fs.PathError{Op: "symlink", Path: f.path, Err: err}
		}
		return f.finishLink(p)
	}
	if f.is.kind == directory {
		if err := f.remove(ctx, h, p); err != nil {
			return err
		}
	} else if err := f.backUp(ctx, h, p, false); err != nil {
		return err
	}
	name := temporary(p.name)
	err := unix.Symlinkat(f.want.target, p.dir, name)
	if err == unix.EEXIST {
		if err = unix.Unlinkat(p.dir, name, 0); err == nil {
			err = unix.Symlinkat(f.want.target, p.dir, name)
		}
	}
	if err == nil {
		if err = unix.Renameat(p.dir, name, p.dir, p.name); err != nil {
			unix.Unlinkat(p.dir, name, 0)
		}
	}
	if err != nil {
		return &fs.PathError{Op: "symlink", Path: f.path, Err: err}
	}
	return f.finishLink(p)
}

func (f *item) finishLink(p place) error {
	if err := f.made(p, link); err != nil {
		return err
	}
	return f.finish(p)
}

// remove makes a backup of the object at the path, and removes the object.
func (f *item) remove(ctx context.Context, h *resource.Host, p place) error {
	if !f.is.exists() {
		return nil
	}
	if err := f.removable(); err != nil {
		return err
	}
	if err := f.backUp(ctx, h, p, true); err != nil {
		return err
	}
	if f.is.kind == directory {
		return f.removeAll(p)
	}
	if err := unix.Unlinkat(p.dir, p.name, 0); err != nil && err != unix.ENOENT {
		return &fs.PathError{Op: "remove", Path: f.path, Err: err}
	}
	return nil
}

// removeAll removes a directory. No link in it is followed.
func (f *item) removeAll(p place) error {
	if p.name == "." {
		return errors.New("the root directory is not removed")
	}
	root, name := (*os.Root)(nil), p.name
	var err error
	if f.r.Within != "" {
		root, err = f.root()
		name = f.within()
	} else {
		root, err = openRoot(filepath.Dir(f.path))
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(name)
}

// setOwner and setGroup set one of the two.
func (f *item) setOwner(p place) error {
	id, err := f.want.owner.id("user")
	if err != nil {
		return err
	}
	return f.chown(p, id, -1)
}

func (f *item) setGroup(p place) error {
	id, err := f.want.group.id("group")
	if err != nil {
		return err
	}
	return f.chown(p, -1, id)
}

func (f *item) chown(p place, uid, gid int) error {
	if f.follow && f.r.Within != "" {
		root, err := f.root()
		if err != nil {
			return err
		}
		defer root.Close()
		return root.Chown(f.within(), uid, gid)
	}
	set := func(fd int) error { return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH) }
	var err error
	if f.follow {
		err = f.behind(set)
	} else {
		err = f.held(p, func(fd int, _ *unix.Stat_t) error { return set(fd) })
	}
	if err != nil {
		return &fs.PathError{Op: "chown", Path: f.path, Err: err}
	}
	// The system has cleared these bits. Puppet sets them in the next run.
	if f.is.mode()&(unix.S_ISUID|unix.S_ISGID) != 0 && f.is.kind == regular && f.want.mode != nil {
		return f.setMode(p)
	}
	return nil
}

// setMode sets the mode. It reads the mode again, because a change of the owner can have cleared special bits,
// and because symbolic modes depend on the present mode.
func (f *item) setMode(p place) error {
	if !f.follow {
		err := f.held(p, func(fd int, now *unix.Stat_t) error {
			kind := kindOf(now.Mode)
			bits, err := f.want.mode.apply(now.Mode&0o7777, kind == directory)
			if err != nil || kind != link && bits == now.Mode&0o7777 {
				return err
			}
			return chmod(p, fd, bits)
		})
		if err != nil {
			return &fs.PathError{Op: "chmod", Path: f.path, Err: err}
		}
		return nil
	}
	now, err := f.look(p)
	if err != nil {
		return err
	}
	bits, err := f.want.mode.apply(now.mode(), now.kind == directory)
	if err != nil || now.exists() && bits == now.mode() {
		return err
	}
	if f.r.Within == "" {
		if err := f.behind(func(fd int) error { return chmod(p, fd, bits) }); err != nil {
			return &fs.PathError{Op: "chmod", Path: f.path, Err: err}
		}
		return nil
	}
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Chmod(f.within(), toGo(bits))
}

// behind calls change with a descriptor of the file to which the path leads through links.
func (f *item) behind(change func(fd int) error) error {
	file, err := safepath.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	return change(int(file.Fd()))
}

// An inode identifies a file. The file system can use the number of a removed file again, but then for a file
// of another type or, where it matters, of another owner.
type inode struct {
	dev, ino  uint64
	typ, user uint32
}

func inodeOf(st *unix.Stat_t) inode {
	return inode{uint64(st.Dev), st.Ino, st.Mode & unix.S_IFMT, st.Uid}
}

var errExchanged = errors.New("it was exchanged for another file meanwhile")

// held calls change with a descriptor of the file at a place, and its state. The owner of a directory can
// exchange the files in it at any time. A program that the owner puts there must not get the group and the
// special bits that are meant for a new directory.
func (f *item) held(p place, change func(fd int, now *unix.Stat_t) error) error {
	fd, err := openat(p, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	if inodeOf(&now) != f.known {
		return errExchanged
	}
	err = change(fd, &now)
	if unix.Fstat(fd, &now) == nil {
		f.known = inodeOf(&now) // the first change of a file in an overlay can give it another number
	}
	return err
}

// made records the object that a resource has made at a place.
func (f *item) made(p place, kind string) error {
	var now unix.Stat_t
	if err := unix.Fstatat(p.dir, p.name, &now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "stat", Path: f.path, Err: err}
	}
	if kindOf(now.Mode) != kind {
		return &fs.PathError{Op: "stat", Path: f.path, Err: errExchanged}
	}
	f.known = inodeOf(&now)
	return nil
}

// chmod sets the mode of an open file that is not a link.
func chmod(p place, fd int, bits uint32) error {
	err := unix.Fchmodat(fd, "", bits, unix.AT_EMPTY_PATH)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS || err == unix.EPERM { // EPERM can come from a filter of system calls
		err = chmodOld(p, fd, bits)
	}
	return err
}

// chmodOld is chmod for kernels before 6.6. They can set the mode of a descriptor that cannot be read only
// through /proc. If /proc is not mounted, such as in a chroot, the file must be opened, which has no side
// effects on files and directories.
func chmodOld(p place, fd int, bits uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	kind := kindOf(st.Mode)
	if kind == link {
		return unix.ELOOP
	}
	err := unix.Fchmodat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), bits, 0)
	if err != unix.ENOENT || kind != regular && kind != directory {
		return err
	}
	file, err := openat(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	var now unix.Stat_t
	if err := unix.Fstat(file, &now); err != nil {
		return err
	}
	if inodeOf(&now) != inodeOf(&st) {
		return errExchanged
	}
	return unix.Fchmod(file, bits)
}

func toGo(bits uint32) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if bits&bit != 0 {
			m |= flag
		}
	}
	return m
}
