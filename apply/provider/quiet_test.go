package provider

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"bolt/apply/inotify"
	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// An observer collects the changes of watched paths.
type observer struct {
	t       *testing.T
	w       *inotify.Watcher
	signs   [2]sign
	mu      sync.Mutex
	touched []string
}

// A sign is a path that is made to find out that all earlier events have come.
type sign struct {
	path string
	seen chan struct{}
	once *sync.Once
}

func observe(t *testing.T, sources []resource.Watch) *observer {
	t.Helper()
	w, err := inotify.New()
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{t: t, w: w}
	var paths []inotify.Path
	for i := range o.signs {
		o.signs[i] = sign{filepath.Join(t.TempDir(), "sign"), make(chan struct{}), new(sync.Once)}
		paths = append(paths, inotify.Path{Name: o.signs[i].path})
	}
	for _, s := range sources {
		if s.Path != "" {
			paths = append(paths, inotify.Path{Name: filepath.Clean(s.Path), Tree: s.Tree})
		}
	}
	if lost := w.Set(paths); len(lost) > 0 {
		t.Errorf("not watched: %v", lost)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(o.take); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		w.Close()
		wg.Wait()
	})
	return o
}

func (o *observer) take(c inotify.Change) {
	if c.All {
		o.t.Error("the kernel has dropped events")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range c.Paths {
		i := slices.IndexFunc(o.signs[:], func(s sign) bool { return s.path == p.Name })
		if i < 0 {
			o.touched = append(o.touched, p.Name)
			continue
		}
		o.signs[i].once.Do(func() { close(o.signs[i].seen) })
	}
}

// since returns the paths with events since the call before it. n is the number of the call. The events of one Watcher come in their order.
func (o *observer) since(n int) []string {
	o.t.Helper()
	if err := os.Mkdir(o.signs[n].path, 0o700); err != nil {
		o.t.Fatal(err)
	}
	<-o.signs[n].seen
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.touched
	o.touched = nil
	return list
}

// TestWatchedReads reads resources with the real programs. Reading must not be an event of the resource itself: a watch would then
// check it again and again. A change by another program must be an event.
func TestWatchedReads(t *testing.T) {
	const key = "0123456789ABCDEF0123456789ABCDEF01234567"
	m := providertest.New(t, "/", `mkdir -p /opt/a /units; printf '#!/bin/sh\n' | tee /opt/a/one >/opt/a/two; chmod 755 /opt/a/*
update-alternatives --install /usr/bin/bolt-alt bolt-alt /opt/a/one 10
update-alternatives --install /usr/bin/bolt-alt bolt-alt /opt/a/two 20
cd /var/cache/debconf; rm -f *.dat *-old; touch config.dat templates.dat passwords.dat
printf 'tzdata tzdata/Areas select Europe\nfoo foo/pw password s3cret\n' | debconf-set-selections
rm -rf /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d; mkdir -p -m 755 /etc/apt/trusted.gpg.d; mkdir -p -m 1777 /tmp; mkdir -m 700 /g; echo 127.0.0.1 localhost >/etc/hosts
for u in one two; do gpg -q --homedir /g --batch --passphrase '' --quick-gen-key $u@example.com ed25519 sign never; gpg -q --homedir /g --export --armor $u@example.com >/g/$u.asc; done
gpgconf --homedir /g --kill gpg-agent; apt-key add /g/one.asc 2>/dev/null`, All())
	files := t.TempDir()
	shell := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir = files
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	shell(`openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.crt -subj /CN=a -days 10 2>&1
echo 'port = 1' >a.conf; echo x >a.tgz
keytool -importcert -noprompt -alias a -file c.crt -keystore ks -storepass changeit 2>&1`)
	in := func(name string) string { return filepath.Join(files, name) }
	for _, c := range []struct {
		typ, title string
		params     *ordered.Map
		change     string
		inRoot     bool
	}{
		{"Alternatives", "bolt-alt", ordered.Of("mode", "auto"), "update-alternatives --set bolt-alt /opt/a/one", true},
		{"Alternative_entry", "/opt/a/one", ordered.Of("altname", "bolt-alt", "altlink", "/usr/bin/bolt-alt", "priority", "10"), "update-alternatives --install /usr/bin/bolt-alt bolt-alt /opt/a/one 15", true},
		{"Debconf", "tzdata/Areas", ordered.Of("type", "select", "value", "Europe"), "echo tzdata tzdata/Areas select Asia | debconf-set-selections", true},
		{"Debconf", "foo/pw", ordered.Of("type", "password", "value", "s3cret"), "echo foo foo/pw password other | debconf-set-selections", true},
		{"Debconf", "new/question", ordered.Of("ensure", "absent"), "echo new new/question string a | debconf-set-selections", true},
		{"Apt_key", key, ordered.Of("ensure", "absent"), "apt-key add /g/two.asc 2>/dev/null", true},
		{"Apt_key", key, ordered.Of("ensure", "absent"), "cp /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d/other.gpg", true},
		{"Augeas", "a", ordered.Of("incl", "/etc/hosts", "lens", "Hosts.lns", "changes", "set 1/ipaddr 192.0.2.1"), "echo 192.0.2.7 h >>/etc/hosts", true},
		{"Loginctl_user", "u", ordered.Of("linger", "enabled"), "mkdir -p /var/lib/systemd/linger; touch /var/lib/systemd/linger/u", true},
		{"Java_ks", "a:" + in("ks"), ordered.Of("ensure", "latest", "certificate", in("c.crt"), "password", "changeit"), "keytool -delete -alias a -keystore ks -storepass changeit", false},
		{"X509_cert", in("c.crt"), ordered.Of("ensure", "present", "force", true, "private_key", in("k.pem")), "echo >>k.pem", false},
		{"Postgresql_conf", "p", ordered.Of("key", "port", "value", "1", "target", in("a.conf")), "sed -i s/1/2/ a.conf", false},
		{"Htpasswd", "u", ordered.Of("cryptpasswd", "h", "target", in("users")), "echo u:h >users", false},
		{"Archive", in("a.tgz"), ordered.Of("source", "/srv/a.tgz", "checksum_type", "md5", "checksum", "401b30e3b8b5d629635a5c613cdb7919"), "rm a.tgz", false},
		{"Systemd_purge_units", files, ordered.Of(), "echo '# Deployed with puppet' >a.service", false},
	} {
		t.Run(c.typ+" "+c.title, func(t *testing.T) {
			h := m.Host
			if !c.inRoot {
				h = resource.NewHost()
				h.Declared = func(string) []*resource.Resource { return nil }
			}
			item, err := m.Types[c.typ].New(&resource.Resource{Ref: catalog.Ref{Type: c.typ, Title: c.title}, Params: c.params})
			if err != nil {
				t.Fatal(err)
			}
			o := observe(t, item.(resource.Watcher).Watch(t.Context(), h))
			if g, is := item.(resource.Generator); is {
				if _, err := g.Generate(t.Context(), h); err != nil {
					t.Fatal(err)
				}
			}
			if err := item.Read(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			if list := o.since(0); len(list) > 0 {
				t.Errorf("reading is an event of %v", list)
			}
			if c.inRoot {
				m.Shell(c.change)
			} else {
				shell(c.change)
			}
			if list := o.since(1); len(list) == 0 {
				t.Errorf("no event of: %s", c.change)
			}
		})
	}
}
