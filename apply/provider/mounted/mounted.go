// Package mounted finds the file systems that are mounted in a directory.
package mounted

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// At returns the mount points at and below a directory, relative to it, sorted. Links on the way to the directory are
// followed. If the system does not list its mounts, At returns none.
func At(dir string) (list []string) {
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
