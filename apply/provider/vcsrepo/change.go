package vcsrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/apply/provider/login"
	"bolt/apply/provider/safepath"
	"bolt/apply/provider/textfile"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// The steps in which a run can be killed.
const (
	cloning  = "cloning"
	settling = "settling"
	moving   = "moving" // of the Git directory, to another form
)

// cloningMark is a file beside the repository while it is being cloned, and settlingMark is in its Git directory until
// it is whole. Without them, a run that was killed would leave a part of a repository that the next run takes for a
// whole one.
func (x *item) cloningMark() string {
	return filepath.Join(filepath.Dir(x.path), "."+filepath.Base(x.path)+".bolt-vcsrepo")
}

func (x *item) settlingMark() string {
	const name = "bolt-unfinished"
	if dir := filepath.Join(x.path, ".git"); isDirectory(dir) {
		return filepath.Join(dir, name)
	}
	return filepath.Join(x.path, name)
}

// readMark returns the step in which an earlier run ended, "" for none.
func (x *item) readMark() (string, error) {
	if isDirectory(x.aside()) {
		return moving, nil
	}
	for _, mark := range [][2]string{{settling, x.settlingMark()}, {cloning, x.cloningMark()}} {
		switch _, err := os.Lstat(mark[1]); {
		case err == nil:
			return mark[0], nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", err
		}
	}
	return "", nil
}

func unmark(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// create makes the repository.
func (x *item) create(ctx context.Context, h *resource.Host, g *git) error {
	if x.git.user == "" {
		if err := safepath.MakeAll(filepath.Dir(x.path)); err != nil {
			return err
		}
	}
	if x.is.unfinished != settling {
		if err := x.clear(h); err != nil {
			return err
		}
		if err := textfile.Write(x.cloningMark(), "", 0o600); err != nil {
			return err
		}
		if err := x.clone(ctx, h, g); err != nil {
			return errors.Join(err, unmark(x.cloningMark()))
		}
		if err := textfile.Write(x.settlingMark(), "", 0o600); err != nil {
			return err
		}
	}
	if err := unmark(x.cloningMark()); err != nil {
		return err
	}
	if err := x.finish(ctx, h, g); err != nil {
		return err
	}
	return unmark(x.settlingMark())
}

// clear makes room at the path. The remains of a run that was killed are removed.
func (x *item) clear(h *resource.Host) error {
	entries, err := os.ReadDir(x.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) == 0:
		return nil
	case x.is.unfinished == cloning:
		return x.removeAll()
	case !x.force:
		return fmt.Errorf("the path %s exists and is not the desired repository. Set force to true to replace it", x.path)
	}
	h.Logf(x.r.Ref, report.Notice, "Removing %s to replace it with the desired repository", x.path)
	return x.removeAll()
}

// clone gets the source, or makes an empty repository.
func (x *item) clone(ctx context.Context, h *resource.Host, g *git) error {
	if x.remotes == nil {
		if err := x.makeDirectory(ctx, h); err != nil {
			return err
		}
		args := []string{"init"}
		if x.ensure == "bare" {
			args = append(args, "--bare")
		}
		return g.do(ctx, args...)
	}
	args := []string{"clone"}
	if x.depth > 0 {
		args = append(args, "--depth", fmt.Sprint(x.depth))
		if x.revision != "" && x.branch == "" {
			args = append(args, "--branch", x.revision)
		}
	}
	if x.branch != "" {
		args = append(args, "--branch", x.branch)
	}
	if x.ensure == "bare" || x.ensure == "mirror" {
		args = append(args, "--"+x.ensure)
	}
	if x.remote != "origin" {
		args = append(args, "--origin", x.remote)
	}
	return g.in("/").online(ctx, append(args, "--", x.remotes[x.remote], x.path)...)
}

func (x *item) makeDirectory(ctx context.Context, h *resource.Host) error {
	if err := os.Mkdir(x.path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if x.git.user == "" {
		return nil
	}
	u, err := login.FindUser(ctx, h, x.git.user)
	if err != nil {
		return err
	}
	return os.Lchown(x.path, int(u.UID), -1)
}

// finish brings a new repository to the wanted state.
func (x *item) finish(ctx context.Context, h *resource.Host, g *git) error {
	if x.remotes != nil {
		if err := x.updateRemotes(ctx, g); err != nil {
			return err
		}
	}
	if x.ensure == "mirror" && x.several {
		if err := x.setMirror(ctx, g, true); err != nil {
			return err
		}
	}
	if x.skipHooks != "" {
		if err := x.setHooks(ctx, g); err != nil {
			return err
		}
	}
	if x.remotes != nil {
		if x.includes != nil {
			if err := x.include(ctx, g); err != nil {
				return err
			}
		}
		if x.revision != "" {
			if err := x.checkout(ctx, g, x.revision); err != nil {
				return err
			}
		}
		if err := x.updateSubmodules(ctx, g); err != nil {
			return err
		}
	}
	return x.own(ctx, h)
}

// update brings the working copy to a revision. A branch gets the state of the remote branch.
func (x *item) update(ctx context.Context, h *resource.Host, g *git, revision string) error {
	if x.remotes != nil && x.ensure == "latest" {
		if err := x.fetch(ctx, h, g); err != nil {
			return err
		}
	}
	restore, err := x.stash(ctx, g)
	if err != nil {
		return err
	}
	if err := x.move(ctx, g, revision); err != nil {
		return errors.Join(err, restore())
	}
	if err := restore(); err != nil {
		return err
	}
	return x.own(ctx, h)
}

func (x *item) move(ctx context.Context, g *git, revision string) error {
	if err := x.checkout(ctx, g, revision); err != nil {
		return err
	}
	refs, err := g.refs(ctx)
	if err != nil {
		return err
	}
	if refs["refs/heads/"+revision] {
		to := revision
		if x.remotes != nil {
			to = x.remote + "/" + revision
		}
		if err := g.do(ctx, "reset", "--hard", to); err != nil {
			return err
		}
	}
	return x.updateSubmodules(ctx, g)
}

// checkout does not look for newer commits of a local branch.
func (x *item) checkout(ctx context.Context, g *git, revision string) error {
	refs, err := g.refs(ctx)
	if err != nil {
		return err
	}
	if !refs["refs/heads/"+revision] && refs["refs/remotes/"+x.remote+"/"+revision] && !refs["refs/tags/"+revision] {
		return g.do(ctx, "checkout", "--force", "-b", revision, "--track", x.remote+"/"+revision)
	}
	return g.do(ctx, "checkout", "--force", revision, "--") // without the dashes, git would also take the name of a file
}

// stash puts local changes away if they are to be kept. restore brings them back.
func (x *item) stash(ctx context.Context, g *git) (restore func() error, err error) {
	none := func() error { return nil }
	if !x.keep {
		return none, nil
	}
	before, _ := g.output(ctx, "rev-parse", "--verify", "--quiet", "refs/stash")
	// git needs a name for the commit of a stash.
	if err := g.do(ctx, "-c", "user.name=bolt", "-c", "user.email=bolt@localhost", "stash", "save"); err != nil {
		return none, err
	}
	if after, _ := g.output(ctx, "rev-parse", "--verify", "--quiet", "refs/stash"); after == before {
		return none, nil
	}
	return func() error { return g.do(ctx, "stash", "pop") }, nil
}

func (x *item) updateSubmodules(ctx context.Context, g *git) error {
	if !x.submodules || x.ensure == "bare" || x.ensure == "mirror" {
		return nil
	}
	return g.online(ctx, "submodule", "update", "--init", "--recursive")
}

// changeSource changes remote repositories. A single URL of a bare repository is another repository.
func (x *item) changeSource(ctx context.Context, h *resource.Host, g *git) error {
	if !x.several && len(x.is.remotes) == 1 {
		return x.create(ctx, h, g)
	}
	for _, name := range slices.Sorted(maps.Keys(x.is.remotes)) {
		if x.remotes[name] == "" {
			if err := g.do(ctx, "remote", "remove", name); err != nil {
				return err
			}
		}
	}
	return x.updateRemotes(ctx, g)
}

func (x *item) updateRemotes(ctx context.Context, g *git) error {
	is, err := g.remotes(ctx)
	if err != nil {
		return err
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(x.remotes)) {
		url := x.remotes[name]
		verb := "set-url"
		switch {
		case is[name] == url:
			continue
		case is[name] == "":
			verb = "add"
		}
		if err := g.do(ctx, "remote", verb, name, url); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return g.online(ctx, "remote", "update")
}

// setMirror makes remote repositories mirrored ones, or ordinary ones.
func (x *item) setMirror(ctx context.Context, g *git, on bool) error {
	names := slices.Sorted(maps.Keys(x.remotes))
	if x.remotes == nil {
		names = []string{x.remote}
	}
	for _, name := range names {
		setting := "remote." + name + ".mirror"
		switch {
		case on:
			if err := g.do(ctx, "config", setting, "true"); err != nil {
				return err
			}
		case g.ok(ctx, "config", "--get", setting):
			if err := g.do(ctx, "config", "--unset", setting); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *item) setHooks(ctx context.Context, g *git) error {
	const setting = "core.hooksPath"
	if x.skipHooks == "true" {
		return g.do(ctx, "config", "--local", setting, os.DevNull)
	}
	if !g.ok(ctx, "config", "--local", "--get", setting) {
		return nil
	}
	return g.do(ctx, "config", "--local", "--unset", setting)
}

func (x *item) sparseFile() string { return filepath.Join(x.path, ".git", "info", "sparse-checkout") }

func (x *item) readIncludes(ctx context.Context) ([]string, error) {
	text, _, err := textfile.Read(ctx, x.sparseFile())
	var list []string
	for _, line := range textfile.Lines(text) {
		list = append(list, textfile.Chomp(line))
	}
	return list, err
}

// include limits the working copy to some paths.
func (x *item) include(ctx context.Context, g *git) error {
	if x.is.ensure == "bare" || x.is.ensure == "mirror" {
		return errors.New("includes cannot be set for a bare repository")
	}
	for _, setting := range [][2]string{{"core.sparseCheckout", "true"}, {"core.sparseCheckoutCone", "false"}} {
		if err := g.do(ctx, "config", "--local", "--bool", setting[0], setting[1]); err != nil {
			return err
		}
	}
	if err := x.writeInfo(x.sparseFile(), x.includes); err != nil {
		return err
	}
	return g.do(ctx, "read-tree", "-m", "-u", "HEAD")
}

// writeInfo writes a list into a file of the directory .git/info.
func (x *item) writeInfo(file string, list []string) error {
	if err := safepath.MakeAll(filepath.Dir(file)); err != nil {
		return err
	}
	return textfile.Write(file, strings.Join(append(slices.Clone(list), ""), "\n"), 0o644)
}

// aside is a directory for a repository that changes its form.
func (x *item) aside() string {
	return filepath.Join(filepath.Dir(x.path), "."+filepath.Base(x.path)+".bolt-moved")
}

// toBare makes a bare repository of a working copy. All files outside of .git are removed.
func (x *item) toBare(ctx context.Context, g *git) error {
	if err := g.do(ctx, "config", "--local", "--bool", "core.bare", "true"); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(x.path, ".git"), x.aside()); err != nil {
		return err
	}
	return x.finishBare()
}

func (x *item) finishBare() error {
	if err := x.removeAll(); err != nil {
		return err
	}
	return os.Rename(x.aside(), x.path)
}

// toWorking makes a working copy of a bare repository.
func (x *item) toWorking(ctx context.Context, h *resource.Host, g *git) error {
	if err := os.Rename(x.path, x.aside()); err != nil {
		return err
	}
	return x.finishWorking(ctx, h, g)
}

func (x *item) finishWorking(ctx context.Context, h *resource.Host, g *git) error {
	if err := x.makeDirectory(ctx, h); err != nil {
		return err
	}
	if err := os.Rename(x.aside(), filepath.Join(x.path, ".git")); err != nil {
		return err
	}
	if err := g.do(ctx, "config", "--local", "--bool", "core.bare", "false"); err != nil {
		return err
	}
	if err := x.setMirror(ctx, g, false); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(x.remotes)) { // a bare repository has no branches of remote repositories
		if err := g.do(ctx, "config", "--replace-all", "remote."+name+".fetch", "+refs/heads/*:refs/remotes/"+name+"/*"); err != nil {
			return err
		}
	}
	if !g.ok(ctx, "rev-parse", "--verify", "--quiet", "HEAD") { // without commits
		return nil
	}
	if err := g.do(ctx, "reset", "--hard", "HEAD"); err != nil {
		return err
	}
	return x.own(ctx, h)
}
