package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/internal/sshtest"
)

// TestMixedFleet runs the scripts of testdata/mixed: releases and rollouts on nodes of which some have the engine of bolt, and some the real
// Puppet, over real SSH servers. Puppet has its configuration and its state in the directory of the test. The nodes are host1, host2 and
// host3, and bare1, which has no Puppet.
func TestMixedFleet(t *testing.T) {
	puppet, err := programIn("puppet", "/usr/bin")
	if err != nil {
		t.Fatalf("%v; scripts/setup.sh installs Puppet", err)
	}
	dir := t.TempDir()
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	for _, name := range []string{with, without, filepath.Join(dir, "conf"), filepath.Join(dir, "var")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("#!/bin/sh\nverb=$1; shift\nexec %s \"$verb\" --confdir %s/conf --vardir %[2]s/var \"$@\"\n", puppet, dir)
	if err := os.WriteFile(filepath.Join(with, "puppet"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := linkPrograms("/usr/bin", without, "puppet"); err != nil {
		t.Fatal(err)
	}
	server := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\nMaxSessions 100\nSetEnv PATH=" + with + ":/usr/sbin:/usr/bin:/sbin:/bin\n"})
	bare := sshtest.Start(t, sshtest.Options{Config: "SetEnv PATH=" + without + "\n"})
	runScripts(t, "mixed", server, func(e *testscript.Env) error {
		config := fmt.Sprintf("Host bare*\n  HostName %s\n  Port %d\n  User root\n  IdentityFile %s\n", bare.Host, bare.Port, bare.KeyFile)
		for name, text := range map[string]string{"config": config, "known_hosts": bare.KnownHosts()} {
			if err := appendTo(filepath.Join(e.Getenv("HOME"), ".ssh", name), text); err != nil {
				return err
			}
		}
		return nil
	})
}

// programIn returns the path of a program in a directory.
func programIn(name, dir string) (string, error) {
	path := filepath.Join(dir, name)
	_, err := os.Stat(path)
	return path, err
}

// linkPrograms links all programs of a directory into another one, without one of them.
func linkPrograms(from, to, but string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == but {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
