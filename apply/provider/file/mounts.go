package file

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Differs from Puppet: file systems that are mounted at or below a directory keep their files when the directory is removed or purged.

// mountsAt returns the mount points at and below a directory, relative to it, sorted. If the system does not
// list its mounts, mountsAt returns none.
func mountsAt(dir string) (list []string) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil
	}
	dir = filepath.Join(parent, filepath.Base(dir))
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		// proc_pid_mountinfo(5)
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		at, err := filepath.Rel(dir, strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4]))
		if err == nil && filepath.IsLocal(at) {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

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
		if list := mountsAt(f.path); len(list) > 0 {
			f.mount = list[0]
		}
	}
}

// spared returns a function that reports whether a purge must not remove a file. That is so for files on a
// mounted file system, and for directories with a mount point below.
func (g *generation) spared(h *resource.Host) func(rel string) bool {
	mounts := slices.DeleteFunc(mountsAt(g.path), func(rel string) bool { return rel == "." })
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
