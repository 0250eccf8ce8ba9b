//go:build puppetserver

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/internal/sshtest"
)

// TestPuppetServer runs the scripts of testdata/puppetserver with a real Puppet
// Server, which scripts/puppetserver.sh starts. CODE is the directory of its
// environments. The nodes are host1 and host2, on a real SSH server.
func TestPuppetServer(t *testing.T) {
	names := map[string]string{"SERVER": "BOLT_TEST_PUPPETSERVER", "CODE": "BOLT_TEST_PUPPETSERVER_CODE", "SSL": "BOLT_TEST_PUPPETSERVER_SSL"}
	for _, name := range names {
		if os.Getenv(name) == "" {
			t.Fatalf("%s is not set: run make puppetserver", name)
		}
	}
	runScripts(t, "puppetserver", sshtest.Start(t, sshtest.Options{}), func(e *testscript.Env) error {
		for name, from := range names {
			e.Setenv(name, os.Getenv(from))
		}
		return nil
	})
}
