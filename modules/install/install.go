// Package install puts the modules that a project asks for on disk.
//
// The setting "modules" of bolt-project.yaml says what is wanted. From it a
// Puppetfile is worked out, which names one version of each module and of all
// that they depend on, and what it lists is installed into the directory
// .modules of the project. Both files are Puppet Bolt's; a lock file in .modules
// is ours (lock.go).
//
//	in := install.New(install.Options{Project: dir, Forge: client, Git: cache})
//	result, err := in.Install(ctx, install.Request{Specs: specs})
//
// Nothing that is there changes before everything new has come and was checked.
// Then modules are exchanged one by one, each in one step, and files are
// replaced as a whole; when one of these steps fails, those before it are taken
// back. A process that is killed leaves what the next installation repairs.
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
	// Step is told what is done next, in a sentence for people; nil for nobody.
	Step func(string)
}

// An Installer works on one project, for one request. It is not safe for
// concurrent use.
type Installer struct {
	o        Options
	releases map[string]forge.Release // by module and version: what resolving has learnt
}

// New returns an installer.
func New(o Options) *Installer {
	return &Installer{o: o, releases: map[string]forge.Release{}}
}

// A Request says what to install.
type Request struct {
	Specs []Spec
	// Force replaces what is there: the Puppetfile, whoever wrote it, with one
	// of the newest versions, and all modules.
	Force bool
	// AsIs installs what the Puppetfile says, whatever Specs are.
	AsIs bool
}

// A Result is what was done.
type Result struct {
	Puppetfile string
	ModuleDir  string
	Changes    []Change // sorted by name; none if everything was there
	Idle       string   // the reason if there was nothing to do, as a sentence
}

func (in *Installer) step(text string) {
	if in.o.Step != nil {
		in.o.Step(text)
	}
}

func (in *Installer) managed() string { return filepath.Join(in.o.Project, managedName) }

// Puppetfile is the path of the project's.
func (in *Installer) Puppetfile() string { return filepath.Join(in.o.Project, "Puppetfile") }

// ModuleDir is where modules go, if the Puppetfile says nothing else.
func (in *Installer) ModuleDir() string { return in.managed() }

// directory is the path of a module's own directory.
func (in *Installer) directory(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.o.Project, filepath.FromSlash(path))
}

// address is that of a repository, as git takes it.
func (in *Installer) address(git string) string {
	if isRelative(git) {
		return filepath.Join(in.o.Project, filepath.FromSlash(git))
	}
	return git
}

// read returns the project's Puppetfile; nil if there is none.
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
// A Puppetfile that is there counts, so that everybody has the same versions.
// One that Bolt wrote is worked out anew when the project has come to want
// something else, and keeps the versions that still fit. Differs from Bolt:
// that asks for --force then.
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
	if err != nil && (!r.Force || data == nil) { // what could not be read could not be put back
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

// Add adds a module from the Forge to bolt-project.yaml and installs it. What is
// installed stays as it is unless the new module needs other versions.
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
		return nil, fault.File(in.o.File, err, "The module could not be added to %s: the list of modules there is written in a way that is not understood. "+
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

// work is what is left to do when it is known what shall be there.
type work struct {
	file    *puppetfile.File
	text    []byte   // of it
	write   bool     // it is new
	old     []byte   // the Puppetfile that was there; nil for none
	specs   []string // for the lock; nil keeps what it has
	force   bool
	tx      *transaction // begun; nil to begin one
	project *projectFile // nil to leave it alone
}

// projectFile is a bolt-project.yaml before and after.
type projectFile struct{ before, after []byte }

// apply brings files and modules to what work says.
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
			t.end() // the other directory may be this one by another name
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
	if ctx.Err() != nil { // from here on it is quick, and not interrupted
		return nil, context.Cause(ctx)
	}
	if err := t.commit(specs, func() error { return in.writeFiles(ctx, w, t) }); err != nil {
		return nil, err
	}
	slices.SortFunc(t.Changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return &Result{Puppetfile: in.Puppetfile(), ModuleDir: dir, Changes: t.Changes}, nil
}

// writeFiles writes the Puppetfile and the project's file, if nobody else has
// changed them since they were read.
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

// unchanged fails if a file is neither as it was read nor as it is to be; a file
// of nothing is none.
func unchanged(ctx context.Context, path string, was, will []byte) error {
	is, err := readfile.Read(context.WithoutCancel(ctx), path, readfile.Config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.File(path, err, "%s could not be read again: %v", path, fault.WithoutPath(err))
	}
	if !bytes.Equal(is, was) && !bytes.Equal(is, will) {
		return fault.File(path, nil, "%s was changed meanwhile. Run the command again.", path)
	}
	return nil
}
