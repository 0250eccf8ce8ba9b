package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/fileset"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// backUp keeps what is at the path before it is replaced or, if gone is set, removed. The change is not made if that is
// impossible.
func (f *item) backUp(ctx context.Context, h *resource.Host, p place, gone bool) error {
	if f.backup == noBackup || !f.is.exists() {
		return nil
	}
	if f.is.kind != regular && f.is.kind != link && f.is.kind != directory {
		h.Logf(f.r.Ref, report.Warning, "There is no backup: the path is of the type %s.", f.is.kind)
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
	to := place{dir: p.dir, name: p.name + f.backup}
	var st unix.Stat_t
	switch err := unix.Fstatat(to.dir, to.name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil && kindOf(st.Mode) == directory:
		return fmt.Errorf("%s%s is a directory, which is not replaced", f.path, f.backup)
	case err != nil && err != unix.ENOENT:
		return &fs.PathError{Op: "stat", Path: to.name, Err: err}
	}
	if gone && f.is.kind != link {
		if err := unix.Renameat(p.dir, p.name, to.dir, to.name); err != nil {
			return &fs.PathError{Op: "rename", Path: f.path, Err: err}
		}
		return nil
	}
	from, err := f.open(p)
	if f.is.kind == link {
		if f.r.Within != "" {
			return nil // the link can lead anywhere
		}
		// A backup of a link is one of the file, as in Puppet.
		if from, err = openRegular(f.path); err != nil {
			return nil
		}
	}
	if err != nil {
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
	if f.is.kind == regular {
		if err := t.Chown(int(f.is.st.Uid), int(f.is.st.Gid)); err != nil {
			return err
		}
		if err := unix.Fchmod(int(t.Fd()), f.is.mode()); err != nil {
			return err
		}
		times := []unix.Timespec{f.is.st.Atim, f.is.st.Mtim}
		if err := unix.UtimesNanoAt(t.at.dir, t.at.name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return t.rename(to)
}
