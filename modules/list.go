package modules

import (
	"os"
	"path/filepath"
	"slices"
)

// In returns the modules of one directory, sorted by name, including hidden
// ones. A directory that cannot be read has none.
func In(dir string) []Module {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []Module
	for _, e := range entries {
		if !ValidName(e.Name()) {
			continue
		}
		m := Module{Name: e.Name(), Dir: filepath.Join(dir, e.Name())}
		isDir := e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			info, err := os.Stat(m.Dir)
			isDir = err == nil && info.IsDir()
		}
		if isDir {
			list = append(list, m)
		}
	}
	return list
}

// BuiltIn returns the modules that are part of the program, sorted by name.
func (p *Path) BuiltIn() []Module { return slices.Clone(p.builtin) }
