package provider

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// TestWatch lists the sources of events of resources: paths, with a slash at the end for a tree, and poll.
func TestWatch(t *testing.T) {
	types := All()
	h := resource.NewHost()
	h.Root = t.TempDir()
	if err := os.MkdirAll(h.Path("/etc/selinux"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Path("/etc/selinux/config"), []byte("SELINUX=enforcing\nSELINUXTYPE=mls\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const policy = "/root/etc/selinux/mls/policy/ /root/etc/selinux/mls/contexts/files/"
	for _, c := range []struct {
		typ, title string
		params     *ordered.Map
		want       string
	}{
		{"Anchor", "a", ordered.Of(), ""},
		{"Notify", "n", ordered.Of(), ""},
		{"File", "/etc/motd", ordered.Of("content", "x"), "/etc/motd"},
		{"File", "/etc/x", ordered.Of("ensure", "directory", "recurse", true), "/etc/x/"},
		{"File", "/etc/y", ordered.Of("ensure", "file", "source", "/usr/share/y"), "/etc/y /usr/share/y"},
		{"Exec", "/bin/true", ordered.Of(), ""},
		{"Exec", "/bin/true", ordered.Of("creates", "/tmp/made"), "/tmp/made"},
		{"Exec", "/bin/true", ordered.Of("unless", "/bin/false"), "poll"},
		{"Exec", "/bin/true", ordered.Of("unless", "/bin/false", "refreshonly", true), ""},
		{"Group", "g", ordered.Of("ensure", "present"), "/root/etc/group /root/etc/gshadow"},
		{"User", "u", ordered.Of("ensure", "present"), "/root/etc/passwd /root/etc/shadow /root/etc/group"},
		{"Host", "h", ordered.Of("ip", "192.0.2.1"), "/root/etc/hosts"},
		{"File_line", "l", ordered.Of("path", "/etc/conf", "line", "x"), "/etc/conf"},
		{"Htgroup", "g", ordered.Of("users", "u", "target", "/etc/groups"), "/etc/groups"},
		{"Htpasswd", "u", ordered.Of("cryptpasswd", "h", "target", "/etc/users"), "/etc/users"},
		{"Ini_setting", "i", ordered.Of("path", "/etc/ini", "section", "s", "setting", "k", "value", "v"), "/etc/ini"},
		{"Concat_file", "c", ordered.Of("path", "/etc/concat"), "/etc/concat"},
		{"Mount", "/mnt", ordered.Of("ensure", "mounted", "device", "/dev/sdb", "fstype", "ext4"), "/root/etc/fstab poll"},
		{"Cron", "c", ordered.Of("command", "/bin/true"), "/root/var/spool/cron/crontabs/ /root/var/spool/cron/tabs/ /root/var/spool/cron/ /root/etc/crontabs/"},
		{"Package", "p", ordered.Of("ensure", "installed"), "/root/var/lib/dpkg/status/ /root/var/lib/rpm/ /root/usr/lib/sysimage/rpm/ /root/lib/apk/db/ /root/var/lib/pacman/local/"},
		{"Service", "s", ordered.Of("ensure", "running", "enable", true), "poll /root/run/systemd/units/invocation:s.service /root/etc/systemd/system/"},
		{"Sysctl", "a.b", ordered.Of("value", "1"), "/root/etc/sysctl.d/ /root/etc/sysctl.conf poll"},
		{"Tidy", "/tmp/t", ordered.Of("age", "1d"), "poll"},
		{"Postgresql_conf", "p", ordered.Of("key", "port", "value", "1", "target", "/etc/postgresql.conf"), "/etc/postgresql.conf"},
		{"Ssl_pkey", "/etc/k.pem", ordered.Of("ensure", "present"), "/etc/k.pem"},
		{"Dhparam", "/etc/dh.pem", ordered.Of("ensure", "present"), "/etc/dh.pem"},
		{"X509_request", "/etc/r.csr", ordered.Of("ensure", "present"), "/etc/r.csr"},
		{"X509_request", "/etc/r.csr", ordered.Of("ensure", "present", "force", true), "/etc/r.csr /etc/r.key"},
		{"X509_cert", "/etc/c.crt", ordered.Of("ensure", "present"), "/etc/c.crt"},
		{"X509_cert", "/etc/c.crt", ordered.Of("ensure", "present", "force", true, "private_key", "/etc/k.pem"), "/etc/c.crt /etc/k.pem"},
		{"Cert_file", "/etc/d.pem", ordered.Of("ensure", "present", "source", "https://example.com/d"), "/etc/d.pem poll"},
		{"Cert_file", "/etc/d.pem", ordered.Of("ensure", "absent"), "/etc/d.pem"},
		{"Java_ks", "a:/etc/ks", ordered.Of("ensure", "present", "certificate", "/etc/c", "password", "secret"), "/etc/ks"},
		{"Java_ks", "a:/etc/ks", ordered.Of("ensure", "latest", "certificate", "/etc/c", "chain", "/etc/chain", "private_key", "/etc/k", "password_file", "/etc/pw"), "/etc/ks /etc/pw /etc/c /etc/chain"},
		{"Swap_file", "/swap", ordered.Of(), "/root/swap poll"},
		{"Alternatives", "editor", ordered.Of("mode", "auto"), "/root/etc/alternatives/editor /root/var/lib/dpkg/alternatives/editor /root/var/lib/alternatives/editor"},
		{"Alternative_entry", "/bin/vi", ordered.Of("altlink", "/bin/editor", "altname", "editor", "priority", "1"),
			"/root/etc/alternatives/editor /root/var/lib/dpkg/alternatives/editor /root/var/lib/alternatives/editor"},
		{"Debconf", "tzdata/Areas", ordered.Of("type", "select", "value", "Europe"), "/root/var/cache/debconf/config.dat-old /root/var/cache/debconf/passwords.dat-new"},
		{"Apt_key", "0123456789ABCDEF", ordered.Of(), "/root/etc/apt/trusted.gpg /root/etc/apt/trusted.gpg.d/"},
		{"Apt_key", "0123456789ABCDEF", ordered.Of("refresh", true), "/root/etc/apt/trusted.gpg /root/etc/apt/trusted.gpg.d/ poll"},
		{"Loginctl_user", "u", ordered.Of("linger", "enabled"), "/root/var/lib/systemd/linger/u"},
		{"Systemd_purge_units", "/etc/systemd/system", ordered.Of(), "/etc/systemd/system/"},
		{"Selinux_port", "p", ordered.Of("seltype", "http_port_t", "protocol", "tcp", "low_port", int64(80), "high_port", int64(80)), policy},
		{"Selinux_permissive", "httpd_t", ordered.Of(), policy},
		{"Selinux_fcontext", "f", ordered.Of("pathspec", "/srv(/.*)?", "seltype", "httpd_t"), policy},
		{"Selinux_fcontext_equivalence", "/srv", ordered.Of("target", "/var/www"), policy},
		{"Selmodule", "m", ordered.Of("ensure", "present"), policy},
		{"Selmodule", "m", ordered.Of("ensure", "present", "syncversion", true, "selmodulepath", "/srv/m.pp"), policy + " /srv/m.pp"},
		{"Archive", "/opt/a.tgz", ordered.Of("source", "/srv/a.tgz"), "/opt/a.tgz /opt/.a.tgz.bolt-extract"},
		{"Archive", "/opt/a.tgz", ordered.Of("source", "/srv/a.tgz", "extract", true, "extract_path", "/opt", "creates", "/opt/a"), "/opt/a.tgz /opt/.a.tgz.bolt-extract /opt/a"},
		{"Archive", "/opt/a.tgz", ordered.Of("source", "/srv/a.tgz", "checksum_type", "sha256", "checksum_url", "https://example.com/sum"), "/opt/a.tgz /opt/.a.tgz.bolt-extract poll"},
		{"Augeas", "a", ordered.Of("incl", "/etc/hosts", "lens", "Hosts.lns", "changes", "rm 01"), "/root/etc/hosts"},
		{"Augeas", "a", ordered.Of("incl", "/etc/hosts", "lens", "Hosts.lns", "changes", "rm 01", "root", "/srv"), "/root/srv/etc/hosts"},
		{"Augeas", "a", ordered.Of("incl", "/etc/*.conf", "lens", "Puppet.lns", "changes", "rm 01"), "poll"},
		{"Augeas", "a", ordered.Of("incl", "/etc/hosts", "lens", "Hosts.lns", "changes", "rm 01", "force", true), "poll"},
		{"Augeas", "a", ordered.Of("context", "/files/etc/hosts", "changes", "rm 01"), "poll"},
	} {
		item, err := types[c.typ].New(&resource.Resource{Ref: catalog.Ref{Type: c.typ, Title: c.title}, Params: c.params})
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		watcher, is := item.(resource.Watcher)
		if !is {
			t.Errorf("%s cannot be watched", c.typ)
			continue
		}
		var got []string
		for _, w := range watcher.Watch(t.Context(), h) {
			text := strings.Replace(w.Path, h.Root, "/root", 1)
			if w.Tree {
				text += "/"
			}
			if w.Poll {
				text += "poll"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s %s: %s", c.typ, fmt.Sprint(c.params), text)
		}
	}
}
