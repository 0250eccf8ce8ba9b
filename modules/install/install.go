// Package install installs the modules of a project.
//
// The setting "modules" of bolt-project.yaml lists the modules that the project
// needs. The package resolves them to a Puppetfile, which has one version of each
// module and of each dependency. Then it installs the modules of the Puppetfile
// into the directory .modules of the project. Both files have the format of
// Puppet Bolt. The lock file in .modules is specific to this program (lock.go).
//
//	in := install.New(install.Options{Project: dir, Forge: client, Git: cache})
//	result, err := in.Install(ctx, install.Request{Specs: specs})
//
// An installation first fetches and verifies all new modules, and changes nothing
// else meanwhile. Then it exchanges the modules one by one, each in one step, and
// replaces files as a whole. If a step fails, it undoes the earlier steps. If the
// process is killed, the next installation repairs the directory.
//
// Errors are *fault.Error with Puppet Bolt's kinds, or the cause of a context
// that has ended.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/yamledit"
	"bolt/internal/atomicfile"
	"bolt/internal/readfile"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
	"bolt/modules/install/puppetfile"
	"bolt/modules/install/solver"
)

// managedName is the directory of a project for modules that are installed.
const managedName = ".modules"

// Options configure an Installer.
type Options struct {
	Project string // its directory
	File    string // its bolt-project.yaml
	Forge   *forge.Client
	Git     *gitcache.Cache
	// Step receives a sentence about the next step; can be nil.
	Step func(string)
}

// An Installer works on one project, for one request. It is not safe for
// concurrent use.
type Installer struct {
	o        Options
	releases map[string]forge.Release // the releases that resolve has chosen, by module and version
}

// New returns an installer.
func New(o Options) *Installer {
	return &Installer{o: o, releases: map[string]forge.Release{}}
}

// A Request describes an installation.
type Request struct {
	Specs []Spec
	// Force replaces the Puppetfile, also one that Bolt did not write, with a
	// Puppetfile of the newest versions. It also replaces all modules.
	Force bool
	// AsIs installs the modules of the Puppetfile, and ignores Specs.
	AsIs bool
}

// A Result describes the changes of an installation.
type Result struct {
	Puppetfile string
	ModuleDir  string
	Changes    []Change // sorted by name; empty if all modules were installed already
	Idle       string   // if there was nothing to do, the reason, as a sentence
}

func (in *Installer) step(text string) {
	if in.o.Step != nil {
		in.o.Step(text)
	}
}

func (in *Installer) managed() string { return filepath.Join(in.o.Project, managedName) }

// Puppetfile returns the path of the project's Puppetfile.
func (in *Installer) Puppetfile() string { return filepath.Join(in.o.Project, "Puppetfile") }

// ModuleDir returns the directory for modules, unless the Puppetfile sets another.
func (in *Installer) ModuleDir() string { return in.managed() }

// directory returns the path of a directory that a module is linked to.
func (in *Installer) directory(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.o.Project, filepath.FromSlash(path))
}

// address returns the address of a repository in the form that git accepts.
func (in *Installer) address(git string) string {
	if isRelative(git) {
		return filepath.Join(in.o.Project, filepath.FromSlash(git))
	}
	return git
}

// read returns the project's Puppetfile, or nil if it does not exist.
func (in *Installer) read(ctx context.Context) (*puppetfile.File, []byte, error) {
	path := in.Puppetfile()
	data, err := readfile.Read(ctx, path, readfile.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fault.File(path, err, "The Puppetfile at %s could not be read: %v", path, fault.WithoutPath(err))
	}
	f, err := puppetfile.Parse(data)
	if err != nil {
		return nil, data, &fault.Error{Kind: "bolt/puppetfile-parsing", Msg: fmt.Sprintf("Unable to parse Puppetfile %s, %v", path, err), Err: err}
	}
	return f, data, nil
}

// Install installs the modules of a project.
//
// If the project has a Puppetfile, Install uses its versions, so that all users
// have the same versions. If Bolt wrote the Puppetfile and the project's list of
// modules has changed since, Install resolves it again and keeps the versions that
// still fit. Differs from Bolt, which requires --force in this case.
func (in *Installer) Install(ctx context.Context, r Request) (*Result, error) {
	if r.AsIs {
		f, data, err := in.read(ctx)
		if err != nil {
			return nil, err
		}
		if f == nil {
			return nil, fault.File(in.Puppetfile(), nil, "Could not find a Puppetfile at %s. Without --no-resolve it is made from the modules in %s.", in.Puppetfile(), in.o.File)
		}
		return in.apply(ctx, work{file: f, old: data, force: r.Force})
	}
	f, data, err := in.read(ctx)
	if err != nil && (!r.Force || data == nil) { // a file that cannot be read could not be restored
		return nil, err
	}
	t, err := in.begin(ctx, in.managed())
	if err != nil {
		return nil, err
	}
	defer t.end()
	specs := canonical(r.Specs)
	w := work{file: f, old: data, specs: specs, force: r.Force, tx: t}
	known := t.old.Specs
	if r.Force || f == nil || f.Managed && (known != nil && !slices.Equal(known, specs) || checkMeets(in.Puppetfile(), f, r.Specs) != nil) {
		var old kept
		if !r.Force && f != nil {
			old = kept{f, known}
		}
		in.step("Resolving module dependencies, which may take a while")
		if w.file, err = in.resolve(ctx, r.Specs, old); err != nil {
			return nil, err
		}
		w.write = true
	} else if err := checkMeets(in.Puppetfile(), f, r.Specs); err != nil {
		return nil, err
	}
	return in.apply(ctx, w)
}

// Add adds a module from the Forge to bolt-project.yaml and installs it. Installed
// modules keep their versions unless the new module needs other versions.
func (in *Installer) Add(ctx context.Context, name string, specs []Spec) (*Result, error) {
	spec, err := ParseSpecs([]any{name})
	if err != nil {
		return nil, err
	}
	f, data, err := in.read(ctx)
	if err != nil {
		return nil, err
	}
	if f != nil && !f.Managed {
		return nil, fault.New("bolt/existing-puppetfile-error", "The Puppetfile at %s was not written by Bolt, and would be replaced. "+
			"Put its modules into %s and run 'bolt module install --force', or add the module to the Puppetfile and run 'bolt module install --no-resolve'.",
			in.Puppetfile(), in.o.File)
	}
	before, err := readfile.Read(ctx, in.o.File, readfile.Config)
	if err != nil {
		return nil, fault.File(in.o.File, err, "The project configuration file %s could not be read: %v", in.o.File, fault.WithoutPath(err))
	}
	after, err := yamledit.AppendTo(before, "modules", spec[0].Name)
	if errors.Is(err, yamledit.ErrNoPlace) {
		return nil, fault.File(in.o.File, err, "The module could not be added to %s: its list of modules has a form that bolt cannot change. "+
			"Add '%s' to it, and run 'bolt module install'.", in.o.File, spec[0].Name)
	}
	if err != nil {
		return nil, err
	}
	t, err := in.begin(ctx, in.managed())
	if err != nil {
		return nil, err
	}
	defer t.end()
	all := append(slices.Clone(specs), spec...)
	in.step("Resolving module dependencies, which may take a while")
	var old kept
	if f != nil {
		old = kept{f, t.old.Specs}
	}
	w := work{old: data, specs: canonical(all), write: true, tx: t, project: &projectFile{before: before, after: after}}
	if w.file, err = in.resolve(ctx, all, old); err != nil {
		return nil, err
	}
	return in.apply(ctx, w)
}

// includes reports whether one of specs has the name of a module.
func includes(specs []Spec, name string) bool {
	short := solver.Name(strings.Replace(name, "-", "/", 1))
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.short() == short })
}

// work describes the changes of an installation after the resolution.
type work struct {
	file    *puppetfile.File
	text    []byte   // the content of file
	write   bool     // whether file is new
	old     []byte   // the previous Puppetfile; nil if it did not exist
	specs   []string // for the lock file; nil keeps its specs
	force   bool
	tx      *transaction // nil to begin a transaction
	project *projectFile // nil if bolt-project.yaml does not change
}

// projectFile is the content of bolt-project.yaml before and after a change.
type projectFile struct{ before, after []byte }

// apply makes the changes that w describes.
func (in *Installer) apply(ctx context.Context, w work) (*Result, error) {
	dir := in.managed()
	if w.file.ModuleDir != "" && !w.write {
		dir = w.file.ModuleDir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(in.o.Project, filepath.FromSlash(dir))
		}
	}
	t := w.tx
	if dir = filepath.Clean(dir); t == nil || t.dir != dir {
		if t != nil {
			t.end() // the two names can be of one directory, which has one lock
		}
		var err error
		if t, err = in.begin(ctx, dir); err != nil {
			return nil, err
		}
		defer t.end()
	}
	if err := t.prepare(ctx, w.file, w.force); err != nil {
		return nil, err
	}
	specs := w.specs
	if specs == nil {
		specs = t.old.Specs
	}
	w.text = w.file.Format()
	w.write = w.write && !bytes.Equal(w.text, w.old)
	if w.project != nil {
		in.step("Updating project configuration file at " + in.o.File)
	}
	if w.write {
		in.step("Writing Puppetfile at " + in.Puppetfile())
	}
	in.step(fmt.Sprintf("Syncing modules from %s to %s", in.Puppetfile(), dir))
	if ctx.Err() != nil { // the rest is quick and ignores the context
		return nil, context.Cause(ctx)
	}
	if err := t.commit(specs, func() error { return in.writeFiles(ctx, w, t) }); err != nil {
		return nil, err
	}
	slices.SortFunc(t.Changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return &Result{Puppetfile: in.Puppetfile(), ModuleDir: dir, Changes: t.Changes}, nil
}

// writeFiles writes the Puppetfile and bolt-project.yaml. It returns an error if
// another process has changed them since they were read.
func (in *Installer) writeFiles(ctx context.Context, w work, t *transaction) error {
	path := in.Puppetfile()
	if w.write {
		if err := unchanged(ctx, path, w.old, w.text); err != nil {
			return err
		}
	}
	if w.project != nil {
		if err := unchanged(ctx, in.o.File, w.project.before, w.project.after); err != nil {
			return err
		}
	}
	if w.write {
		if err := atomicfile.Write(path, w.text, 0o644); err != nil {
			return fault.File(path, err, "The Puppetfile at %s could not be written: %v", path, fault.WithoutPath(err))
		}
		t.undo = append(t.undo, func() error {
			if w.old == nil {
				return os.Remove(path)
			}
			return atomicfile.Write(path, w.old, 0o644)
		})
	}
	if w.project != nil {
		if err := atomicfile.Write(in.o.File, w.project.after, 0o644); err != nil {
			return fault.File(in.o.File, err, "The project configuration file %s could not be written: %v", in.o.File, fault.WithoutPath(err))
		}
		t.undo = append(t.undo, func() error { return atomicfile.Write(in.o.File, w.project.before, 0o644) })
	}
	return nil
}

// unchanged returns an error unless the content of a file equals was or will. A
// missing file is equal to an empty file.
func unchanged(ctx context.Context, path string, was, will []byte) error {
	is, err := readfile.Read(context.WithoutCancel(ctx), path, readfile.Config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.File(path, err, "%s could not be read again: %v", path, fault.WithoutPath(err))
	}
	if !bytes.Equal(is, was) && !bytes.Equal(is, will) {
		return fault.File(path, nil, "%s was changed by another process. Run the command again.", path)
	}
	return nil
}
