// Package gitcache fetches remote git repositories and returns the trees of their commits.
//
//	cache := gitcache.New(gitcache.Options{Dir: dir, Env: environ})
//	commit, err := cache.Commit(ctx, url, "v1.2.0")
//	err = cache.Export(ctx, url, commit, into)
//
// Each repository has a bare copy below the cache's directory, which is kept
// from one run to the next and may be shared by processes: a lock guards it. Branches and tags are fetched at most once in a run; a commit that is
// there already is not fetched at all.
//
// The git program does all work, without a shell. It does not prompt, uses only transports that fetch data, and runs no hooks. A Cache is safe for
// concurrent use.
package gitcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bolt/internal/filelock"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
	"bolt/modules/install/untar"
)

// ErrNoRef is the error of a ref that the repository does not have.
var ErrNoRef = errors.New("the branch, tag or commit does not exist")

// ErrNoFile is the error of a file that a commit does not have.
var ErrNoFile = errors.New("the file does not exist")

// Options configure a Cache.
type Options struct {
	Dir   string   // where copies are stored; created if missing
	Env   []string // the environment of git: HOME, PATH, SSH_AUTH_SOCK …
	Proxy string   // for https and http; "" for git's own configuration
}

// A Cache is a directory of copies of repositories.
type Cache struct {
	o Options

	mu      sync.Mutex
	fetched map[string]bool // whether a repository's branches and tags were fetched in this run
}

// New returns the cache in a directory.
func New(o Options) *Cache { return &Cache{o: o, fetched: map[string]bool{}} }

// A repo is the copy of one repository. Its holder has the lock.
type repo struct {
	cache *Cache
	url   string
	dir   string
	plain string       // url without credentials
	login *credentials // nil for none
	close func()
}

// open locks the copy of a repository, and creates it if it is missing.
func (c *Cache) open(ctx context.Context, url string) (*repo, error) {
	if err := CheckURL(url); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(url))
	place := filepath.Join(c.o.Dir, hex.EncodeToString(sum[:16]))
	// Anyone who can read the copies can read private repositories.
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, err
	}
	unlock, err := filelock.Dir(ctx, place)
	if err != nil {
		return nil, err
	}
	r := &repo{cache: c, url: url, dir: filepath.Join(place, "git"), close: unlock}
	r.plain, r.login = splitCredentials(url)
	if err := r.make(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// attributes make an archive equal to a checkout: files that a repository excludes from its releases are included.
const attributes = "* -export-ignore -export-subst\n"

// make initializes an empty copy. It writes the attributes last: if they are missing, the copy is incomplete.
func (r *repo) make(ctx context.Context) error {
	file := filepath.Join(r.dir, "info", "attributes")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if _, err := r.git(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(attributes), 0o600)
}

// Commit returns the full name of the commit that ref means: a branch, a tag, a commit or HEAD, the repository's default branch.
func (c *Cache) Commit(ctx context.Context, url, ref string) (string, error) {
	if err := CheckRef(ref); err != nil {
		return "", err
	}
	r, err := c.open(ctx, url)
	if err != nil {
		return "", err
	}
	defer r.close()
	full := fullCommit().MatchString(ref)
	if full {
		if commit, err := r.parse(ctx, ref); err == nil {
			return commit, nil // a commit never changes
		}
	}
	name := ref
	if ref == "HEAD" {
		name = "refs/bolt/HEAD"
		if err := r.fetch(ctx, "+HEAD:"+name); err != nil {
			return "", err
		}
		return r.parse(ctx, name)
	}
	if err := r.fetchAll(ctx); err != nil {
		return "", err
	}
	commit, err := r.parse(ctx, name)
	if errors.Is(err, ErrNoRef) && full {
		// Some servers return commits that are no longer in any branch.
		if ferr := r.fetch(ctx, ref); ferr == nil {
			return r.parse(ctx, ref)
		} else if ctx.Err() != nil {
			return "", ferr
		}
	}
	return commit, err
}

var fullCommit = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// IsCommit reports whether a ref is the full name of a commit, so that its meaning never changes.
func IsCommit(ref string) bool { return fullCommit().MatchString(ref) }

// fetchAll fetches all branches and tags, once in a run.
func (r *repo) fetchAll(ctx context.Context) error {
	c := r.cache
	c.mu.Lock()
	done := c.fetched[r.dir]
	c.mu.Unlock()
	if done {
		return nil
	}
	if err := r.fetch(ctx, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched[r.dir] = true
	return nil
}

func (r *repo) fetch(ctx context.Context, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--force", "--no-write-fetch-head", "--no-recurse-submodules"}
	if len(refspecs) > 1 {
		args = append(args, "--prune")
	}
	args = append(append(args, "--", r.plain), refspecs...)
	_, err := r.git(ctx, args...)
	if err != nil && ctx.Err() == nil && r.removeLocks() {
		_, err = r.git(ctx, args...)
	}
	return err
}

// removeLocks removes the lock files of a git process that was killed, and reports whether there were any. No other process uses the copy while it
// is open here.
func (r *repo) removeLocks() (found bool) {
	_ = filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.HasSuffix(path, ".lock") {
			found = os.Remove(path) == nil || found
		}
		return nil // what cannot be read stays as it is
	})
	return found
}

// parse returns the commit that a name means in the copy.
func (r *repo) parse(ctx context.Context, name string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	commit := strings.TrimSpace(string(out))
	if err != nil || !fullCommit().MatchString(commit) {
		if ctx.Err() != nil {
			return "", err
		}
		return "", ErrNoRef
	}
	return commit, nil
}

// maxFile is the maximum size of a file that File returns.
const maxFile = 16 << 20

// File returns a file of a commit.
func (c *Cache) File(ctx context.Context, url, commit, name string) ([]byte, error) {
	r, err := c.open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer r.close()
	out, err := r.git(ctx, "ls-tree", "-z", commit, "--", name)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(out, []byte(" blob ")) {
		return nil, ErrNoFile
	}
	return r.git(ctx, "cat-file", "blob", commit+":"+name)
}

// Export writes the tree of a commit into an existing empty directory. Submodules become empty directories.
func (c *Cache) Export(ctx context.Context, url, commit, dir string) error {
	if !fullCommit().MatchString(commit) {
		return ErrNoRef
	}
	r, err := c.open(ctx, url)
	if err != nil {
		return err
	}
	defer r.close()
	cmd, stderr := r.command(ctx, "archive", "--format=tar", commit)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return r.failed(ctx, "archive", err, stderr)
	}
	xerr := untar.Extract(ctx, out, dir, untar.Options{})
	if xerr != nil {
		out.Close() // nobody reads the rest
	}
	// An error message of git is the reason for an incomplete archive.
	if err := cmd.Wait(); err != nil && (xerr == nil || stderr.b.Len() > 0) {
		return r.failed(ctx, "archive", err, stderr)
	}
	return xerr
}

// git runs the program on the copy and returns its output.
func (r *repo) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd, stderr := r.command(ctx, args...)
	out := &limited{limit: maxFile}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, r.failed(ctx, args[0], err, stderr)
	}
	if out.over {
		return nil, fmt.Errorf("git %s of %s: more than %d MiB", args[0], Redact(r.url), maxFile>>20)
	}
	return out.b.Bytes(), nil
}

// waitDelay is the time that git and its child processes have to end after they are signaled.
const waitDelay = 5 * time.Second

// command prepares a run of git in a session of its own, so that its whole process group can be ended: git starts child processes for downloads.
func (r *repo) command(ctx context.Context, args ...string) (*exec.Cmd, *limited) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + r.dir}, args...)...)
	cmd.Env = r.environment()
	cmd.Dir = r.cache.o.Dir
	stderr := &limited{limit: maxMessage}
	cmd.Stderr = stderr
	ownSession(cmd)
	cmd.WaitDelay = waitDelay
	return cmd, stderr
}

// transports lists the transports that git may use. Others (ext::) run commands.
const transports = "file:git:http:https:ssh"

// foreign lists variables that would make git use another repository or prompt the user.
var foreign = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_PREFIX", "GIT_ALLOW_PROTOCOL", "GIT_TERMINAL_PROMPT",
	"GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_CONFIG_COUNT", "GIT_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "LC_ALL", "LANGUAGE"}

// environment returns the environment of git.
func (r *repo) environment() []string {
	o := &r.cache.o
	var env []string
	for _, kv := range o.Env {
		name, _, _ := strings.Cut(kv, "=")
		own := strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
		for _, f := range foreign {
			own = own || name == f
		}
		if own {
			continue
		}
		env = append(env, kv)
	}
	// Prompts are disabled: git must not start a program to prompt, and ssh has no terminal (ownSession).
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_ALLOW_PROTOCOL="+transports, "LC_ALL=C")
	// Settings in the environment are not visible in the list of processes: a proxy may have a password.
	settings := [][2]string{{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"},
		// Stop if a server sends less than a byte a second for a minute.
		{"http.lowSpeedLimit", "1"}, {"http.lowSpeedTime", "60"}}
	if o.Proxy != "" {
		settings = append(settings, [2]string{"http.proxy", o.Proxy})
	}
	if r.login != nil {
		settings = append(settings, r.login.settings()...)
		env = append(env, r.login.environment()...)
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

// maxMessage is the maximum length of git's error message that is kept.
const maxMessage = 8 << 10

// failed returns the error of a run of git.
func (r *repo) failed(ctx context.Context, action string, err error, stderr *limited) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("the program git was not found: install it, it fetches %s", Redact(r.url))
	}
	said := strings.TrimSpace(safetext.TerminalString(stderr.b.String()))
	said = withoutPassword(said, r.url)
	if proxy := r.cache.o.Proxy; proxy != "" {
		said = withoutPassword(said, proxy)
	}
	if said == "" {
		said = err.Error()
	}
	return fmt.Errorf("git %s of %s: %s", action, Redact(r.url), said)
}

// limited stores the beginning of the written data.
type limited struct {
	b     bytes.Buffer
	limit int
	over  bool
}

// Write never fails.
func (l *limited) Write(p []byte) (int, error) {
	if room := l.limit - l.b.Len(); len(p) > room {
		l.over = true
		l.b.Write(p[:max(room, 0)])
	} else {
		l.b.Write(p)
	}
	return len(p), nil
}

// Redact returns an address without its password. In an HTTP address the user name may be a token, so it is removed, too.
func Redact(address string) string {
	before, user, after := splitUser(address)
	switch name, _, password := strings.Cut(user, ":"); {
	case user == "":
		return address
	case isHTTP(before):
		return before + hidden + after
	case password:
		return before + name + ":" + hidden + after
	}
	return address
}

const hidden = "xxxxx"

func isHTTP(before string) bool {
	scheme := strings.ToLower(before)
	return scheme == "http://" || scheme == "https://"
}

// splitUser splits the user and the password off a URL, even if it is invalid.
func splitUser(address string) (before, user, after string) {
	at := strings.Index(address, "://")
	if at < 0 {
		return address, "", "" // git@host:path has none
	}
	rest := address[at+3:]
	end := len(rest)
	if _, err := url.Parse(address); err == nil {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			end = i
		}
	} // otherwise a password may contain these characters
	i := strings.LastIndex(rest[:end], "@")
	if i < 0 {
		return address, "", ""
	}
	return address[:at+3], rest[:i], rest[i:]
}

// withoutPassword removes from text everything that Redact hides in address.
func withoutPassword(text, address string) string {
	before, user, _ := splitUser(address)
	name, password, _ := strings.Cut(user, ":")
	for _, secret := range []string{password, unescaped(password), url.QueryEscape(unescaped(password))} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	if isHTTP(before) && name != "" {
		text = strings.ReplaceAll(text, name+"@", hidden+"@")
		text = strings.ReplaceAll(text, name+":"+hidden+"@", hidden+"@")
	}
	return text
}

// unescaped returns a part of a URL percent-decoded, or unchanged if it cannot be decoded.
func unescaped(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}
