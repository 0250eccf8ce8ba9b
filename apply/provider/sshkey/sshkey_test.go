package sshkey

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/purge"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

func types() map[string]resource.Type {
	m := map[string]resource.Type{"Sshkey": Type(), "Ssh_authorized_key": Authorized()}
	m["Resources"] = purge.Type(m)
	return m
}

func TestHostKeys(t *testing.T) {
	h := hosttest.Host(t)
	path := h.Path(knownHosts)
	hosttest.Write(t, path, "# c\nweb,w1 ssh-rsa AAA1\nweb ssh-ed25519 AAA2\n@revoked bad ssh-rsa AAA3\n|1|x|y ssh-rsa AAA4\n", 0o644)
	r := []string{
		`Sshkey[web] {"type":"rsa","key":"AAAnew"}`, `Sshkey[web@ed25519] {"host_aliases":["w2","w3"]}`,
		`Sshkey[new] {"type":"ssh-rsa","key":"AAA5","host_aliases":"n"}`, `Sshkey[gone] {"type":"ssh-rsa","ensure":"absent"}`,
	}
	want := "Sshkey[web] changed key(AAA1 -> AAAnew)\nSshkey[web@ed25519] changed host_aliases( -> w2,w3)\nSshkey[new] changed sshkey_created\n"
	if out := hosttest.Apply(t, h, types(), false, r...); out != want {
		t.Error(out)
	}
	if got := hosttest.Read(t, path); got != "# c\nweb,w1 ssh-rsa AAAnew\nweb,w2,w3 ssh-ed25519 AAA2\n@revoked bad ssh-rsa AAA3\n|1|x|y ssh-rsa AAA4\nnew,n ssh-rsa AAA5\n" {
		t.Error(got)
	}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "" {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types(), false, `Resources[sshkey] {"purge":true}`, `Sshkey[web] {"type":"rsa"}`); out != "Sshkey[web@ssh-ed25519] changed sshkey_removed\nSshkey[|1|x|y@ssh-rsa] changed sshkey_removed\nSshkey[new@ssh-rsa] changed sshkey_removed\n" {
		t.Error(out)
	}
	if got := hosttest.Read(t, path); got != "# c\nweb,w1 ssh-rsa AAAnew\n@revoked bad ssh-rsa AAA3\n" {
		t.Error(got)
	}
}

// owned gives files to the user 4711 of a host. The temporary directories of tests are open to all for that.
func owned(t *testing.T, h *resource.Host) (home string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: only root can write as another user")
	}
	for dir := h.Root; len(dir) > 4; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hosttest.Write(t, h.Path("/etc/passwd"), "root:x:0:0::/root:/bin/sh\nanna:x:4711:4712::/home/anna:/bin/sh\n", 0o644)
	hosttest.Write(t, h.Path("/etc/group"), "root:x:0:\nanna:x:4712:\n", 0o644)
	home = h.Path("/home/anna")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 4711, 4712); err != nil {
		t.Fatal(err)
	}
	return home
}

func stat(t *testing.T, path string) (uid, gid uint32, mode os.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid, info.Mode().Perm()
}

func TestAuthorized(t *testing.T) {
	h := hosttest.Host(t)
	file := owned(t, h) + "/.ssh/authorized_keys"
	r := []string{
		`Ssh_authorized_key[anna@laptop] {"user":"anna","type":"ed25519","key":"AAA1"}`,
		`Ssh_authorized_key[backup] {"user":"anna","type":"ssh-rsa","key":"AAA2","options":["command=\"/bin/a b, \\\"c\\\"\"","no-pty"]}`,
		`Ssh_authorized_key[none] {"user":"anna","ensure":"absent"}`,
	}
	if out := hosttest.Apply(t, h, types(), true, r...); out != "Ssh_authorized_key[anna@laptop] noop ssh_authorized_key_created\nSsh_authorized_key[backup] noop ssh_authorized_key_created\n" {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "Ssh_authorized_key[anna@laptop] changed ssh_authorized_key_created\nSsh_authorized_key[backup] changed ssh_authorized_key_created\n" {
		t.Error(out)
	}
	if got := hosttest.Read(t, file); got != "ssh-ed25519 AAA1 anna@laptop\ncommand=\"/bin/a b, \\\"c\\\"\",no-pty ssh-rsa AAA2 backup\n" {
		t.Error(got)
	}
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if uid, gid, m := stat(t, path); uid != 4711 || gid != 4712 || m != mode {
			t.Errorf("%s: %d %d %o", path, uid, gid, m)
		}
	}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "" {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types(), false, `Ssh_authorized_key[backup] {"user":"anna","type":"rsa","key":"AAA3"}`, `Ssh_authorized_key[anna@laptop] {"user":"anna","ensure":"absent"}`); out !=
		"Ssh_authorized_key[backup] changed key(AAA2 -> AAA3) options(command=\"/bin/a b, \\\"c\\\"\",no-pty -> )\nSsh_authorized_key[anna@laptop] changed ssh_authorized_key_removed\n" {
		t.Error(out)
	}
	if got := hosttest.Read(t, file); got != "ssh-rsa AAA3 backup\n" {
		t.Error(got)
	}
	if out := hosttest.Apply(t, h, types(), false, `Ssh_authorized_key[x] {"user":"nobody-here","type":"rsa","key":"AAA3"}`, `Ssh_authorized_key[y] {"user":"nobody-here","ensure":"absent"}`); out !=
		"Ssh_authorized_key[x] failed FAILED change of ensure from absent to present failed: user \"nobody-here\" does not exist\n" {
		t.Error(out)
	}
}

// Links of the user cannot make root read or write elsewhere.
func TestLinks(t *testing.T) {
	h := hosttest.Host(t)
	home := owned(t, h)
	secret := h.Path("/secret")
	hosttest.Write(t, secret, "ssh-rsa SECRET x\n", 0o644)
	if err := os.Chmod(secret, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home+"/.ssh", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home+"/.ssh", 4711, 4712); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, home+"/.ssh/authorized_keys"); err != nil {
		t.Fatal(err)
	}
	add := `Ssh_authorized_key[new] {"user":"anna","type":"rsa","key":"AAA"}`
	if out := hosttest.Apply(t, h, types(), false, add); !strings.Contains(out, "Ssh_authorized_key[new] failed") || !strings.Contains(out, "permission denied") {
		t.Error(out)
	}
	// Also where the user could read the file, it is not replaced.
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := hosttest.Apply(t, h, types(), false, add); !strings.Contains(out, "Ssh_authorized_key[new] failed") {
		t.Error(out)
	}
	if got := hosttest.Read(t, secret); got != "ssh-rsa SECRET x\n" {
		t.Error(got)
	}
	if uid, _, mode := stat(t, secret); uid != 0 || mode != 0o644 {
		t.Errorf("%d %o", uid, mode)
	}
	if uid := os.Geteuid(); uid != 0 {
		t.Errorf("the process runs as %d", uid)
	}
}

func TestPrivileges(t *testing.T) {
	h := hosttest.Host(t)
	home := owned(t, h)
	dir := h.Path("/keys")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	resource := func(target, more string) string {
		return `Ssh_authorized_key[new] {"user":"anna","type":"rsa","key":"AAA","target":"` + target + `"` + more + `}`
	}
	if out := hosttest.Apply(t, h, types(), false, resource(dir+"/anna", "")); !strings.Contains(out, "permission denied") {
		t.Error(out)
	}
	// The temporary directory may be below one that all can write to, which is not trusted.
	out := hosttest.Apply(t, h, types(), false, resource(dir+"/anna", `,"drop_privileges":false`))
	if trusted(dir) == nil {
		uid, gid, mode := stat(t, dir+"/anna")
		if out != "Ssh_authorized_key[new] changed ssh_authorized_key_created\n" || uid != 4711 || gid != 4712 || mode != 0o600 {
			t.Error(out, uid, gid, mode)
		}
	} else if !strings.Contains(out, "other users can change the directory") {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types(), false, resource(home+"/keys", `,"drop_privileges":false`)); !strings.Contains(out, "other users can change the directory") {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types(), false, `Ssh_authorized_key[new] {"type":"rsa","key":"AAA","target":"/none/x"}`); !strings.Contains(out, "the parameter user is needed") {
		t.Error(out)
	}
}

// Keys without comments have numbers, which stay the same while a catalog is applied.
func TestUnnamed(t *testing.T) {
	h := hosttest.Host(t)
	home := owned(t, h)
	file := home + "/.ssh/authorized_keys"
	hosttest.Write(t, file, "ssh-rsa AAA1\nssh-rsa AAA2\nssh-rsa AAA1\nssh-rsa AAA4 name with blanks\n", 0o644)
	for _, path := range []string{file, filepath.Dir(file)} {
		if err := os.Chown(path, 4711, 4712); err != nil {
			t.Fatal(err)
		}
	}
	var r []string
	for _, n := range []string{"1", "2", "3"} {
		r = append(r, `Ssh_authorized_key[`+file+`:unnamed-`+n+`] {"user":"anna","ensure":"absent","target":"`+file+`"}`, `Host[x`+n+`] {"ip":"192.0.2.1"}`)
	}
	m := types()
	m["Host"] = hostless{}
	if out := hosttest.Apply(t, h, m, false, r...); strings.Count(out, "ssh_authorized_key_removed") != 2 {
		t.Error(out)
	}
	if got := hosttest.Read(t, file); got != "ssh-rsa AAA4 name with blanks\n" {
		t.Error(got)
	}
}

// hostless is a type that does nothing, so that the keys are not applied together.
type hostless struct{}

func (hostless) New(*resource.Resource) (resource.Item, error) { return Type().New(dummy) }

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`Sshkey[x] {"key":"AAA"}`:                                                            "The parameter type is needed",
		`Sshkey[x] {"type":"nonsense","key":"AAA"}`:                                          "The parameter type must be",
		`Sshkey[x,y] {"type":"rsa","key":"AAA"}`:                                             "The parameter name must be one name",
		`Sshkey[x] {"type":"rsa","key":"AAA","host_aliases":"a,b"}`:                          "The parameter host_aliases",
		`Ssh_authorized_key[x] {"type":"rsa","key":"AAA"}`:                                   "one of the parameters user and target is needed",
		`Ssh_authorized_key[x] {"user":"u","type":"rsa","key":"A A"}`:                        "The parameter key must be the key alone",
		`Ssh_authorized_key[x] {"user":"u","type":"x","key":"A"}`:                            "The parameter type must be",
		`Ssh_authorized_key[x] {"user":"u","options":"no-pty,no-x"}`:                         "The parameter options must be",
		`Ssh_authorized_key[x] {"user":"u","options":"a=\"b"}`:                               "The parameter options must be",
		`Ssh_authorized_key[x] {"user":"u","options":["from=\"a\",command=\"rm -r /\""]}`:    "The parameter options must be",
		`Ssh_authorized_key[x] {"user":"u","options":["command=\"a\" ssh-rsa AAA evil \""]}`: "The parameter options must be",
		`Ssh_authorized_key[x] {"target":"keys"}`:                                            "The parameter target must be an absolute path",
		"Ssh_authorized_key[x\\ny] {\"user\":\"u\",\"name\":\"x\\ny\"}":                      "The parameter name must be one line",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types(), false, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{
		"ssh-rsa AAA c", `command="a \"b\", c",no-pty ssh-rsa AAA x y`, `from="*.x" , no-pty ssh-ed25519 A`, "ssh-rsa\tAAA", `a="b ssh-rsa AAA`, "# ssh-rsa AAA", "ssh-rsa ssh-rsa ssh-rsa",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := parseKey(text)
		if !ok || strings.ContainsAny(text, "\n\r") {
			return
		}
		out, err := authorizedLine(r)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, ok := parseKey(out)
		if !ok || again.Name != r.Name || again.Values["key"] != r.Values["key"] || again.Values["options"] != r.Values["options"] || again.Values["type"] != r.Values["type"] {
			t.Errorf("%q is %v, and its line %q is %v", text, r, out, again)
		}
		if options := splitOptions(r.Values["options"]); slices.Contains(options, "") {
			t.Errorf("%q has an empty option", text)
		}
	})
}

var dummy = &resource.Resource{Ref: catalog.Ref{Type: "Sshkey", Title: "none@ssh-rsa"}, Params: ordered.Of("ensure", "absent")}
