package modules

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
)

// MetadataFile is the name of the file with a module's metadata.
const MetadataFile = "metadata.json"

// Metadata returns the content of a module's metadata.json. It is empty if the file
// does not exist, and after an error.
func (m Module) Metadata(ctx context.Context) (*ordered.Map, error) {
	data, err := m.ReadFile(ctx, MetadataFile, readfile.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return &ordered.Map{}, nil
	}
	var v any
	if err == nil {
		v, err = ordered.ParseJSON(data)
	}
	metadata, ok := v.(*ordered.Map)
	if err == nil && !ok {
		err = errors.New("it is not a JSON object")
	}
	if err != nil {
		return &ordered.Map{}, err
	}
	return metadata, nil
}

// Described is a module with its metadata.
type Described struct {
	Module
	Metadata *ordered.Map
}

// FullName returns owner/name from the metadata, else the name of the directory.
func (d *Described) FullName() string {
	if name, _ := d.Metadata.Value("name").(string); name != "" {
		return strings.Replace(name, "-", "/", 1)
	}
	return d.Name
}

// Version returns the version in the metadata, "" if there is none.
func (d *Described) Version() string {
	version, _ := d.Metadata.Value("version").(string)
	return version
}

// Called returns the module with the name NAME, OWNER/NAME or OWNER-NAME. If there
// is an owner, the metadata must have it.
func (p *Path) Called(name string, metadata func(Module) *ordered.Map) (*Described, error) {
	name = strings.ReplaceAll(name, "-", "/")
	short := name
	if _, rest, ok := strings.Cut(name, "/"); ok {
		short = rest
	}
	if m, ok := p.Module(short); ok {
		d := &Described{m, metadata(m)}
		if name == m.Name || name == d.FullName() {
			return d, nil
		}
	}
	return nil, fault.New("bolt/unknown-module", "Could not find module '%s' on the modulepath.", name)
}

// A Group is the list of modules in one directory of a path.
type Group struct {
	Path    string // of the directory; of built-in modules a name for programs
	Title   string // name in lists; "" for the path
	Modules []Described
}

// Groups returns the modules of each directory that exists, including hidden ones,
// followed by the built-in modules. managed is the directory of modules that were
// installed for the project.
func (p *Path) Groups(managed string, metadata func(Module) *ordered.Map) []Group {
	var groups []Group
	group := func(path, title string, list []Module) {
		g := Group{Path: path, Title: title}
		for _, m := range list {
			g.Modules = append(g.Modules, Described{m, metadata(m)})
		}
		groups = append(groups, g)
	}
	for _, dir := range p.dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue // it need not be there
		}
		title := ""
		if dir == managed {
			title = "Project Dependencies"
		}
		group(dir, title, In(dir))
	}
	if len(p.builtin) > 0 {
		group("builtin:/", "Packaged Modules", p.builtin)
	}
	return groups
}
