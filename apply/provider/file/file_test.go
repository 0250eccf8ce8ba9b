package file_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply"
	"bolt/apply/provider/file"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// A machine is a temporary directory to which catalogs are applied.
type machine struct {
	t       *testing.T
	dir     string
	host    *resource.Host
	noop    bool
	logs    []string
	backups []string
	mu      sync.Mutex
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir(), host: resource.NewHost()}
	m.host.Diffs = true
	m.host.Env = []string{"PATH=/usr/bin:/bin"}
	m.host.Log = func(_ catalog.Ref, level report.Level, text string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.logs = append(m.logs, string(level)+": "+text)
	}
	m.host.Backup = func(path string) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		data, err := os.ReadFile(path)
		m.backups = append(m.backups, m.rel(path)+"="+string(data))
		return err
	}
	return m
}

func (m *machine) path(rel string) string { return filepath.Join(m.dir, rel) }

func (m *machine) rel(path string) string {
	rel, err := filepath.Rel(m.dir, path)
	if err != nil {
		m.t.Fatal(err)
	}
	return rel
}

func (m *machine) write(rel, text string, mode fs.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(rel)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(rel), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := unix.Chmod(m.path(rel), uint32(mode)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(rel string) string {
	m.t.Helper()
	data, err := os.ReadFile(m.path(rel))
	if err != nil {
		m.t.Error(err)
	}
	return string(data)
}

// res is a File resource; the title is below the machine's directory.
func res(title string, params ...any) *resource.Resource {
	return &resource.Resource{Ref: catalog.Ref{Type: "File", Title: title}, Params: ordered.Of(params...)}
}

// run applies resources in the order given.
func (m *machine) run(resources ...*resource.Resource) map[string]*report.Result {
	m.t.Helper()
	return m.apply(m.t.Context(), resources...)
}

func (m *machine) apply(ctx context.Context, resources ...*resource.Resource) map[string]*report.Result {
	m.t.Helper()
	c := &catalog.Catalog{Files: make(map[string]*catalog.FileMeta), Trees: make(map[string][]catalog.Tree)}
	for _, r := range resources {
		title := m.path(r.Title)
		cr := &catalog.Resource{Ref: catalog.Ref{Type: "File", Title: title}, Params: r.Params, Sensitive: r.Secrets}
		if err := c.Add(cr); err != nil {
			m.t.Fatal(err)
		}
		if r.File != nil {
			c.Files[title] = r.File
		}
		if r.Trees != nil {
			c.Trees[title] = r.Trees
		}
	}
	run, err := apply.Prepare(c, m.host, apply.Options{Noop: m.noop, Types: map[string]resource.Type{"File": file.New()}})
	if err != nil {
		m.t.Fatal(err)
	}
	results := make(map[string]*report.Result)
	if _, err := run.Apply(ctx, func(r *report.Result) { results[m.rel(r.Ref.Title)] = r }); err != nil && ctx.Err() == nil {
		m.t.Fatal(err)
	}
	return results
}

// outcome is the status of a result, with the properties that changed.
func outcome(r *report.Result) string {
	if r == nil {
		return "none"
	}
	words := []string{string(r.Status)}
	for _, e := range r.Events {
		words = append(words, e.Property)
	}
	return strings.Join(words, " ")
}

func (m *machine) check(results map[string]*report.Result, want map[string]string) {
	m.t.Helper()
	for name, w := range want {
		if got := outcome(results[name]); got != w {
			m.t.Errorf("%s: %s, want %s%s", name, got, w, messages(results[name]))
		}
	}
}

func messages(r *report.Result) (text string) {
	if r == nil {
		return ""
	}
	for _, e := range r.Events {
		text += "\n\t" + e.Message
	}
	return text
}

// tree lists the files in the directory, a line for each file.
func (m *machine) tree() string {
	m.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == m.dir {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d:%d", m.rel(path), st.Mode, st.Uid, st.Gid)
		switch {
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			b.WriteString(" -> " + target)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return b.String()
}

func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test must run as root")
	}
}

// Each case has one resource, the files before the run, the result, and the tree after the run. The test runs
// each case once with noop, which must change nothing, and twice without noop. The second run without noop must
// change nothing.
func TestFile(t *testing.T) {
	root(t)
	const oldTime = 981173096
	file := func(mode fs.FileMode, text string) func(*machine) {
		return func(m *machine) { m.write("f", text, mode) }
	}
	dir := func(m *machine) { m.write("f/in", "x", 0o644) }
	link := func(target string) func(*machine) {
		return func(m *machine) {
			m.write("real", "data", 0o640)
			if err := os.Symlink(target, m.path("f")); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		before func(*machine)
		params []any
		want   string // of the first run
		tree   string
		again  string // of the second run, "unchanged" if it is empty
	}{
		"new":                       {nil, []any{"content", "x"}, "changed ensure", `f 100644 0:0 "x"`, ""},
		"new with attributes":       {nil, []any{"content", "x", "mode", "4750", "owner", "daemon", "group", int64(7)}, "changed ensure", `f 104750 1:7 "x"`, ""},
		"new without content":       {nil, []any{"ensure", "file"}, "changed ensure", `f 100644 0:0 ""`, ""},
		"present":                   {nil, []any{"ensure", "present"}, "changed ensure", `f 100644 0:0 ""`, ""},
		"only a mode, and no file":  {nil, []any{"mode", "0600"}, "unchanged", "", ""},
		"only a mode":               {file(0o644, "x"), []any{"mode", "0600"}, "changed mode", `f 100600 0:0 "x"`, ""},
		"the same":                  {file(0o644, "x"), []any{"content", "x", "mode", "0644"}, "unchanged", `f 100644 0:0 "x"`, ""},
		"another content":           {file(0o640, "y"), []any{"content", "x"}, "changed content", `f 100640 0:0 "x"`, ""},
		"a longer content":          {file(0o640, "yy"), []any{"content", "x"}, "changed content", `f 100640 0:0 "x"`, ""},
		"all of it":                 {file(0o640, "y"), []any{"content", "x", "mode", "u=rw,go=", "owner", "1", "group", "daemon"}, "changed content owner group mode", `f 100600 1:1 "x"`, ""},
		"an empty content":          {file(0o640, "y"), []any{"content", ""}, "changed content", `f 100640 0:0 ""`, ""},
		"replace":                   {file(0o640, "y"), []any{"content", "x", "replace", false, "mode", "0644"}, "changed mode", `f 100644 0:0 "y"`, ""},
		"a checksum of the content": {file(0o640, "y"), []any{"content", "x", "checksum", "md5"}, "changed content", `f 100640 0:0 "x"`, ""},
		"the first bytes": {file(0o640, strings.Repeat("a", 600)), []any{"content", strings.Repeat("a", 512) + "b", "checksum", "sha1lite"}, "unchanged",
			`f 100640 0:0 "` + strings.Repeat("a", 600) + `"`, ""},
		"an unknown owner": {file(0o644, "y"), []any{"content", "x", "owner", "nosuchuser", "mode", "0600"}, "failed content owner mode", `f 100600 0:0 "x"`, "failed owner"},
		"an unknown owner of a new file": {nil, []any{"content", "x", "owner", "nosuchuser", "group", "daemon"}, "failed ensure", `f 100644 0:0 "x"`,
			"failed owner group"},
		"one of two owners": {file(0o644, "x"), []any{"owner", []any{"daemon", "root"}}, "unchanged", `f 100644 0:0 "x"`, ""},
		"setuid and owner":  {file(0o4755, "x"), []any{"owner", "daemon", "mode", "4755"}, "changed owner", `f 104755 1:0 "x"`, ""},

		"absent":                        {file(0o640, "y"), []any{"ensure", "absent"}, "changed ensure", "", ""},
		"absent and replace":            {file(0o640, "y"), []any{"ensure", "absent", "replace", false}, "unchanged", `f 100640 0:0 "y"`, ""},
		"absent directory":              {dir, []any{"ensure", "absent"}, "unchanged", "f 40755 0:0\nf/in 100644 0:0 \"x\"", ""},
		"absent directory with force":   {dir, []any{"ensure", "absent", "force", true}, "changed ensure", "", ""},
		"false":                         {file(0o640, "y"), []any{"ensure", false}, "changed ensure", "", ""},
		"a file instead of a directory": {dir, []any{"content", "x"}, "failed ensure", "f 40755 0:0\nf/in 100644 0:0 \"x\"", "failed ensure"},
		"a file instead of a directory with force": {dir, []any{"content", "x", "force", true}, "changed ensure", `f 100644 0:0 "x"`, ""},

		"a directory":                   {nil, []any{"ensure", "directory"}, "changed ensure", "f 40755 0:0", ""},
		"a directory with attributes":   {nil, []any{"ensure", "directory", "mode", "2640", "group", "daemon"}, "changed ensure", "f 42750 0:1", ""},
		"a directory instead of a file": {file(0o640, "y"), []any{"ensure", "directory", "mode", "u=rwx,go="}, "changed ensure", "f 40700 0:0", ""},
		"another mode of a directory":   {dir, []any{"ensure", "directory", "mode", "0640"}, "changed mode", "f 40750 0:0\nf/in 100644 0:0 \"x\"", ""},

		"a link":                       {nil, []any{"ensure", "link", "target", "../x"}, "changed ensure", "f 120777 0:0 -> ../x", ""},
		"a target as ensure":           {nil, []any{"ensure", "/x"}, "changed ensure", "f 120777 0:0 -> /x", ""},
		"a target alone":               {nil, []any{"target", "/x", "owner", "daemon", "mode", "0600"}, "changed ensure", "f 120777 1:0 -> /x", ""},
		"a link instead of a file":     {file(0o640, "y"), []any{"ensure", "link", "target", "/x"}, "changed ensure", "f 120777 0:0 -> /x", ""},
		"another target":               {link("nowhere"), []any{"ensure", "link", "target", "/x"}, "changed target", "f 120777 0:0 -> /x\nreal 100640 0:0 \"data\"", ""},
		"another target and replace":   {link("nowhere"), []any{"ensure", "link", "target", "/x", "replace", false}, "unchanged", "f 120777 0:0 -> nowhere\nreal 100640 0:0 \"data\"", ""},
		"a link without target":        {nil, []any{"ensure", "link"}, "failed ensure", "", "failed ensure"},
		"a link over a directory":      {dir, []any{"ensure", "link", "target", "/x"}, "failed ensure", "f 40755 0:0\nf/in 100644 0:0 \"x\"", "failed ensure"},
		"force a link":                 {dir, []any{"ensure", "link", "target", "/x", "force", true}, "changed ensure", "f 120777 0:0 -> /x", ""},
		"present on a link":            {link("nowhere"), []any{"ensure", "present"}, "unchanged", "f 120777 0:0 -> nowhere\nreal 100640 0:0 \"data\"", ""},
		"a file instead of a link":     {link("real"), []any{"content", "mine"}, "changed ensure", "f 100644 0:0 \"mine\"\nreal 100640 0:0 \"data\"", ""},
		"the owner of a link":          {link("real"), []any{"owner", "daemon", "mode", "0600"}, "changed owner", "f 120777 1:0 -> real\nreal 100640 0:0 \"data\"", ""},
		"follow":                       {link("real"), []any{"owner", "daemon", "mode", "0600", "links", "follow"}, "changed owner mode", "f 120777 0:0 -> real\nreal 100600 1:0 \"data\"", ""},
		"the content behind a link":    {link("real"), []any{"content", "new", "links", "follow"}, "changed content", "f 100640 0:0 \"new\"\nreal 100640 0:0 \"data\"", ""},
		"a dangling link with content": {link("nowhere"), []any{"content", "new", "links", "follow"}, "changed ensure", "f 100644 0:0 \"new\"\nreal 100640 0:0 \"data\"", ""},

		"validated":     {nil, []any{"content", "good", "validate_cmd", "/bin/grep -q good %"}, "changed ensure", `f 100644 0:0 "good"`, ""},
		"not validated": {file(0o640, "y"), []any{"content", "bad", "validate_cmd", "/bin/grep -q good %", "mode", "0600"}, "failed content mode", `f 100600 0:0 "y"`, "failed content"},
		"staged":        {nil, []any{"content", "good", "staging_location", "/dev/shm"}, "changed ensure", `f 100644 0:0 "good"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if c.before != nil {
				c.before(m)
				old := unix.Timespec{Sec: oldTime}
				if err := unix.UtimesNanoAt(unix.AT_FDCWD, m.path("f"), []unix.Timespec{old, old}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
					t.Fatal(err)
				}
			}
			before := m.tree()
			m.noop = true
			results := m.run(res("f", c.params...))
			if got, want := outcome(results["f"]), strings.NewReplacer("changed", "noop", "failed", "noop").Replace(c.want); got != want && c.want != "unchanged" {
				t.Errorf("noop: %s, want %s", got, want)
			}
			if after := m.tree(); after != before {
				t.Errorf("noop made\n%sof\n%s", after, before)
			}
			m.noop = false
			m.check(m.run(res("f", c.params...)), map[string]string{"f": c.want})
			if got := strings.TrimSpace(m.tree()); got != c.tree {
				t.Errorf("the tree is\n%s\nwant\n%s", got, c.tree)
			}
			again := c.again
			if again == "" {
				again = "unchanged"
			}
			after := m.tree()
			m.check(m.run(res("f", c.params...)), map[string]string{"f": again})
			if name != "an unknown owner of a new file" && m.tree() != after {
				t.Errorf("the second run made\n%sof\n%s", m.tree(), after)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"content", "x", "source", "/y"}, "content"},
		{[]any{"content", "x", "ensure", "/y"}, "content"},
		{[]any{"mode", int64(644)}, "mode"},
		{[]any{"mode", "rw-r--r--"}, "mode"},
		{[]any{"mode", "99"}, "mode"},
		{[]any{"mode", "u=rw,o=X"}, "mode"},
		{[]any{"recurse", "remote"}, "recurse"},
		{[]any{"checksum", "none", "source", "/x"}, "checksum"},
		{[]any{"checksum", "mtime", "content", "x"}, "checksum"},
		{[]any{"checksum", "sha3"}, "checksum"},
		{[]any{"checksum_value", "abc", "source", "/x"}, "checksum_value"},
		{[]any{"source", "x"}, "source"},
		{[]any{"source", "ftp://x/y"}, "source"},
		{[]any{"source", "puppet:x"}, "source"},
		{[]any{"owner", ""}, "owner"},
		{[]any{"group", ""}, "group"},
		{[]any{"mtime", "x"}, "mtime"},
		{[]any{"staging_location", "x"}, "staging_location"},
		{[]any{"recurselimit", int64(-1)}, "recurselimit"},
		{[]any{"max_files", int64(-2)}, "max_files"},
		{[]any{"backup", "./x"}, "backup"},
		{[]any{"content", ordered.Of("a", "b")}, "content"},
		{[]any{"path", "x"}, "path"},
		{[]any{"path", "/a\x00b"}, "path"},
		{[]any{"target", "/a\x00b"}, "target"},
	} {
		r := res("/f", c.params...)
		_, err := file.New().New(r)
		var p *resource.ParamError
		if !errors.As(err, &p) || p.Param != c.want {
			t.Errorf("%v: error is %v, want one about %s", c.params, err, c.want)
		}
	}
	r := res("/f", "mode", "hunter")
	r.Secrets = []string{"mode"}
	if _, err := file.New().New(r); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("error is %v", err)
	}
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// contents makes contents of a catalog; a lying machine gives another content.
func (m *machine) contents(texts ...string) {
	m.host.Content = func(s string) (io.ReadCloser, error) {
		for _, text := range texts {
			if sum(text) == s {
				return io.NopCloser(strings.NewReader(text)), nil
			}
		}
		return nil, fs.ErrNotExist
	}
}

func meta(rel, kind, text string) *catalog.FileMeta {
	m := &catalog.FileMeta{Relative: rel, Type: kind, Links: "manage", Mode: 0o640, Owner: int64(1), Group: int64(2)}
	switch kind {
	case "file":
		m.SumType, m.Sum = "sha256", "{sha256}"+sum(text)
	case "link":
		m.Destination = text
	}
	return m
}

func TestCatalogSource(t *testing.T) {
	root(t)
	m := newMachine(t)
	m.contents("new")
	r := res("f", "source", "puppet:///modules/m/f")
	r.File = meta("", "file", "new")
	m.check(m.run(r), map[string]string{"f": "changed ensure"})
	m.check(m.run(r), map[string]string{"f": "unchanged"})
	m.write("f", "old", 0o600)
	results := m.run(r)
	m.check(results, map[string]string{"f": "changed content"})
	if diff := results["f"].Events[0].Diff; !strings.Contains(diff, "-old") || !strings.Contains(diff, "+new") {
		t.Errorf("the diff is %q", diff)
	}
	r = res("f", "source", "puppet:///modules/m/f", "source_permissions", "use")
	r.File = meta("", "file", "new")
	m.check(m.run(r), map[string]string{"f": "changed owner group mode"})
	if got := m.tree(); got != "f 100640 1:2 \"new\"\n" {
		t.Error(got)
	}

	t.Run("a content that was not sent", func(t *testing.T) {
		r := res("g", "source", "puppet:///modules/m/g")
		r.File = meta("", "file", "missing")
		m.check(m.run(r), map[string]string{"g": "failed ensure"})
	})
	t.Run("a content with another checksum", func(t *testing.T) {
		m.host.Content = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("lie")), nil }
		r := res("g", "source", "puppet:///modules/m/g")
		r.File = meta("", "file", "truth")
		m.check(m.run(r), map[string]string{"g": "failed ensure"})
	})
	t.Run("no metadata", func(t *testing.T) {
		m.check(m.run(res("g", "source", "puppet:///modules/m/g")), map[string]string{"g": "failed "})
	})
	if got := m.tree(); got != "f 100640 1:2 \"new\"\n" {
		t.Error(got)
	}
}

func TestHostSource(t *testing.T) {
	m := newMachine(t)
	m.write("src/a", "aa", 0o600)
	m.write("src/b", "bb", 0o600)
	src := func(name string) string { return m.path("src/" + name) }
	m.check(m.run(
		res("first", "source", []any{src("none"), src("b"), src("a")}),
		res("url", "source", "file://"+src("a")),
		res("none", "source", src("none")),
		res("sum", "ensure", "file", "source", src("a"), "checksum_value", sum("aa")),
		res("wrong", "ensure", "file", "source", src("a"), "checksum_value", sum("bb")),
		res("md5", "source", src("a"), "checksum", "md5"),
		res("absent", "ensure", "absent", "source", src("none")),
	), map[string]string{
		"first": "changed ensure", "url": "changed ensure", "none": "failed ", "sum": "changed ensure", "wrong": "failed ensure",
		"md5": "changed ensure", "absent": "unchanged",
	})
	if m.read("first") != "bb" || m.read("url") != "aa" || m.read("sum") != "aa" {
		t.Error(m.tree())
	}

	t.Run("times", func(t *testing.T) {
		now := time.Now()
		m.write("newer", "x", 0o600)
		m.write("older", "x", 0o600)
		for name, at := range map[string]time.Time{"src/a": now, "newer": now.Add(time.Hour), "older": now.Add(-time.Hour)} {
			if err := os.Chtimes(m.path(name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		m.check(m.run(res("newer", "source", src("a"), "checksum", "mtime"), res("older", "source", src("a"), "checksum", "mtime")),
			map[string]string{"newer": "unchanged", "older": "changed content"})
	})
	t.Run("a pipe", func(t *testing.T) {
		if err := unix.Mkfifo(src("pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		m.check(m.run(res("p", "source", src("pipe"))), map[string]string{"p": "failed "})
	})
}

func TestBackup(t *testing.T) {
	m := newMachine(t)
	m.write("a", "old", 0o640)
	m.write("b", "old", 0o600)
	m.write("b.x", "older", 0o600)
	m.write("c", "old", 0o600)
	m.write("d/f", "in", 0o600)
	m.write("e/f", "in", 0o600)
	m.write("g", "old", 0o600)
	m.write("g.x/f", "in", 0o600)
	m.check(m.run(
		res("a", "content", "new", "backup", true),
		res("b", "ensure", "absent", "backup", ".x"),
		res("c", "content", "new", "backup", false),
		res("d", "ensure", "absent", "force", true),
		res("e", "ensure", "absent", "force", true, "backup", ".x"),
		res("g", "content", "new", "backup", ".x"),
		res("h", "content", "new", "backup", "puppet"),
	), map[string]string{"a": "changed content", "b": "changed ensure", "c": "changed content", "d": "changed ensure", "e": "changed ensure", "g": "failed content"})
	if m.read("a.puppet-bak") != "old" || m.read("b.x") != "old" || m.read("e.x/f") != "in" || m.read("g") != "old" {
		t.Error(m.tree())
	}
	if info, err := os.Stat(m.path("a.puppet-bak")); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
	m.check(m.run(res("h", "content", "newer", "backup", "puppet"), res("c", "content", "newer")), map[string]string{"h": "changed content", "c": "changed content"})
	slices.Sort(m.backups)
	if want := "c=new d/f=in h=new"; strings.Join(m.backups, " ") != want {
		t.Errorf("backups are %v, want %s", m.backups, want)
	}
	m.host.Backup = func(string) error { return errors.New("no space") }
	m.check(m.run(res("c", "content", "lost")), map[string]string{"c": "failed content"})
	if m.read("c") != "newer" {
		t.Error("the file was replaced without a backup")
	}
}

// Nothing of a secret content is in a result or on the screen.
func TestSecret(t *testing.T) {
	m := newMachine(t)
	m.write("old", "hunter-one", 0o600)
	m.write("bad", "x", 0o600)
	secret := func(title string, params ...any) *resource.Resource {
		r := res(title, append(params, "content", "hunter-two")...)
		r.Secrets = []string{"content"}
		return r
	}
	results := m.run(secret("old"), secret("new"), secret("bad", "validate_cmd", "/bin/cat %; false"))
	m.check(results, map[string]string{"old": "changed content", "new": "changed ensure", "bad": "failed content"})
	for name, r := range results {
		for _, e := range r.Events {
			text := fmt.Sprintf("%+v", e)
			for _, bad := range []string{"hunter", sum("hunter-one"), sum("hunter-two"), "{sha256}"} {
				if strings.Contains(text, bad) {
					t.Errorf("the event of %s has %q in it: %s", name, bad, text)
				}
			}
		}
	}
}

func TestShowDiff(t *testing.T) {
	m := newMachine(t)
	m.write("a", "old\n", 0o600)
	m.write("b", "old\n", 0o600)
	m.write("c", "old\x00\n", 0o600)
	m.noop = true
	results := m.run(res("a", "content", "new\n"), res("b", "content", "new\n", "show_diff", false), res("c", "content", "new\n"))
	want := fmt.Sprintf("--- %[1]s\n+++ %[1]s\n@@ -1,1 +1,1 @@\n-old\n+new\n", m.path("a"))
	if got := results["a"].Events[0].Diff; got != want {
		t.Errorf("the diff is\n%swant\n%s", got, want)
	}
	if got := results["b"].Events[0].Diff; got != "" {
		t.Errorf("with show_diff => false, the diff is %q", got)
	}
	if got := results["c"].Events[0].Diff; !strings.Contains(got, "binary") {
		t.Errorf("the diff of binary contents is %q", got)
	}
}

// A reader sees the old content or the new one, and never another.
func TestReader(t *testing.T) {
	m := newMachine(t)
	texts := [2]string{strings.Repeat("a", 100_000), strings.Repeat("b", 200_000)}
	m.write("f", texts[0], 0o644)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				data, err := os.ReadFile(m.path("f"))
				if err != nil || string(data) != texts[0] && string(data) != texts[1] {
					t.Errorf("a reader sees %d bytes, %v", len(data), err)
					return
				}
			}
		})
	}
	for i := range 50 {
		m.run(res("f", "content", texts[(i+1)%2], "backup", false))
	}
	stop.Store(true)
	wg.Wait()
	if entries, _ := os.ReadDir(m.dir); len(entries) != 1 {
		t.Errorf("there are %d files", len(entries))
	}
}

// An object that is created between Read and Do is not lost.
func TestMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		before, between string // the content; "" for no file, "/" for a directory
		params          []any
	}{
		"a new file":            {"", "theirs", []any{"content", "ours"}},
		"a new directory":       {"", "/", []any{"content", "ours", "force", true}},
		"a file to remove":      {"x", "/", []any{"ensure", "absent", "force", true}},
		"a file to change":      {"x", "/", []any{"content", "ours", "force", true}},
		"a directory to remove": {"/", "theirs", []any{"ensure", "absent", "force", true}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			put := func(what string) {
				t.Helper()
				if err := os.RemoveAll(m.path("f")); err != nil {
					t.Fatal(err)
				}
				switch what {
				case "":
				case "/":
					m.write("f/in", "theirs", 0o600)
				default:
					m.write("f", what, 0o600)
				}
			}
			put(c.before)
			item, err := file.New().New(res(m.path("f"), c.params...))
			if err != nil {
				t.Fatal(err)
			}
			if err := item.Read(t.Context(), m.host); err != nil {
				t.Fatal(err)
			}
			changes, err := item.Plan()
			if err != nil || len(changes) != 1 {
				t.Fatal(changes, err)
			}
			put(c.between)
			before := m.tree()
			if err := item.Do(t.Context(), m.host, &changes[0]); err == nil {
				t.Error("the change was made")
			}
			if after := m.tree(); after != before {
				t.Errorf("the tree is\n%swas\n%s", after, before)
			}
		})
	}
}

// The new content of a file with a special bit is at no time a program with the rights of its new owner.
func TestSpecialBits(t *testing.T) {
	root(t)
	for _, params := range [][]any{{"content", "y", "owner", "daemon"}, {"content", "y", "owner", "daemon", "mode", "u+x"}, {"content", "y", "group", "daemon"}} {
		m := newMachine(t)
		m.write("f", "x", 0o6755)
		item, err := file.New().New(res(m.path("f"), params...))
		if err != nil {
			t.Fatal(err)
		}
		if err := item.Read(t.Context(), m.host); err != nil {
			t.Fatal(err)
		}
		changes, err := item.Plan()
		if err != nil || changes[0].Property != "content" {
			t.Fatal(changes, err)
		}
		if err := item.Do(t.Context(), m.host, &changes[0]); err != nil {
			t.Fatal(err)
		}
		if got := m.tree(); !strings.HasPrefix(got, "f 100755 ") {
			t.Errorf("%v: %s", params, got)
		}
	}
}

// A file that takes the place of another one gets none of its attributes.
func TestExchanged(t *testing.T) {
	root(t)
	for _, change := range []string{"group", "mode"} {
		m := newMachine(t)
		if err := os.Mkdir(m.path("f"), 0o700); err != nil {
			t.Fatal(err)
		}
		item, err := file.New().New(res(m.path("f"), "ensure", "directory", "group", "daemon", "mode", "2775"))
		if err != nil {
			t.Fatal(err)
		}
		if err := item.Read(t.Context(), m.host); err != nil {
			t.Fatal(err)
		}
		changes, err := item.Plan()
		if err != nil || len(changes) != 2 {
			t.Fatal(changes, err)
		}
		if err := os.Remove(m.path("f")); err != nil {
			t.Fatal(err)
		}
		m.write("f", "a program", 0o755)
		at := slices.IndexFunc(changes, func(c resource.Change) bool { return c.Property == change })
		if err := item.Do(t.Context(), m.host, &changes[at]); err == nil || !strings.Contains(err.Error(), "exchanged") {
			t.Errorf("%s: %v", change, err)
		}
		if got := m.tree(); !strings.HasPrefix(got, "f 100755 0:0 ") {
			t.Errorf("%s: %s", change, got)
		}
	}
}

// A temporary file of a killed run is replaced.
func TestLeftover(t *testing.T) {
	m := newMachine(t)
	m.write(".f.bolt", "half", 0o600)
	m.check(m.run(res("f", "content", "x"), res(strings.Repeat("n", 255), "content", "y")), map[string]string{"f": "changed ensure", strings.Repeat("n", 255): "changed ensure"})
	if got := m.tree(); strings.Contains(got, ".bolt") {
		t.Error(got)
	}
}

// Only files whose content comes with the catalog are applied at the same time as others: the order of directories, links
// and copies of other files matters.
func TestParallel(t *testing.T) {
	for _, c := range []struct {
		params   *ordered.Map
		parallel bool
	}{
		{ordered.Of("content", "x"), true},
		{ordered.Of("ensure", "file", "mode", "0600"), true},
		{ordered.Of("ensure", "present"), true},
		{ordered.Of("source", "/etc/passwd"), false},
		{ordered.Of("ensure", "directory"), false},
		{ordered.Of("ensure", "link", "target", "/x"), false},
		{ordered.Of("ensure", "absent"), false},
		{ordered.Of("content", "x", "validate_cmd", "/bin/true %"), false},
		{ordered.Of("content", "x", "links", "follow"), false},
	} {
		made, err := file.New().New(&resource.Resource{Ref: catalog.Ref{Type: "File", Title: "/x"}, Params: c.params})
		if err != nil {
			t.Fatal(err)
		}
		if _, is := made.(resource.Parallel); is != c.parallel {
			t.Errorf("%v: parallel is %v", c.params, is)
		}
	}
}
