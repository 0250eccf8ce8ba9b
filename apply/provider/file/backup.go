package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/fileset"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// backUp makes a backup of the object at the path before a change replaces it or, if gone is set, removes it.
// If the backup fails, the change must not be made.
func (f *item) backUp(ctx context.Context, h *resource.Host, p place, gone bool) error {
	if f.backup == noBackup || !f.is.exists() {
		return nil
	}
	if f.is.kind != regular && f.is.kind != link && f.is.kind != directory {
		h.Logf(f.r.Ref, report.Warning, "No backup was made: the path is of the type %s.", f.is.kind)
		return nil
	}
	var err error
	if strings.HasPrefix(f.backup, ".") {
		err = f.backUpBeside(p, gone)
	} else {
		err = f.backUpToBucket(ctx, h)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func (f *item) backUpToBucket(ctx context.Context, h *resource.Host) error {
	switch {
	case f.is.kind == regular && f.follow:
		path, err := filepath.EvalSymlinks(f.path)
		if err != nil {
			return err
		}
		return h.Backup(path)
	case f.is.kind == regular:
		return h.Backup(f.path)
	case f.is.kind == link || f.recurse != "":
		return nil
	}
	files, err := fileset.List(ctx, f.path, fileset.Options{Limit: -1})
	for _, e := range files {
		if e.Type.IsRegular() && err == nil {
			err = h.Backup(filepath.Join(f.path, e.Name))
		}
	}
	return err
}

// backUpBeside keeps the file under its name with an extension, in place of an older backup.
func (f *item) backUpBeside(p place, gone bool) error {
	to := place{p.dir, p.name + f.backup, p.file}
	var old unix.Stat_t
	switch err := unix.Fstatat(to.dir, to.name, &old, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil && kindOf(old.Mode) == directory:
		return fmt.Errorf("%s%s is a directory, which is not replaced", f.path, f.backup)
	case err != nil && err != unix.ENOENT:
		return &fs.PathError{Op: "stat", Path: to.path(), Err: err}
	}
	if gone && f.is.kind != link {
		if err := unix.Renameat(p.dir, p.name, to.dir, to.name); err != nil {
			return &fs.PathError{Op: "rename", Path: f.path, Err: err}
		}
		return nil
	}
	st, from, err := f.original(p)
	if from == nil || err != nil {
		return err
	}
	defer from.Close()
	near := to
	near.name = temporary(to.name)
	t, err := create(near)
	if err != nil {
		return err
	}
	defer t.discard()
	if _, err := io.Copy(t, from); err != nil {
		return err
	}
	if err := t.Chown(int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	if err := unix.Fchmod(int(t.Fd()), st.Mode&0o7777); err != nil {
		return err
	}
	if err := unix.UtimesNanoAt(t.at.dir, t.at.name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	_, err = t.rename(to)
	return err
}

// original opens the file to back up. It returns nil if the file does not exist.
func (f *item) original(p place) (st unix.Stat_t, from io.ReadCloser, err error) {
	if f.is.kind == regular {
		from, err = f.open(p)
		return opened(from, err)
	}
	// As in Puppet, the backup of a link is a copy of the file that the link points to. The link of a generated
	// file can lead anywhere.
	if f.r.Within != "" || unix.Stat(f.path, &st) != nil || kindOf(st.Mode) != regular {
		return st, nil, nil
	}
	from, err = openRegular(f.path)
	return opened(from, err)
}

// opened adds the state of an open file. The path can lead to another file by now, and a copy must not get the
// mode and the owner of that other file.
func opened(from io.ReadCloser, err error) (unix.Stat_t, io.ReadCloser, error) {
	var st unix.Stat_t
	if err != nil {
		return st, nil, err
	}
	fd := -1
	switch f := from.(type) {
	case reader:
		fd = int(f)
	case *os.File:
		fd = int(f.Fd())
	}
	if err := unix.Fstat(fd, &st); err != nil {
		from.Close()
		return st, nil, err
	}
	return st, from, nil
}
