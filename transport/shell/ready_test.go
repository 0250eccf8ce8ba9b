package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadyText(t *testing.T) {
	scripts := []string{"echo a", "printf '%s' '\n'", "printf '[%s]' '.\n.' '+\n+a' '\n\n' '\\' \"a\\\\nb\"", "echo 1\necho 2", "# a\n.\n", "exec cat"}
	ash := filepath.Join(t.TempDir(), "ash")
	if err := os.Symlink("/usr/bin/busybox", ash); err != nil {
		t.Fatal(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	readyLine := strings.Replace(ReadyLine("ready"), bySSHD, "", 1) // sshd has not started this test
	for _, sh := range []string{"/bin/bash", "/bin/dash", "/bin/mksh", ash} {
		for _, script := range scripts {
			run := func(line, stdin string) string {
				cmd := exec.Command(sh, "-c", line)
				cmd.Env = []string{"HOME=" + home, "SHELL=" + sh, "SHLVL=1", "PATH=/usr/bin:/bin"}
				cmd.Dir, cmd.Stdin = home, strings.NewReader(stdin)
				out, err := cmd.Output()
				return fmt.Sprintf("%q, %v", out, err)
			}
			data := "data\n.\n"
			want := run("printf '%s\\n' ready; "+script, data)
			text := readyText(script)
			if got := run(readyLine, text+data); got != want {
				t.Errorf("%s, %q: got %s, want %s", sh, text, got, want)
			}
			// A truncated line does nothing.
			for n := range len(text) {
				if got := run(readyLine, text[:n]); got != `"ready\n", <nil>` {
					t.Fatalf("%s, %q: %s", sh, text[:n], got)
				}
			}
		}
	}
}
