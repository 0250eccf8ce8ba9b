// Package vcsrepo applies resources of the type vcsrepo: working copies of git repositories, and bare ones.
//
// The rules are those of the provider git of the module vcsrepo. Repositories are read and changed with git(1).
// As in Puppet, reading a revision fetches from the remote repository, also with noop. Branches and files of the
// working copy change only when the resource is applied.
package vcsrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/provider/safepath"
	"bolt/apply/resource"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

// Type returns the type vcsrepo.
func Type() resource.Type { return repoType{} }

type repoType struct{}

// An item is one repository.
type item struct {
	r      *resource.Resource
	path   string
	ensure string

	remote   string            // the name of the remote repository that is followed
	remotes  map[string]string // the URLs of remote repositories; nil without source
	several  bool              // source is a hash
	revision string
	branch   string
	depth    int64
	includes []string // nil if they are not managed

	skipHooks  string // "true", "false" or "" if it is not managed
	submodules bool
	force      bool
	keep       bool // local changes

	owner, group string
	excludes     []string // nil if they are not managed
	safe         bool     // safe_directory
	git          program

	is state
}

// A state is what Read found.
type state struct {
	ensure     string            // present, latest, bare, mirror or absent
	remotes    map[string]string // by name
	revision   string
	includes   []string
	skipHooks  string
	unfinished string // the step in which an earlier run ended: cloning or settling; "" for none
}

var proxyURL = lazyregexp.New(`^https?://\S+$`)

// New implements resource.Type.
func (repoType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{
		r:          r,
		path:       filepath.Clean(f.Text("path", r.Title)),
		ensure:     f.Text("ensure", ""),
		remote:     f.Text("remote", "origin"),
		revision:   f.Text("revision", ""),
		branch:     f.Text("branch", ""),
		includes:   f.Texts("includes"),
		skipHooks:  f.Text("skip_hooks", ""),
		submodules: f.Bool("submodules", true),
		force:      f.Bool("force", false),
		keep:       f.Bool("keep_local_changes", false),
		owner:      f.Text("owner", ""),
		group:      f.Text("group", ""),
		excludes:   f.Texts("excludes"),
		safe:       f.Bool("safe_directory", false),
	}
	x.git = program{
		dir:      x.path,
		user:     f.Text("user", ""),
		umask:    f.Text("umask", ""),
		identity: f.Text("identity", ""),
		insecure: f.Bool("trust_server_cert", false),
		safe:     x.marksSafe(f.Text("user", "")),
	}
	var err error
	if x.depth, err = r.Int("depth", 0); err != nil {
		return nil, err
	}
	x.git.proxies = x.readProxies(&f)
	x.readSource(&f)
	x.check(&f)
	return x, f.Err
}

// marksSafe reports whether git must accept the directory although it belongs to another user.
func (x *item) marksSafe(user string) bool { return x.safe && x.owner != "" && x.owner != user }

func (x *item) readProxies(f *resource.Fields) []string {
	var list []string
	add := func(setting string, v any) {
		text, is := v.(string)
		if !is || !proxyURL().MatchString(text) {
			f.Refuse("http_proxy", "must be a URL with http or https, or a hash of remote repositories with such URLs")
			return
		}
		list = append(list, "-c", setting+"="+text)
	}
	switch v := f.R.Params.Value("http_proxy").(type) {
	case nil:
	case *ordered.Map:
		for name, url := range v.All() {
			add("remote."+name+".proxy", url)
		}
	default:
		add("http.proxy", v)
	}
	return list
}

func (x *item) readSource(f *resource.Fields) {
	switch v := f.R.Params.Value("source").(type) {
	case nil:
	case *ordered.Map:
		x.several, x.remotes = true, make(map[string]string)
		for name, url := range v.All() {
			text, is := url.(string)
			if !is || text == "" || name == "" || strings.HasPrefix(name, "-") {
				f.Refuse("source", "must be a URL, or a hash of names with URLs")
			}
			x.remotes[name] = text
		}
		if x.remotes[x.remote] == "" {
			f.Refuse("source", fmt.Sprintf("has no URL for the remote repository %q", x.remote))
		}
	default:
		if url := f.Text("source", ""); url != "" {
			x.remotes = map[string]string{x.remote: url}
		}
	}
}

func (x *item) check(f *resource.Fields) {
	switch provider := f.Text("provider", ""); provider {
	case "git":
	case "":
		f.Refuse("provider", "is needed. bolt applies repositories with the provider git")
	default:
		f.Refuse("provider", fmt.Sprintf("is %q. bolt applies repositories with the provider git only. An installed Puppet can apply others: use --engine puppet", provider))
	}
	// Arguments of git that begin with a dash are options.
	for _, param := range []struct{ name, text string }{{"remote", x.remote}, {"revision", x.revision}, {"branch", x.branch}} {
		if strings.HasPrefix(param.text, "-") || strings.ContainsAny(param.text, "\r\n") {
			f.Refuse(param.name, "must be one line that does not begin with -")
		}
	}
	for name, url := range x.remotes {
		if strings.HasPrefix(url, "-") || strings.ContainsAny(name+url, "\r\n") {
			f.Refuse("source", "must be one line that does not begin with -")
		}
	}
	bare := x.ensure == "bare" || x.ensure == "mirror"
	switch {
	case f.R.Secret("source"):
		f.Refuse("source", "must not be secret, because every user of the machine can see arguments of git. Use identity, or a credential helper of git")
	case bare && x.revision != "":
		f.Refuse("revision", "cannot be used for a bare repository")
	case bare && x.includes != nil:
		f.Refuse("includes", "cannot be used for a bare repository")
	case x.ensure == "mirror" && x.remotes == nil:
		f.Refuse("source", "is needed for a mirror")
	}
	for _, path := range x.includes {
		if path == "" || strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\r\n") {
			f.RefuseValue("includes", "must be relative paths", path)
		}
	}
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) (err error) {
	x.is = state{ensure: "absent"}
	at, err := safepath.Open(x.path)
	if err == nil {
		err = at.Close()
	} else if _, foreign := errors.AsType[*safepath.LinkError](err); !foreign {
		err = nil // the path need not exist
	}
	if err != nil {
		return err
	}
	if x.is.unfinished, err = x.readMark(); err != nil || x.is.unfinished != "" {
		return err
	}
	g, err := x.git.on(ctx, h)
	if err != nil {
		return err
	}
	working, err := x.working(ctx, g)
	if err != nil {
		return err
	}
	switch {
	case working:
		x.is.ensure = "present"
	case x.bare(ctx, g):
		x.is.ensure = "bare"
		if g.ok(ctx, "config", "--get-regexp", `remote\..*\.mirror`) {
			x.is.ensure = "mirror"
		}
	default:
		return nil
	}
	return x.readProperties(ctx, h, g, working)
}

func (x *item) readProperties(ctx context.Context, h *resource.Host, g *git, working bool) (err error) {
	if x.ensure == "absent" {
		return nil
	}
	if x.remotes != nil {
		if x.is.remotes, err = g.remotes(ctx); err != nil {
			return err
		}
	}
	if x.skipHooks != "" {
		path, _ := g.output(ctx, "config", "--local", "--get", "core.hooksPath")
		x.is.skipHooks = fmt.Sprint(path == os.DevNull)
	}
	if !working {
		return nil
	}
	if x.includes != nil {
		if x.is.includes, err = x.readIncludes(ctx); err != nil {
			return err
		}
	}
	if x.revision == "" && x.ensure != "latest" {
		return nil
	}
	return x.readRevision(ctx, h, g)
}

// readRevision finds the revision: x.revision if HEAD is at it, and otherwise the commit.
func (x *item) readRevision(ctx context.Context, h *resource.Host, g *git) (err error) {
	if x.remotes == nil && !g.ok(ctx, "rev-parse", "--verify", "--quiet", "HEAD") {
		x.is.revision, err = g.output(ctx, "symbolic-ref", "--short", "HEAD") // without commits
		x.latest(x.is.revision, x.is.revision)
		return err
	}
	head, err := g.output(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	fetched := false
	fetch := func() error {
		if fetched || x.remotes == nil {
			return nil
		}
		fetched = true
		return x.fetch(ctx, h, g)
	}
	canonical := ""
	if x.revision != "" && x.revision != head {
		if err := fetch(); err != nil {
			return err
		}
		if canonical, err = x.canonical(ctx, g); err != nil {
			return err
		}
	}
	name := func(commit string) string {
		if commit == canonical {
			return x.revision
		}
		return commit
	}
	x.is.revision = name(head)
	if x.ensure != "latest" {
		return nil
	}
	newest := x.is.revision
	if branch := g.branch(ctx); branch != "" && x.remotes != nil {
		if err := fetch(); err != nil {
			return err
		}
		commit, err := g.output(ctx, "rev-parse", x.remote+"/"+branch)
		if err != nil {
			return err
		}
		newest = name(commit)
	}
	x.latest(x.is.revision, newest)
	return nil
}

func (x *item) latest(is, newest string) {
	if x.ensure == "latest" && is == newest {
		x.is.ensure = "latest"
	}
}

// canonical returns the commit of the wanted revision: a tag, a local branch, a remote branch, or a commit.
func (x *item) canonical(ctx context.Context, g *git) (string, error) {
	refs, err := g.refs(ctx)
	if err != nil {
		return "", err
	}
	name := x.revision
	switch {
	case refs["refs/tags/"+name]:
		name = "refs/tags/" + name + "^0"
	case refs["refs/heads/"+name]:
		name = "refs/heads/" + name
	case refs["refs/remotes/"+x.remote+"/"+name]:
		name = "refs/remotes/" + x.remote + "/" + name
	}
	commit, err := g.output(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s is not a local or remote reference", x.revision)
	}
	return commit, nil
}

// Plan implements resource.Item.
func (x *item) Plan() (changes []resource.Change, err error) {
	if x.ensure != "" && !x.settled() {
		c := resource.Change{Property: "ensure", Name: "vcsrepo_changed", Is: x.is.ensure, Should: x.ensure}
		switch x.ensure {
		case "present":
			c.Name = "vcsrepo_created"
		case "absent":
			c.Name = "vcsrepo_removed"
		}
		return []resource.Change{c}, nil
	}
	if x.is.ensure == "absent" {
		return nil, nil
	}
	add := func(property, is, should string) {
		changes = append(changes, resource.Change{Property: property, Is: is, Should: should})
	}
	if x.remotes != nil && !x.sameSource() {
		add("source", describe(x.is.remotes), describe(x.remotes))
	}
	if x.revision != "" && x.is.ensure != "bare" && x.is.ensure != "mirror" && x.is.revision != x.revision {
		add("revision", x.is.revision, x.revision)
	}
	if x.includes != nil && !slices.Equal(slices.Sorted(slices.Values(x.is.includes)), slices.Sorted(slices.Values(x.includes))) {
		add("includes", strings.Join(x.is.includes, ", "), strings.Join(x.includes, ", "))
	}
	if x.skipHooks != "" && x.is.skipHooks != x.skipHooks {
		add("skip_hooks", x.is.skipHooks, x.skipHooks)
	}
	return changes, nil
}

// settled reports whether ensure is as wanted. A repository that is to be present can also be bare.
func (x *item) settled() bool {
	if x.is.unfinished != "" {
		return false
	}
	if x.ensure == "present" {
		return x.is.ensure != "absent"
	}
	return x.is.ensure == x.ensure
}

// sameSource compares URLs. A slash at the end of a single URL does not count.
func (x *item) sameSource() bool {
	if x.several || len(x.is.remotes) != 1 {
		return maps.Equal(x.is.remotes, x.remotes)
	}
	for _, is := range x.is.remotes {
		return strings.TrimSuffix(is, "/") == strings.TrimSuffix(x.remotes[x.remote], "/")
	}
	return false
}

// describe lists remote repositories without their passwords.
func describe(remotes map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(remotes)) {
		list = append(list, name+" => "+remotes[name])
	}
	if len(list) == 1 {
		_, url, _ := strings.Cut(list[0], " => ")
		return withoutLogin(url)
	}
	return withoutLogin("{" + strings.Join(list, ", ") + "}")
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	g, err := x.git.on(ctx, h)
	if err != nil {
		return err
	}
	if g == nil {
		return errors.New("the program git is missing. Install it on the target")
	}
	if err := x.markSafe(ctx, h); err != nil {
		return err
	}
	switch c.Property {
	case "ensure":
		return x.settle(ctx, h, g)
	case "source":
		return x.changeSource(ctx, h, g)
	case "revision":
		return x.update(ctx, h, g, x.revision)
	case "includes":
		if err := x.include(ctx, g); err != nil {
			return err
		}
		return x.own(ctx, h)
	}
	return x.setHooks(ctx, g)
}

// settle brings the repository to the state of ensure.
func (x *item) settle(ctx context.Context, h *resource.Host, g *git) error {
	if x.ensure == "absent" {
		return x.destroy()
	}
	if x.is.unfinished == moving {
		if err := x.resume(ctx, h, g); err != nil {
			return err
		}
	} else if x.is.ensure == "absent" {
		return x.create(ctx, h, g)
	}
	working := x.is.ensure == "present" || x.is.ensure == "latest"
	switch x.ensure {
	case "present":
		return nil
	case "latest":
		if !working {
			if err := x.toWorking(ctx, h, g); err != nil {
				return err
			}
		}
		return x.update(ctx, h, g, x.target(ctx, g))
	case "bare":
		if working {
			return x.toBare(ctx, g)
		}
		return x.setMirror(ctx, g, false)
	}
	if working {
		if err := x.toBare(ctx, g); err != nil {
			return err
		}
	}
	return x.setMirror(ctx, g, true)
}

// resume finishes the move of a run that was killed.
func (x *item) resume(ctx context.Context, h *resource.Host, g *git) error {
	x.is.unfinished = ""
	if x.ensure == "bare" || x.ensure == "mirror" {
		x.is.ensure = "bare"
		return x.finishBare()
	}
	x.is.ensure = "present"
	return x.finishWorking(ctx, h, g)
}

// target returns the revision to which a repository is updated that must be the latest.
func (x *item) target(ctx context.Context, g *git) string {
	if x.revision != "" {
		return x.revision
	}
	if branch := g.branch(ctx); branch != "" {
		return branch
	}
	return "HEAD"
}
