package file_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/file"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

func TestRecurse(t *testing.T) {
	root(t)
	m := newMachine(t)
	m.write("top/a", "1", 0o777)
	m.write("top/sub/b", "2", 0o777)
	m.write("top/.hidden", "3", 0o777)
	m.write("top/x.bak", "4", 0o777)
	if err := os.Symlink("a", m.path("top/l")); err != nil {
		t.Fatal(err)
	}
	r := res("top", "ensure", "directory", "recurse", true, "mode", "0640", "owner", "daemon", "ignore", "*.bak")
	m.check(m.run(r), map[string]string{
		"top": "changed owner mode", "top/a": "changed owner mode", "top/sub": "changed owner mode", "top/sub/b": "changed owner mode",
		"top/l": "changed owner", "top/.hidden": "changed owner mode", "top/x.bak": "none",
	})
	m.check(m.run(r), map[string]string{"top": "unchanged", "top/a": "unchanged", "top/sub": "unchanged"})

	t.Run("limits", func(t *testing.T) {
		m.check(m.run(res("top", "recurse", true, "recurselimit", int64(1), "group", "daemon")),
			map[string]string{"top/a": "changed group", "top/sub": "changed group", "top/sub/b": "none"})
		m.check(m.run(res("top", "recurse", true, "recurselimit", int64(0), "group", "root")), map[string]string{"top": "changed group", "top/a": "none"})
		results := m.run(res("top", "recurse", true, "purge", true, "group", "root", "max_files", int64(3)))
		m.check(results, map[string]string{"top": "unchanged", "top/a": "none"})
	})
	t.Run("declared files", func(t *testing.T) {
		m.check(m.run(res("top", "recurse", true, "owner", "root"), res("top/sub", "ensure", "directory"), res("top/a", "ensure", "file")),
			map[string]string{"top": "changed owner", "top/a": "unchanged", "top/sub": "unchanged", "top/sub/b": "none", "top/.hidden": "changed owner"})
	})
	t.Run("no directory", func(t *testing.T) {
		m.check(m.run(res("new", "ensure", "directory", "recurse", true, "purge", true)), map[string]string{"new": "changed ensure"})
		m.check(m.run(res("top/l", "recurse", true, "purge", true)), map[string]string{"top/l": "unchanged", "top/l/b": "none"})
	})
}

func TestPurge(t *testing.T) {
	m := newMachine(t)
	m.contents("one", "two")
	m.write("top/stray", "x", 0o600)
	m.write("top/sub/stray", "x", 0o600)
	m.write("top/extra/deep/f", "x", 0o600)
	m.write("top/keep.me", "x", 0o600)
	m.write("outside", "x", 0o600)
	if err := os.Symlink(m.dir, m.path("top/link")); err != nil {
		t.Fatal(err)
	}
	tree := func(params ...any) *resource.Resource {
		r := res("top", append(params, "ensure", "directory", "source", "puppet:///modules/m/t", "ignore", []any{"*.me"})...)
		r.Trees = []catalog.Tree{
			{Source: "puppet:///modules/m/t", Files: []*catalog.FileMeta{
				meta(".", "directory", ""), meta("a", "file", "one"), meta("sub", "directory", ""), meta("sub/b", "file", "two"), meta("ln", "link", "a"),
			}},
			{Source: "puppet:///modules/m/u", Files: []*catalog.FileMeta{meta(".", "directory", ""), meta("a", "file", "two"), meta("c", "file", "two")}},
		}
		return r
	}
	m.check(m.run(tree("recurse", "remote")), map[string]string{"top": "unchanged", "top/a": "changed ensure", "top/c": "changed ensure", "top/stray": "none"})
	if m.read("top/a") != "one" || m.read("top/ln") != "one" {
		t.Error(m.tree())
	}
	m.check(m.run(tree("recurse", true, "purge", true)), map[string]string{
		"top/a": "unchanged", "top/stray": "changed ensure", "top/extra": "unchanged", "top/extra/deep/f": "changed ensure", "top/link": "changed ensure",
	})
	m.check(m.run(tree("recurse", true, "purge", true, "force", true)), map[string]string{"top/extra": "changed ensure", "top/extra/deep": "unchanged"})
	if got := m.tree(); strings.Contains(got, "stray") || strings.Contains(got, "extra") || !strings.Contains(got, "keep.me") || !strings.Contains(got, "outside") {
		t.Error(got)
	}
}

// Directories that take the place of something else do not exist yet with noop.
func TestNoopBelow(t *testing.T) {
	for name, before := range map[string]func(m *machine) error{
		"nothing":      func(m *machine) error { return os.RemoveAll(m.path("top")) },
		"a file":       func(m *machine) error { return os.WriteFile(m.path("top"), nil, 0o600) },
		"a link":       func(m *machine) error { return os.Symlink("outside", m.path("top")) },
		"a file in it": func(m *machine) error { m.write("top/sub", "x", 0o600); return nil },
		"a link in it": func(m *machine) error {
			m.write("top/x", "", 0o600)
			return os.Symlink("../outside", m.path("top/sub"))
		},
		"a link to self": func(m *machine) error { m.write("top/x", "", 0o600); return os.Symlink("sub", m.path("top/sub")) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write("outside/f", "precious", 0o600)
			m.contents("new")
			if err := before(m); err != nil {
				t.Fatal(err)
			}
			r := res("top", "ensure", "directory", "recurse", true, "source", "puppet:///modules/m/t", "backup", false)
			r.Trees = []catalog.Tree{{Source: "puppet:///modules/m/t", Files: []*catalog.FileMeta{
				meta(".", "directory", ""), meta("sub", "directory", ""), meta("sub/f", "file", "new"),
			}}}
			m.noop = true
			m.check(m.run(r), map[string]string{"top/sub": "noop ensure", "top/sub/f": "noop ensure"})
			m.noop = false
			m.check(m.run(r), map[string]string{"top/sub": "changed ensure", "top/sub/f": "changed ensure"})
			if m.read("top/sub/f") != "new" || m.read("outside/f") != "precious" {
				t.Error(m.tree())
			}
		})
	}
}

func TestHostTree(t *testing.T) {
	m := newMachine(t)
	m.write("src/real", "data", 0o600)
	m.write("src/dir/f", "f", 0o600)
	m.write("src2/real", "other", 0o600)
	m.write("src2/more", "more", 0o600)
	m.write("outside", "out", 0o600)
	for target, name := range map[string]string{"real": "src/link", m.path("outside"): "src/dir/abs", ".": "src/loop"} {
		if err := os.Symlink(target, m.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	both := []any{m.path("src"), m.path("src2")}
	for _, want := range []string{"changed ensure", "unchanged"} {
		m.check(m.run(
			res("manage", "ensure", "directory", "recurse", true, "source", m.path("src")),
			res("follow", "ensure", "directory", "recurse", true, "source", m.path("src"), "links", "follow", "recurselimit", int64(2)),
			res("all", "ensure", "directory", "recurse", true, "source", both, "sourceselect", "all"),
			res("first", "ensure", "directory", "recurse", true, "source", both),
			res("links", "recurse", true, "target", m.path("src2")),
		), map[string]string{
			"manage": want, "manage/dir/abs": want, "follow/dir/abs": want, "follow/loop/link": "none", "all/real": want, "all/more": want, "first/more": "none",
			"links/more": want,
		})
	}
	if m.read("all/real") != "data" || m.read("follow/dir/abs") != "out" || m.read("links/real") != "other" {
		t.Error(m.tree())
	}
	for name, want := range map[string]string{"manage/link": "real", "manage/dir/abs": m.path("outside"), "links/more": m.path("src2/more")} {
		if got, err := os.Readlink(m.path(name)); err != nil || got != want {
			t.Errorf("%s is a link to %q, %v", name, got, err)
		}
	}
	if _, err := os.Readlink(m.path("follow/link")); !errors.Is(err, unix.EINVAL) {
		t.Errorf("follow/link: %v", err)
	}
}

// children generates the files of a directory.
func children(t *testing.T, m *machine, r *resource.Resource) map[string]resource.Item {
	t.Helper()
	typ := file.New()
	r.Params.Set("path", m.path(r.Title))
	made, err := typ.New(r)
	if err != nil {
		t.Fatal(err)
	}
	list, err := made.(resource.Generator).Generate(t.Context(), m.host)
	if err != nil {
		t.Fatal(err)
	}
	items := make(map[string]resource.Item)
	for _, child := range list {
		item, err := typ.New(child)
		if err != nil {
			t.Fatal(err)
		}
		items[m.rel(child.Title)] = item
	}
	return items
}

// A directory that is exchanged for a link at any time between the steps leads nowhere.
func TestExchangedDirectory(t *testing.T) {
	for _, step := range []string{"before Read", "before Do"} {
		for name, params := range map[string][]any{
			"purge":   {"recurse", true, "purge", true, "force", true},
			"content": {"recurse", true, "source", "puppet:///modules/m/t"},
			"mode":    {"recurse", true, "mode", "0777", "owner", int64(12)},
			"follow":  {"recurse", true, "mode", "0777", "owner", int64(12), "links", "follow"},
		} {
			t.Run(name+" "+step, func(t *testing.T) {
				root(t)
				m := newMachine(t)
				m.contents("evil")
				m.write("top/sub/f", "x", 0o600)
				m.write("top/sub/dir/g", "x", 0o600)
				m.write("outside/f", "precious", 0o600)
				m.write("outside/dir/g", "precious", 0o600)
				r := res("top", append(params, "ensure", "directory")...)
				if name == "content" {
					r.Trees = []catalog.Tree{{Source: "puppet:///modules/m/t", Files: []*catalog.FileMeta{
						meta(".", "directory", ""), meta("sub", "directory", ""), meta("sub/f", "file", "evil"), meta("sub/new", "file", "evil"),
					}}}
				}
				items := children(t, m, r)
				exchange := func() {
					if err := os.Rename(m.path("top/sub"), m.path("was")); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink("../outside", m.path("top/sub")); err != nil {
						t.Fatal(err)
					}
				}
				before := subtree(m, "outside")
				if step == "before Read" {
					exchange()
				}
				delete(items, "top/sub") // which would make it a directory again
				planned := make(map[resource.Item][]resource.Change)
				for _, i := range items {
					if i.Read(t.Context(), m.host) == nil {
						planned[i], _ = i.Plan()
					}
				}
				if step == "before Do" {
					if len(planned) == 0 {
						t.Fatal("nothing is planned")
					}
					exchange()
				}
				for i, changes := range planned {
					for _, c := range changes {
						_ = i.Do(t.Context(), m.host, &c) // may fail
					}
				}
				if after := subtree(m, "outside"); after != before {
					t.Errorf("outside is\n%swas\n%s", after, before)
				}
			})
		}
	}
}

// The generator's directory itself can be exchanged, too.
func TestExchangedTop(t *testing.T) {
	m := newMachine(t)
	m.write("top/f", "x", 0o600)
	m.write("outside/f", "precious", 0o600)
	items := children(t, m, res("top", "ensure", "directory", "recurse", true, "purge", true))
	f := items["top/f"]
	if err := f.Read(t.Context(), m.host); err != nil {
		t.Fatal(err)
	}
	changes, err := f.Plan()
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	if err := os.Rename(m.path("top"), m.path("was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("outside", m.path("top")); err != nil {
		t.Fatal(err)
	}
	if err := f.Do(t.Context(), m.host, &changes[0]); err == nil {
		t.Error("the change was made")
	}
	if m.read("outside/f") != "precious" {
		t.Error(m.tree())
	}
}

func subtree(m *machine, name string) (text string) {
	for line := range strings.Lines(m.tree()) {
		if strings.HasPrefix(line, name) {
			text += line
		}
	}
	return text
}

// Files that are not files, and names that are not text.
func TestHostileTree(t *testing.T) {
	root(t)
	m := newMachine(t)
	names := []string{"new\nline", "\xff\xfe", "-rf", "a'b\"$(touch x)", " ", strings.Repeat("n", 255), "..x", "*"}
	for _, name := range names {
		m.write("top/"+name, "x", 0o644)
	}
	if err := unix.Mkfifo(m.path("top/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(m.path("top"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	// The path of a socket must be short.
	old, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(m.path("top"))
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	t.Chdir(old)
	want := map[string]string{"top/fifo": "changed mode", "top/socket": "changed mode"}
	if err := unix.Mknod(m.path("top/zero"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))); err == nil {
		want["top/zero"] = "changed mode"
	}
	for _, name := range names {
		if name == "\xff\xfe" {
			name = `\xff\xfe` // a title is UTF-8
		}
		want["top/"+name] = "changed mode"
	}
	m.check(m.run(res("top", "ensure", "directory", "recurse", true, "mode", "0600")), want)
	// Contents of pipes and devices are never read.
	m.check(m.run(res("top/fifo", "ensure", "present", "content", "x"), res("top/zero", "ensure", "present", "content", "x")),
		map[string]string{"top/fifo": "unchanged", "top/zero": "unchanged"})
	m.check(m.run(res("top/fifo", "content", "x")), map[string]string{"top/fifo": "changed ensure"})
	for name := range want {
		want[name] = "changed ensure"
	}
	if _, is := want["top/zero"]; is {
		want["top/zero"] = "failed ensure"
	}
	m.check(m.run(res("top", "ensure", "directory", "recurse", true, "purge", true, "backup", false)), want)
}

// Children get the parameters that Puppet hands down.
func TestInherited(t *testing.T) {
	m := newMachine(t)
	m.write("top/f", "x", 0o600)
	r := res("top", "ensure", "directory", "recurse", true, "recurselimit", int64(3), "max_files", int64(9), "alias", "t", "mode", "0600", "owner", "root",
		"backup", false, "noop", true, "ignore", "x", "links", "manage", "checksum", "md5", "require", "File[/x]")
	r.Params.Set("path", m.path("top"))
	r.Secrets = []string{"mode"}
	made, err := file.New().New(r)
	if err != nil {
		t.Fatal(err)
	}
	list, err := made.(resource.Generator).Generate(t.Context(), m.host)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	want := ordered.Of("mode", "0600", "owner", "root", "backup", false, "noop", true, "ignore", "x", "links", "manage", "checksum", "md5", "require", "File[/x]",
		"path", m.path("top/f"))
	if got := list[0].Params; strings.Join(got.Keys(), " ") != strings.Join(want.Keys(), " ") {
		t.Errorf("the parameters are %v, want %v", got.Keys(), want.Keys())
	}
	if list[0].Within != m.path("top") || !list[0].Secret("mode") {
		t.Errorf("the child is %+v", list[0])
	}
}

func TestCancelled(t *testing.T) {
	m := newMachine(t)
	m.write("top/f", "x", 0o600)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := res("top", "recurse", true)
	r.Params.Set("path", m.path("top"))
	made, err := file.New().New(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.(resource.Generator).Generate(ctx, m.host); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
