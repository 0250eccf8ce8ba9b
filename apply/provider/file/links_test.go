package file_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/apply/report"
)

// A user cannot lead root out of its own files by links in the path of a resource.
func TestLinksOfUser(t *testing.T) {
	const mal = 64001
	for name, c := range map[string]struct {
		title  string
		params []any
	}{
		"content":                    {"mal/ssh/keys", []any{"content", "mine\n"}},
		"owner":                      {"mal/ssh/keys", []any{"owner", int64(mal)}},
		"mode":                       {"mal/ssh/keys", []any{"mode", "0666"}},
		"removal":                    {"mal/ssh/keys", []any{"ensure", "absent"}},
		"removal of a directory":     {"mal/ssh/sub", []any{"ensure", "absent", "force", true}},
		"new directory":              {"mal/ssh/new", []any{"ensure", "directory"}},
		"new link":                   {"mal/ssh/new", []any{"ensure", "link", "target", "/x"}},
		"owner of a tree":            {"mal/ssh/sub", []any{"ensure", "directory", "recurse", true, "owner", int64(mal)}},
		"purge":                      {"mal/ssh/sub", []any{"ensure", "directory", "recurse", true, "purge", true, "force", true}},
		"owner behind the last link": {"mal/rc", []any{"links", "follow", "owner", int64(mal)}},
		"mode behind the last link":  {"mal/rc", []any{"links", "follow", "mode", "0666"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write("root/keys", "SECRET\n", 0o600)
			m.write("root/sub/f", "SECRET\n", 0o600)
			if err := os.Mkdir(m.path("mal"), 0o755); err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{"mal/ssh": "root", "mal/rc": "root/keys"} {
				if err := os.Symlink(m.path(target), m.path(link)); err != nil {
					t.Fatal(err)
				}
				if err := os.Lchown(m.path(link), mal, mal); err != nil {
					t.Fatalf("run the test as root: %v", err)
				}
			}
			before := listing(t, m.path("root"))
			results := m.run(res(c.title, c.params...))
			if after := listing(t, m.path("root")); after != before {
				t.Errorf("root's files were\n%s\nand are\n%s", before, after)
			}
			refused := false
			for _, r := range results {
				refused = refused || r.Status == report.Failed && strings.Contains(r.Failure(), "a symbolic link of the user with the UID 64001")
			}
			if !refused {
				for title, r := range results {
					t.Errorf("%s is %s: %+v", title, r.Status, r.Events)
				}
			}
		})
	}
}

// listing describes all files below a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		text := ""
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		lines = append(lines, fmt.Sprintf("%s %o %d %q", path, st.Mode, st.Uid, text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
