package account

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

// keys is the type ssh_authorized_key as far as it is needed here.
type keyType struct{ got *[]string }

func (k keyType) New(r *resource.Resource) (resource.Item, error) { return keyItem{k, r}, nil }

type keyItem struct {
	keyType
	r *resource.Resource
}

func (keyItem) Read(context.Context, *resource.Host) error { return nil }
func (k keyItem) Plan() ([]resource.Change, error) {
	ensure, _, _ := k.r.Text("ensure")
	if ensure != "absent" {
		return nil, nil
	}
	user, _, _ := k.r.Text("user")
	target, _, _ := k.r.Text("target")
	*k.got = append(*k.got, k.r.Title+" "+user+" "+target)
	return []resource.Change{{Property: "ensure", Should: "absent"}}, nil
}
func (keyItem) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

// A machine is a host with accounts.
type machine struct {
	*providertest.Machine
	t    *testing.T
	keys []string // the keys that were purged
}

// newMachine is an overlay of this system without its users' own accounts.
func newMachine(t *testing.T, setup string) *machine { return machineOn(t, "/", setup) }

func machineOn(t *testing.T, lower, setup string) *machine {
	m := &machine{t: t}
	m.Machine = providertest.New(t, lower, "true", m.types())
	accounts(t, m.Root)
	m.Shell(setup)
	return m
}

func (m *machine) types() map[string]resource.Type {
	return map[string]resource.Type{"User": User(), "Group": Group(), "Ssh_authorized_key": keyType{&m.keys}}
}

func accounts(t *testing.T, root string) {
	put(t, root, "etc/passwd", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n")
	put(t, root, "etc/group", "root:x:0:\ndaemon:x:1:\nstaff:x:50:\nusers:x:100:\n")
	put(t, root, "etc/shadow", "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n")
	put(t, root, "etc/gshadow", "root:*::\ndaemon:*::\nstaff:*::\nusers:*::\n")
	for _, dir := range []string{"home", "etc/skel"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root, "etc/skel/.profile", "# profile\n")
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines returns the lines of a file in the root that have a word in them. Days of password changes are replaced.
func (m *machine) lines(file string, words ...string) (list []string) {
	data, err := os.ReadFile(filepath.Join(m.Root, file))
	if err != nil {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, ":")
		if !slices.Contains(words, name) {
			continue
		}
		if file == "etc/shadow" {
			f := strings.Split(rest, ":")
			f[1] = "day"
			line = name + ":" + strings.Join(f, ":")
		}
		list = append(list, line)
	}
	return list
}

func (m *machine) wantLines(file string, names string, want ...string) {
	m.t.Helper()
	m.Want(file, strings.Join(m.lines(file, strings.Fields(names)...), "\n"), strings.Join(want, "\n"))
}

// Users and groups are made once. A noop run before shows the same and makes nothing.
func TestCreate(t *testing.T) {
	m := newMachine(t, "true")
	resources := []string{
		`User[zoe] {"uid":2300,"gid":"zoo","groups":["animals"],"managehome":true,"comment":"Zoe Z","password":{"sensitive":"$6$hash"},"password_max_age":"90","expiry":"2030-02-01"}`,
		`User[svc] {"system":true,"uid":"951","gid":50,"home":"/nonexistent","shell":"/usr/sbin/nologin","password":"*"}`,
		`Group[zoo] {"gid":2300}`, `Group[animals] {"gid":"2301"}`, `Group[sys] {"system":true,"gid":950}`, `Group[twin] {"gid":2301,"allowdupe":true,"require":"Group[animals]"}`,
	}
	m.Want("noop", m.Apply(true, resources...), `Group[animals] noop group_created
Group[sys] noop group_created
Group[twin] noop group_created
Group[zoo] noop group_created
User[svc] noop user_created
User[zoe] noop user_created`)
	m.wantLines("etc/passwd", "zoe svc")
	m.Want("first", m.Apply(false, resources...), `Group[animals] changed group_created
Group[sys] changed group_created
Group[twin] changed group_created
Group[zoo] changed group_created
User[svc] changed user_created
User[zoe] changed user_created`)
	for _, argv := range m.Argv {
		if args, _, _ := strings.Cut(argv, " < "); strings.Contains(args, "hash") {
			t.Errorf("a password hash is an argument: %s", argv)
		}
	}
	m.wantLines("etc/passwd", "zoe svc", "svc:x:951:50::/nonexistent:/usr/sbin/nologin", "zoe:x:2300:2300:Zoe Z:/home/zoe:/bin/sh")
	m.wantLines("etc/shadow", "zoe svc", "svc:*:day::::::", "zoe:$6$hash:day:0:90:7::21946:")
	m.wantLines("etc/group", "zoo animals sys twin", "zoo:x:2300:", "animals:x:2301:zoe", "sys:x:950:", "twin:x:2301:")
	if _, err := os.Stat(filepath.Join(m.Root, "home/zoe/.profile")); err != nil {
		t.Error(err)
	}
	m.Want("second", m.Apply(false, resources...), `Group[animals] unchanged
Group[sys] unchanged
Group[twin] unchanged
Group[zoo] unchanged
User[svc] unchanged
User[zoe] unchanged`)
}

func TestChange(t *testing.T) {
	m := newMachine(t, `groupadd -g 3000 web; groupadd -g 3001 db; for g in g1 g2 g3 g4; do groupadd $g; done; groupadd -g 3500 moved
useradd -u 2001 -g web -d /home/old -s /bin/sh -c Old anna; useradd -p '$6$old' -N old; useradd -N -G g1,g2 min; useradd -N -G g1,g2 inc`)
	resources := []string{
		`User[anna] {"uid":2050,"gid":"db","shell":"/bin/bash","comment":"New, Name","home":"/home/new","password_min_age":3,"password_warn_days":5,"expiry":"2031-01-01"}`,
		`User[old] {"password":"$6$new"}`,
		`User[min] {"groups":["g3"]}`, `User[inc] {"groups":["g2","g4"],"membership":"inclusive"}`,
		`Group[moved] {"gid":3511}`,
	}
	want := `Group[moved] changed gid_changed
User[anna] changed home_changed uid_changed gid_changed comment_changed shell_changed password_min_age_changed password_warn_days_changed expiry_changed
User[inc] changed groups_changed
User[min] changed groups_changed
User[old] changed password_changed`
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop "))
	m.Want("first", m.Apply(false, resources...), want)
	m.wantLines("etc/passwd", "anna", "anna:x:2050:3001:New, Name:/home/new:/bin/bash")
	m.wantLines("etc/shadow", "anna old", "anna:!:day:3:99999:5::22280:", "old:$6$new:day:0:99999:7:::")
	m.wantLines("etc/group", "g1 g2 g3 g4 moved", "g1:x:3002:min", "g2:x:3003:min,inc", "g3:x:3004:min", "g4:x:3005:inc", "moved:x:3511:")
	resources[0] = `User[anna] {"expiry":"absent"}`
	m.Want("second", m.Apply(false, resources...), `Group[moved] unchanged
User[anna] changed expiry_changed
User[inc] unchanged
User[min] unchanged
User[old] unchanged`)
	resources[3] = `User[inc] {"groups":[],"membership":"inclusive"}`
	m.Want("third", m.Apply(false, resources[0], resources[3]), "User[anna] unchanged\nUser[inc] changed groups_changed")
	m.wantLines("etc/group", "g4", "g4:x:3005:")
}

func TestRemove(t *testing.T) {
	m := newMachine(t, "useradd -m -k /dev/null kept; useradd -m -k /dev/null gone; groupadd extra")
	resources := []string{
		`User[gone] {"ensure":"absent","managehome":true}`, `User[kept] {"ensure":"absent"}`, `User[never] {"ensure":"absent"}`, `Group[extra] {"ensure":"absent"}`, `Group[never] {"ensure":"absent"}`,
	}
	want := `Group[extra] changed group_removed
Group[never] unchanged
User[gone] changed user_removed
User[kept] changed user_removed
User[never] unchanged`
	m.Want("first", m.Apply(false, resources...), want)
	m.wantLines("etc/passwd", "kept gone")
	for dir, exists := range map[string]bool{"home/kept": true, "home/gone": false} {
		if _, err := os.Stat(filepath.Join(m.Root, dir)); (err == nil) != exists {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
}

// A purge finds the users by name and number.
func TestList(t *testing.T) {
	m := newMachine(t, "useradd -u 2001 stray")
	list, err := User().(resource.Lister).List(t.Context(), m.Host)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprint(r.Title, " ", r.Params.Value("uid")))
	}
	if text := strings.Join(got, ", "); text != "daemon 1, root 0, stray 2001" {
		t.Error(text)
	}
}

// A user that cannot be made fails alone.
func TestFailures(t *testing.T) {
	m := newMachine(t, "useradd -u 2400 -N twin")
	got := m.Apply(false,
		`User[anna] {"uid":2001,"gid":"nogroup9"}`, `User[bert] {"uid":2002,"gid":100,"groups":["neither"]}`,
		`User[carl] {"uid":2003,"gid":100,"require":"User[anna]"}`, `User[dora] {"uid":2004,"gid":100}`, `User[emil] {"uid":2400,"gid":100}`,
		`User[fred] {"shell":"/bin/none"}`, `User[twin] {"gid":"nogroup9"}`,
		`User[gus] {"uid":"abc"}`, `User[hans] {"comment":"a:b\nc:d"}`)
	m.Want("statuses", got, `User[anna] failed user_created: change of ensure from absent to present failed: useradd: exit code 6: group 'nogroup9' does not exist
User[bert] failed user_created: change of ensure from absent to present failed: useradd: exit code 6: group 'neither' does not exist
User[carl] skipped
User[dora] changed user_created
User[emil] failed user_created: change of ensure from absent to present failed: useradd: exit code 4: UID 2400 is not unique
User[fred] failed user_created: change of ensure from absent to present failed: shell /bin/none: the file does not exist
User[gus] failed user_created: change of ensure from absent to present failed: useradd: exit code 3: invalid user ID 'abc'
User[hans] failed user_created: change of ensure from absent to present failed: useradd: exit code 3: invalid comment 'a:b; c:d'
User[twin] failed gid_changed: change of gid from 100 to nogroup9 failed: group "nogroup9" does not exist`)
}

func TestPurgeKeys(t *testing.T) {
	m := newMachine(t, `useradd -u 2001 -m anna; mkdir -m 700 /home/anna/.ssh
cat > /home/anna/.ssh/authorized_keys <<'X'
# ssh-rsa AAAA0 comment
ssh-rsa AAAA1 keep
command="/bin/true a" ssh-rsa AAAA2 stray
ssh-ed25519 AAAA3 stray two
ssh-ed25519 AAAA4
sk-ssh-ed25519@openssh.com AAAA5 stray
X
cp /home/anna/.ssh/authorized_keys /tmp/other`)
	keep := `Ssh_authorized_key[keep] {"user":"anna"}`
	m.Want("keys", m.Apply(false, `User[anna] {"purge_ssh_keys":true}`, keep), `Ssh_authorized_key[/home/anna/.ssh/authorized_keys:unnamed-1] changed ensure_changed
Ssh_authorized_key[keep] unchanged
Ssh_authorized_key[stray two] changed ensure_changed
Ssh_authorized_key[stray] changed ensure_changed
User[anna] unchanged`)
	m.Want("target", m.keys[0], "stray anna /home/anna/.ssh/authorized_keys")
	m.keys = nil
	m.Apply(false, `User[anna] {"purge_ssh_keys":["%h/.ssh/none","/tmp/other"]}`, keep)
	m.Want("other file", strings.Join(m.keys, "\n"), "stray anna /tmp/other\nstray two anna /tmp/other\n/tmp/other:unnamed-1 anna /tmp/other")
	m.Want("new user", m.Apply(true, `User[new] {"purge_ssh_keys":true}`), "User[new] noop user_created")
	m.Want("noop", m.Apply(true, `User[anna] {"purge_ssh_keys":true,"noop":true}`, keep), `Ssh_authorized_key[/home/anna/.ssh/authorized_keys:unnamed-1] noop ensure_changed
Ssh_authorized_key[keep] unchanged
Ssh_authorized_key[stray two] noop ensure_changed
Ssh_authorized_key[stray] noop ensure_changed
User[anna] unchanged`)
}

// The parameters that New refuses.
func TestRefused(t *testing.T) {
	m := providertest.Scripted(t, "", (&machine{}).types())
	for _, c := range []struct{ resource, want string }{
		{`User[u] {"groups":["a","12"]}`, "The parameter groups must be names, and has the number 12"},
		{`User[u] {"groups":"a,b"}`, `The parameter groups must be a list of names, and has "a,b"`},
		{`User[u] {"groups":[""]}`, "The parameter groups must not have an empty name in it: an empty list means no groups"},
		{`User[u] {"password":"a:b"}`, "The parameter password must not have a colon or the end of a line in it"},
		{`User[u] {"password":"a\nroot:x"}`, "The parameter password must not have a colon or the end of a line in it"},
		{`User[u] {"password_max_age":"long"}`, `The parameter password_max_age must be a whole number, and is "long"`},
		{`User[u] {"expiry":"tomorrow"}`, `The parameter expiry must be a date of the form YYYY-MM-DD, or absent, and is "tomorrow"`},
		{`User[u] {"purge_ssh_keys":"keys"}`, `The parameter purge_ssh_keys must be true, false, or a list of paths that begin with /, ~/ or %h/, and has "keys"`},
		{`User[u] {"ensure":"role"}`, `The parameter ensure must be present or absent, and is "role"`},
		{`User[-o] {}`, `The parameter name is "-o": a name must not be empty, begin with -, or have a colon, a comma or the end of a line in it`},
		{`User[u] {"provider":"ldap"}`, `The parameter provider must be useradd, and is "ldap"`},
		{`Group[g] {"gid":"x"}`, `The parameter gid must be a whole number, and is "x"`},
		{`Group[g] {"provider":"ldap"}`, `The parameter provider must be groupadd, and is "ldap"`},
	} {
		ref, _, _ := strings.Cut(c.resource, " ")
		m.Want(c.resource, m.Apply(false, c.resource), "refused: "+ref+": "+c.want)
	}
}
