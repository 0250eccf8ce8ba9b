package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply/fleet"
	"bolt/apply/provider"
	"bolt/apply/resource"
)

// shows makes a host with system files and programs that only answer.
func shows(t *testing.T) *resource.Host {
	t.Helper()
	h := resource.NewHost()
	h.Root = t.TempDir()
	for name, text := range map[string]string{
		"etc/passwd": fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nweb:x:%d:%d:The web:/home/web:/bin/sh\njob:x:4242:4242::/:/bin/sh\n", os.Getuid(), os.Getgid()),
		"etc/group":  "root:x:0:\nweb:x:1000:\nadm:x:4:web\n",
		"etc/shadow": "root:*:1::::::\nweb:$6$secret:19000:0:99999:7::20000:\n",
		"etc/hosts":  "127.0.0.1 localhost loop # here\n",
		"etc/fstab":  "/dev/x /srv ext4 ro 1 2\n/dev/s none swap sw 0 0\n", "proc/self/mounts": "/dev/x /srv ext4 ro 0 0\ntmpfs /run tmpfs rw 0 0\n",
		"home/web/.ssh/authorized_keys": "no-pty ssh-ed25519 AAAA web@home\n",
		"proc/1/comm":                   "systemd\n", "usr/bin/systemctl": "", "usr/bin/dpkg-query": "", "usr/bin/apt-get": "", "usr/bin/getent": "", "etc/os-release": "ID=debian\n",
		"var/spool/cron/crontabs/job": "", "var/spool/cron/crontabs/gone": "",
	} {
		file := filepath.Join(h.Root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	block := "Id=%s\nLoadState=loaded\nActiveState=%s\nUnitFileState=enabled\n"
	answers := map[string]string{
		"list-unit-files": "a.service enabled enabled\nb@.service static -\nc.service masked enabled\n",
		"show a":          fmt.Sprintf(block, "a.service", "active"),
		"show a c":        fmt.Sprintf(block, "a.service", "active") + "\n" + fmt.Sprintf(block, "c.service", "inactive"),
		"is-enabled a c":  "enabled\nmasked\n",
		"is-enabled a":    "enabled\n",
		"names":           "bash\nzsh\n",
		"packages":        "install\tok\tinstalled\tbash\tamd64\t5.2-1\t\nhold\tok\tinstalled\tzsh\tamd64\t5.9-4\t\ndeinstall\tok\tconfig-files\told\tamd64\t1\t\n",
		"crontab":         "# Puppet Name: backup\nMAILTO=a@b\n5 4,5 * * * /bin/b\n@daily /bin/d  x\n",
	}
	h.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		line := strings.ReplaceAll(strings.Join(c.Argv, " "), ".service", "")
		key := ""
		switch program := filepath.Base(c.Argv[0]); {
		case strings.Contains(line, "list-unit-files"):
			key = "list-unit-files"
		case program == "systemctl":
			_, names, _ := strings.Cut(line, " -- ")
			key = c.Argv[1] + " " + names
		case program == "dpkg-query" && strings.Contains(line, "Status"):
			key = "packages"
		case program == "dpkg-query":
			key = "names"
		case program == "crontab" && c.Argv[1] == "-u" && c.Argv[2] == "job":
			key = "crontab"
		case program == "crontab":
			return &resource.Output{Code: 1, Stdout: []byte("no crontab for root")}, nil
		case program == "getent":
			return &resource.Output{Code: 2}, nil
		}
		text, known := answers[key]
		if !known {
			return nil, fmt.Errorf("no answer for %q", line)
		}
		return &resource.Output{Stdout: []byte(text)}, nil
	}
	return h
}

func TestShow(t *testing.T) {
	web := fmt.Sprintf(`{"ensure":"present","comment":"The web","expiry":"2024-10-04","gid":%d,"groups":["adm"],"home":"/home/web","password_max_age":99999,"password_min_age":0,"password_warn_days":7,"shell":"/bin/sh","uid":%d}`, os.Getgid(), os.Getuid())
	for _, c := range []struct{ typ, name, want string }{
		{"User", "web", "web " + web},
		{"User", "none", `none {"ensure":"absent"}`},
		{"User", "", `job {"ensure":"present","gid":4242,"home":"/","shell":"/bin/sh","uid":4242}` + "\n" + `root {"ensure":"present","comment":"root","gid":0,"home":"/root","password_max_age":-1,"password_min_age":-1,"password_warn_days":-1,"shell":"/bin/sh","uid":0}` + "\nweb " + web},
		{"Group", "adm", `adm {"ensure":"present","gid":4}`},
		{"Group", "none", `none {"ensure":"absent"}`},
		{"Group", "", `adm {"ensure":"present","gid":4}` + "\n" + `root {"ensure":"present","gid":0}` + "\n" + `web {"ensure":"present","gid":1000}`},
		{"Host", "localhost", `localhost {"ensure":"present","ip":"127.0.0.1","target":"ROOT/etc/hosts","host_aliases":["loop"],"comment":"here"}`},
		{"Host", "none", `none {"ensure":"absent"}`},
		{"Mount", "/srv/", `/srv {"ensure":"mounted","device":"/dev/x","fstype":"ext4","options":"ro","pass":"2","dump":"1"}`},
		{"Mount", "/run", `/run {"ensure":"mounted","device":"tmpfs","fstype":"tmpfs","options":"rw","pass":"0","dump":"0"}`},
		{"Mount", "/none", `/none {"ensure":"absent"}`},
		{"Mount", "", `/srv {"ensure":"mounted","device":"/dev/x","fstype":"ext4","options":"ro","pass":"2","dump":"1"}`},
		{"Package", "bash", `bash {"ensure":"5.2-1","provider":"apt"}`},
		{"Package", "old", `old {"ensure":"absent","provider":"apt"}`},
		{"Package", "none", `none {"ensure":"purged","provider":"apt"}`},
		{"Package", "", `bash {"ensure":"5.2-1","provider":"apt"}` + "\n" + `zsh {"ensure":"5.9-4","mark":"hold","provider":"apt"}`},
		{"Service", "a", `a {"ensure":"running","enable":"true"}`},
		{"Service", "", `a.service {"ensure":"running","enable":"true"}` + "\n" + `c.service {"ensure":"stopped","enable":"mask"}`},
		{"Cron", "backup", `backup {"ensure":"present","command":"/bin/b","environment":["MAILTO=a@b"],"minute":["5"],"hour":["4","5"],"user":"job"}`},
		{"Cron", "unmanaged:/bin/d_x-1", `unmanaged:/bin/d_x-1 {"ensure":"present","command":"/bin/d  x","special":"daily","user":"job"}`},
		{"Cron", "none", `none {"ensure":"absent"}`},
		{"Ssh_authorized_key", "", `web@home {"ensure":"present","key":"AAAA","options":["no-pty"],"type":"ssh-ed25519","user":"web"}`},
		{"Ssh_authorized_key", "none", `none {"ensure":"absent"}`},
		{"File", "ROOT/none", `ROOT/none {"ensure":"absent"}`},
		{"File", "", "a name is needed"},
		{"Exec", "x", "bolt cannot show resources of the type exec"},
	} {
		h := shows(t)
		list, err := resource.Show(t.Context(), provider.All()[c.typ], h, c.typ, strings.Replace(c.name, "ROOT", h.Root, 1))
		var got []string
		for _, r := range list {
			params, err := json.Marshal(r.Params)
			if err != nil {
				t.Fatal(err)
			}
			if r.Type != c.typ {
				t.Errorf("%s", r.Ref)
			}
			got = append(got, r.Title+" "+string(params))
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s %s: %v", c.typ, c.name, err)
			}
			continue
		}
		if text := strings.ReplaceAll(strings.Join(got, "\n"), h.Root, "ROOT"); text != c.want {
			t.Errorf("%s %q: got\n%s\nwant\n%s", c.typ, c.name, text, c.want)
		}
	}
}

// TestShowable: bolt offers exactly the types that can be shown.
func TestShowable(t *testing.T) {
	var names []string
	for name, typ := range provider.All() {
		_, shower := typ.(resource.Shower)
		_, lister := typ.(resource.Lister)
		if shower || lister {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, fleet.Showable()) {
		t.Errorf("%q", names)
	}
}

func TestShowFile(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/f", []byte("text"), 0o640), os.Chmod(dir+"/f", os.ModeSetuid|0o640), os.Symlink("f", dir+"/l")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"f": "file 4640 <nil> {sha256}982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
		"l": "link 0777 f <nil>",
		"":  "directory 0755 <nil> <nil>",
	} {
		list, err := resource.Show(t.Context(), provider.All()["File"], resource.NewHost(), "File", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		p := list[0].Params
		if got := fmt.Sprint(p.Value("ensure"), " ", p.Value("mode"), " ", p.Value("target"), " ", p.Value("content")); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
