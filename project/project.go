// Package project finds a project and works out its configuration.
//
// Find says which directory is the project and reads its bolt-project.yaml;
// Load lays the configuration files and the command line's settings over each
// other and returns a Config. Create makes a project, NewPlan and NewPolicy
// what is in one. File names, keys, precedence and the IDs of warnings are Puppet
// Bolt's (lib/bolt/project.rb, lib/bolt/config.rb).
//
// The package reads no environment variables and no flags: its caller passes
// what matters of them in Sources. It owns nothing that has to be closed.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/modules"
	"bolt/transport/option"
)

// Names in the file system.
const (
	FileName         = "bolt-project.yaml"
	EmbeddedDir      = "Boltdir" // a project inside another tree
	DefaultsFileName = "bolt-defaults.yaml"
	SystemDir        = "/etc/puppetlabs/bolt" // of the administrator's bolt-defaults.yaml
)

// Sources says where configuration may come from. Empty fields are sources
// that do not exist.
type Sources struct {
	Dir     string // what --project names
	FromEnv string // what BOLT_PROJECT names; beats Dir
	Cwd     string // working directory, absolute
	Home    string // home directory, absolute

	// SystemDir is where the administrator's defaults are; see the constant.
	SystemDir string

	// OpenFiles is how many files this process may have open; 0 is no limit
	// to think of. A low one lowers the default concurrency.
	OpenFiles uint64

	// Transports are those that settings may configure (package transport/all).
	Transports []option.Transport
	// Formats are the values of the setting format that Puppet Bolt has, and OwnFormats are the others. Messages list only the
	// former.
	Formats, OwnFormats []string
}

// Warn takes a warning: its ID and a sentence.
type Warn func(id, text string)

// Origin says how a project was found.
type Origin string

// The origins.
const (
	FromEnvironment Origin = "environment" // BOLT_PROJECT
	FromOption      Origin = "option"      // --project
	Embedded        Origin = "embedded"    // a Boltdir in the working directory or above
	Local           Origin = "local"       // a bolt-project.yaml there
	User            Origin = "user"        // nothing found: ~/.puppetlabs/bolt
	System          Origin = "system"      // nothing found, and no home directory
)

// Project is a directory with its bolt-project.yaml.
type Project struct {
	Dir    string // absolute
	Origin Origin
	Name   string // "" if it has none; then its own content is not a module

	settings *ordered.Map // of bolt-project.yaml, without what does not belong there
}

// Find says which project a command works in: the one that BOLT_PROJECT
// names, or --project, or the nearest at or above the working directory, or
// the user's own default project, which is made if it is missing. The project
// need not have a bolt-project.yaml unless that is how it was found.
//
// A directory that everybody may write to is refused (kind
// bolt/world-writable-error) unless BOLT_PROJECT names it: whoever can put a
// bolt-project.yaml there decides what runs.
func Find(ctx context.Context, s Sources, warn Warn) (*Project, error) {
	if warn == nil {
		warn = func(string, string) {}
	}
	p, err := s.locate(warn)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(p.Dir); err == nil && info.Mode().Perm()&0o002 != 0 && p.Origin != FromEnvironment {
		return nil, fault.New("bolt/world-writable-error",
			"The project directory '%s' can be written to by everybody, so anybody could change what is run from it. "+
				"Take the permission away (chmod o-w), or set BOLT_PROJECT='%s' to use it all the same.", p.Dir, p.Dir)
	}
	return p, p.read(ctx, s, warn)
}

func (s Sources) locate(warn Warn) (*Project, error) {
	if s.FromEnv != "" {
		return &Project{Dir: s.expand(s.FromEnv, s.Cwd), Origin: FromEnvironment}, nil
	}
	if s.Dir != "" {
		dir := s.expand(s.Dir, s.Cwd)
		if embedded := filepath.Join(dir, EmbeddedDir); isDir(embedded) {
			dir = embedded
		}
		if !isDir(dir) {
			return nil, fault.New("bolt/project-error", "Could not find project at %s", s.Dir)
		}
		return &Project{Dir: dir, Origin: FromOption}, nil
	}
	for dir := filepath.Clean(s.Cwd); ; dir = filepath.Dir(dir) {
		if embedded := filepath.Join(dir, EmbeddedDir); isDir(embedded) {
			return &Project{Dir: embedded, Origin: Embedded}, nil
		}
		if info, err := os.Stat(filepath.Join(dir, FileName)); err == nil && info.Mode().IsRegular() {
			return &Project{Dir: dir, Origin: Local}, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if s.Home == "" {
		return &Project{Dir: s.SystemDir, Origin: System}, nil
	}
	dir := filepath.Join(s.Home, ".puppetlabs", "bolt")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		warn("non_writeable_project", fmt.Sprintf(
			"The default project could not be made (%v). This run leaves no log and no rerun file.", err))
	}
	return &Project{Dir: dir, Origin: User}, nil
}

// File is the path of bolt-project.yaml, which need not exist.
func (p *Project) File() string { return filepath.Join(p.Dir, FileName) }

// Made reports whether there is a project: a directory with a bolt-project.yaml. Otherwise the directory is the default one of
// the user, or a directory that an option names.
func (p *Project) Made() bool {
	info, err := os.Stat(p.File())
	return err == nil && info.Mode().IsRegular()
}

// InventoryFile is the path of the inventory that is used if no other is
// named. It need not exist.
func (p *Project) InventoryFile() string { return filepath.Join(p.Dir, "inventory.yaml") }

// HieraConfig is where the configuration of Hiera is, if nothing else is said.
func (p *Project) HieraConfig() string { return filepath.Join(p.Dir, "hiera.yaml") }

// ManagedModules is the directory of installed modules, the last of the
// module path.
func (p *Project) ManagedModules() string { return filepath.Join(p.Dir, ".modules") }

// Module returns the project as a module, the zero Module if it has no name.
func (p *Project) Module() modules.Module {
	if p.Name == "" {
		return modules.Module{}
	}
	return modules.Module{Name: p.Name, Dir: p.Dir}
}

// read loads and checks bolt-project.yaml.
func (p *Project) read(ctx context.Context, s Sources, warn Warn) error {
	p.settings = &ordered.Map{}
	info, err := os.Stat(p.File())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	t := newTables(s)
	data, err := yaml.ReadMap(ctx, p.File(), "project")
	if err != nil {
		return err
	}
	if err := t.check(data, t.pick(projectKeys), p.File(), warn); err != nil {
		return err
	}

	var misplaced []string
	for k, v := range data.All() {
		switch {
		case slices.Contains(projectKeys, k):
			p.settings.Set(k, v)
		case t.isInventoryKey(k):
			misplaced = append(misplaced, k)
		}
	}
	if misplaced != nil {
		warn("project_transport_config", fmt.Sprintf("%s does not configure transports, so these keys have no effect: %s. "+
			"Put them under 'config' in inventory.yaml.", p.File(), strings.Join(misplaced, ", ")))
	}
	p.Name, _ = p.settings.Value("name").(string)
	return p.checkName(info.Mode().IsRegular(), warn)
}

// builtins are the modules that a plan can always use; no project may hide
// them.
var builtins = []string{"boltlib", "ctrl", "dir", "file", "log", "out", "prompt", "system"}

func (p *Project) checkName(regular bool, warn Warn) error {
	if _, named := p.settings.Get("name"); named {
		if !modules.ValidName(p.Name) {
			return fault.New("bolt/validation-error", "The project name '%s' in %s is not valid: "+
				"a name is made of lowercase letters, digits and underscores, and begins with a letter.", p.Name, p.File())
		}
		if slices.Contains(builtins, p.Name) {
			return fault.New("bolt/validation-error", "The project name '%s' in %s belongs to a built-in module. "+
				"Choose another name.", p.Name, p.File())
		}
		return nil
	}
	if !regular { // /dev/null says that there is no project file
		return nil
	}
	for _, sub := range []string{"plans", "tasks", "files"} {
		if isDir(filepath.Join(p.Dir, sub)) {
			warn("missing_project_name", fmt.Sprintf("%s gives the project no name, so its %s directory is not used. "+
				"Add a 'name'.", p.File(), sub))
			break
		}
	}
	return nil
}

// expand makes path absolute: ~ is the home directory, and a relative path is
// relative to base.
func (s Sources) expand(path, base string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if s.Home != "" {
			return filepath.Join(s.Home, path[1:])
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
