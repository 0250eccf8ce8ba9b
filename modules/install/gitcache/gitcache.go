// Package gitcache fetches remote git repositories and hands out the trees of
// their commits.
//
//	cache := gitcache.New(gitcache.Options{Dir: dir, Env: environ})
//	commit, err := cache.Commit(ctx, url, "v1.2.0")
//	err = cache.Export(ctx, url, commit, into)
//
// Each repository has a bare copy below the cache's directory, which is kept
// from one run to the next and may be shared by processes: a lock guards it. Branches and tags are fetched at most once in a run; a commit that is
// there already is not fetched at all.
//
// All of it is done by the git program, without a shell. It asks nobody
// anything, uses only transports that fetch data, and runs no hooks. A Cache is
// safe for concurrent use.
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
var ErrNoRef = errors.New("there is no such branch, tag or commit")

// ErrNoFile is the error of a file that a commit does not have.
var ErrNoFile = errors.New("there is no such file")

// Options configure a Cache.
type Options struct {
	Dir   string   // where copies are kept; made when it is missing
	Env   []string // the environment of git: HOME, PATH, SSH_AUTH_SOCK …
	Proxy string   // for https and http; "" for what git's configuration says
}

// A Cache is a directory of copies of repositories.
type Cache struct {
	o Options

	mu      sync.Mutex
	fetched map[string]bool // whether a repository's branches and tags were fetched in this run
}

// New returns the cache in a directory.
func New(o Options) *Cache { return &Cache{o: o, fetched: map[string]bool{}} }

// A repo is the copy of one repository; who has it holds its lock.
type repo struct {
	cache *Cache
	url   string
	dir   string
	plain string       // url without credentials
	login *credentials // nil for none
	close func()
}

// open locks the copy of a repository, which it makes if it is missing.
func (c *Cache) open(ctx context.Context, url string) (*repo, error) {
	if err := CheckURL(url); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(url))
	place := filepath.Join(c.o.Dir, hex.EncodeToString(sum[:16]))
	// Who can read the copies can read private repositories.
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

// attributes make an archive the same as a checkout: what a repository leaves
// out of its releases is not for it to leave out here.
const attributes = "* -export-ignore -export-subst\n"

// make sets up an empty copy. The attributes are written last: without them it
// was not finished.
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

// Commit returns the full name of the commit that ref means: a branch, a tag,
// a commit or HEAD, the branch that the repository shows first.
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
		// Servers may give commits that no branch has any more.
		if ferr := r.fetch(ctx, ref); ferr == nil {
			return r.parse(ctx, ref)
		} else if ctx.Err() != nil {
			return "", ferr
		}
	}
	return commit, err
}

var fullCommit = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// IsCommit reports whether a ref is the full name of a commit, and so never
// means anything else.
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

// removeLocks removes the lock files of a git that was killed, and reports whether
// there were any. Nobody else is at the copy as long as it is open here.
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

// maxFile is how large a file may be that File returns.
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

// Export writes the tree of a commit into a directory, which exists and is
// empty. Submodules are empty directories there.
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
	// What git complains of is why the archive is not whole.
	if err := cmd.Wait(); err != nil && (xerr == nil || stderr.b.Len() > 0) {
		return r.failed(ctx, "archive", err, stderr)
	}
	return xerr
}

// git runs the program on the copy and returns what it prints.
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

// waitDelay is how long git and its children have to end when they are told to.
const waitDelay = 5 * time.Second

// command prepares a run of git. It is in a session of its own, whose process
// group ends as a whole: git leaves the downloading to children.
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

// transports are those that git may use. Others (ext::) run commands.
const transports = "file:git:http:https:ssh"

// foreign are variables that would lead git to another repository, or make it
// ask somebody.
var foreign = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_PREFIX", "GIT_ALLOW_PROTOCOL", "GIT_TERMINAL_PROMPT",
	"GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_CONFIG_COUNT", "GIT_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "LC_ALL", "LANGUAGE"}

// environment is what git sees of the world.
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
	// Nobody is asked: git not by a program either, and ssh has no terminal to ask
	// on (ownSession).
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_ALLOW_PROTOCOL="+transports, "LC_ALL=C")
	// In the environment, settings are not seen in the list of processes: a
	// proxy may have a password.
	settings := [][2]string{{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"},
		// A server that goes silent would hold us for ever: less than a byte a second for a minute.
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

// maxMessage is how much of git's own words is kept.
const maxMessage = 8 << 10

// failed says what became of a run of git.
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

// limited keeps the beginning of what is written to it.
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

// Redact returns an address without its password. In one for HTTP the name may
// be a token, and goes with it.
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

// splitUser takes the user and the password out of a URL, be it a wrong one.
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
	} // else a password may have these in it
	i := strings.LastIndex(rest[:end], "@")
	if i < 0 {
		return address, "", ""
	}
	return address[:at+3], rest[:i], rest[i:]
}

// withoutPassword takes what Redact hides of an address out of a text.
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

// unescaped is a part of a URL in plain text, or as it is if it has none.
func unescaped(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}
