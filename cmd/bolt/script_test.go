package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/internal/sshtest"
)

// The race detector delays the end of each process by a second, in case
// another thread finds a race. These tests start many short processes.
const (
	raceVariable = "GORACE"
	raceOptions  = "atexit_sleep_ms=0"
)

// TestMain lets the test binary act as the program, for scripts and for tests
// that need a separate process.
func TestMain(m *testing.M) {
	if err := os.Setenv(raceVariable, raceOptions); err != nil {
		panic(err)
	}
	if filepath.Base(os.Args[0]) != "bolt" {
		sshtest.HeedSignals()
	}
	testscript.Main(m, map[string]func(){"bolt": main})
}

// TestScript runs the scripts of testdata/script, each in its own home with a
// real SSH server at "host1", "host2" … of its ssh_config.
func TestScript(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\nMaxSessions 100\n"})
	runScripts(t, "script", server, func(e *testscript.Env) error {
		e.Setenv("PORT", strconv.Itoa(server.Port))
		e.Setenv("KEY", server.KeyFile)
		return nil
	})
}

// runScripts runs the scripts of a directory below testdata. Each has its own
// home directory (see writeHome) and its own pool daemon. setup prepares more.
func runScripts(t *testing.T, dir string, server *sshtest.Server, setup func(*testscript.Env) error) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv(raceVariable, raceOptions)
			socket := filepath.Join(e.WorkDir, "pool", "pool.sock")
			e.Setenv("BOLT_POOL_SOCKET", socket)
			e.Defer(func() { stopPool(t, socket) })
			if err := writeHome(home, server); err != nil {
				return err
			}
			return setup(e)
		},
	})
}

// writeHome makes a home directory in which every host whose name begins with
// "host" is the server.
func writeHome(home string, server *sshtest.Server) error {
	dir := filepath.Join(home, ".ssh")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	config := fmt.Sprintf("Host host*\n  HostName %s\n  Port %d\n  User root\n  IdentityFile %s\n", server.Host, server.Port, server.KeyFile)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "known_hosts"), []byte(server.KnownHosts()), 0o600)
}

// ownPool returns an entry of the environment with which the programs of a
// test use their own pool daemon. It ends with the test.
func ownPool(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bolt-pool") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "pool.sock")
	t.Cleanup(func() {
		stopPool(t, socket)
		os.RemoveAll(dir)
	})
	return "BOLT_POOL_SOCKET=" + socket
}

// stopPool ends the daemon of a socket, if there is one.
func stopPool(t *testing.T, socket string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "pool", "stop")
	cmd.Args[0] = "bolt"
	cmd.Env = []string{"HOME=" + t.TempDir(), "BOLT_POOL_SOCKET=" + socket, raceVariable + "=" + raceOptions}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("bolt pool stop: %v\n%s", err, out)
	}
}
