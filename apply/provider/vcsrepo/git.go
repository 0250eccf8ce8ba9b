package vcsrepo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bolt/apply/provider/login"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// limit ends a git that hangs.
const limit = 2 * time.Hour

// A program is how git is run for a resource.
type program struct {
	dir      string // the repository
	user     string
	umask    string
	identity string // a private key for SSH
	insecure bool
	safe     bool
	proxies  []string // arguments for commands that use the network
}

// A git runs git on a host.
type git struct {
	program
	h    *resource.Host
	path string
	as   *resource.Identity
	env  []string
}

// on returns nil if the host has no git.
func (p program) on(ctx context.Context, h *resource.Host) (*git, error) {
	g := &git{program: p, h: h, path: h.Find("git")}
	if g.path == "" {
		return nil, nil
	}
	home := ""
	if p.user != "" {
		u, err := login.FindUser(ctx, h, p.user)
		if err != nil {
			return nil, err
		}
		home = u.Home
		if g.as, err = login.Identity(ctx, h, p.user, ""); err != nil {
			return nil, err
		}
	} else if u, err := login.FindUser(ctx, h, strconv.Itoa(os.Geteuid())); err == nil {
		home = u.Home
	}
	g.env = h.Environ("GIT_TERMINAL_PROMPT=0") // a password cannot be typed in
	if home != "" {
		g.env = append(g.env, "HOME="+home)
	}
	if p.identity != "" {
		g.env = append(g.env, "GIT_SSH_COMMAND=ssh -i "+quote(p.identity)+
			" -o IgnoreUnknown=IdentityAgent -o IdentitiesOnly=yes -o IdentityAgent=none -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no")
	}
	return g, nil
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// in returns the same git for another directory.
func (g *git) in(dir string) *git {
	other := *g
	other.dir = dir
	return &other
}

// start runs git in the repository.
func (g *git) start(ctx context.Context, args ...string) (*resource.Output, error) {
	argv := []string{g.path}
	if g.insecure {
		argv = append(argv, "-c", "http.sslVerify=false")
	}
	if g.safe {
		argv = append(argv, "-c", "safe.directory="+g.program.dir)
	}
	argv = append(argv, args...)
	if g.umask != "" {
		argv = append([]string{"/bin/sh", "-c", `umask "$0"; exec "$@"`, g.umask}, argv...)
	}
	return g.h.Run(ctx, &resource.Command{Argv: argv, Env: g.env, Dir: g.dir, As: g.as, Timeout: limit})
}

// output runs git and returns its standard output without blanks around it.
func (g *git) output(ctx context.Context, args ...string) (string, error) {
	out, err := g.start(ctx, args...)
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	if err := out.Failure("git " + args[0]); err != nil {
		return "", fmt.Errorf("%s", withoutLogin(err.Error()))
	}
	return strings.TrimSpace(string(out.Stdout)), nil
}

func (g *git) do(ctx context.Context, args ...string) error {
	_, err := g.output(ctx, args...)
	return err
}

// online is do for a command that uses the network.
func (g *git) online(ctx context.Context, args ...string) error {
	out, err := g.start(ctx, append(append([]string{}, g.proxies...), args...)...)
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	if err := out.Failure("git " + args[0]); err != nil {
		return fmt.Errorf("%s", withoutLogin(err.Error()))
	}
	return nil
}

// ok reports whether git ended without a failure.
func (g *git) ok(ctx context.Context, args ...string) bool {
	out, err := g.start(ctx, args...)
	return err == nil && out.Code == 0
}

// userInfo ends at the last @ before the path, because passwords can have others.
var userInfo = lazyregexp.New(`://[^/\s]+@`)

// withoutLogin removes users and passwords from URLs.
func withoutLogin(text string) string { return userInfo().ReplaceAllString(text, "://") }

// remotes returns the URLs of the remote repositories, by their names.
func (g *git) remotes(ctx context.Context) (map[string]string, error) {
	names, err := g.output(ctx, "remote")
	if err != nil {
		return nil, err
	}
	urls := make(map[string]string)
	for _, name := range strings.Fields(names) {
		if urls[name], err = g.output(ctx, "config", "--get", "remote."+name+".url"); err != nil {
			return nil, err
		}
	}
	return urls, nil
}

// refs returns the full names of branches and tags.
func (g *git) refs(ctx context.Context) (map[string]bool, error) {
	text, err := g.output(ctx, "for-each-ref", "--format=%(refname)")
	if err != nil {
		return nil, err
	}
	refs := make(map[string]bool)
	for line := range strings.Lines(text) {
		refs[strings.TrimSpace(line)] = true
	}
	return refs, nil
}

// branch returns the branch that is checked out, "" for none.
func (g *git) branch(ctx context.Context) string {
	name, err := g.output(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return name
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// working reports whether the path is a working copy of the source, or of any repository without a source.
func (x *item) working(ctx context.Context, g *git) (bool, error) {
	if !isDirectory(filepath.Join(x.path, ".git")) {
		return false, nil
	}
	if g == nil {
		return false, fmt.Errorf("the program git is missing. Install it on the target")
	}
	out, err := g.start(ctx, "rev-parse", "--is-inside-work-tree")
	switch {
	case err != nil:
		return false, err
	case strings.Contains(string(out.Stderr), "dubious ownership"):
		return false, fmt.Errorf("git refuses %s, because it belongs to another user. Set the parameter user to its owner, or safe_directory to true", x.path)
	case x.remotes == nil:
		return out.Code == 0, nil
	}
	url, err := g.output(ctx, "config", "--get", "remote."+x.remote+".url")
	return err == nil && url == x.remotes[x.remote], nil
}

// bare reports whether the path is a bare repository.
func (x *item) bare(ctx context.Context, g *git) bool {
	info, err := os.Stat(filepath.Join(x.path, "config"))
	return err == nil && info.Mode().IsRegular() && g != nil && g.ok(ctx, "config", "--list", "--file", "config")
}

// fetch gets the branches and tags of the remote repository. The working copy and local branches stay as they are.
func (x *item) fetch(ctx context.Context, h *resource.Host, g *git) error {
	if err := g.online(ctx, "fetch", "--tags", "--force", x.remote); err != nil {
		return err
	}
	if err := g.online(ctx, "fetch", x.remote); err != nil {
		return err
	}
	return x.ownFetched(ctx, h)
}
