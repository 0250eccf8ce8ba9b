package farm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/buildtest"
)

// TestMain moves to the module's root folder, where the scripts are.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestRealTwiceAtOnce checks that two farms can run at the same time, that every
// target of each answers with its own host key, and that nothing is left
// afterwards.
func TestRealTwiceAtOnce(t *testing.T) {
	for _, n := range []int{1, 18} { // 18 need a second server
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f, err := Real(t.Context(), n, true)
			if err != nil {
				t.Fatal(err)
			}
			stopped := false
			defer func() {
				if !stopped {
					f.Stop()
				}
			}()
			if len(f.Hosts) != n {
				t.Errorf("%d hosts, want %d", len(f.Hosts), n)
			}
			for _, h := range f.Hosts {
				ask(t, f, h, "pwd", filepath.Join(f.Dir, "targets", h))
			}
			servers := pids(t, f)
			if want := (n + 14) / 15; len(servers) != want {
				t.Errorf("%d servers, want %d", len(servers), want)
			}
			stopped = true
			if err := f.Stop(); err != nil {
				t.Fatal(err)
			}
			for _, pid := range servers {
				// A zombie process has no command line.
				if line, _ := os.ReadFile("/proc/" + pid + "/cmdline"); len(line) > 0 {
					t.Errorf("server %s is still there: %q", pid, line)
				}
			}
			if _, err := os.Stat(f.Dir); !os.IsNotExist(err) {
				t.Errorf("folder %s: %v, want it gone", f.Dir, err)
			}
		})
	}
}

// TestRealCleansUpAfterItsOwnFailure checks that a farm that cannot start leaves
// no folder.
func TestRealCleansUpAfterItsOwnFailure(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if f, err := Real(t.Context(), 60001, false); err == nil {
		f.Stop()
		t.Fatal("a farm of 60001 targets started")
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestLight checks that the light server answers OpenSSH's client on every
// address.
func TestLight(t *testing.T) {
	farmd := buildtest.Build(t, ".", "bench/farmd")
	f, err := Light(t.Context(), farmd, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range f.Hosts {
		ask(t, f, h, "anything", "")
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Dir); !os.IsNotExist(err) {
		t.Errorf("folder %s: %v, want it gone", f.Dir, err)
	}
}

// ask runs a command with OpenSSH's client.
func ask(t *testing.T, f *Farm, host, command, want string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ssh", "-F", f.SSHConfig(), "-n", host, command).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		t.Errorf("ssh %s %s: %q, %v; want %q", host, command, got, err, want)
	}
}

func pids(t *testing.T, f *Farm) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.Dir, "sshd-*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strings.TrimSpace(string(data)))
	}
	return ids
}

// TestDelay checks that a delayed farm answers with its host key, and takes the
// expected time.
func TestDelay(t *testing.T) {
	const roundTrip = 40 * time.Millisecond
	f, err := Real(t.Context(), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Delay(roundTrip); err != nil {
		t.Fatal(errors.Join(err, f.Stop()))
	}
	for _, h := range f.Hosts {
		begin := time.Now()
		ask(t, f, h, "echo hello", "hello")
		if took := time.Since(begin); took < 3*roundTrip { // of versions, keys, and authentication at the least
			t.Errorf("%s answered within %v", h, took)
		}
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
}
