package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bolt/cli"
)

// TestKeeper checks when reports are kept: in a project, or if --state names a directory.
func TestKeeper(t *testing.T) {
	project, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(project, "bolt-project.yaml"): "name: kept\n",
		filepath.Join(outside, "inventory.yaml"):    "targets: [web1]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ project, state, want string }{
		{project, "", filepath.Join(project, ".bolt-state", "reports")},
		{project, "/elsewhere", "/elsewhere/reports"},
		{outside, "", ""},
		{outside, "/elsewhere", "/elsewhere/reports"},
	} {
		sys := system{os.Stdin, os.Stdout, os.Stderr, func(string) (string, bool) { return "", false }, os.Environ, new(atomic.Bool)}
		a, err := openApp(t.Context(), sys, sys.flags(), cli.Values{"project": {tt.project}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		k, got := a.reporting().Keeper(tt.state), ""
		if k != nil {
			got = k.Dir.Path()
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 || !strings.HasPrefix(left[0].Name(), "inventory") {
		t.Errorf("%v, %v", left, err)
	}
}
