package fileset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"top/a", "top/a-b", "top/d/x", "top/d/e/y", "top/.git/z", "out/o"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"in": "d", "out": "../out", "up": "..", "self": ".", "dangling": "none"} {
		if err := os.Symlink(target, filepath.Join(dir, "top", name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "top")
}

func TestList(t *testing.T) {
	dir := tree(t)
	for name, c := range map[string]struct {
		dir  string
		o    Options
		want string
	}{
		"all":      {dir, Options{Limit: -1}, ".git .git/z a a-b d d/e d/e/y d/x dangling in out self up"},
		"a limit":  {dir, Options{Limit: 1}, ".git a a-b d dangling in out self up"},
		"nothing":  {dir, Options{}, ""},
		"ignore":   {dir, Options{Limit: -1, Ignore: []string{".git", "[iosu]*", "dang*", "e"}}, "a a-b d d/x"},
		"confined": {dir, Options{Limit: 3, Follow: true, Confined: true, Ignore: []string{".git"}}, "a a-b d d/e d/e/y d/x in in/e in/e/y in/x self"},
		"follow":   {dir, Options{Limit: 2, Follow: true, Ignore: []string{".git", "self"}}, "a a-b d d/e d/x in in/e in/x out out/o up up/out up/top"},
		"a link":   {filepath.Join(dir, "in"), Options{Limit: -1}, ""},
		"followed": {filepath.Join(dir, "in"), Options{Limit: -1, Follow: true, Confined: true}, "e e/y x"},
		"a file":   {filepath.Join(dir, "a"), Options{Limit: -1}, ""},
		"missing":  {filepath.Join(dir, "none"), Options{Limit: -1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := List(t.Context(), c.dir, c.o)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range entries {
				names = append(names, e.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := List(t.Context(), dir, Options{Limit: -1, Most: 5}); err == nil || !strings.Contains(err.Error(), "more than 5 files") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := List(ctx, dir, Options{Limit: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
