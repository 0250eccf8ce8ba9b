package vcsrepo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/provider/login"
	"bolt/apply/provider/mounted"
	"bolt/apply/provider/safepath"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// own gives the files of the repository to the owner and group, and writes the excludes.
func (x *item) own(ctx context.Context, h *resource.Host) error {
	if x.excludes != nil {
		if dir := filepath.Join(x.path, ".git"); isDirectory(dir) {
			if err := x.writeInfo(filepath.Join(dir, "info", "exclude"), x.excludes); err != nil {
				return err
			}
		}
	}
	return x.give(ctx, h, x.path)
}

// ownFetched gives the files that a fetch has made to the owner and group.
func (x *item) ownFetched(ctx context.Context, h *resource.Host) error {
	if dir := filepath.Join(x.path, ".git"); isDirectory(dir) {
		return x.give(ctx, h, dir)
	}
	return x.give(ctx, h, x.path)
}

// give changes the owner and the group of a directory and all that is in it. Links are not followed, also if somebody
// replaces a directory by a link meanwhile. A link of a user does not lead to files of another user.
func (x *item) give(ctx context.Context, h *resource.Host, dir string) error {
	uid, gid := -1, -1
	if x.owner != "" {
		u, err := login.FindUser(ctx, h, x.owner)
		if err != nil {
			return err
		}
		uid = int(u.UID)
	}
	if x.group != "" {
		n, err := login.FindGroup(ctx, h, x.group)
		if err != nil {
			return err
		}
		gid = int(n)
	}
	if uid < 0 && gid < 0 {
		return nil
	}
	at, err := safepath.Open(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", at.Fd())) // of the directory that was checked
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if x.excluded(filepath.Join(dir, name)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return root.Lchown(name, uid, gid)
	})
}

func (x *item) excluded(path string) bool {
	for _, e := range x.excludes {
		if e != "" && strings.HasPrefix(path, filepath.Join(x.path, e)) {
			return true
		}
	}
	return false
}

// markSafe adds the path to the directories of the system that git takes for safe, or removes it.
func (x *item) markSafe(ctx context.Context, h *resource.Host) error {
	if x.owner == "" {
		return nil
	}
	g, err := program{dir: "/"}.on(ctx, h)
	if err != nil || g == nil {
		return err
	}
	list, _ := g.output(ctx, "config", "--system", "--get-all", "safe.directory")
	listed := false
	for line := range strings.Lines(list) {
		listed = listed || strings.TrimSpace(line) == x.path
	}
	switch {
	case x.git.safe && !listed && x.ensure != "absent":
		h.Logf(x.r.Ref, report.Notice, "Adding '%s' to safe directory list", x.path)
		return g.do(ctx, "config", "--system", "--add", "safe.directory", x.path)
	case listed && (!x.safe || x.ensure == "absent"):
		h.Logf(x.r.Ref, report.Notice, "Removing '%s' from safe directory list", x.path)
		return g.do(ctx, "config", "--system", "--fixed-value", "--unset-all", "safe.directory", x.path)
	}
	return nil
}

// destroy removes the repository.
func (x *item) destroy() error {
	if err := x.removeAll(); err != nil {
		return err
	}
	return unmark(x.cloningMark())
}

// removeAll removes the directory. It fails if a file system is mounted in it.
func (x *item) removeAll() error {
	if list := mounted.At(x.path); len(list) > 0 {
		return fmt.Errorf("%s is not removed, because a file system is mounted at %s", x.path, filepath.Join(x.path, list[0]))
	}
	return os.RemoveAll(x.path)
}
