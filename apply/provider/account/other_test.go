package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
)

// scripted is a machine with these programs, which do nothing.
func scripted(t *testing.T, programs string, answers ...providertest.Answer) *machine {
	m := &machine{t: t}
	m.Machine = providertest.Scripted(t, programs, m.types(), answers...)
	for _, dir := range []string{"etc/skel", "home"} {
		if err := os.MkdirAll(filepath.Join(m.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	accounts(t, m.Root)
	return m
}

// Users of a name service are found with one query for all.
func TestNameService(t *testing.T) {
	m := scripted(t, "useradd usermod groupadd getent",
		providertest.Answer{Begin: "getent passwd", Out: resource.Output{Stdout: []byte("ldap:*:5000:6000:L:/home/ldap:/bin/sh\n"), Code: 2}},
		providertest.Answer{Begin: "getent group", Out: resource.Output{Stdout: []byte("team:*:6000:x,ldap\n"), Code: 2}})
	m.Want("statuses", m.Apply(false, `User[ldap] {"uid":5000,"gid":"team","groups":["team"]}`, `User[new] {"groups":["none"]}`, `User[daemon] {}`), `User[daemon] unchanged
User[ldap] unchanged
User[new] changed user_created`)
	m.Want("commands", strings.Join(m.Argv, "\n"), `getent passwd ldap new
getent group team none
getent group new
useradd -G none -M new`)
	m.Want("local", m.Apply(true, `User[ldap] {"forcelocal":true}`), "User[ldap] noop user_created")
}

func TestBusybox(t *testing.T) {
	m := scripted(t, "adduser deluser addgroup delgroup chpasswd")
	put(t, m.Root, "etc/passwd", "root:x:0:0:root:/root:/bin/ash\nanna:x:1000:1000::/home/anna:/bin/ash\n")
	put(t, m.Root, "etc/group", "root:x:0:\nanna:x:1000:\nwheel:x:10:anna\nold:x:11:anna\ngone:x:12:\n")
	// These programs change nothing, so the state stays the same.
	m.Want("statuses", m.Apply(false,
		`User[new] {"uid":2000,"gid":10,"groups":["old"],"managehome":true,"shell":"","comment":"N N","home":"/srv/new","password":"$6$x"}`,
		`User[svc] {"system":true}`, `User[anna] {"groups":["wheel","gone"],"membership":"inclusive","password":"$6$y"}`,
		`User[root] {"shell":""}`, `User[aged] {"password_max_age":3}`,
		`Group[gone] {"ensure":"absent"}`, `Group[fresh] {"gid":300,"system":true}`, `Group[old] {"gid":99}`), `Group[fresh] changed group_created
Group[gone] changed group_removed
Group[old] failed gid_changed: change of gid from 11 to 99 failed: gid of an existing group: BusyBox has no program that changes it. Install the package shadow
User[aged] failed user_created: change of ensure from absent to present failed: password_max_age: BusyBox has no program that sets it. Install the package shadow
User[anna] changed password_changed groups_changed
User[new] skipped
User[root] failed shell_changed: change of shell from /bin/ash to nothing failed: shell of an existing user: BusyBox has no program that changes it. Install the package shadow
User[svc] changed user_created`)
	m.Apply(false, `User[new] {"uid":2000,"gid":10,"groups":["old"],"managehome":true,"comment":"N N","home":"/srv/new","password":"$6$x"}`,
		`User[anna] {"groups":["wheel","gone"],"membership":"inclusive","password":"$6$y"}`)
	m.Want("commands", strings.Join(m.Argv, "\n"), `adduser -D -g N N -h /srv/new -u 2000 -G wheel new
addgroup new old
chpasswd -e < new:$6$x
chpasswd -e < anna:$6$y
addgroup anna gone
delgroup anna old`)
}

// TestShowUnprivileged shows a user to a user who cannot read the hashes of passwords.
func TestShowUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: it takes the identity of another user")
	}
	dir, err := os.MkdirTemp("", "bolt-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "etc/passwd", "web:x:1000:1000:The web:/home/web:/bin/sh\n")
	put(t, dir, "etc/group", "web:x:1000:\n")
	put(t, dir, "etc/shadow", "web:$6$secret:19000:0:99999:7::20000:\n")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "etc/shadow"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h := resource.NewHost()
	h.Root = dir
	err = textfile.As(&textfile.Identity{UID: 65534, GID: 65534}, func() error {
		list, err := resource.Show(t.Context(), User(), h, "User", "web")
		if err == nil && (len(list) != 1 || list[0].Params.Value("comment") != "The web" || list[0].Params.Value("expiry") != nil) {
			err = fmt.Errorf("%v", list[0].Params)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
