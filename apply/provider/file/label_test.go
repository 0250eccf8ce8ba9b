package file_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// label is the SELinux context of a file, as any kernel keeps it for root.
func (m *machine) label(rel string) string {
	m.t.Helper()
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(m.path(rel), "security.selinux", buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func TestLabels(t *testing.T) {
	root(t)
	m := newMachine(t)
	m.host.Root = m.path("system")
	m.write("system/sys/fs/selinux/enforce", "1", 0o644)
	m.write("system/etc/selinux/config", "SELINUXTYPE=targeted\n", 0o644)
	m.write("system/etc/selinux/targeted/contexts/files/file_contexts", "/.*/shadow\tsystem_u:object_r:shadow_t:s0\n/.*/d\t-d\tsystem_u:object_r:dir_t:s0\n", 0o644)
	m.write("old", "x", 0o600)
	m.write("plain", "x", 0o600)
	if err := unix.Setxattr(m.path("old"), "security.selinux", []byte("user_u:role_r:old_t:s0:c1,c2\x00"), 0); err != nil {
		t.Fatalf("the file system of the temporary directory has no SELinux contexts: %v", err)
	}
	m.check(m.run(
		res("shadow", "content", "x"), res("d", "ensure", "directory", "seluser", "me_u"), res("old", "content", "new", "seltype", "new_t"),
		res("plain", "content", "x", "seltype", "new_t"), res("link", "target", "x", "seluser", "a", "selrole", "b", "seltype", "c"),
	), map[string]string{"shadow": "changed ensure", "old": "changed content seltype", "plain": "unchanged"})
	want := map[string]string{
		"shadow": "system_u:object_r:shadow_t:s0\x00", "d": "me_u:object_r:dir_t:s0\x00", "old": "user_u:role_r:new_t:s0:c1,c2\x00", "plain": "", "link": "a:b:c\x00",
	}
	for name, w := range want {
		if got := m.label(name); got != w {
			t.Errorf("the context of %s is %q, want %q", name, got, w)
		}
	}
	m.check(m.run(res("old", "content", "newer")), map[string]string{"old": "changed content"})
	if got := m.label("old"); got != want["old"] {
		t.Errorf("a new content changed the context to %q", got)
	}
	m.check(m.run(res("shadow", "seltype", "x_t"), res("d", "selrange", "s1", "selinux_ignore_defaults", true)),
		map[string]string{"shadow": "changed seltype", "d": "changed selrange"})
	m.check(m.run(res("shadow", "mode", "0644"), res("d", "mode", "0755", "selinux_ignore_defaults", true)),
		map[string]string{"shadow": "changed seltype", "d": "unchanged"})

	// A link of another user does not lead to a file of root.
	if err := errors.Join(os.Symlink("old", m.path("user")), os.Lchown(m.path("user"), 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	m.check(m.run(res("user", "links", "follow", "seltype", "x_t", "selinux_ignore_defaults", true)), map[string]string{"user": "failed seltype"})
	if got := m.label("old"); got != want["old"] {
		t.Errorf("a link of a user changed the context to %q", got)
	}

	m.host.Root = ""
	m.check(m.run(res("shadow", "seltype", "x_t")), map[string]string{"shadow": "unchanged"})
}
