package systemd

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"bolt/apply/provider/file"
	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Loginctl_user": User(), "Systemd_purge_units": Purge(), "File": file.New()}

// loginctl is a stand-in, because it needs a running logind: it makes and removes the file, as logind does.
func machine(t *testing.T, programs string) *providertest.Machine {
	m := providertest.Scripted(t, programs, types)
	run := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		path := m.Root + "/var/lib/systemd/linger/" + c.Argv[len(c.Argv)-1]
		switch c.Argv[1] {
		case "enable-linger":
			m.Write(strings.TrimPrefix(path, m.Root), "", 0o644)
		case "disable-linger":
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
		return run(ctx, c)
	}
	return m
}

func TestUser(t *testing.T) {
	m := machine(t, "loginctl")
	const on, off = `Loginctl_user[u] {"linger":"enabled"}`, `Loginctl_user[u]`
	for _, step := range []struct {
		noop        bool
		r, out, ran string
	}{
		{false, off, "unchanged", ""},
		{true, on, "noop linger_changed", ""},
		{false, on, "changed linger_changed", "loginctl enable-linger u"},
		{false, on, "unchanged", ""},
		{false, off, "changed linger_changed", "loginctl disable-linger u"},
		{false, off, "unchanged", ""},
	} {
		m.Want(step.r, m.Apply(step.noop, step.r), "Loginctl_user[u] "+step.out)
		m.Want("commands", strings.Join(m.Argv, "; "), step.ran)
	}
	m = machine(t, "")
	m.Want("missing", m.Apply(false, on), "Loginctl_user[u] failed linger_changed: change of linger from disabled to enabled failed: the program loginctl is missing. It is part of systemd")
	m = providertest.Scripted(t, "loginctl", types, providertest.Answer{Begin: "loginctl", Out: resource.Output{Stderr: []byte("Could not enable linger:\x00\x1b No such user\n"), Code: 1}})
	if got := m.Apply(false, on); !strings.Contains(got, "loginctl: exit code 1: Could not enable linger: No such user") {
		t.Errorf("%q", got)
	}
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	if got := m.Apply(false, on); !strings.Contains(got, "loginctl: timed out") {
		t.Error(got)
	}
	for r, want := range map[string]string{
		`Loginctl_user[../x]`:                "The parameter name must be the name of a user",
		`Loginctl_user[-x]`:                  "The parameter name must be the name of a user",
		`Loginctl_user[u] {"linger":"true"}`: `The parameter linger cannot be "true"`,
	} {
		if got := m.Apply(false, r); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
}

func TestPurge(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	dir := m.Root + "/units"
	fill := func() {
		for name, text := range map[string]string{
			"old.service": "# Deployed with puppet\n[Unit]\n", "old.timer": "# Deployed with puppet, too\n", "kept.service": "# Deployed with puppet\n",
			"own.service": "[Unit]\n# Deployed with puppet\n", "short.service": "#", "notes.txt": "# Deployed with puppet\n", "old.target": "# Deployed with puppet\n",
		} {
			m.Write("units/"+name, text, 0o644)
		}
	}
	fill()
	if err := errors.Join(os.Symlink("old.txt", dir+"/link.service"), os.Mkdir(dir+"/d.service", 0o755)); err != nil {
		t.Fatal(err)
	}
	m.Write("units/old.txt", "# Deployed with puppet\n", 0o644)
	kept := `File[kept] {"path":"` + dir + `/kept.service","ensure":"file"}`
	purge := `Systemd_purge_units[` + dir + `]`
	relative := func(out string) string { return strings.ReplaceAll(out, dir, "DIR") }
	m.Want("purgable", relative(m.Apply(false, kept, `Systemd_purge_units[`+dir+`] {"ensure":"purgable"}`)), "File[kept] unchanged\nSystemd_purge_units[DIR] unchanged")
	m.Want("noop", relative(m.Apply(true, kept, purge)), "File[DIR/old.service] noop file_removed\nFile[DIR/old.timer] noop file_removed\nFile[kept] unchanged\nSystemd_purge_units[DIR] noop systemd_purge_units_changed")
	only := `Systemd_purge_units[` + dir + `] {"unit_types":"timer"}`
	m.Want("timers", relative(m.Apply(false, kept, only)), "File[DIR/old.timer] changed file_removed\nFile[kept] unchanged\nSystemd_purge_units[DIR] changed systemd_purge_units_changed")
	m.Want("all", relative(m.Apply(false, kept, purge)), "File[DIR/old.service] changed file_removed\nFile[kept] unchanged\nSystemd_purge_units[DIR] changed systemd_purge_units_changed")
	m.Want("again", relative(m.Apply(false, kept, purge)), "File[kept] unchanged\nSystemd_purge_units[DIR] unchanged")
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	m.Want("files", strings.Join(names, " "), "d.service kept.service link.service notes.txt old.target old.txt own.service short.service")
	if err != nil {
		t.Error(err)
	}
	m.Want("no directory", m.Apply(false, `Systemd_purge_units[/nonexistent]`), "Systemd_purge_units[/nonexistent] unchanged")
	m.Want("warning", strings.Join(m.Logs, "\n"), "Systemd_purge_units[/nonexistent] warning: /nonexistent is not a directory, so nothing is purged")
	for r, want := range map[string]string{
		`Systemd_purge_units[units]`:                   "The parameter path must be an absolute path",
		`Systemd_purge_units[/u] {"unit_types":["x"]}`: "The parameter unit_types must be from automount",
		`Systemd_purge_units[/u] {"ensure":"absent"}`:  `The parameter ensure cannot be "absent"`,
	} {
		if got := m.Apply(false, r); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
}

// TestPurgeMergedUsr checks that a file is not purged if the catalog has it below another path of the directory.
func TestPurgeMergedUsr(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	for _, name := range []string{"kept", "title", "old"} {
		m.Write("usr/lib/systemd/system/"+name+".service", "# Deployed with puppet\n", 0o644)
	}
	m.Write("etc/systemd/system/old.service", "", 0o644)
	if err := os.Symlink("usr/lib", m.Root+"/lib"); err != nil {
		t.Fatal(err)
	}
	out := m.Apply(false, `File[kept] {"path":"`+m.Root+`/lib/systemd/system/kept.service","ensure":"file"}`, `File[`+m.Root+`/lib/systemd//system/title.service] {"ensure":"file"}`,
		`File[other] {"path":"`+m.Root+`/etc/systemd/system/old.service","ensure":"file"}`, `Systemd_purge_units[`+m.Root+`/usr/lib/systemd/system]`)
	m.Want("purge", strings.ReplaceAll(out, m.Root, ""), "File[/lib/systemd//system/title.service] unchanged\nFile[/usr/lib/systemd/system/old.service] changed file_removed\nFile[kept] unchanged\nFile[other] unchanged\nSystemd_purge_units[/usr/lib/systemd/system] changed systemd_purge_units_changed")
}
