// Package revision finds the git revision of a directory, and writes the files of a revision to a
// directory. It calls the git program, and changes nothing in the repository.
package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Repository is the git repository that contains a directory.
type Repository struct {
	root    string   // of its files
	environ []string // of git
}

// In finds the repository that contains a directory. environ is the environment of git. Its
// variables that name a repository, which git sets for hooks, are left out.
func In(ctx context.Context, dir string, environ []string) (*Repository, error) {
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"}, name)
	})
	root, err := git(ctx, dir, environ, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	return &Repository{strings.TrimSuffix(root, "\n"), environ}, nil
}

// Has reports whether the repository has a revision: a branch, a tag, a commit (gitrevisions(7)).
func (r *Repository) Has(ctx context.Context, rev string) bool {
	_, err := r.commit(ctx, rev)
	return err == nil
}

func (r *Repository) commit(ctx context.Context, rev string) (string, error) {
	out, err := git(ctx, r.root, r.environ, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	return strings.TrimSpace(out), err
}

// Relative returns the path of a file or directory of the repository, relative to its root.
func (r *Repository) Relative(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil { // git's root has no links
		abs = real
	}
	rel, err := filepath.Rel(r.root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the git repository %s", path, r.root)
	}
	return rel, nil
}

// Write writes the files of a revision to an empty directory. Submodules stay empty.
func (r *Repository) Write(ctx context.Context, rev, dir string) error {
	commit, err := r.commit(ctx, rev)
	if err != nil {
		return fmt.Errorf("the git repository %s has no revision %q", r.root, rev)
	}
	index, err := os.MkdirTemp("", "bolt-index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(index)
	// A separate index leaves the files that the user has staged as they are.
	env := append(slices.Clone(r.environ), "GIT_INDEX_FILE="+filepath.Join(index, "index"))
	if _, err := git(ctx, r.root, env, "read-tree", commit); err != nil {
		return err
	}
	_, err = git(ctx, r.root, env, "checkout-index", "--all", "--prefix="+dir+string(filepath.Separator))
	return err
}

// Head returns the commit of the working tree, "" before the first commit. dirty is set if files of
// a directory of the repository, also new ones, differ from the commit. Files below the paths
// in except do not matter.
func (r *Repository) Head(ctx context.Context, dir string, except ...string) (commit string, dirty bool, err error) {
	if commit, err = r.commit(ctx, "HEAD"); err != nil && ctx.Err() != nil {
		return "", false, err
	}
	args := []string{"status", "--porcelain", "--untracked-files=normal", "--", "."}
	for _, path := range except {
		if out, err := r.Relative(path); err == nil {
			args = append(args, ":(top,literal,exclude)"+out)
		}
	}
	env := append(slices.Clone(r.environ), "GIT_OPTIONAL_LOCKS=0") // so that the index is not written
	status, err := git(ctx, dir, env, args...)
	return commit, status != "", err
}

// maxMessage is the number of bytes of git's messages that an error contains.
const maxMessage = 2 << 10

// git runs git and returns its output.
func git(ctx context.Context, dir string, environ []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = environ
	cmd.WaitDelay = 5 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("the program git is not installed")
	}
	text := strings.TrimSpace(complaint.String())
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	if text == "" {
		text = err.Error()
	}
	return "", fmt.Errorf("git %s: %s", args[0], text)
}
