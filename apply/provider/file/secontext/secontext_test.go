package secontext

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLookup(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("config", "# comment\nSELINUX=enforcing\nSELINUXTYPE=mls\n")
	write("mls/contexts/files/file_contexts", `
/.*	system_u:object_r:default_t:s0
/etc/.*	system_u:object_r:etc_t:s0
/etc/shadow.*	--	system_u:object_r:shadow_t:s0
/etc/passwd\.lock	--	system_u:object_r:shadow_t:s0
/etc/motd	--	system_u:object_r:motd_t:s0
/usr/(.*/)?bin(/.*)?	system_u:object_r:bin_t:s0
/var/run/.*	system_u:object_r:var_run_t:s0
/proc/.*	<<none>>
/x(?=y)z	system_u:object_r:bad_t:s0
`)
	write("mls/contexts/files/file_contexts.local", "/etc/mine(/.*)?	staff_u:object_r:mine_t:s0\n")
	write("mls/contexts/files/file_contexts.subs_dist", "/run /var/run\n")
	p := Load(dir)
	for _, c := range []struct{ path, kind, want string }{
		{"/srv/x", "file", "system_u:object_r:default_t:s0"},
		{"/etc/hosts", "file", "system_u:object_r:etc_t:s0"},
		{"/etc/shadow", "file", "system_u:object_r:shadow_t:s0"},
		{"/etc/shadow", "directory", "system_u:object_r:etc_t:s0"},
		{"/etc/passwd.lock", "file", "system_u:object_r:shadow_t:s0"},
		{"/etc/passwdxlock", "file", "system_u:object_r:etc_t:s0"},
		{"/etc/motd", "", "system_u:object_r:motd_t:s0"},
		{"/etc/mine", "file", "staff_u:object_r:mine_t:s0"},
		{"/usr/bin", "directory", "system_u:object_r:bin_t:s0"},
		{"/usr/local/bin/x", "file", "system_u:object_r:bin_t:s0"},
		{"/run/x", "file", "system_u:object_r:var_run_t:s0"},
		{"/runner", "file", "system_u:object_r:default_t:s0"},
		{"/proc/1", "file", ""},
	} {
		if got, found := p.Lookup(c.path, c.kind); got != c.want || found != (c.want != "") {
			t.Errorf("Lookup(%s, %s) = %q, %v, want %q", c.path, c.kind, got, found, c.want)
		}
	}
	if _, found := Load(filepath.Join(dir, "none")).Lookup("/etc/x", "file"); found {
		t.Error("a policy without files has a context")
	}
}
