package main

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/transport/winrm/winrmtest"
)

// TestWinRM runs the scripts of testdata/winrm beside a server on $PORT. The
// server accepts the user Operator with the password s3cret, and its
// PowerShell commands and scripts are written for sh.
func TestWinRM(t *testing.T) {
	temp := t.TempDir()
	server := winrmtest.New(t, winrmtest.Options{User: "Operator", Password: "s3cret",
		Machine: &winrmtest.Machine{Home: t.TempDir(), Temp: temp, Programs: map[string]string{"ruby.exe": "/bin/echo"}}})
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "winrm"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("BOLT_POOL", "off")
			e.Setenv("PORT", strconv.Itoa(server.Port))
			e.Setenv("REMOTE_TEMP", temp)
			e.Setenv(raceVariable, raceOptions)
			return nil
		},
	})
}
