package file

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/provider/mounted"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// Differs from Puppet: file systems that are mounted at or below a directory keep their files when the directory is removed or purged.

// mountError is the error for a directory that cannot be removed because of a mount.
func (f *item) mountError() error {
	if f.mount == "" {
		return nil
	}
	return fmt.Errorf("a file system is mounted on %s. Unmount it first, or its files would be removed", filepath.Join(f.path, f.mount))
}

// readMount looks for a mount in a directory that is to be removed.
func (f *item) readMount() {
	f.mount = ""
	if f.is.kind == directory && f.force && !f.ensured() {
		if list := mounted.At(f.path); len(list) > 0 {
			f.mount = list[0]
		}
	}
}

// spared returns a function that reports whether a purge must not remove a file. That is so for files on a
// mounted file system, and for directories with a mount point below.
func (g *generation) spared(h *resource.Host) func(rel string) bool {
	mounts := slices.DeleteFunc(mounted.At(g.path), func(rel string) bool { return rel == "." })
	within := func(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
	for _, m := range mounts {
		if g.files[m] != nil {
			h.Logf(g.r.Ref, report.Warning, "The file system that is mounted on %s is not purged", filepath.Join(g.path, m))
		}
	}
	return func(rel string) bool {
		return slices.ContainsFunc(mounts, func(m string) bool { return within(rel, m) || within(m, rel) })
	}
}
