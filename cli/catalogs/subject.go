package catalogs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bolt/catalog/audit"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/environment"
	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/modules/builtin"
)

// A subject is the code of an audit.
type subject struct {
	dir  string // paths in it are shown relative to it
	code audit.Code
	// open opens the code for compiling.
	open opener
}

// subject returns the code that options choose: an environment, a module, a directory of modules, a plan or a manifest,
// or the modules of the project.
func (v *Invocation) subject(ctx context.Context, o *AuditOptions) (*subject, error) {
	if o.nodes.path != "" {
		if v.Code.ModulepathGiven {
			return nil, errModulepath()
		}
		l, err := site.LayoutOf(ctx, o.nodes.path, o.nodes.env())
		if err != nil {
			return nil, err
		}
		return v.environmentOf(ctx, o, l)
	}
	if o.path == "" {
		if isEnvironment(".") && !exists("bolt-project.yaml") && !v.Code.ModulepathGiven {
			return v.inEnvironment(ctx, o, ".")
		}
		return v.ofModules(v.Code.Options, audit.Code{}, "."), nil
	}
	info, err := os.Stat(o.path)
	if err != nil {
		return nil, fault.File(o.path, err, "'%s' could not be read: %v", o.path, fault.WithoutPath(err))
	}
	switch {
	case !info.IsDir():
		return v.ofFile(o.path), nil
	case isEnvironment(o.path):
		return v.inEnvironment(ctx, o, o.path)
	}
	abs, err := filepath.Abs(o.path)
	if err != nil {
		return nil, fault.File(o.path, err, "The directory '%s' could not be found: %v", o.path, err)
	}
	if name := moduleName(ctx, abs); name != "" {
		return v.ofModule(modules.Module{Name: name, Dir: abs}), nil
	}
	if len(modules.In(abs)) == 0 {
		return nil, cli.Hinted(cli.Errorf("'%s' is not an environment, a module or a directory of modules", o.path),
			"an environment has manifests or environment.conf, and a module has metadata.json or manifests/init.pp")
	}
	code := v.Code.Options
	code.Modules = modules.NewPath(modules.Module{}, abs).With(builtin.Files())
	return v.ofModules(code, audit.Code{}, abs), nil
}

// exists reports whether there is a file of a name.
func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// isEnvironment reports whether a directory is an environment. Many control repositories have a metadata.json, as
// modules do.
func isEnvironment(dir string) bool {
	if exists(filepath.Join(dir, "environment.conf")) {
		return true
	}
	return exists(filepath.Join(dir, "manifests")) && (exists(filepath.Join(dir, "manifests", "site.pp")) || !exists(filepath.Join(dir, "metadata.json")) && !exists(filepath.Join(dir, "manifests", "init.pp")))
}

// moduleName returns the name of the module in a directory; "" if it is not a module.
func moduleName(ctx context.Context, dir string) string {
	text, err := readfile.Read(ctx, filepath.Join(dir, "metadata.json"), readfile.Language)
	if err != nil && !exists(filepath.Join(dir, "manifests", "init.pp")) {
		return ""
	}
	var metadata struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(text, &metadata) != nil {
		metadata.Name = ""
	}
	name := cmp.Or(metadata.Name[strings.LastIndexAny(metadata.Name, "-/")+1:], filepath.Base(dir))
	if !modules.ValidName(name) {
		return ""
	}
	return name
}

// inEnvironment returns the environment in a directory.
func (v *Invocation) inEnvironment(ctx context.Context, o *AuditOptions, dir string) (*subject, error) {
	l, err := site.LayoutIn(ctx, dir)
	if err != nil {
		return nil, err
	}
	return v.environmentOf(ctx, o, l)
}

func (v *Invocation) environmentOf(ctx context.Context, o *AuditOptions, l *site.Layout) (*subject, error) {
	code := v.Code.Options
	if !v.Code.HieraGiven {
		code.Hiera = "" // the project's Hiera configuration is not for this environment
	}
	code = l.Options(code, builtin.Files())
	manifests, err := l.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	s := v.ofModules(code, audit.Code{Manifests: manifests, Hiera: filepath.Join(l.Dir, "hiera.yaml")}, l.Dir)
	s.open = func(env string) (*site.Site, error) {
		if o.nodes.path != "" && env != o.nodes.env() { // a classifier chooses another environment
			return site.Open(ctx, o.nodes.path, env, code, builtin.Files())
		}
		return l.Open(ctx, env, code)
	}
	return s, nil
}

// ofModules completes c with the modules of o.
func (v *Invocation) ofModules(o environment.Options, c audit.Code, dir string) *subject {
	c.Env, c.Modules = environment.New(o), o.Modules
	if c.Hiera == "" {
		c.Hiera = o.Hiera
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return &subject{dir: dir, code: c, open: func(env string) (*site.Site, error) { return site.New(env, o, nil) }}
}

// ofModule returns a module. Its dependencies are beside it, or among the modules of the project.
func (v *Invocation) ofModule(m modules.Module) *subject {
	code := v.Code.Options
	dirs := code.Modules.Dirs()
	if filepath.Base(m.Dir) == m.Name {
		dirs = append([]string{filepath.Dir(m.Dir)}, dirs...)
	}
	code.Modules = modules.NewPath(m, dirs...).With(builtin.Files())
	return v.ofModules(code, audit.Code{Only: m.Name}, m.Dir)
}

// ofFile returns the apply blocks of a plan, or a manifest.
func (v *Invocation) ofFile(path string) *subject {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	c := audit.Code{Manifests: []string{abs}, OnlyFiles: true}
	if ext := filepath.Ext(path); ext == ".yaml" || strings.Contains(filepath.ToSlash(abs), "/plans/") {
		c = audit.Code{Plans: []string{abs}, OnlyFiles: true}
	}
	return v.ofModules(v.Code.Options, c, ".")
}
