package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/krb5test"
)

// TestKerberos logs in as a user with a ticket and without a key, with the daemon
// and without it.
func TestKerberos(t *testing.T) {
	t.Parallel()
	r := krb5test.Start(t)
	d := &desk{t: t, dir: t.TempDir()}
	d.home = filepath.Join(d.dir, "home")
	if err := os.MkdirAll(filepath.Join(d.home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(filepath.Join(r.Dir, "known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("home/.ssh/known_hosts", string(known))
	write("home/.ssh/config", "UserKnownHostsFile ~/.ssh/known_hosts\n")
	write("inventory.yaml", fmt.Sprintf("targets: [{name: web, uri: \"ssh://localhost\"}, {name: address, uri: \"ssh://127.0.0.1\"}]\nconfig: {transport: ssh, ssh: {port: %d, user: root, gssapi-authentication: true}}\n", r.SSHPort))
	first, second := "FILE:"+filepath.Join(d.dir, "first"), "FILE:"+filepath.Join(d.dir, "second")
	r.Kinit(t, first, "tester")
	own := ownPool(t)
	// The variables come last: a daemon has the variables of the process that
	// started it.
	as := func(cache, config string) {
		d.env = append(os.Environ(), "HOME="+d.home, "BOLT_PROJECT="+d.dir, "SSH_AUTH_SOCK=", "KRB5CCNAME="+cache, "KRB5_CONFIG="+config, own)
	}
	opened := func() int { return len(d.status().Connections) }

	as(first, r.Config())
	if out := d.works("command", "run", "id -un", "-t", "web", "--pool", "off"); !strings.Contains(out, "root") {
		t.Errorf("without the daemon: %s", out)
	}
	for range 2 {
		d.works("command", "run", "true", "-t", "web", "--pool", "required")
	}
	if n := opened(); n != 1 {
		t.Errorf("%d connections for one principal", n)
	}
	// The daemon was started by tester; this caller has no ticket.
	as("FILE:"+filepath.Join(d.dir, "none"), r.Config())
	out, code := d.bolt("command", "run", "true", "-t", "web", "--pool", "required")
	if code == 0 || !strings.Contains(out, "No Kerberos ticket: FILE:"+d.dir+"/none") || !strings.Contains(out, "Run kinit") {
		t.Errorf("no ticket: exit %d\n%s", code, out)
	}
	// Another principal does not get the connection of the first principal.
	as(second, r.Config())
	r.Kinit(t, second, "guest")
	if out, code := d.bolt("command", "run", "true", "-t", "web", "--pool", "required"); code == 0 || !strings.Contains(out, "does not let guest@BOLT.TEST in as root") {
		t.Errorf("guest: exit %d\n%s", code, out)
	}
	r.Kinit(t, second, "traveller@OTHER.TEST")
	d.works("command", "run", "true", "-t", "web", "--pool", "required")
	if n := opened(); n != 2 {
		t.Errorf("%d connections for two principals", n)
	}
	// A connection outlives its ticket, as with OpenSSH; a new connection is not
	// opened.
	as(first, r.Config())
	r.Kinit(t, first, "tester", "-l", "1s")
	d.works("command", "run", "true", "-t", "web", "--pool", "required")
	if out, code := d.bolt("command", "run", "true", "-t", "web", "--pool", "off"); code == 0 || !strings.Contains(out, "expire") { // it has expired, or expires too soon
		t.Errorf("expired: exit %d\n%s", code, out)
	}
	// The caller's krb5.conf takes effect, not the daemon's.
	r.Kinit(t, first, "tester")
	as(first, filepath.Join(d.dir, "none.conf"))
	out, code = d.bolt("command", "run", "true", "-t", "address", "--pool", "required")
	if code == 0 || !strings.Contains(out, "No KDC of the realm BOLT.TEST") {
		t.Errorf("without krb5.conf: exit %d\n%s", code, out)
	}
}
