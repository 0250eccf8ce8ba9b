package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/internal/sshtest"
)

// TestMain lets the test binary be the program, for scripts and for tests that
// need a process of their own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bolt": main})
}

// TestScript runs the scripts of testdata/script, each in a home of its own
// with a real SSH server at "host1", "host2" … of its ssh_config.
func TestScript(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\nMaxSessions 100\n"})
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("PORT", strconv.Itoa(server.Port))
			e.Setenv("KEY", server.KeyFile)
			e.Setenv("TMPDIR", e.WorkDir)
			return writeHome(home, server)
		},
	})
}

// writeHome makes a home directory from which server is reached as any host
// whose name begins with "host".
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
