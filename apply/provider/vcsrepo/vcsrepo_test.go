package vcsrepo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Vcsrepo": Type()}

// A site has the repositories ORIGIN and SUB, and the path DIR/r of the resource.
type site struct {
	*testing.T
	origin, sub, dir string
	host             *resource.Host
}

func newSite(t *testing.T) *site {
	base := t.TempDir()
	s := &site{T: t, origin: base + "/origin", sub: base + "/sub", dir: base + "/dir", host: resource.NewHost()}
	s.host.Env = append(os.Environ(), "GIT_CONFIG_SYSTEM="+base+"/system", "GIT_CONFIG_GLOBAL="+base+"/global")
	for _, dir := range []string{base, filepath.Dir(base)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(base+"/global", []byte("[user]\nname=n\nemail=e@x\n[protocol \"file\"]\nallow=always\n[init]\ndefaultBranch=main\n[safe]\ndirectory="+s.origin+"/.git\n[advice]\ndetachedHead=false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.shell(`mkdir "$DIR"
git init -q "$ORIGIN"; cd "$ORIGIN"
mkdir docs src; echo 1 > docs/a; echo 1 > src/b; git add .; git commit -qm 1; git tag v1
git checkout -qb dev; echo dev > src/dev; git add .; git commit -qm dev; git checkout -q main
echo 2 > docs/a; git commit -qam 2`)
	return s
}

// shell runs a script and returns its output.
func (s *site) shell(script string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "sh", "-ec", script)
	cmd.Env = append(s.host.Env, "ORIGIN="+s.origin, "DIR="+s.dir, "SUB="+s.sub)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *site) names() *strings.Replacer {
	return strings.NewReplacer("ORIGIN", s.origin, "DIR", s.dir, "SUB", s.sub)
}

func (s *site) apply(noop bool, params string) string {
	s.Helper()
	text := s.names().Replace(`Vcsrepo[DIR/r] {"provider":"git",` + params + `}`)
	out, err := hosttest.Try(s.T, s.host, types, noop, text)
	if err != nil {
		return "refused: " + err.Error()
	}
	return strings.TrimSpace(strings.NewReplacer(s.origin, "ORIGIN", s.dir, "DIR", s.sub, "SUB").Replace(out))
}

// twice applies a resource with noop, then twice. The second time must change nothing. head is the commit
// of the repository afterwards.
func (s *site) twice(params, want, head string) {
	s.Helper()
	noop := strings.NewReplacer("] changed", "] noop").Replace(want)
	if out := s.apply(true, params); out != noop && want != "" {
		s.Errorf("%s: noop: %s, want %s", params, out, noop)
	}
	if out := s.apply(false, params); out != want {
		s.Errorf("%s: %s, want %s", params, out, want)
	}
	if out := s.apply(false, params); out != "" {
		s.Errorf("%s: again: %s", params, out)
	}
	if head == "" {
		return
	}
	if is, should := s.shell(`git -C "$DIR/r" rev-parse HEAD`), s.shell(`git -C "$ORIGIN" rev-parse `+head+`^0`); is != should {
		s.Errorf("%s: HEAD is %s, want %s", params, is, should)
	}
}

const created = "Vcsrepo[DIR/r] changed vcsrepo_created"

// TestRevisions checks clones, and changes from each kind of revision to the others.
func TestRevisions(t *testing.T) {
	s := newSite(t)
	s.twice(`"ensure":"present","source":"ORIGIN"`, created, "main")
	first := s.shell(`git -C "$ORIGIN" rev-parse v1`)
	second := s.shell(`git -C "$ORIGIN" rev-parse main`)
	dev := s.shell(`git -C "$ORIGIN" rev-parse dev`)
	of := func(r string) string { return `"ensure":"present","source":"ORIGIN","revision":"` + r + `"` }
	s.twice(of("v1"), "Vcsrepo[DIR/r] changed revision("+second+" -> v1)", "v1")
	s.twice(of("dev"), "Vcsrepo[DIR/r] changed revision("+first+" -> dev)", "dev")
	s.twice(of(first), "Vcsrepo[DIR/r] changed revision("+dev+" -> "+first+")", "v1")
	s.twice(of("main"), "Vcsrepo[DIR/r] changed revision("+first+" -> main)", "main")
	s.twice(of(first[:10]), "Vcsrepo[DIR/r] changed revision("+second+" -> "+first[:10]+")", "v1")
	s.shell(`git -C "$ORIGIN" tag -f v1 dev`)
	s.twice(of("v1"), "Vcsrepo[DIR/r] changed revision("+first+" -> v1)", "dev")
	if out := s.apply(false, of("none")); !strings.Contains(out, "none is not a local or remote reference") {
		t.Error(out)
	}
	s.twice(`"ensure":"absent"`, "Vcsrepo[DIR/r] changed vcsrepo_removed", "")
	s.twice(of("dev"), created, "dev")
	if branch := s.shell(`git -C "$DIR/r" branch --show-current`); branch != "dev" {
		t.Error(branch)
	}
}

// TestLatest checks that a working copy follows its branch, and that present does not.
func TestLatest(t *testing.T) {
	s := newSite(t)
	latest := "Vcsrepo[DIR/r] changed vcsrepo_changed"
	s.twice(`"ensure":"latest","source":"ORIGIN","revision":"main"`, latest, "main")
	s.shell(`cd "$ORIGIN"; echo 3 > docs/a; git commit -qam 3`)
	s.twice(`"ensure":"present","source":"ORIGIN","revision":"main"`, "", "main~1")
	s.shell(`echo changed > "$DIR/r/docs/a"`)
	s.twice(`"ensure":"latest","source":"ORIGIN","revision":"main"`, latest, "main")
	s.shell(`cd "$ORIGIN"; echo 4 > docs/a; git commit -qam 4`)
	s.twice(`"ensure":"latest","source":"ORIGIN","force":true`, latest, "main")
	// Upstream was rewritten, and there is a local change in another file.
	s.shell(`cd "$ORIGIN"; git reset -q --hard HEAD~1; echo 5 > docs/a; git commit -qam 5; echo mine > "$DIR/r/src/b"`)
	s.twice(`"ensure":"latest","source":"ORIGIN","keep_local_changes":true`, latest, "main")
	if got := s.shell(`cat "$DIR/r/src/b"; git -C "$DIR/r" stash list`); got != "mine" {
		t.Error(got)
	}
	s.shell(`git -C "$DIR/r" checkout -q src/b; cd "$ORIGIN"; echo 6 > docs/a; git commit -qam 6`)
	s.twice(`"ensure":"latest","source":"ORIGIN","keep_local_changes":true`, latest, "main")
	s.twice(`"ensure":"latest","source":"ORIGIN","revision":"v1"`, "Vcsrepo[DIR/r] changed revision("+s.shell(`git -C "$ORIGIN" rev-parse main`)+" -> v1)", "v1")
}

// TestForms checks bare repositories, mirrors, and changes between the forms.
func TestForms(t *testing.T) {
	s := newSite(t)
	changed := "Vcsrepo[DIR/r] changed vcsrepo_changed"
	s.twice(`"ensure":"bare","source":"ORIGIN"`, changed, "main")
	s.twice(`"ensure":"mirror","source":"ORIGIN"`, changed, "main")
	s.twice(`"ensure":"bare","source":"ORIGIN"`, changed, "main")
	s.twice(`"ensure":"present","source":"ORIGIN"`, "", "main")
	s.twice(`"ensure":"latest","source":"ORIGIN"`, changed, "main")
	if got := s.shell(`cat "$DIR/r/docs/a"`); got != "2" {
		t.Error(got)
	}
	s.twice(`"ensure":"mirror","source":{"origin":"ORIGIN"}`, changed, "main")
	if got := s.shell(`git -C "$DIR/r" config remote.origin.mirror; ls -A "$DIR"`); got != "true\nr" {
		t.Error(got)
	}
	s.twice(`"ensure":"absent"`, "Vcsrepo[DIR/r] changed vcsrepo_removed", "")
	s.twice(`"ensure":"mirror","source":"ORIGIN"`, changed, "main")
	s.twice(`"ensure":"absent"`, "Vcsrepo[DIR/r] changed vcsrepo_removed", "")
	s.twice(`"ensure":"present"`, created, "")
	s.twice(`"ensure":"absent"`, "Vcsrepo[DIR/r] changed vcsrepo_removed", "")
	s.twice(`"ensure":"bare"`, changed, "")
}

// TestRemotes checks several remote repositories, and another URL.
func TestRemotes(t *testing.T) {
	s := newSite(t)
	s.shell(`git clone -q --bare "$ORIGIN" "$SUB"`)
	s.twice(`"ensure":"present","source":{"up":"ORIGIN","b":"SUB"},"remote":"up","revision":"dev"`, created, "dev")
	s.twice(`"ensure":"present","source":{"up":"ORIGIN","c":"SUB"},"remote":"up"`, "Vcsrepo[DIR/r] changed source({b => SUB, up => ORIGIN} -> {c => SUB, up => ORIGIN})", "dev")
	s.twice(`"ensure":"present","source":"ORIGIN","remote":"up"`, "Vcsrepo[DIR/r] changed source({c => SUB, up => ORIGIN} -> ORIGIN)", "dev")
	s.shell(`echo own > "$DIR/r/new"`)
	if out := s.apply(false, `"ensure":"present","source":"SUB","remote":"up"`); !strings.Contains(out, "the path DIR/r exists and is not the desired repository. Set force to true to replace it") {
		t.Error(out)
	}
	if got := s.shell(`cat "$DIR/r/new"`); got != "own" {
		t.Error(got)
	}
	s.twice(`"ensure":"present","source":"SUB","remote":"up","force":true`, created, "main")
	s.twice(`"ensure":"bare","source":"SUB","remote":"up"`, "Vcsrepo[DIR/r] changed vcsrepo_changed", "main")
	s.twice(`"ensure":"bare","source":"ORIGIN","remote":"up","force":true`, "Vcsrepo[DIR/r] changed source(SUB -> ORIGIN)", "main")
}

// TestParts checks shallow clones, submodules, sparse checkouts, excludes and hooks.
func TestParts(t *testing.T) {
	s := newSite(t)
	s.shell(`git init -q "$SUB"; cd "$SUB"; echo sub > s; git add .; git commit -qm s; cd "$ORIGIN"; git submodule --quiet add "$SUB" sub; git commit -qm sub`)
	s.twice(`"ensure":"present","source":"file://ORIGIN","depth":1,"revision":"main","excludes":["/x","*.o"],"skip_hooks":true,"umask":"077"`, created, "main")
	if got := s.shell(`cd "$DIR/r"; git rev-list --count HEAD; cat sub/s .git/info/exclude; git config core.hooksPath; stat -c %a docs/a`); got != "1\nsub\n/x\n*.o\n/dev/null\n600" {
		t.Error(got)
	}
	s.twice(`"ensure":"present","source":"file://ORIGIN","skip_hooks":false`, "Vcsrepo[DIR/r] changed skip_hooks(true -> false)", "main")
	s.twice(`"ensure":"present","source":"file://ORIGIN","includes":["docs"],"submodules":false`, "Vcsrepo[DIR/r] changed includes( -> docs)", "main")
	if got := s.shell(`ls "$DIR/r"`); got != "docs" && got != "docs\nsub" {
		t.Error(got)
	}
	s.twice(`"ensure":"absent"`, "Vcsrepo[DIR/r] changed vcsrepo_removed", "")
	s.twice(`"ensure":"present","source":"ORIGIN","includes":["src/b"],"submodules":false`, created, "main")
	if got := s.shell(`cd "$DIR/r"; find . -name .git -prune -o -type f -print; ls -A "$DIR"`); got != "./src/b\nr" {
		t.Error(got)
	}
}

// TestUsers checks that git runs as the user, and that files belong to the owner.
func TestUsers(t *testing.T) {
	s := newSite(t)
	s.shell(`chmod 777 "$DIR"`)
	s.twice(`"ensure":"present","source":"ORIGIN","user":"nobody","owner":"nobody"`, created, "")
	if got := s.shell(`stat -c '%U %a' "$DIR/r/docs/a" "$DIR/r/.git/config"; ls -A "$DIR"`); got != "nobody 644\nnobody 644\nr" {
		t.Error(got)
	}
	if out := s.apply(false, `"ensure":"present","source":"ORIGIN"`); !strings.Contains(out, "git refuses DIR/r, because it belongs to another user. Set the parameter user") {
		t.Error(out)
	}
	s.twice(`"ensure":"latest","source":"ORIGIN","owner":"nobody","safe_directory":true`, "", "")
	s.shell(`cd "$ORIGIN"; echo 3 > docs/a; git commit -qam 3`)
	s.twice(`"ensure":"latest","source":"ORIGIN","owner":"nobody","group":"nogroup","safe_directory":true`, "Vcsrepo[DIR/r] changed vcsrepo_changed", "main")
	if got := s.shell(`stat -c '%U %G' "$DIR/r/docs/a" "$DIR/r/.git/FETCH_HEAD"; git config --system --get-all safe.directory`); got != "nobody nogroup\nnobody nogroup\n"+s.dir+"/r" {
		t.Error(got)
	}
	s.twice(`"ensure":"absent","owner":"nobody"`, "Vcsrepo[DIR/r] changed vcsrepo_removed", "")
	if got := s.shell(`git config --system --get-all safe.directory || echo none`); got != "none" {
		t.Error(got)
	}
}

// TestKilled checks that a run completes what a run that was killed has left.
func TestKilled(t *testing.T) {
	for name, c := range map[string]struct{ left, params, want, head string }{
		"cloning":         {`cp -r "$ORIGIN" "$DIR/r"; rm "$DIR/r/.git/HEAD" "$DIR/r/docs/a"; touch "$DIR/.r.bolt-vcsrepo"`, `"ensure":"present","source":"ORIGIN"`, created, "main"},
		"settling":        {`git clone -q "$ORIGIN" "$DIR/r"; touch "$DIR/r/.git/bolt-unfinished" "$DIR/.r.bolt-vcsrepo"`, `"ensure":"present","source":"ORIGIN","revision":"v1","skip_hooks":true`, created, "v1"},
		"moving":          {`git clone -q --bare "$ORIGIN" "$DIR/.r.bolt-moved"; mkdir "$DIR/r"; echo x > "$DIR/r/x"`, `"ensure":"bare","source":"ORIGIN"`, "Vcsrepo[DIR/r] changed vcsrepo_changed", "main"},
		"moving back":     {`git clone -q --bare "$ORIGIN" "$DIR/.r.bolt-moved"; git -C "$DIR/.r.bolt-moved" config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'`, `"ensure":"latest","source":"ORIGIN"`, "Vcsrepo[DIR/r] changed vcsrepo_changed", "main"},
		"an empty folder": {`mkdir "$DIR/r"`, `"ensure":"present","source":"ORIGIN"`, created, "main"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.shell(c.left)
			s.twice(c.params, c.want, c.head)
			if got := s.shell(`ls -A "$DIR"; git -C "$DIR/r" status --porcelain 2>&1 || true`); got != "r" && !strings.Contains(got, "must be run in a work tree") {
				t.Error(got)
			}
		})
	}
}

// TestFailures checks that failures leave no part of a repository, and nothing in messages that is secret.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		params, want string
		prepare      func(s *site)
	}{
		"no repository": {params: `"ensure":"present","source":"DIR/none"`, want: "git clone: exit code 128"},
		"a password":    {params: `"ensure":"present","source":"http://me:hidden@127.0.0.1:1/x"`, want: "git clone: exit code 128"},
		"no branch":     {params: `"ensure":"present","source":"ORIGIN","branch":"none"`, want: "git clone: exit code 128"},
		"no user":       {params: `"ensure":"present","source":"ORIGIN","user":"no-such-user"`, want: `user "no-such-user" does not exist`},
		"no git": {params: `"ensure":"present","source":"ORIGIN"`, want: "the program git is missing. Install it on the target", prepare: func(s *site) {
			s.host.Env = append(s.host.Env, "PATH=/none")
		}},
		"hanging": {params: `"ensure":"present","source":"ORIGIN"`, want: "git clone: timed out", prepare: func(s *site) {
			s.host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
				c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
				return resource.Exec(ctx, c)
			}
		}},
		"noise": {params: `"ensure":"present","source":"ORIGIN"`, want: "git clone: exit code 1: it printed nothing", prepare: func(s *site) {
			s.host.Run = func(context.Context, *resource.Command) (*resource.Output, error) {
				return &resource.Output{Code: 1, Stderr: []byte("\x00\xff\x1b\x07")}, nil
			}
		}},
		"not started": {params: `"ensure":"present","source":"ORIGIN"`, want: "git clone: no memory", prepare: func(s *site) {
			s.host.Run = func(context.Context, *resource.Command) (*resource.Output, error) {
				return nil, errors.New("no memory")
			}
		}},
		"no space": {params: `"ensure":"present","source":"ORIGIN"`, want: "o space left on device", prepare: func(s *site) {
			s.shell(`head -c 300000 /dev/urandom > "$ORIGIN/large"; cd "$ORIGIN"; git add .; git commit -qm large`)
			if err := unix.Mount("tmpfs", s.dir, "tmpfs", 0, "size=200k"); err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() { _ = unix.Unmount(s.dir, unix.MNT_DETACH) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if c.prepare != nil {
				c.prepare(s)
			}
			if out := s.apply(false, c.params); !strings.Contains(out, c.want) || strings.Contains(out, "hidden") {
				t.Error(out)
			}
			if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
				t.Error(entries, err)
			}
		})
	}
}

// TestMounted checks that a directory is not removed in which a file system is mounted, also if a link leads to it.
func TestMounted(t *testing.T) {
	s := newSite(t)
	s.twice(`"ensure":"present","source":"ORIGIN"`, created, "main")
	s.shell(`mkdir "$DIR/r/a b"; ln -s "$DIR" "$DIR-link"`)
	if err := unix.Mount("tmpfs", s.dir+"/r/a b", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(s.dir+"/r/a b", unix.MNT_DETACH)
	s.shell(`touch "$DIR/r/a b/file"`)
	for _, params := range []string{`"ensure":"absent"`, `"ensure":"absent","path":"DIR-link/r"`} {
		if out := s.apply(false, params); !strings.Contains(out, "r is not removed, because a file system is mounted at DIR") || !strings.HasSuffix(out, "/r/a b") {
			t.Error(out)
		}
		s.shell(`test -e "$DIR/r/docs/a" -a -e "$DIR/r/a b/file"`)
	}
}

func TestRefused(t *testing.T) {
	for params, want := range map[string]string{
		`"provider":""`:                            "The parameter provider is needed",
		`"provider":"svn"`:                         "bolt applies repositories with the provider git only",
		`"source":"--upload-pack=x"`:               "The parameter source must be one line that does not begin with -",
		`"source":"/x","revision":"-x"`:            "The parameter revision must be",
		`"source":{"origin":"/x","b":"--x"}`:       "The parameter source must be one line that does not begin with -",
		`"source":{"a":"/x"}`:                      `has no URL for the remote repository "origin"`,
		`"source":{"origin":1}`:                    "The parameter source must be a URL, or a hash",
		`"source":{"sensitive":"https://u:p@h/x"}`: "The parameter source must not be secret",
		`"ensure":"bare","revision":"x"`:           "The parameter revision cannot be used for a bare repository",
		`"ensure":"bare","includes":"x"`:           "The parameter includes cannot be used for a bare repository",
		`"ensure":"mirror"`:                        "The parameter source is needed for a mirror",
		`"includes":["/x"]`:                        "The parameter includes must be relative paths",
		`"http_proxy":"x"`:                         "The parameter http_proxy must be a URL",
		`"depth":"x"`:                              "The parameter depth must be a whole number",
	} {
		if !strings.Contains(params, `"provider"`) {
			params += `,"provider":"git"`
		}
		if _, err := hosttest.Try(t, resource.NewHost(), types, false, `Vcsrepo[/r] {`+params+`}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// TestCommandLine checks the environment and the arguments for identities, proxies and certificates.
func TestCommandLine(t *testing.T) {
	h := resource.NewHost()
	var line, ssh string
	h.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		line = strings.Join(c.Argv[1:], " ")
		for _, e := range c.Env {
			if v, is := strings.CutPrefix(e, "GIT_SSH_COMMAND="); is {
				ssh = v
			}
		}
		return &resource.Output{Code: 1}, nil
	}
	dir := t.TempDir()
	_, err := hosttest.Try(t, h, types, false, `Vcsrepo[`+dir+`/r] {"ensure":"present","provider":"git","source":"git@h:x","identity":"/k y","trust_server_cert":true,"http_proxy":{"origin":"http://p:1"},"branch":"b","depth":3,"remote":"up"}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "-c http.sslVerify=false -c remote.origin.proxy=http://p:1 clone --depth 3 --branch b --origin up -- git@h:x " + dir + "/r"; line != want {
		t.Errorf("%s\n%s", line, want)
	}
	if !strings.HasPrefix(ssh, "ssh -i '/k y' -o ") || !strings.Contains(ssh, "IdentitiesOnly=yes") {
		t.Error(ssh)
	}
}

func TestWithoutLogin(t *testing.T) {
	for text, want := range map[string]string{
		"https://u:p@h/x@y":                      "https://h/x@y",
		"at ssh://u@h, https://u:p@hidden@h/x":   "at ssh://h, https://h/x",
		"{a => https://h/x, b => https://u:p@h}": "{a => https://h/x, b => https://h}",
		"git@h:x /srv/a@b":                       "git@h:x /srv/a@b",
	} {
		if got := withoutLogin(text); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
