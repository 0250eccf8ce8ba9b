package machine

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Inside()
	os.Exit(m.Run())
}

// set is a Set with this system as its base.
func set(t *testing.T) *Set {
	t.Helper()
	s := &Set{dir: t.TempDir(), lower: "/"}
	if err := s.mount(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func machine(t *testing.T, s *Set, name string) *Machine {
	t.Helper()
	m, err := s.Machine(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func do(t *testing.T, m *Machine, script string) string {
	t.Helper()
	out, code, err := m.Run(t.Context(), "set -e\n"+script)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	return string(out)
}

// TestRun checks that a machine has its own name, network, processes and files.
func TestRun(t *testing.T) {
	m := machine(t, set(t), "one")
	if got := do(t, m, "cat /proc/1/comm; hostname; ls /sys/class/net; ps -e | wc -l; echo x >/changed"); !strings.HasPrefix(got, "systemd\nweb1\nlo\n") {
		t.Error(got)
	}
	if _, err := os.Lstat("/changed"); err == nil {
		t.Error("a file of the machine is on this system")
	}
	if text, err := os.ReadFile(m.Upper + "/changed"); err != nil || string(text) != "x\n" {
		t.Errorf("%q, %v", text, err)
	}
	if out, code, err := m.Run(t.Context(), "echo 60 >/proc/sys/vm/swappiness"); code == 0 || err != nil {
		t.Errorf("a setting of the kernel was written: %s, %v", out, err)
	}
	if out, code, err := m.Run(t.Context(), "echo noise; exit 3"); string(out) != "noise\n" || code != 3 || err != nil {
		t.Errorf("%q, %d, %v", out, code, err)
	}
	// A process that goes on ends with the machine.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Run(ctx, "sleep 1000"); err == nil {
		t.Error("the run was not ended")
	}
}

// TestDifferences checks which changes of two machines differ.
func TestDifferences(t *testing.T) {
	s := set(t)
	one, other := machine(t, s, "one"), machine(t, s, "other")
	same := "mkdir /srv/d; echo a >/srv/d/f; ln -s f /srv/d/l; rm /etc/issue; mkdir -p /tmp/own /var/lib/bolt; printf '# HEADER: %s\\nline\\n' \"$0\" >/srv/h\n"
	do(t, one, same+"echo puppet >/tmp/own/f; chmod 700 /srv; chmod 755 /srv")
	do(t, other, same+"echo bolt >/tmp/own/f; echo bolt >/var/lib/bolt/f")
	if got, err := Differences(one, other); err != nil || len(got) > 0 {
		t.Errorf("equal machines: %q, %v", got, err)
	}
	do(t, one, "mkdir /srv/only; echo >/srv/only/f; echo b >>/srv/d/f; chmod 600 /srv/h")
	do(t, other, "echo c >>/srv/d/f; ln -sfn g /srv/d/l; chown 7:8 /srv/d")
	got, err := Differences(one, other)
	want := []string{
		"/srv/d: owner 0:0, 7:8", "/srv/d/f: content \"b\", \"c\"", "/srv/d/l: content \"f\", \"g\"", "/srv/h: mode -rw-------, -rw-r--r--", "/srv/only: directory, absent",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
}

// TestPackages checks the packages of the table with dpkg-deb and in the index.
func TestPackages(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/srv/packages", 0o755); err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	contents := []string{"unit:web", "user:web", "/usr/sbin/webd", "/etc/web/", "/etc/web/conf"}
	if err := build(root, Package{"web", "1:2.0"}, contents, &index); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--contents", root+"/srv/packages/web_1%3a2.0.deb").CombinedOutput()
	for _, want := range []string{"./lib/systemd/system/web.service", "./etc/web/\n", "./etc/web/conf", "-rwxr-xr-x root/root"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s is missing: %v\n%s", want, err, out)
		}
	}
	if !strings.Contains(index.String(), "Package: web\nVersion: 1:2.0\n") || !strings.Contains(index.String(), "Filename: ./web_1%3a2.0.deb\n") {
		t.Error(index.String())
	}
	if err := build(root, Package{"x", "1"}, []string{"unknown"}, &index); err == nil {
		t.Error("an unknown kind of content is accepted")
	}
}

// TestSystemctl checks the stand-in with the commands that puppet and bolt use.
func TestSystemctl(t *testing.T) {
	m := machine(t, set(t), "one")
	script, err := os.ReadFile("../standins/systemctl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.Root+"/usr/bin/systemctl", script, 0o755); err != nil {
		t.Fatal(err)
	}
	got := do(t, m, `set +e; mkdir -p /lib/systemd/system; printf '[Install]\nWantedBy=multi-user.target\n' >/lib/systemd/system/demo.service
		s() { echo "$* => $(systemctl "$@" 2>&1; echo $?)" | tr '\n' ' '; echo; }
		s is-active -- demo; s is-enabled -- demo; s start -- demo; s is-active -- demo; s enable -- demo; s is-enabled -- demo
		s show --property=Id,LoadState,ActiveState,UnitFileState -- demo none; s start -- none; s is-enabled -- none
		s mask -- demo; s is-enabled -- demo; s start -- demo; s unmask -- demo; s stop -- demo; s disable -- demo; s is-enabled -- demo
		cat /var/lib/standins/changes/demo.service`)
	want := `is-active -- demo => inactive 3 
is-enabled -- demo => disabled 1 
start -- demo => 0 
is-active -- demo => active 0 
enable -- demo => 0 
is-enabled -- demo => enabled 0 
show --property=Id,LoadState,ActiveState,UnitFileState -- demo none => Id=demo.service LoadState=loaded ActiveState=active UnitFileState=enabled  Id=none.service LoadState=not-found ActiveState=inactive UnitFileState= 0 
start -- none => Failed to start none.service: Unit none.service not found. 5 
is-enabled -- none => Failed to get unit file state for none.service: No such file or directory 1 
mask -- demo => 0 
is-enabled -- demo => masked 1 
start -- demo => Failed to start demo.service: Unit demo.service is masked. 1 
unmask -- demo => 0 
stop -- demo => 0 
disable -- demo => 0 
is-enabled -- demo => disabled 1 
start
enable
mask
unmask
stop
disable
`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestWeb checks the server with the certificate of a machine, and that two answers are equal.
func TestWeb(t *testing.T) {
	root := t.TempDir()
	if err := writeWeb(root, os.DirFS("../standins"), []string{"a.example.com"}); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(root, webKey), filepath.Join(root, webKey))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, webTable))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&web{table(text)})
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	defer server.Close()
	block, _ := pem.Decode(read(t, filepath.Join(root, "usr/local/share/ca-certificates/stand-in.crt")))
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "a.example.com"}}}
	get := func(path string) []byte {
		t.Helper()
		r, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		data, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Last-Modified") != "Wed, 01 Jan 2020 00:00:00 GMT" {
			t.Fatal(r.Header, err)
		}
		return data
	}
	if got := string(get("/key")); !strings.HasPrefix(got, "stand-in for 127.0.0.1:") {
		t.Error(got)
	}
	for path, list := range map[string][]string{"/x/consul_1.zip": {"unzip", "-l"}, "/prometheus-1.tar.gz": {"tar", "tzf"}} {
		data := get(path)
		if !bytes.Equal(data, get(path)) {
			t.Errorf("%s differs the second time", path)
		}
		file := filepath.Join(t.TempDir(), "archive")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), list[0], append(list[1:], file)...).CombinedOutput()
		if name := strings.TrimLeft(strings.FieldsFunc(filepath.Base(path), func(r rune) bool { return r == '_' || r == '-' })[0], "/"); err != nil || !strings.Contains(string(out), name) {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
