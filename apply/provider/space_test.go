package provider

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
	"bolt/internal/roottest"
)

// A disk is a small file system that can be full or read-only.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) *disk {
	d := &disk{t, t.TempDir()}
	d.do(unix.Mount("none", d.dir, "tmpfs", 0, "size=256k,mode=755"))
	t.Cleanup(func() { d.do(unix.Unmount(d.dir, unix.MNT_DETACH)) })
	return d
}

func (d *disk) do(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// fillName is a file that takes all of the space.
const fillName = "fill"

// fill leaves no space on the disk.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.dir, fillName))
	d.do(err)
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	for range 1000 {
		if _, err = f.Write(page); err != nil {
			return
		}
	}
	d.t.Fatal("the disk is never full")
}

func (d *disk) empty() { d.do(os.Remove(filepath.Join(d.dir, fillName))) }

// protect makes the disk read-only, and release writable again.
func (d *disk) protect() {
	d.t.Helper()
	d.do(unix.Mount("", d.dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
}

func (d *disk) release() { d.do(unix.Mount("", d.dir, "", unix.MS_REMOUNT, "")) }

// tree returns the names, modes and contents of all files.
func (d *disk) tree() string {
	d.t.Helper()
	var b strings.Builder
	d.do(filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == fillName {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %q\n", strings.TrimPrefix(path, d.dir), info.Mode(), text)
		return nil
	}))
	return b.String()
}

func (d *disk) shell(script string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "sh", "-ec", script)
	cmd.Dir = d.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

const noSpace = "no space left on device"

// hidden is the name of a temporary file, such as .NAME.bolt.
var hidden = regexp.MustCompile(`/\.([^/]+)`)

// TestDiskFaults applies resources whose files are on a disk without space, and on a read-only one. The error names the file and the
// cause, the earlier file stays as it is, and no other file is left. The next run is right.
func TestDiskFaults(t *testing.T) {
	if !roottest.Private(t) {
		return
	}
	source := t.TempDir() // on another disk
	out, err := exec.CommandContext(t.Context(), "sh", "-ec", `cd "$1"; printf '[req]\ndistinguished_name=d\nprompt=no\n[d]\nCN=a\n' >t.cnf
for k in k old; do openssl genrsa -traditional -out $k.pem 2048; openssl req -x509 -key $k.pem -out $k.crt -config t.cnf -days 9; openssl req -new -key $k.pem -out $k.csr -config t.cnf; done
keytool -importcert -noprompt -alias old -file old.crt -keystore ks -storepass changeit
head -c 20000 /dev/urandom >big; mkdir in; cp big in/made; tar czf a.tgz -C in made`, "sh", source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(source)))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, setup, resource string // DISK, SOURCE and WEB stand for directories and a URL
		path                  string // that errors have
		check                 string // prints "right" after the last run
		full                  string // the result without space, if that is not a failure
		parts                 bool   // the program leaves a part of a file
		cause                 string // the message of a program without space, if that is not the text of the system
	}{
		{name: "postgresql_conf", setup: "printf 'port = 1\n' >a.conf; chmod 640 a.conf", resource: `Postgresql_conf[p] {"key":"port","value":"2","target":"DISK/a.conf"}`, path: "DISK/a.conf",
			check: `test "$(cat a.conf; stat -c %a a.conf)" = "port = 2
640" && echo right`},
		{name: "htpasswd", setup: "echo a:b >users; chmod 640 users", resource: `Htpasswd[u] {"cryptpasswd":"h","target":"DISK/users"}`, path: "DISK/users",
			check: `test "$(cat users; stat -c %a users)" = "a:b
# Puppet Name: u
u:h
640" && echo right`},
		{name: "ssl_pkey", resource: `Ssl_pkey[DISK/k.pem] {"ensure":"present","authentication":"ec"}`, path: "DISK/k.pem", check: "openssl pkey -noout -in k.pem && echo right"},
		{name: "dhparam", resource: `Dhparam[DISK/d.pem] {"ensure":"present","fastmode":true}`, path: "DISK/d.pem", check: "openssl dhparam -noout -in d.pem && echo right"},
		{name: "x509_request", setup: "cp SOURCE/old.csr a.csr", resource: `X509_request[DISK/a.csr] {"ensure":"present","force":true,"private_key":"SOURCE/k.pem","template":"SOURCE/t.cnf"}`, path: "DISK/a.csr",
			check: `test "$(openssl req -noout -pubkey -in a.csr)" = "$(openssl pkey -pubout -in SOURCE/k.pem)" && echo right`},
		{name: "x509_cert", setup: "cp SOURCE/old.crt a.crt", resource: `X509_cert[DISK/a.crt] {"ensure":"present","force":true,"private_key":"SOURCE/k.pem","template":"SOURCE/t.cnf"}`, path: "DISK/a.crt",
			check: `test "$(openssl x509 -noout -pubkey -in a.crt)" = "$(openssl pkey -pubout -in SOURCE/k.pem)" && echo right`},
		{name: "cert_file", setup: "cp SOURCE/old.crt a.crt", resource: `Cert_file[DISK/a.crt] {"ensure":"present","source":"WEB/k.crt"}`, path: "DISK/a.crt", check: "cmp a.crt SOURCE/k.crt && echo right"},
		{name: "java_ks", setup: "cp SOURCE/ks ks", resource: `Java_ks[new:DISK/ks] {"ensure":"present","certificate":"SOURCE/k.crt","password":"changeit"}`, path: "DISK/ks",
			check: "keytool -list -keystore ks -storepass changeit -alias new >/dev/null && echo right"},
		{name: "swap_file", setup: "truncate -s 80k swap; chmod 600 swap", resource: `Swap_file[DISK/swap] {"ensure":"present"}`, path: "DISK/swap", cause: "mkswap: exit code 1: unable to erase", check: `test "$(blkid -p -o value -s TYPE swap)" = swap && echo right`},
		{name: "kv", setup: `mkdir -m 700 state; printf '{"keys":{"old":{"value":"1"}}}\n' >state/kv.json; chmod 600 state/kv.json`, resource: `Kv[k] {"key":"new","value":"2"}`, path: "DISK/state/kv.json",
			check: "grep -q old state/kv.json && grep -q new state/kv.json && echo right"},
		{name: "password", setup: "mkdir -m 700 state", resource: `Password[p] {"length":20,"saved":true}`, path: "DISK/state/password-", check: `test "$(cat state/password-* | wc -c)" = 21 && echo right`},
		{name: "systemd_purge_units", setup: "printf '# Deployed with puppet\n' >a.service", resource: `Systemd_purge_units[DISK] {}`, path: "DISK/a.service", full: "changed", check: "test ! -e a.service && echo right"},
		{name: "file from a web server", setup: "echo old >f; touch -d 2000-01-01 f", resource: `File[DISK/f] {"source":"WEB/big"}`, path: "DISK/f", check: "cmp f SOURCE/big && echo right"},
		{name: "archive from a web server", setup: "echo old >a.tgz", resource: `Archive[DISK/a.tgz] {"source":"WEB/a.tgz","checksum":"SUM","checksum_type":"sha256"}`, path: "DISK/a.tgz", check: "cmp a.tgz SOURCE/a.tgz && echo right"},
		{name: "archive from a path", setup: "echo old >a.tgz", resource: `Archive[DISK/a.tgz] {"source":"SOURCE/a.tgz","checksum":"SUM","checksum_type":"sha256"}`, path: "DISK/a.tgz", check: "cmp a.tgz SOURCE/a.tgz && echo right"},
		{name: "archive that is extracted", setup: "mkdir -p SOURCE/x", parts: true, resource: `Archive[SOURCE/x/a.tgz] {"source":"SOURCE/a.tgz","extract":true,"extract_path":"DISK","creates":"DISK/made"}`,
			path: "DISK", check: "cmp made SOURCE/big && echo right"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, fault := range []string{noSpace, "read-only file system"} {
				d := newDisk(t)
				sum, _, _ := strings.Cut(d.shell("sha256sum "+source+"/a.tgz"), " ")
				place := strings.NewReplacer("DISK", d.dir, "SOURCE", source, "WEB", server.URL, "SUM", sum).Replace
				d.shell(place(c.setup))
				h := resource.NewHost()
				h.State = filepath.Join(d.dir, "state")
				h.Run = withoutSwap
				apply := func() string {
					t.Helper()
					return hosttest.Apply(t, h, All(), false, place(c.resource))
				}
				before := d.tree()
				undo := d.release
				if fault == noSpace {
					d.fill()
					undo = d.empty
				} else {
					d.protect()
				}
				got := apply()
				switch {
				case fault == noSpace && c.full != "":
					if !strings.Contains(got, c.full) || strings.Contains(got, "FAILED") {
						t.Errorf("%s: %s", fault, got)
					}
					continue
				default:
					cause := fault
					if fault == noSpace && c.cause != "" {
						cause = c.cause
					}
					_, message, _ := strings.Cut(got, " FAILED ")
					message = hidden.ReplaceAllString(message, "/$1")
					if !strings.Contains(strings.ToLower(message), cause) || !strings.Contains(message, place(c.path)) {
						t.Errorf("%s: the error does not have %s and %q: %s", fault, place(c.path), cause, got)
					}
				}
				if after := d.tree(); after != before && !(c.parts && fault == noSpace) {
					t.Errorf("%s: the files are\n%.2000s\nwere\n%.2000s", fault, after, before)
				}
				undo()
				if got := apply(); !strings.Contains(got, "changed") || strings.Contains(got, "FAILED") {
					t.Errorf("after %s: %s", fault, got)
				}
				if text := d.shell(place(c.check)); !strings.HasSuffix(text, "right\n") {
					t.Errorf("after %s: %s", fault, text)
				}
				if c.name != "swap_file" {
					if got := apply(); got != "" {
						t.Errorf("after %s, again: %s", fault, got)
					}
				}
				for name := range strings.Lines(d.shell("find . -name '.?*' ! -name .")) {
					t.Errorf("after %s, a file is left: %s", fault, name)
				}
			}
		})
	}
}

// withoutSwap runs programs, except that the kernel of the test must not use the swap file: swapon does nothing.
func withoutSwap(ctx context.Context, c *resource.Command) (*resource.Output, error) {
	if filepath.Base(c.Argv[0]) == "swapon" {
		return &resource.Output{}, nil
	}
	return resource.Exec(ctx, c)
}
