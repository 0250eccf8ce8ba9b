package program

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/puppet/check"
)

// A Location holds the rules that a file's position in a module sets for its
// definitions. The zero Location sets no rules.
type Location struct {
	namespace string // what names must begin with
	defines   string // see check.Defines
}

// A Placer finds the Locations of files. It looks at each folder around them
// once.
type Placer struct {
	modules *modules.Path
	project string                    // directory
	around  map[string]modules.Module // by folders; the zero Module: there is none
	real    map[string]string         // folders without links, by their names
}

// NewPlacer returns a Placer for the modules on a path and for a project.
func NewPlacer(path *modules.Path, project string) *Placer {
	return &Placer{modules: path, project: project, around: map[string]modules.Module{}, real: map[string]string{}}
}

// unlinked resolves the symbolic links of a path.
func (p *Placer) unlinked(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	dir, base := filepath.Split(path)
	real, known := p.real[dir]
	if !known {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir
		}
		p.real[dir] = real
	}
	return filepath.Join(real, base)
}

// Place returns the Location of a file: in a module of the module path, by its
// given path or its path without links, or else in a module outside of the
// module path, such as a checkout.
func (p *Placer) Place(ctx context.Context, name string) Location {
	path, err := filepath.Abs(name)
	if err != nil || filepath.Ext(name) != ".pp" {
		return Location{}
	}
	paths := []string{path}
	if real := p.unlinked(path); real != path {
		paths = append(paths, real)
	}
	for _, path := range paths {
		if m, rel, ok := p.modules.Of(path); ok {
			if m.Dir == p.project && entryManifest(rel) {
				continue
			}
			if at := locate(m, rel); at != (Location{}) {
				return at
			}
		}
	}
	for _, path := range paths {
		if m := p.moduleAround(ctx, filepath.Dir(path)); m.Name != "" {
			rel, _ := filepath.Rel(m.Dir, path) // which is below it
			return locate(m, rel)
		}
	}
	return Location{}
}

// entryManifest reports whether a file of the project is in the directory from which
// Puppet reads entry manifests (site.pp). path is relative to the project. Entry
// manifests can have code outside definitions, and definitions of any name.
func entryManifest(rel string) bool {
	dir, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return dir == "manifests"
}

// locate returns the Location of a file by its path from a module's folder.
func locate(m modules.Module, rel string) Location {
	rel = filepath.ToSlash(rel)
	namespace, ok := check.Namespace(m.Name, rel)
	if !ok {
		return Location{}
	}
	return Location{namespace, check.Defines(rel)}
}

// moduleAround returns the module that contains a folder: the nearest folder
// upwards that has the contents of a module or is in the modules of another
// project. It returns the zero Module if there is none.
func (p *Placer) moduleAround(ctx context.Context, dir string) modules.Module {
	if dir == filepath.Dir(dir) {
		return modules.Module{}
	}
	m, known := p.around[dir]
	if known {
		return m
	}
	name, is := p.moduleName(ctx, dir)
	switch {
	case !is:
		m = p.moduleAround(ctx, filepath.Dir(dir))
	case modules.ValidName(name):
		m = modules.Module{Name: name, Dir: dir}
	}
	p.around[dir] = m
	return m
}

// moduleName returns the name of the module that a folder is, and whether it is
// one. A folder with environment.conf is an environment: many control
// repositories have a metadata.json too, and their site.pp is an entry
// manifest.
func (p *Placer) moduleName(ctx context.Context, dir string) (name string, is bool) {
	base := filepath.Base(dir)
	metadata := filepath.Join(dir, "metadata.json")
	if exists(metadata) && holdsPrograms(dir) && !exists(filepath.Join(dir, "environment.conf")) {
		return cmp.Or(metadataName(ctx, metadata), base), true
	}
	if filepath.Base(filepath.Dir(dir)) != "modules" {
		return "", false
	}
	// The modules of this project are on the module path.
	other := filepath.Dir(filepath.Dir(dir))
	return base, other != p.project && exists(filepath.Join(other, "bolt-project.yaml"))
}

// holdsPrograms reports whether a folder has a subfolder for programs, such as
// manifests, as modules have.
func holdsPrograms(dir string) bool {
	return slices.ContainsFunc([]string{"manifests", "functions", "types", "plans"}, func(folder string) bool {
		info, err := os.Stat(filepath.Join(dir, folder))
		return err == nil && info.IsDir()
	})
}

// metadataName returns the name of a module from its metadata.json, without its
// author; "" if it has no name.
func metadataName(ctx context.Context, path string) string {
	text, err := readfile.Read(ctx, path, readfile.Language)
	if err != nil {
		return ""
	}
	var metadata struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(text, &metadata) != nil {
		return ""
	}
	return metadata.Name[strings.LastIndexAny(metadata.Name, "-/")+1:]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
