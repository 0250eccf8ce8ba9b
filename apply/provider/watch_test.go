package provider

import (
	"fmt"
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
	h.Root = "/root"
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
		{"Ini_setting", "i", ordered.Of("path", "/etc/ini", "section", "s", "setting", "k", "value", "v"), "/etc/ini"},
		{"Concat_file", "c", ordered.Of("path", "/etc/concat"), "/etc/concat"},
		{"Mount", "/mnt", ordered.Of("ensure", "mounted", "device", "/dev/sdb", "fstype", "ext4"), "/root/etc/fstab poll"},
		{"Cron", "c", ordered.Of("command", "/bin/true"), "/root/var/spool/cron/crontabs/ /root/var/spool/cron/tabs/ /root/var/spool/cron/ /root/etc/crontabs/"},
		{"Package", "p", ordered.Of("ensure", "installed"), "/root/var/lib/dpkg/status/ /root/var/lib/rpm/ /root/usr/lib/sysimage/rpm/ /root/lib/apk/db/ /root/var/lib/pacman/local/"},
		{"Service", "s", ordered.Of("ensure", "running", "enable", true), "poll /root/run/systemd/units/invocation:s.service /root/etc/systemd/system/"},
		{"Sysctl", "a.b", ordered.Of("value", "1"), "/root/etc/sysctl.d/ /root/etc/sysctl.conf poll"},
		{"Tidy", "/tmp/t", ordered.Of("age", "1d"), "poll"},
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
			text := w.Path
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
