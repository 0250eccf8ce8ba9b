package revision_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/revision"
)

// repo returns a repository with two commits: a contains one, then two.
func repo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := `git init -q -b main . && git config user.email a@b && git config user.name a && mkdir d && echo one >d/a && ln -s a d/l && git add . && git commit -qm 1 && git tag first
echo two >d/a && git commit -qam 2 && echo staged >d/a && git add d/a && echo work >d/a`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestWritesFilesOfRevisions checks that the files of revisions are written, and that neither the index
// nor the working tree changes.
func TestWritesFilesOfRevisions(t *testing.T) {
	dir := repo(t)
	r, err := revision.In(t.Context(), filepath.Join(dir, "d"), append(os.Environ(), "GIT_DIR=.git", "GIT_WORK_TREE=/tmp", "GIT_INDEX_FILE=.git/index"))
	if err != nil {
		t.Fatal(err)
	}
	status := func() string {
		cmd := exec.Command("git", "status", "--porcelain=v2", "--branch")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := status()
	for rev, want := range map[string]string{"first": "one\n", "main": "two\n", "HEAD~1": "one\n"} {
		to := t.TempDir()
		if err := r.Write(t.Context(), rev, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to, "d/l")); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", rev, got, err)
		}
	}
	if after := status(); after != before {
		t.Errorf("the status was\n%s\nand is\n%s", before, after)
	}
	if rel, err := r.Relative(filepath.Join(dir, "d")); err != nil || rel != "d" {
		t.Errorf("%q, %v", rel, err)
	}
	for _, outside := range []string{t.TempDir(), filepath.Dir(dir)} {
		if rel, err := r.Relative(outside); err == nil {
			t.Errorf("%s is %s", outside, rel)
		}
	}
}

func TestNoRevision(t *testing.T) {
	r, err := revision.In(t.Context(), repo(t), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range []string{"none", "--output=x", "", "HEAD:d/a"} {
		if r.Has(t.Context(), rev) {
			t.Errorf("there is %q", rev)
		}
		if err := r.Write(t.Context(), rev, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no revision") {
			t.Errorf("%q: %v", rev, err)
		}
	}
	if _, err := revision.In(t.Context(), t.TempDir(), os.Environ()); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("no repository: %v", err)
	}
}

// TestHeadDetectsDirtyTree checks the commit of the working tree, and which
// files make it dirty.
func TestHeadDetectsDirtyTree(t *testing.T) {
	dir := repo(t)
	in, err := revision.In(t.Context(), dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	head := func(of string, except ...string) (string, bool) {
		t.Helper()
		commit, dirty, err := in.Head(t.Context(), of, except...)
		if err != nil {
			t.Fatal(err)
		}
		return commit, dirty
	}
	if commit, dirty := head(dir); len(commit) != 40 || !dirty {
		t.Errorf("changed files: %q, %v", commit, dirty)
	}
	if _, dirty := head(dir, filepath.Join(dir, "d")); dirty {
		t.Error("the files in d are excepted")
	}
	sub := filepath.Join(dir, "[sub]")
	if err := os.MkdirAll(filepath.Join(sub, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, dirty := head(sub); dirty {
		t.Error("files outside of the directory count")
	}
	if err := os.WriteFile(filepath.Join(sub, "state", "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, dirty := head(sub); !dirty {
		t.Error("a new file does not count")
	}
	if _, dirty := head(sub, filepath.Join(sub, "state")); dirty {
		t.Error("a new file that is excepted counts")
	}
	empty := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", empty).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if in, err = revision.In(t.Context(), empty, os.Environ()); err != nil {
		t.Fatal(err)
	}
	if commit, dirty := head(empty); commit != "" || dirty {
		t.Errorf("without a commit: %q, %v", commit, dirty)
	}
}
