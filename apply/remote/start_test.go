package remote

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shells are the shells of the test machine that can be /bin/sh on other machines.
func shells(t *testing.T) [][]string {
	t.Helper()
	var list [][]string
	for _, argv := range [][]string{{"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh93"}, {"mksh"}, {"zsh", "--emulate", "sh"}} {
		if _, err := exec.LookPath(argv[0]); err == nil {
			list = append(list, argv)
		}
	}
	if len(list) < 2 {
		t.Fatalf("only these shells are installed: %q", list)
	}
	return list
}

const fakeHelper = "#!/bin/sh\necho started \"$@\"; umask\n"

// TestStartScript runs the script in several shells, in directories of all kinds.
func TestStartScript(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(dir string) error // prepares the parent of the state directory
		home   string                 // below the parent; the state directory is then in it
		newer  string
		kind   string // of the reason; "" if the helper starts
		detail string
	}{
		{name: "the helper is there", make: withHelper},
		{name: "nothing is there", kind: "absent", detail: "Linux "},
		{name: "no parent", make: func(dir string) error { return os.Remove(dir) }, kind: "make", detail: "the directory "},
		{name: "a link", make: func(dir string) error { return os.Symlink("/tmp", dir+"/state") }, kind: "link"},
		{name: "a file", make: func(dir string) error { return os.WriteFile(dir+"/state", nil, 0o600) }, kind: "make"},
		{name: "a parent that others can write to", make: func(dir string) error { return os.Chmod(dir, 0o777) }, kind: "open"},
		{name: "a parent of another user", make: func(dir string) error { return os.Chown(dir, 1234, 1234) }, kind: "owner"},
		{name: "a directory of another user", make: func(dir string) error {
			if err := os.Mkdir(dir+"/state", 0o700); err != nil {
				return err
			}
			return os.Chown(dir+"/state", 1234, 1234)
		}, kind: "owner"},
		{name: "a link of another user above it", make: func(dir string) error {
			if err := os.Symlink(".", dir+"/link"); err != nil {
				return err
			}
			return os.Lchown(dir+"/link", 1234, 1234)
		}, home: "link", kind: "owner"},
		{name: "a helper that is a link", make: func(dir string) error {
			if err := os.Mkdir(dir+"/state", 0o700); err != nil {
				return err
			}
			return os.Symlink("/bin/true", dir+"/state/helper-sum")
		}, kind: "absent"},
		{name: "a new helper that is not there", make: withHelper, newer: "new-x", kind: "exec"},
		{name: "a new helper that is packed", make: func(dir string) error {
			return errors.Join(withHelper(dir), zip(dir+"/state/new-x.gz", fakeHelper))
		}, newer: "new-x.gz"},
		{name: "a new helper that is damaged", make: func(dir string) error {
			return errors.Join(withHelper(dir), os.WriteFile(dir+"/state/new-x.gz", []byte("no"), 0o600))
		}, newer: "new-x.gz", kind: "unpack"},
		{name: "a name with blanks", make: func(dir string) error { return os.Mkdir(dir+"/a  b", 0o755) }, home: "a  b", kind: "absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, shell := range shells(t) {
				dir := filepath.Join(t.TempDir(), "p")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if c.make != nil {
					if err := c.make(dir); err != nil {
						t.Fatal(err)
					}
				}
				state := filepath.Join(dir, c.home, "state")
				out, code := start(t, shell, nil, "id", state, "sum", "sum", c.newer, "apply", "--run", "a b")
				if left, _ := filepath.Glob(state + "/*.gz"); left != nil {
					t.Errorf("%q: left behind: %v", shell, left)
				}
				if c.kind == "" {
					if want := "started --dir " + state + " apply --run a b\n0027\n"; out != want || code != 0 {
						t.Errorf("%q: %q, %d", shell, out, code)
					}
					continue
				}
				no := parseCannot(out, "id")
				if no == nil || no.kind != c.kind || !strings.HasPrefix(no.detail, c.detail) || no.dir != strings.Replace(state, "/link", "", 1) || code != 4 {
					t.Errorf("%q: %+v %q, %d", shell, no, out, code)
				}
			}
		})
	}
}

// zip writes a file of gzip.
func zip(file, text string) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	return errors.Join(err, z.Close(), os.WriteFile(file, b.Bytes(), 0o600))
}

func withHelper(dir string) error {
	if err := os.Mkdir(dir+"/state", 0o700); err != nil {
		return err
	}
	return os.WriteFile(dir+"/state/helper-sum", []byte(fakeHelper), 0o700)
}

// start runs the script and returns its output and status. cmd is changed before it starts.
func start(t *testing.T, shell []string, change func(*exec.Cmd), args ...string) (string, int) {
	t.Helper()
	defer syscall.Umask(syscall.Umask(0o027))
	cmd := exec.Command(shell[0], append(append(shell[1:len(shell):len(shell)], "-c", script(args[4]), "sh"), args...)...)
	if change != nil {
		change(cmd)
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestStartScriptRelative checks a state directory that is relative to where the session starts.
func TestStartScriptRelative(t *testing.T) {
	for _, shell := range shells(t) {
		dir := t.TempDir()
		out, _ := start(t, shell, func(cmd *exec.Cmd) { cmd.Dir = dir }, "id", "state", "sum", "sum", "", "apply")
		if no := parseCannot(out, "id"); no == nil || no.kind != "absent" || no.dir != dir+"/state" {
			t.Errorf("%q: %+v %q", shell, no, out)
		}
	}
}

// TestStartScriptHome checks where the state directory of a user other than root is.
func TestStartScriptHome(t *testing.T) {
	for _, shell := range shells(t) {
		for _, c := range []struct{ home, kind, dir string }{
			{"HOME", "absent", "HOME/.cache/bolt"},
			{"/root", "home", "/nonexistent"}, // nobody's home directory in /etc/passwd
			{"", "home", "/nonexistent"},
			{"/nowhere", "home", "/nonexistent"},
		} {
			home := t.TempDir()
			// The directories that testing makes for a test are root's, which others can enter.
			if err := os.Chmod(filepath.Dir(home), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(home, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			subst := strings.NewReplacer("HOME", home)
			out, _ := start(t, shell, func(cmd *exec.Cmd) {
				cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + subst.Replace(c.home)}
				cmd.Dir = "/"
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}, "id", "", "sum", "sum", "", "apply")
			if no := parseCannot(out, "id"); no == nil || no.kind != c.kind || no.dir != subst.Replace(c.dir) {
				t.Errorf("%q, HOME=%s: %+v %q", shell, c.home, no, out)
			}
		}
	}
}
