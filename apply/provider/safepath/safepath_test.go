package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The users of the tests.
const (
	mal  = 64001
	anna = 64002
)

// tree makes files below a directory: NAME/ is a directory, NAME -> TARGET a link, @UID the owner.
func tree(t *testing.T, lines ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the test makes files of other users: run it as root")
	}
	dir := t.TempDir()
	for _, line := range lines {
		line, user, _ := strings.Cut(line, " @")
		name, target, link := strings.Cut(line, " -> ")
		path := filepath.Join(dir, name)
		var err error
		switch {
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "DIR", dir), path)
		case strings.HasSuffix(name, "/"):
			err = os.Mkdir(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o600)
		}
		if uid := map[string]int{"mal": mal, "anna": anna}[user]; err == nil && uid != 0 {
			err = os.Lchown(path, uid, uid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// where names an open directory and a name in it, below the directory of the test.
func where(t *testing.T, root string, dir *os.File, name string) string {
	t.Helper()
	path, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd()))))
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, filepath.Join(path, name))
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

func TestPaths(t *testing.T) {
	root := tree(t,
		"secret/", "secret/shadow", "home/", "home/mal/ @mal", "home/mal/own/ @mal", "home/mal/own/f @mal", "home/mal/roots/", "home/anna/ @anna", "home/anna/f @anna",
		"home/mal/ssh -> DIR/secret @mal", "home/mal/data -> own @mal", "home/mal/bashrc -> ../../secret/shadow @mal", "home/mal/rc -> own/f @mal",
		"home/mal/new -> own/none @mal", "home/mal/newroot -> DIR/secret/none @mal", "home/mal/twice -> rc @mal", "home/mal/chain -> admin @mal",
		"home/mal/admin -> DIR/secret", "home/mal/annas -> DIR/home/anna/f @mal", "home/mal/up -> .. @mal", "home/mal/loop -> loop @mal",
		"m -> home/mal", "home/mal/roundabout -> ../mal/ssh/../own @mal",
	)
	for _, c := range []struct{ path, parent, last string }{
		{"secret/shadow", "secret/shadow", "secret/shadow"},
		{"secret/none", "secret/none", "secret/none"},
		{"m/own/f", "home/mal/own/f", "home/mal/own/f"},              // root's link
		{"home/mal/roots/x", "home/mal/roots/x", "home/mal/roots/x"}, // root's directory in that of a user
		{"home/mal/data/f", "home/mal/own/f", "home/mal/own/f"},      // to the user's own
		{"home/mal/ssh/authorized_keys", "", ""},                     // to root's
		{"home/mal/admin/shadow", "secret/shadow", "secret/shadow"},  // root's link in the user's directory
		{"home/mal/chain/shadow", "", ""},                            // the user's link to root's link
		{"home/mal/bashrc", "home/mal/bashrc", ""},                   // the last component
		{"home/mal/rc", "home/mal/rc", "home/mal/own/f"},
		{"home/mal/twice", "home/mal/twice", "home/mal/own/f"},
		{"home/mal/new", "home/mal/new", "home/mal/own/none"},
		{"home/mal/newroot", "home/mal/newroot", ""},
		{"home/mal/annas", "home/mal/annas", ""},
		{"home/mal/up/x", "", ""}, // to a directory of root
		{"home/mal/loop", "home/mal/loop", ""},
		{"home/mal/loop/x", "", ""},
		{"home/mal/roundabout/f", "", ""}, // on the way through root's
		{"secret/shadow/x", "", ""},       // a file is no directory
		{"none/x", "", ""},
	} {
		for _, way := range []struct {
			want string
			f    func(string) (*os.File, string, error)
		}{{c.parent, Parent}, {c.last, Last}} {
			dir, name, err := way.f(filepath.Join(root, c.path))
			got := ""
			if err == nil {
				got = where(t, root, dir, name)
				dir.Close()
			}
			if got != way.want {
				t.Errorf("%s leads to %q, %v; want %q", c.path, got, err, way.want)
			}
		}
	}
	var link *LinkError
	if _, err := Open(filepath.Join(root, "home/mal/ssh")); !errors.As(err, &link) || link.Owner != mal || !strings.HasSuffix(link.Path, "home/mal/ssh") {
		t.Errorf("the error of a link is %v", err)
	}
	if _, _, err := Parent(filepath.Join(root, "none/x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error of a missing directory is %v", err)
	}
	f, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if dir, name, err := Parent("/"); err != nil || name != "." {
		t.Errorf("Parent(/) = %v, %q, %v", dir, name, err)
	}
}

// No descriptor stays open, also after errors.
func TestNoLeaks(t *testing.T) {
	root := tree(t, "secret/", "mal/ @mal", "mal/ssh -> DIR/secret @mal", "mal/f @mal", "mal/rc -> f @mal", "mal/bad -> DIR/secret/none @mal", "mal/loop -> loop @mal")
	next := func() int {
		fd, err := unix.Open("/", unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		return fd
	}
	before := next()
	for range 20 {
		for _, name := range []string{"mal/ssh/x", "mal/rc", "mal/bad", "mal/loop", "mal/loop/x", "none/x", "mal/f"} {
			if dir, _, err := Last(filepath.Join(root, name)); err == nil {
				dir.Close()
			}
		}
	}
	if after := next(); after != before {
		t.Errorf("descriptor %d is the first free one, and was %d", after, before)
	}
}

// Missing directories are made, also behind links of root, but not behind a link of another user.
func TestMakeAll(t *testing.T) {
	dir := tree(t, "root/", "mal/ @mal", "mal/own/ @mal", "mal/in -> own @mal", "mal/out -> ../root @mal", "link -> root", "file", "gone -> nothing")
	for path, problem := range map[string]string{
		"a/b/c": "", "a/b": "", "link/d/e/": "", "mal/in/f": "", "mal/new": "",
		"mal/out": "symbolic link of the user", "mal/out/g/h": "symbolic link of the user",
		"file": "not a directory", "file/i": "not a directory", "gone": "no such file", "gone/j": "no such file",
	} {
		err := MakeAll(dir + "/" + path)
		info, there := os.Stat(dir + "/" + path)
		switch {
		case problem == "" && (err != nil || there != nil || !info.IsDir()):
			t.Errorf("%s: %v, %v", path, err, there)
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%s: %v, want %s", path, err, problem)
		}
	}
	for _, path := range []string{"root/g", "nothing"} {
		if _, err := os.Stat(dir + "/" + path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
