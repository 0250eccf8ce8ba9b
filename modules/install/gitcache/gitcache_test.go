package gitcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// git runs git in a repository of the test.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = environ(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func environ(t testing.TB) []string {
	t.Helper()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
}

// put writes a file of a repository and commits it.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", name)
	return git(t, dir, "rev-parse", "HEAD")
}

func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	return dir
}

func newCache(t *testing.T) *Cache {
	t.Helper()
	return New(Options{Dir: filepath.Join(t.TempDir(), "cache"), Env: environ(t)})
}

func TestCommit(t *testing.T) {
	dir := repository(t)
	one := put(t, dir, "metadata.json", `{"name":"me-one"}`)
	git(t, dir, "tag", "v1")
	git(t, dir, "tag", "-a", "-m", "x", "v1-annotated")
	two := put(t, dir, "two", "2")
	git(t, dir, "checkout", "-q", "-b", "side/branch")
	three := put(t, dir, "three", "3")
	git(t, dir, "checkout", "-q", "main")
	c := newCache(t)
	for ref, want := range map[string]string{"v1": one, "v1-annotated": one, "main": two, "HEAD": two, "side/branch": three, two[:10]: two, one: one} {
		if got, err := c.Commit(t.Context(), dir, ref); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", ref, got, err, want)
		}
	}
	for _, ref := range []string{"none", strings.Repeat("a", 40), "refs/heads"} {
		if _, err := c.Commit(t.Context(), dir, ref); !errors.Is(err, ErrNoRef) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	text, err := c.File(t.Context(), dir, one, "metadata.json")
	if err != nil || string(text) != `{"name":"me-one"}` {
		t.Errorf("file: %q, %v", text, err)
	}
	if _, err := c.File(t.Context(), dir, one, "two"); !errors.Is(err, ErrNoFile) {
		t.Errorf("missing file: %v", err)
	}

	// A branch that has moved, been rewritten, or gone.
	four := put(t, dir, "four", "4")
	git(t, dir, "branch", "-q", "-D", "side/branch")
	git(t, dir, "branch", "side") // where side/branch was a directory
	later := New(c.o)
	if got, err := later.Commit(t.Context(), dir, "main"); err != nil || got != four {
		t.Errorf("main is %s, %v, want %s", got, err, four)
	}
	if got, err := later.Commit(t.Context(), dir, "side"); err != nil || got != four {
		t.Errorf("side is %s, %v, want %s", got, err, four)
	}
	if got, err := later.Commit(t.Context(), dir, three); err != nil || got != three {
		t.Errorf("a commit that no branch has any more: %s, %v", got, err)
	}

	// A commit that is there needs no repository.
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(dir+".away", dir)
	offline := New(c.o)
	if got, err := offline.Commit(t.Context(), dir, one); err != nil || got != one {
		t.Errorf("offline: %s, %v", got, err)
	}
	if _, err := offline.Commit(t.Context(), dir, "main"); err == nil || !strings.Contains(err.Error(), "git fetch of "+dir) {
		t.Errorf("offline: %v", err)
	}
}

func TestExport(t *testing.T) {
	dir := repository(t)
	put(t, dir, ".gitattributes", "tasks export-ignore\nversion export-subst\n")
	put(t, dir, "version", "$Format:%H$")
	if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tasks", "init.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tasks/init.sh", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	commit := put(t, dir, "metadata.json", "{}")
	c := newCache(t)
	if _, err := c.Commit(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	if err := c.Export(t.Context(), dir, commit, into); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(into, "version")); err != nil || string(text) != "$Format:%H$" {
		t.Errorf("version: %q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(into, "link")); err != nil || info.Mode() != 0o755 {
		t.Errorf("script: %v, %v", info, err)
	}

	// A link that leads out is refused.
	if err := os.Symlink("../../etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	commit = put(t, dir, "x", "x")
	c = New(c.o)
	if _, err := c.Commit(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	if err := c.Export(t.Context(), dir, commit, t.TempDir()); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("link out: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	for _, good := range []string{"https://github.com/a/b", "http://h/x", "ssh://git@h:22/x", "git://h/x", "file:///x", "git@github.com:a/b.git", "h:x", "/srv/x.git"} {
		if err := CheckURL(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "-x", "--upload-pack=touch x", "ext::sh -c x", "fd::3", "a::b", "sneaky+x::https://h", "ftp://h/x", "relative/x", "a\nb", "ssh://-oProxyCommand=x/y",
		"https:///x", "-oProxyCommand=x:y", "user@-oProxyCommand=x:y"} {
		if CheckURL(bad) == nil {
			t.Errorf("%q is an address", bad)
		}
	}
	for _, bad := range []string{"", "-x", "--output=x", "a..b", "a b", "a:b", "a^b", "HEAD~1", "@{u}", "x.lock", "a\x00", "@"} {
		if CheckRef(bad) == nil {
			t.Errorf("%q is a ref", bad)
		}
	}
}

func TestNoPasswords(t *testing.T) {
	c := newCache(t)
	_, err := c.Commit(t.Context(), "http://me:hunter2@127.0.0.1:1/x", "main")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v", err)
	}
}

// What a git that was killed has left does not stand in the way.
func TestStaleLocks(t *testing.T) {
	dir := repository(t)
	put(t, dir, "one", "1")
	c := newCache(t)
	if _, err := c.Commit(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(c.o.Dir, "*", "*", "info"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	for _, name := range []string{"packed-refs.lock", "refs/heads/main.lock"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(copies[0]), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	two := put(t, dir, "two", "2")
	if got, err := New(c.o).Commit(t.Context(), dir, "main"); got != two || err != nil {
		t.Errorf("%s, %v, want %s", got, err, two)
	}
}

// git connects as the user has told it to, and asks nobody.
func TestUsersSSH(t *testing.T) {
	home := t.TempDir()
	asked := filepath.Join(home, "asked")
	for name, text := range map[string]string{
		"my-ssh": "#!/bin/sh\necho my-ssh >&2\n[ -t 0 ] || { : </dev/tty; } 2>/dev/null && echo has a terminal >&2\nexit 1\n",
		"ask":    "#!/bin/sh\ntouch " + asked + "\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\nsshCommand = "+home+"/my-ssh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(environ(t), "HOME="+home, "GIT_ASKPASS="+home+"/ask", "SSH_ASKPASS="+home+"/ask")
	c := New(Options{Dir: t.TempDir(), Env: env})
	if _, err := c.Commit(t.Context(), "ssh://example.org/x", "main"); err == nil || !strings.Contains(err.Error(), "my-ssh") || strings.Contains(err.Error(), "terminal") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(asked); !os.IsNotExist(err) {
		t.Errorf("somebody was asked: %v", err)
	}
}

// TestStopped: git, and what it has started, end with the context.
func TestStopped(t *testing.T) {
	bin := t.TempDir()
	sleep := fmt.Sprintf("sleep 98761%d", os.Getpid())
	script := "#!/bin/sh\n" + sleep + " &\n" + sleep + "\n"
	if err := os.WriteFile(filepath.Join(bin, "fake-ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := New(Options{Dir: t.TempDir(), Env: append(environ(t), "GIT_SSH_COMMAND="+filepath.Join(bin, "fake-ssh"))})
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { cancel(stop) })
	begin := time.Now()
	if _, err := c.Commit(ctx, "ssh://example.org/x", "main"); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	for range 3000 {
		out, err := exec.Command("ps", "-A", "-o", "args=").Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), sleep) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("a process is left")
}

func TestConcurrent(t *testing.T) {
	dir := repository(t)
	want := put(t, dir, "a", "a")
	o := newCache(t).o
	errs := make(chan error)
	for range 4 {
		go func() {
			got, err := New(o).Commit(t.Context(), dir, "main")
			if err == nil && got != want {
				err = fmt.Errorf("got %s", got)
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
