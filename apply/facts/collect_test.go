package facts

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

// notes collects notes of facts that failed.
type notes map[string]string

func (n notes) note(fact string, err error) { n[fact] = err.Error() }

func names(m *ordered.Map) []string {
	var list []string
	for name := range m.All() {
		list = append(list, name)
	}
	return list
}

// TestOneFactFails: a fact that panics or fails is noted, and the others are there.
func TestOneFactFails(t *testing.T) {
	m := readMachine(t, "testdata/machines/rocky-virtualbox.txtar")
	whole := names(Collect(t.Context(), Options{Root: m.root, sys: m.sys}))
	for _, c := range []struct {
		name, fact, says string
		lost             []string
		change           func(m *machine)
	}{
		{"panic", "identity", "internal error: broken", []string{"identity"},
			func(m *machine) {
				calls := 0
				m.sys.ids = func() (int, int) {
					if calls++; calls == 1 {
						panic("broken")
					}
					return 0, 0
				}
			}},
		{"network", "networking", "read network interfaces: permission denied", nil,
			func(m *machine) {
				m.sys.dump = func(int) ([]byte, error) { return nil, errors.New("permission denied") }
			}},
		{"damaged network", "networking", "read network interfaces: the kernel's answer", nil,
			func(m *machine) {
				m.sys.dump = func(int) ([]byte, error) { return []byte(strings.Repeat("\xff", 40)), nil }
			}},
		{"load", "load_averages", "parse /proc/loadavg", []string{"load_averages"},
			func(m *machine) { write(t, filepath.Join(m.root, "proc/loadavg"), "a b c") }},
		{"uptime", "system_uptime", "parse /proc/uptime", []string{"system_uptime"},
			func(m *machine) { write(t, filepath.Join(m.root, "proc/uptime"), "long") }},
		{"memory", "memory", "/proc/meminfo has no MemTotal", []string{"memory"},
			func(m *machine) { write(t, filepath.Join(m.root, "proc/meminfo"), "MemFree: 1 kB\n") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := readMachine(t, "testdata/machines/rocky-virtualbox.txtar")
			c.change(m)
			n := notes{}
			got := Collect(t.Context(), Options{Root: m.root, sys: m.sys, Note: n.note})
			if len(n) != 1 || !strings.Contains(n[c.fact], c.says) {
				t.Errorf("notes are %q, want %s: …%s…", n, c.fact, c.says)
			}
			want := slices.DeleteFunc(slices.Clone(whole), func(name string) bool { return slices.Contains(c.lost, name) })
			if !slices.Equal(names(got), want) {
				t.Errorf("facts are %q, want %q", names(got), want)
			}
		})
	}
}

// TestNothing: an empty machine has the facts that need no file, and nothing fails.
func TestNothing(t *testing.T) {
	n := notes{}
	got := Collect(t.Context(), Options{Root: t.TempDir(), sys: quietSystem("6.1", "x86_64"), Note: n.note})
	if len(n) > 0 {
		t.Errorf("notes are %q", n)
	}
	want := "facterversion fips_enabled identity is_virtual kernel kernelmajversion kernelrelease kernelversion networking os timezone virtual"
	if s := strings.Join(names(got), " "); s != want {
		t.Errorf("facts are %s, want %s", s, want)
	}
	if v := got.Value("virtual"); v != "physical" {
		t.Errorf("virtual is %v", v)
	}
}

// TestEnded: facts that come after the end of the context are left out, with a note for each.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := notes{}
	if got := Collect(ctx, Options{Root: t.TempDir(), sys: quietSystem("6.1", "x86_64"), Note: n.note}); got.Len() != 0 {
		t.Errorf("facts are %q", names(got))
	}
	if n["os"] != context.Canceled.Error() {
		t.Errorf("notes are %q", n)
	}
}

// TestFileServerIsGone: a file system on a network that does not answer delays facts by a few seconds, and
// the other file systems are there.
func TestFileServerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		write(t, filepath.Join(root, "proc/self/mounts"), "server:/home /home nfs4 rw 0 0\n/dev/sda1 / ext4 rw 0 0\n")
		sys := quietSystem("6.1", "x86_64")
		back := make(chan bool)
		sys.statfs = func(path string) (fsSize, error) {
			if filepath.Base(path) == "home" {
				<-back
			}
			return fsSize{size: 2048, free: 1024, available: 1024}, nil
		}
		start := time.Now()
		n := notes{}
		got := Collect(t.Context(), Options{Root: root, sys: sys, Note: n.note}).Value("mountpoints").(*ordered.Map)
		if took := time.Since(start); took != answerLimit {
			t.Errorf("it took %v", took)
		}
		if s := got.Value("/").(*ordered.Map).Value("size"); s != "2.00 KiB" {
			t.Errorf("the size of / is %v", s)
		}
		if s := got.Value("/home").(*ordered.Map).Value("size"); s != "0 bytes" {
			t.Errorf("the size of /home is %v", s)
		}
		if want := "the file server of /home did not answer within 3s"; n["mountpoints"] != want {
			t.Errorf("notes are %q, want %s", n, want)
		}
		close(back)
	})
}

// TestExternal: facts in files and programs. Expected values are those of facter.
func TestExternal(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/facter/facts.d/a.txt":              "foo=a\nBar=x y \nempty=\n a b =c=d\nno\n",
		"etc/facter/facts.d/z.txt":              "foo=z\n",
		"etc/facter/facts.d/m.yaml":             "foo: yaml\nnum: 3\nd: 2020-01-01\nt: 2020-01-01 10:00:00\nnested:\n  a: [1, 2.5, null, true]\n",
		"etc/facter/facts.d/j.json":             `{"os": {"x": 1}, "n": 1.5}`,
		"etc/facter/facts.d/bad.json":           `{"lost": `,
		"etc/facter/facts.d/.hidden.txt":        "hidden=1\n",
		"etc/facter/facts.d/plain":              "plain=1\n",
		"etc/facter/facts.d/dir.txt/in.txt":     "in=1\n",
		"etc/facter/facts.d/old.ps1":            "#!/bin/sh\necho ps1=1\n",
		"etc/facter/facts.d/lines.sh":           "#!/bin/sh\necho exe=1\necho foo=exe\nexit 3\n",
		"etc/facter/facts.d/json":               "#!/bin/sh\necho '{\"js\": {\"a\": 1}}'\n",
		"etc/puppetlabs/facter/facts.d/a.txt":   "foo=second\nonly=2\n",
		"opt/puppetlabs/facter/facts.d/own.txt": "third=3\n",
		"home/me/.facter/facts.d/me.txt":        "me=1\n",
	} {
		write(t, filepath.Join(root, name), text)
	}
	sys := quietSystem("6.1", "x86_64")
	n := notes{}
	o := Options{Root: root, sys: sys, Note: n.note, Env: []string{"PATH=/usr/bin:/bin", "HOME=/home/me", "FACTER_Zap=Q", "FACTER_third=env"}}
	got := Collect(t.Context(), o)
	want := map[string]string{
		"foo": `"z"`, "bar": `"x y "`, " a b ": `"c=d"`, "num": "3", "d": `"2020-01-01"`, "t": `"2020-01-01 10:00:00"`,
		"nested": `{"a":[1,2.5,null,true]}`, "os": `{"x":1}`, "n": "1.5", "exe": `"1"`, "js": `{"a":1}`, "only": `"2"`, "third": `"env"`, "zap": `"Q"`,
	}
	found := map[string]string{}
	core := names(Collect(t.Context(), Options{Root: t.TempDir(), sys: sys, Env: []string{"PATH=x"}}))
	for name, v := range got.All() {
		if !slices.Contains(core, name) || name == "os" {
			found[name] = show(v)
		}
	}
	if !maps.Equal(found, want) {
		t.Errorf("facts are %q\nwant %q", found, want)
	}
	if len(n) != 1 || n["/etc/facter/facts.d/bad.json"] == "" {
		t.Errorf("notes are %q", n)
	}

	o.sys.ids = func() (int, int) { return 1000, 1000 }
	if got := Collect(t.Context(), o); got.Value("me") != "1" || got.Value("foo") != nil {
		t.Errorf("another user has facts %q", names(got))
	}
}

// TestProgramHangs: an external fact that does not end is stopped, with what it started.
func TestProgramHangs(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/facter/facts.d/slow"), "#!/bin/sh\necho slow=1\nsleep 60 &\nwait\n")
	write(t, filepath.Join(root, "etc/facter/facts.d/fast.txt"), "fast=1\n")
	n := notes{}
	start := time.Now()
	got := Collect(t.Context(), Options{Root: root, sys: quietSystem("6.1", "x86_64"), Note: n.note, ProgramLimit: 100 * time.Millisecond, Env: []string{"PATH=/usr/bin:/bin"}})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if got.Value("fast") != "1" || got.Value("slow") != nil {
		t.Errorf("facts are %q", names(got))
	}
	if want := "it was stopped after 100ms"; n["/etc/facter/facts.d/slow"] != want {
		t.Errorf("notes are %q, want %s", n, want)
	}
}

// TestPrograms: getent is asked for an account that is not in files, and blkid where there is no udev.
func TestPrograms(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"usr/bin/getent":                 "#!/bin/sh\n",
		"sbin/blkid":                     "#!/bin/sh\n",
		"sys/block/vda/device/vendor":    "0x1af4\n",
		"sys/block/vda/vda1/size":        "2048\n",
		"sys/block/vda/vda1/dev":         "254:1\n",
		"sys/block/nvme0n1/nvme0n1p1/x":  "",
		"sys/block/nvme0n1/device/model": "M\n",
	} {
		write(t, filepath.Join(root, name), text)
	}
	sys := quietSystem("6.1", "x86_64")
	sys.ids = func() (int, int) { return 70001, 70001 }
	run := func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		switch argv := strings.Join(c.Argv, " "); argv {
		case "/usr/bin/getent passwd 70001":
			return &resource.Output{Stdout: []byte("ada:*:70001:70002:Ada:/home/ada:/bin/sh\n")}, nil
		case "/usr/bin/getent group 70002":
			return &resource.Output{Stdout: []byte("people:*:70002:\n")}, nil
		case "/sbin/blkid":
			return &resource.Output{Stdout: []byte("/dev/vda1: LABEL=\"a b\" UUID=\"x-1\" BLOCK_SIZE=\"4096\" TYPE=\"ext4\" PARTUUID=\"p-1\"\n")}, nil
		default:
			t.Errorf("it runs %s", argv)
			return nil, errors.New("no such program")
		}
	}
	got := Collect(t.Context(), Options{Root: root, sys: sys, Run: run})
	if s, want := show(got.Value("identity")), `{"gid":70002,"group":"people","privileged":false,"uid":70001,"user":"ada"}`; s != want {
		t.Errorf("identity is %s, want %s", s, want)
	}
	want := `{"/dev/nvme0n1p1":{"size":"0 bytes","size_bytes":0},"/dev/vda1":{"filesystem":"ext4","label":"a b","partuuid":"p-1","size":"1.00 MiB","size_bytes":1048576,"uuid":"x-1"}}`
	if s := show(got.Value("partitions")); s != want {
		t.Errorf("partitions are %s, want %s", s, want)
	}
}
