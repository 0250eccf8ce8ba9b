package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/filelock"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
	"bolt/modules/install/puppetfile"
)

// stagePrefix begins the name of a temporary directory beside the modules.
const stagePrefix = ".bolt-stage-"

// A Change is the change of one module.
type Change struct {
	Name     string // owner/name, or name, as in messages
	Old, New string // version or commit; Old is "" for a new module, New is "" for a removed one
}

// A transaction brings a directory of modules to the state of a Puppetfile. It
// first fetches all new modules into a directory beside the modules. Then it
// exchanges each module in one step.
type transaction struct {
	in     *Installer
	dir    string // the directory of the modules
	stage  string // the directory of fetched modules; "" before prepare makes it
	unlock func()
	old    lockData
	next   lockData
	moves  []move
	undo   []func() error

	Changes []Change
}

// A move is one step of commit. It moves staged to dir, or removes dir.
type move struct {
	dir    string
	staged string // "" if the module is removed
}

// begin creates a directory of modules if it is missing, and locks it. It removes
// the stages of installations that were interrupted.
func (in *Installer) begin(ctx context.Context, dir string) (*transaction, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.File(dir, err, "The directory for modules %s could not be created: %v", dir, fault.WithoutPath(err))
	}
	unlock, err := in.lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	t := &transaction{in: in, dir: dir, unlock: unlock}
	left, _ := filepath.Glob(filepath.Join(dir, stagePrefix+"*")) // the pattern is valid
	for _, stage := range left {
		if err := os.RemoveAll(stage); err != nil {
			t.end()
			return nil, fault.File(stage, err, "%s is left over from an interrupted installation, and could not be removed: %v", stage, err)
		}
	}
	if t.old, err = readLock(ctx, dir); err != nil {
		t.end()
		return nil, fault.File(dir, err, "The lock file in %s could not be read: %v", dir, err)
	}
	return t, nil
}

// patience is the time to wait for the lock without a message.
const patience = time.Second

// lock locks a directory of modules. If it has to wait for another process, it
// reports a step.
func (in *Installer) lock(ctx context.Context, dir string) (unlock func(), err error) {
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err = filelock.Dir(soon, dir)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		in.step("Waiting for another installation in this project to end")
		unlock, err = filelock.Dir(ctx, dir)
	}
	if err != nil && ctx.Err() == nil {
		return nil, fault.File(dir, err, "Modules cannot be installed in %s: %v", dir, err)
	}
	return unlock, err
}

// end releases the lock and removes the stage.
func (t *transaction) end() {
	if t.stage != "" {
		_ = os.RemoveAll(t.stage) // if this fails, the next installation removes it
	}
	t.unlock()
}

// rel returns the path of a directory in the form of the lock file.
func (t *transaction) rel(dir string) string {
	if rel, err := filepath.Rel(t.in.o.Project, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// place returns the directory for a module of a Puppetfile.
func (t *transaction) place(m *puppetfile.Module) string {
	if m.InstallPath != "" {
		return filepath.Join(t.in.o.Project, filepath.FromSlash(m.InstallPath), m.Name())
	}
	return filepath.Join(t.dir, m.Name())
}

// prepare fetches the modules that are not installed; with force, all modules.
func (t *transaction) prepare(ctx context.Context, f *puppetfile.File, force bool) error {
	var missing []*puppetfile.Module
	var wanted []string
	for i := range f.Modules {
		m := &f.Modules[i]
		place := t.place(m)
		wanted = append(wanted, place)
		if m.Local {
			if !isDir(place) {
				return fault.New("bolt/puppetfile-error", "Failed to sync modules from the Puppetfile: module %s is local, and the directory %s does not exist.", m.Name(), place)
			}
			continue
		}
		if e, ok := t.old.of(t.rel(place)); ok && e.Want == want(m) && isDir(place) && !force {
			t.next.Modules = append(t.next.Modules, e)
			continue
		}
		missing = append(missing, m)
	}
	t.purge(wanted)
	if len(missing)+len(t.moves) == 0 {
		return nil
	}
	stage, err := os.MkdirTemp(t.dir, stagePrefix)
	if err != nil {
		return fault.File(t.dir, err, "Modules cannot be installed in %s: %v", t.dir, fault.WithoutPath(err))
	}
	t.stage = stage
	if n := len(missing); n == 1 {
		t.in.step("Fetching module " + missing[0].FullName())
	} else if n > 1 {
		t.in.step(fmt.Sprintf("Fetching %d modules", n))
	}
	entries := make([]entry, len(missing))
	err = each(ctx, len(missing), func(ctx context.Context, i int) (err error) {
		entries[i], err = t.fetch(ctx, missing[i])
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &fault.Error{Kind: "bolt/puppetfile-error", Msg: "Failed to sync modules from the Puppetfile: " + err.Error() + "\nNothing was changed.", Err: err}
	}
	for i, m := range missing {
		place := t.place(m)
		t.moves = append(t.moves, move{dir: place, staged: filepath.Join(stage, m.Name())})
		t.next.Modules = append(t.next.Modules, entries[i])
		c := Change{Name: m.FullName(), New: entries[i].shown()}
		if old, ok := t.old.of(t.rel(place)); ok && isDir(place) {
			c.Old = old.shown()
		} else if isDir(place) {
			c.Old = "?"
		}
		t.Changes = append(t.Changes, c)
	}
	return nil
}

// want returns a module's line of a Puppetfile, without a password.
func want(m *puppetfile.Module) string {
	plain := *m
	plain.Git = gitcache.Redact(m.Git)
	return plain.String()
}

// shown returns the version, or a short commit, for messages.
func (e entry) shown() string {
	if e.Commit != "" {
		return fmt.Sprintf("%.12s", e.Commit)
	}
	return e.Version
}

// purge adds moves for the modules to remove: modules of the previous Puppetfile
// and, as in Puppet Bolt, all modules in the managed directory that the Puppetfile
// does not list.
func (t *transaction) purge(wanted []string) {
	away := func(dir, name, version string) {
		if slices.ContainsFunc(wanted, func(w string) bool { return w == dir || below(dir, w) }) ||
			slices.ContainsFunc(t.moves, func(m move) bool { return m.dir == dir }) {
			return
		}
		if _, err := os.Lstat(dir); err != nil {
			return
		}
		t.moves = append(t.moves, move{dir: dir})
		t.Changes = append(t.Changes, Change{Name: name, Old: version})
	}
	for _, e := range t.old.Modules {
		dir := filepath.FromSlash(e.Dir)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(t.in.o.Project, dir)
		}
		// A damaged lock file must not remove anything but modules. The project's own
		// directories (plans, data) can have names that are valid names of modules.
		ours := below(t.dir, dir) || below(t.in.o.Project, dir) && !sameDir(filepath.Dir(dir), t.in.o.Project)
		if modules.ValidName(filepath.Base(dir)) && ours {
			away(dir, strings.Replace(e.Title, "-", "/", 1), e.shown())
		}
	}
	// If the directory is a link, other projects can use its modules, too.
	if info, err := os.Lstat(t.dir); t.dir != t.in.managed() || err != nil || !info.IsDir() {
		return
	}
	entries, _ := os.ReadDir(t.dir) // begin has read it already
	for _, e := range entries {
		if modules.ValidName(e.Name()) && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			away(filepath.Join(t.dir, e.Name()), e.Name(), "?")
		}
	}
}

// fetch fetches a module into the stage.
func (t *transaction) fetch(ctx context.Context, m *puppetfile.Module) (entry, error) {
	into := filepath.Join(t.stage, m.Name())
	e := entry{Name: m.Name(), Dir: t.rel(t.place(m)), Want: want(m), Title: m.Title}
	if m.Path != "" {
		err := t.link(ctx, m, into, &e)
		return e, err
	}
	if err := os.Mkdir(into, 0o755); err != nil {
		return entry{}, err
	}
	var err error
	if m.Git != "" {
		err = t.fetchGit(ctx, m, into, &e)
	} else {
		err = t.fetchForge(ctx, m, into, &e)
	}
	if err != nil {
		return e, err
	}
	if !m.KeepSpec { // r10k, too, leaves out the tests of a module
		if err := os.RemoveAll(filepath.Join(into, "spec")); err != nil {
			return e, err
		}
	}
	if e.Version == "" {
		e.Version = versionOf(ctx, into)
	}
	return e, nil
}

// link makes a link to a module's directory, so that changes there take effect at
// once.
func (t *transaction) link(ctx context.Context, m *puppetfile.Module, into string, e *entry) error {
	dir := t.in.directory(m.Path)
	if !isDir(dir) {
		return fmt.Errorf("module %s: %s is not a directory", m.Name(), dir)
	}
	if place := t.place(m); isOwn(place) && sameDir(place, dir) {
		return fmt.Errorf("module %s: %s is the directory where it is installed; in a Puppetfile, use 'local: true' for a module that is there already", m.Name(), dir)
	}
	if managed := t.in.managed(); below(realPath(managed), realPath(dir)) {
		return fmt.Errorf("module %s: %s is inside of %s, where Bolt removes modules that it did not install; move it to another directory", m.Name(), dir, managed)
	}
	to := dir
	if !filepath.IsAbs(m.Path) { // a relative link stays valid if project and module are moved together
		if rel, err := filepath.Rel(filepath.Dir(t.place(m)), dir); err == nil {
			to = rel
		}
	}
	if err := os.Symlink(to, into); err != nil {
		return err
	}
	e.Version = versionOf(ctx, dir)
	return nil
}

func (t *transaction) fetchGit(ctx context.Context, m *puppetfile.Module, into string, e *entry) error {
	ref := m.Ref
	if ref == "" {
		ref = "HEAD"
	}
	address := t.in.address(m.Git)
	commit, err := t.in.o.Git.Commit(ctx, address, ref)
	if errors.Is(err, gitcache.ErrNoRef) && m.Default != "" {
		ref = m.Default
		commit, err = t.in.o.Git.Commit(ctx, address, ref)
	}
	if errors.Is(err, gitcache.ErrNoRef) {
		return fmt.Errorf("module %s: the repository %s has no branch, tag or commit %q", m.Name(), gitcache.Redact(m.Git), ref)
	}
	if err == nil {
		err = t.in.o.Git.Export(ctx, address, commit, into)
	}
	if err != nil {
		return fmt.Errorf("module %s: %w", m.Name(), err)
	}
	e.Git, e.Commit = gitcache.Redact(m.Git), commit
	return nil
}

func (t *transaction) fetchForge(ctx context.Context, m *puppetfile.Module, into string, e *entry) error {
	r, known := t.in.releases[strings.ToLower(m.FullName())+" "+m.Version]
	var err error
	switch {
	case known:
	case m.Version == "" || m.Version == puppetfile.Latest:
		r, err = t.newest(ctx, m.FullName())
	default:
		r, err = t.in.o.Forge.Release(ctx, m.FullName(), m.Version)
	}
	if err != nil {
		return err
	}
	if e.SHA256, err = t.in.o.Forge.Fetch(ctx, r, into); err != nil {
		return err
	}
	e.Version, e.Forge = r.Version, t.in.o.Forge.Host()
	return nil
}

// newest returns the newest release of a module. It returns a pre-release only if
// the module does not have other releases.
func (t *transaction) newest(ctx context.Context, module string) (best forge.Release, err error) {
	list, err := t.in.o.Forge.Releases(ctx, module)
	if err != nil {
		return best, err
	}
	for _, r := range list {
		v, err := parseVersion(r.Version)
		if err != nil || v.String() != r.Version {
			continue
		}
		b, berr := parseVersion(best.Version)
		stable := !strings.Contains(r.Version, "-")
		bestStable := !strings.Contains(best.Version, "-")
		if berr != nil || stable && !bestStable || stable == bestStable && v.Compare(b) > 0 {
			best = r
		}
	}
	if best.Version == "" {
		return best, fmt.Errorf("module %s: no release has a valid version", module)
	}
	return best, nil
}

// versionOf returns the version from a module's metadata.json, or "".
func versionOf(ctx context.Context, dir string) string {
	data, err := readfile.Read(ctx, filepath.Join(dir, "metadata.json"), readfile.Config)
	if err != nil {
		return ""
	}
	v, _ := ordered.ParseJSON(data)
	m, _ := v.(*ordered.Map)
	version, _ := m.Value("version").(string)
	return version
}

// commit exchanges the modules, calls files, and writes the lock file. If one of
// these fails, commit undoes all changes.
func (t *transaction) commit(specs []string, files func() error) (err error) {
	t.next.Specs = specs
	if len(t.moves) > 0 {
		// If the process is killed in between, the lock file must not list modules
		// that are not installed.
		between := lockData{Specs: nil}
		for _, e := range t.next.Modules {
			if old, ok := t.old.of(e.Dir); ok && old == e && !t.moving(e.Dir) {
				between.Modules = append(between.Modules, e)
			}
		}
		if err := writeLock(t.dir, between); err != nil {
			return t.failed(err)
		}
		t.undo = append(t.undo, func() error { return t.restoreLock() })
	}
	defer func() {
		if err == nil {
			return
		}
		for _, back := range slices.Backward(t.undo) {
			if uerr := back(); uerr != nil {
				err = &fault.Error{Kind: "bolt/puppetfile-error", Err: err, Msg: fmt.Sprintf("%v\nThe earlier changes could not be undone: %v. "+
					"Run 'bolt module install --force'.", err, uerr)}
			}
		}
	}()
	for i, m := range t.moves {
		if err := t.move(i, m); err != nil {
			return t.failed(err)
		}
	}
	if err := files(); err != nil {
		return err
	}
	if len(t.moves) == 0 && t.next.same(t.old) {
		return nil
	}
	if err := writeLock(t.dir, t.next); err != nil {
		return t.failed(err)
	}
	return nil
}

func (t *transaction) restoreLock() error {
	if t.old.Version == 0 {
		return os.Remove(filepath.Join(t.dir, lockName))
	}
	return writeLock(t.dir, t.old)
}

func (t *transaction) failed(err error) error {
	return &fault.Error{Kind: "bolt/puppetfile-error", Msg: "Failed to sync modules from the Puppetfile: " + err.Error(), Err: err}
}

func (t *transaction) moving(rel string) bool {
	return slices.ContainsFunc(t.moves, func(m move) bool { return t.rel(m.dir) == rel })
}

// move makes one step and records its undo function.
func (t *transaction) move(i int, m move) error {
	if m.staged == "" {
		gone := filepath.Join(t.stage, fmt.Sprintf(".gone-%d", i))
		if err := os.Rename(m.dir, gone); err != nil {
			return err
		}
		t.undo = append(t.undo, func() error { return os.Rename(gone, m.dir) })
		return nil
	}
	if _, err := os.Lstat(m.dir); err == nil {
		if err := exchange(m.staged, m.dir); err != nil {
			return fmt.Errorf("replace %s: %w", m.dir, err)
		}
		t.undo = append(t.undo, func() error { return exchange(m.staged, m.dir) })
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o755); err != nil {
		return err
	}
	if err := os.Rename(m.staged, m.dir); err != nil {
		return err
	}
	t.undo = append(t.undo, func() error { return os.Rename(m.dir, m.staged) })
	return nil
}

// below reports whether a path is inside a directory.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// realPath returns a path without symbolic links. If that fails, it returns path.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// sameDir reports whether two paths are of the same directory.
func sameDir(a, b string) bool { return realPath(a) == realPath(b) }

// isOwn reports whether a path is a directory, and not a link to a directory.
func isOwn(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
