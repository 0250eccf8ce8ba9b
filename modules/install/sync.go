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

// stagePrefix begins the name of a directory among the modules that is none.
const stagePrefix = ".bolt-stage-"

// A Change is what became of one module.
type Change struct {
	Name     string // as messages have it: owner/name, or name
	Old, New string // version or commit; "" where there was or is none
}

// A transaction brings a directory of modules to what a Puppetfile says. All
// that is new is fetched into a directory beside the modules first; then each
// module is exchanged in one step.
type transaction struct {
	in     *Installer
	dir    string // of the modules
	stage  string
	unlock func()
	old    lockData
	next   lockData
	moves  []move
	undo   []func() error

	Changes []Change
}

// A move is one step of the end: staged to dir, or dir away.
type move struct {
	dir    string
	staged string // "" for a module that goes
}

// begin takes the lock of a directory of modules, which is made if it is
// missing, and cleans up after an installation that was interrupted.
func (in *Installer) begin(ctx context.Context, dir string) (*transaction, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.File(dir, err, "The directory for modules %s could not be made: %v", dir, fault.WithoutPath(err))
	}
	unlock, err := in.lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	t := &transaction{in: in, dir: dir, unlock: unlock}
	left, _ := filepath.Glob(filepath.Join(dir, stagePrefix+"*")) // the pattern is right
	for _, stage := range left {
		if err := os.RemoveAll(stage); err != nil {
			t.end()
			return nil, fault.File(stage, err, "%s is left of an installation that was interrupted, and could not be removed: %v", stage, err)
		}
	}
	if t.old, err = readLock(ctx, dir); err != nil {
		t.end()
		return nil, fault.File(dir, err, "What is installed in %s could not be read: %v", dir, err)
	}
	return t, nil
}

// patience is how long another process may have the lock before it is told.
const patience = time.Second

// lock takes the lock of a directory of modules, telling if another process has
// it.
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

// end gives the lock back and removes what was staged.
func (t *transaction) end() {
	if t.stage != "" {
		_ = os.RemoveAll(t.stage) // else the next installation does
	}
	t.unlock()
}

// rel is a directory as the lock file has it.
func (t *transaction) rel(dir string) string {
	if rel, err := filepath.Rel(t.in.o.Project, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// place is where a module of a Puppetfile goes.
func (t *transaction) place(m *puppetfile.Module) string {
	if m.InstallPath != "" {
		return filepath.Join(t.in.o.Project, filepath.FromSlash(m.InstallPath), m.Name())
	}
	return filepath.Join(t.dir, m.Name())
}

// prepare fetches all that is not there. With force, all is fetched.
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
		return fault.File(t.dir, err, "Modules cannot be put into %s: %v", t.dir, fault.WithoutPath(err))
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

// want is what a Puppetfile says of a module, without a password.
func want(m *puppetfile.Module) string {
	plain := *m
	plain.Git = gitcache.Redact(m.Git)
	return plain.String()
}

// shown is what people know a version by.
func (e entry) shown() string {
	if e.Commit != "" {
		return fmt.Sprintf("%.12s", e.Commit)
	}
	return e.Version
}

// purge finds what goes away: what an earlier Puppetfile had, and in the managed
// directory all that is not listed, as Puppet Bolt has it.
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
		// Whatever was written into the lock, nothing else than modules goes away:
		// the project's own directories (plans, data) may have names as modules do.
		ours := below(t.dir, dir) || below(t.in.o.Project, dir) && !sameDir(filepath.Dir(dir), t.in.o.Project)
		if modules.ValidName(filepath.Base(dir)) && ours {
			away(dir, strings.Replace(e.Title, "-", "/", 1), e.shown())
		}
	}
	// What a link leads to is not ours alone.
	if info, err := os.Lstat(t.dir); t.dir != t.in.managed() || err != nil || !info.IsDir() {
		return
	}
	entries, _ := os.ReadDir(t.dir) // it was read before
	for _, e := range entries {
		if modules.ValidName(e.Name()) && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			away(filepath.Join(t.dir, e.Name()), e.Name(), "?")
		}
	}
}

// fetch puts a module into the stage.
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
	if !m.KeepSpec { // tests of a module, as r10k leaves them out
		if err := os.RemoveAll(filepath.Join(into, "spec")); err != nil {
			return e, err
		}
	}
	if e.Version == "" {
		e.Version = versionOf(ctx, into)
	}
	return e, nil
}

// link makes a link to the module's own directory: what is changed there counts
// at once.
func (t *transaction) link(ctx context.Context, m *puppetfile.Module, into string, e *entry) error {
	dir := t.in.directory(m.Path)
	if !isDir(dir) {
		return fmt.Errorf("module %s: %s is not a directory", m.Name(), dir)
	}
	if place := t.place(m); isOwn(place) && sameDir(place, dir) {
		return fmt.Errorf("module %s: %s is where it would be put; in a Puppetfile, 'local: true' says that it is there already", m.Name(), dir)
	}
	if managed := t.in.managed(); below(realPath(managed), realPath(dir)) {
		return fmt.Errorf("module %s: %s is inside of %s, from which everything goes that Bolt has not put there; move it to another directory", m.Name(), dir, managed)
	}
	to := dir
	if !filepath.IsAbs(m.Path) { // the project may be moved together with it
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

// newest is the newest release of a module, and no pre-release if there are
// others.
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
		return best, fmt.Errorf("module %s: no release has a version that can be understood", module)
	}
	return best, nil
}

// versionOf is what a module says of itself, "" for nothing.
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

// commit makes the changes, and then those of files that a function makes. If
// anything fails, all is as it was before.
func (t *transaction) commit(specs []string, files func() error) (err error) {
	t.next.Specs = specs
	if len(t.moves) > 0 {
		// Should this be the end of the process, the lock must not say that
		// something is there which is not.
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
				err = &fault.Error{Kind: "bolt/puppetfile-error", Err: err, Msg: fmt.Sprintf("%v\nWhat was changed before could not be taken back: %v. "+
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

// move makes one step, and remembers how to take it back.
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

// realPath is a path without links, or as it is if there is nothing.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool { return realPath(a) == realPath(b) }

// isOwn reports whether a path is a directory and not a link to one.
func isOwn(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
