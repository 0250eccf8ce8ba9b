// Package krb5test starts real Kerberos realms for tests, with an SSH server
// that accepts their tickets (scripts/kdc.sh describes the realms).
package krb5test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/freeport"
)

// A Realm is BOLT.TEST with everything that scripts/kdc.sh makes.
type Realm struct {
	Dir     string // where its files are
	KDCPort int
	SSHPort int // on localhost

	config string // the client's own krb5.conf, if any
}

// Start starts the realms. They end with the test, also if it is killed.
func Start(t testing.TB) *Realm {
	t.Helper()
	r := &Realm{Dir: t.TempDir()}
	ports, err := freeport.Find(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(strings.Join(ports, " "), &r.KDCPort, &r.SSHPort); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(script(t), "serve", r.Dir, ports[0], ports[1])
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	life, err := c.StdinPipe() // the script stops at the end of its input
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		life.Close()
		c.Wait()
		if t.Failed() {
			for _, name := range []string{"krb5kdc.log", "sshd.log"} {
				text, _ := os.ReadFile(filepath.Join(r.Dir, "run", name))
				t.Logf("the end of %s:\n%s", name, text[max(0, len(text)-4000):])
			}
		}
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		c.Wait()
		t.Fatalf("no Kerberos realm (scripts/setup.sh test installs what it needs): %s", said.String())
	}
	return r
}

// script returns the path of scripts/kdc.sh, found from the directory of a
// test.
func script(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "scripts", "kdc.sh")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no parent of the working directory holds scripts/kdc.sh")
		}
		dir = up
	}
}

// Config returns the path of the client's krb5.conf.
func (r *Realm) Config() string { return cmp.Or(r.config, filepath.Join(r.Dir, "krb5.conf")) }

// Environ returns an environment with these variables and a PATH that has the
// programs of Kerberos.
func (r *Realm) Environ(cache string, more ...string) []string {
	return append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + r.Dir, "KRB5_CONFIG=" + r.Config(), "KRB5CCNAME=" + cache}, more...)
}

// Kinit gets a ticket for a principal whose password equals its name. args are
// arguments of kinit(1).
func (r *Realm) Kinit(t testing.TB, cache, principal string, args ...string) {
	t.Helper()
	name, _, _ := strings.Cut(principal, "@")
	r.run(t, name+"\n", r.Environ(cache), "kinit", append(args, principal)...)
}

// Kdestroy removes a cache.
func (r *Realm) Kdestroy(t testing.TB, cache string) {
	t.Helper()
	r.run(t, "", r.Environ(cache), "kdestroy")
}

// Kvno gets a ticket for a service into a cache.
func (r *Realm) Kvno(t testing.TB, cache, service string) {
	t.Helper()
	r.run(t, "", r.Environ(cache), "kvno", service)
}

// With returns the realm for a client with more lines in its [libdefaults].
func (r *Realm) With(t testing.TB, lines string) *Realm {
	t.Helper()
	text, err := os.ReadFile(r.Config())
	if err != nil {
		t.Fatal(err)
	}
	other := *r
	other.config = filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(other.config, append([]byte("[libdefaults]\n"+lines+"\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	return &other
}

// Kadmin runs a line of kadmin.local in a realm.
func (r *Realm) Kadmin(t testing.TB, realm, line string) {
	t.Helper()
	env := append(r.Environ(""), "KRB5_KDC_PROFILE="+filepath.Join(r.Dir, "kdc.conf"))
	if out := r.run(t, "", env, "/usr/sbin/kadmin.local", "-r", realm, "-q", line); strings.Contains(out, " while ") {
		t.Fatalf("kadmin %s: %s", line, out)
	}
}

func (r *Realm) run(t testing.TB, input string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Stdin, c.Env = strings.NewReader(input), env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
