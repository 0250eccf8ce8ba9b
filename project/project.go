// Package project finds a project and loads its configuration.
//
// Find returns the project of a command and reads its bolt-project.yaml. Load
// merges the configuration files and the settings of the command line into a
// Config. Create creates a project, and NewPlan and NewPolicy create files in it.
// File names, keys, precedence and the IDs of warnings are Puppet Bolt's
// (lib/bolt/project.rb, lib/bolt/config.rb).
//
// The package does not read environment variables or flags. Its caller passes
// them in Sources.
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
	SystemDir        = "/etc/puppetlabs/bolt" // the directory of the administrator's bolt-defaults.yaml
)

// Sources holds the sources of the configuration. An empty field is a source that
// does not exist.
type Sources struct {
	Dir     string // the value of --project
	FromEnv string // the value of BOLT_PROJECT; overrides Dir
	Cwd     string // working directory, absolute
	Home    string // home directory, absolute
	// SystemDir is the directory of the administrator's defaults; see the constant.
	SystemDir string

	// OpenFiles is the number of files that this process can have open; 0 means
	// unlimited. A low number lowers the default concurrency.
	OpenFiles uint64
	// Transports are the transports that settings can configure (package transport/all).
	Transports []option.Transport
	// Formats are Puppet Bolt's values of the setting format, and OwnFormats are the others. Messages list Formats only.
	Formats, OwnFormats []string
}

// Warn receives a warning: its ID and a sentence.
type Warn func(id, text string)

// Origin is the way in which a project was found.
type Origin string

// The origins.
const (
	FromEnvironment Origin = "environment" // BOLT_PROJECT
	FromOption      Origin = "option"      // --project
	Embedded        Origin = "embedded"    // a Boltdir in the working directory or a parent
	Local           Origin = "local"       // a bolt-project.yaml in the working directory or a parent
	User            Origin = "user"        // the default: ~/.puppetlabs/bolt
	System          Origin = "system"      // the default for users without a home directory
)

// Project is a directory with its bolt-project.yaml.
type Project struct {
	Dir    string // absolute
	Origin Origin
	Name   string // if it is "", the project's own content is not a module

	settings *ordered.Map // the valid settings of bolt-project.yaml
}

// Find returns the project of a command. It tries, in this order: the directory in
// BOLT_PROJECT, the directory of --project, the working directory and its parents,
// and the user's default project, which it creates if necessary. Only in a project
// of the origin Local, bolt-project.yaml must exist.
//
// A directory that all users can write to is an error (kind
// bolt/world-writable-error) unless BOLT_PROJECT names it, because any user could
// add a bolt-project.yaml there and so run commands.
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
			"All users can write to the project directory '%s', so any user could change its tasks and plans. "+
				"Remove the permission (chmod o-w), or set BOLT_PROJECT='%s' to use the directory anyway.", p.Dir, p.Dir)
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
			"The default project could not be created (%v). This run does not write a log or a rerun file.", err))
	}
	return &Project{Dir: dir, Origin: User}, nil
}

// File returns the path of bolt-project.yaml. The file does not have to exist.
func (p *Project) File() string { return filepath.Join(p.Dir, FileName) }

// Made reports whether the project has a bolt-project.yaml. If not, it is the user's default directory, or a directory from an
// option or BOLT_PROJECT.
func (p *Project) Made() bool {
	info, err := os.Stat(p.File())
	return err == nil && info.Mode().IsRegular()
}

// InventoryFile returns the default path of the inventory. The file does not have to
// exist.
func (p *Project) InventoryFile() string { return filepath.Join(p.Dir, "inventory.yaml") }

// HieraConfig returns the default path of the configuration of Hiera.
func (p *Project) HieraConfig() string { return filepath.Join(p.Dir, "hiera.yaml") }

// ManagedModules returns the directory of installed modules, which is the last
// directory of the module path.
func (p *Project) ManagedModules() string { return filepath.Join(p.Dir, ".modules") }

// Module returns the project as a module, or the zero Module if it has no name.
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

// builtins are the modules that a plan can always use. A project cannot have the
// name of one of them.
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
	if !regular { // for example /dev/null, which stands for an empty project file
		return nil
	}
	for _, sub := range []string{"plans", "tasks", "files"} {
		if isDir(filepath.Join(p.Dir, sub)) {
			warn("missing_project_name", fmt.Sprintf("%s does not have a 'name', so bolt does not use its %s directory. "+
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
