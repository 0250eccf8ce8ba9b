package static_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bolt/catalog"
	"bolt/catalog/static"
	"bolt/format/ordered"
	"bolt/modules"
)

// sources returns the files of a module m, and the Sources that find them.
func sources(t *testing.T) (dir string, s *static.Sources) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"files/a": "hello\n", "files/tree/b": "b", "files/tree/sub/c": "c", "files/tree/sub/deep/d": "d", "files/tree/x.bak": "", "files/tree/.hidden": "", "scripts/run.sh": "x"} {
		path := filepath.Join(dir, "m", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b", filepath.Join(dir, "m/files/tree/link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "m/files/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, static.New(modules.NewPath(modules.Module{}, dir))
}

// TestTypes checks which types have sources.
func TestTypes(t *testing.T) {
	_, s := sources(t)
	c := &catalog.Catalog{Name: "n"}
	for _, typ := range []string{"Archive", "Concat_fragment", "File", "Other"} {
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: typ, Title: "/f"}, Kind: catalog.KindType, Params: ordered.Of("source", "puppet:///modules/m/a")}); err != nil {
			t.Fatal(err)
		}
	}
	if problems, err := s.Resolve(t.Context(), c); err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if len(c.Files) != 3 || c.Files[catalog.FileKey(catalog.Ref{Type: "Archive", Title: "/f"})] == nil {
		t.Errorf("the files are %v", c.Files)
	}
}

// one returns a catalog with File[/f].
func one(t *testing.T, params ...any) *catalog.Catalog {
	t.Helper()
	c := &catalog.Catalog{Name: "n"}
	if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "File", Title: "/f"}, Kind: catalog.KindType, Params: ordered.Of(params...)}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFile checks that the metadata are those of the files, in the form of Puppet Server.
func TestFile(t *testing.T) {
	dir, s := sources(t)
	c := one(t, "source", []any{"puppet:///modules/m/none", "puppet:///modules/m/a"})
	problems, err := s.Resolve(t.Context(), c)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := catalog.FileMeta{Path: filepath.Join(dir, "m/files/a"), Type: "file", Links: "manage", Mode: 0o644, SumType: "sha256",
		Sum:        "{sha256}5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
		ContentURI: "puppet:///modules/m/files/a", Source: "puppet:///modules/m/a"}
	if got := *c.Files["/f"]; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// A change of the file changes the digest.
	before := c.Digest()
	if err := os.WriteFile(want.Path, []byte("changed\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	after := one(t, "source", "puppet:///modules/m/a")
	if _, err := s.Resolve(t.Context(), after); err != nil || after.Digest() == before {
		t.Errorf("the digest is %s as before (%v)", before, err)
	}
	// With source_permissions, owner and mode matter.
	owned := one(t, "source", "puppet:///scripts/m/run.sh", "source_permissions", "use")
	if _, err := s.Resolve(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if f := owned.Files["/f"]; f.Mode != 0o640 || f.Owner != int64(os.Getuid()) || f.Group != int64(os.Getgid()) {
		t.Errorf("the owner is %v, the group %v, the mode %o", f.Owner, f.Group, f.Mode)
	}
}

// TestTree checks that the parameters of a resource select the files of a directory.
func TestTree(t *testing.T) {
	_, s := sources(t)
	for _, k := range []struct {
		params []any
		want   string
	}{
		{nil, ". .hidden b link>b sub/ sub/c sub/deep/ sub/deep/d x.bak"},
		{[]any{"links", "follow"}, ". .hidden b link sub/ sub/c sub/deep/ sub/deep/d x.bak"},
		{[]any{"recurselimit", int64(1)}, ". .hidden b link>b sub/ x.bak"},
		{[]any{"recurselimit", "2", "recurse", "remote"}, ". .hidden b link>b sub/ sub/c sub/deep/ x.bak"},
		{[]any{"ignore", []any{"*.bak", ".h*", "deep"}}, ". b link>b sub/ sub/c"},
		{[]any{"ignore", "*"}, ". .hidden"},
		{[]any{"ignore", "[!bs]*"}, ". .hidden b sub/"},
		{[]any{"source", []any{"puppet:///modules/m/none", "puppet:///modules/m/tree/sub", "puppet:///modules/m/tree"}}, ". c deep/ deep/d"},
		{[]any{"sourceselect", "all", "source", []any{"puppet:///modules/m/tree/sub/deep", "puppet:///modules/m/none", "puppet:///modules/m/tree/sub/"}}, ". d | . c deep/ deep/d"},
		{[]any{"source", "puppet:///modules/m/a"}, "."},
		{[]any{"max_files", int64(2)}, "the source is puppet:///modules/m/tree, and it could not be read: it has more than 2 files"},
	} {
		c := one(t, append([]any{"recurse", true, "source", "puppet:///modules/m/tree"}, k.params...)...)
		problems, err := s.Resolve(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var trees []string
		for _, tree := range c.Trees["/f"] {
			var names []string
			for _, f := range tree.Files {
				name := f.Relative
				switch {
				case name == ".":
				case f.Type == "directory":
					name += "/"
				case f.Type == "link":
					name += ">" + f.Destination
				}
				names = append(names, name)
			}
			trees = append(trees, strings.Join(names, " "))
		}
		for _, p := range problems {
			trees = append(trees, p.Msg)
		}
		if got := strings.Join(trees, " | "); got != k.want {
			t.Errorf("%v:\ngot  %s\nwant %s", k.params, got, k.want)
		}
	}
}

// TestUnresolved checks that an unresolvable source is reported, and that a source that only
// the target can resolve is left unchanged.
func TestUnresolved(t *testing.T) {
	_, s := sources(t)
	for _, k := range []struct {
		params []any
		want   string // in the problem; "" for none
	}{
		{[]any{"source", "/etc/motd"}, ""},
		{[]any{"source", []any{"/etc/motd", "puppet:///modules/m/none"}}, ""},
		{[]any{"source", "https://example.com/x"}, ""},
		{[]any{"source", ordered.Of("__ptype", "Deferred", "name", "f", "arguments", []any{})}, ""},
		{[]any{"source", "puppet:///modules/m/none", "ensure", "absent"}, ""},
		{[]any{"source", "puppet:///modules/m/none"}, "which does not exist"},
		{[]any{"source", "puppet:///modules/m/none", "recurse", true}, "which does not exist"},
		{[]any{"source", []any{"puppet:///modules/m/none", "puppet:///modules/m/none2"}}, "one of puppet:///modules/m/none, puppet:///modules/m/none2"},
		{[]any{"source", "puppet:///modules/none/x"}, `the module "none" does not exist`},
		{[]any{"source", "puppet:///modules/../x"}, `the module ".." does not exist`},
		{[]any{"source", "puppet:///modules/m/../manifests/x"}, "not the path of a file"},
		{[]any{"source", "puppet:///extra/x"}, `"extra" is not a mount`},
		{[]any{"source", "puppet://server/modules/m/a"}, "names a server"},
		{[]any{"source", "puppet:///modules/m/pipe"}, "not a file"},
	} {
		c := one(t, k.params...)
		problems, err := s.Resolve(t.Context(), c)
		if err != nil || c.Files != nil || c.Trees != nil {
			t.Errorf("%v: %v, %v, %v", k.params, err, c.Files, c.Trees)
		}
		if got := fmt.Sprint(problems); (k.want == "") != (len(problems) == 0) || !strings.Contains(got, k.want) {
			t.Errorf("%v: got %s, want %q", k.params, got, k.want)
		}
	}
}

// TestSpecialFiles checks that FIFOs and sockets of a directory are left out, and that all
// other files are included.
func TestSpecialFiles(t *testing.T) {
	dir, s := sources(t)
	for _, name := range []string{"aa", "sub/p1", "sub/p2", "zz"} {
		if err := syscall.Mkfifo(filepath.Join(dir, "m/files/tree", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := one(t, "recurse", true, "source", "puppet:///modules/m/tree")
	problems, err := s.Resolve(t.Context(), c)
	if err != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].Msg, "and that are left out: aa, sub/p1, sub/p2 and 1 more") {
		t.Errorf("%v, %v", problems, err)
	}
	if trees := c.Trees["/f"]; len(trees) != 1 || len(trees[0].Files) != 9 {
		t.Errorf("the trees are %v", trees)
	}
	// A broken link is an error of the link, and not a missing source.
	if err := os.Symlink("nowhere", filepath.Join(dir, "m/files/tree/away")); err != nil {
		t.Fatal(err)
	}
	c = one(t, "recurse", true, "links", "follow", "source", "puppet:///modules/m/tree")
	problems, err = s.Resolve(t.Context(), c)
	if err != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].Msg, "m/files/tree/away leads to no file") {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestSecretSource checks that a secret source is not in a message.
func TestSecretSource(t *testing.T) {
	_, s := sources(t)
	for _, source := range []string{"puppet:///modules/m/hush", "puppet:///hush/x", "puppet://hush/modules/m/a"} {
		c := one(t, "source", source)
		c.Resources()[0].Sensitive = []string{"source"}
		problems, err := s.Resolve(t.Context(), c)
		if err != nil || len(problems) != 1 || problems[0].Msg != "the source is secret, and could not be resolved" {
			t.Errorf("%s: %v, %v", source, problems, err)
		}
	}
}

// TestCancelled checks that the end of the context ends the reading of files.
func TestCancelled(t *testing.T) {
	_, s := sources(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, recurse := range []bool{false, true} {
		if _, err := s.Resolve(ctx, one(t, "source", "puppet:///modules/m/tree", "recurse", recurse)); !errors.Is(err, context.Canceled) {
			t.Errorf("recurse %v: %v", recurse, err)
		}
	}
}
