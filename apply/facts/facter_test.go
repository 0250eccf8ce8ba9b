package facts

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/format/ordered"
	"bolt/internal/roottest"
)

// facter runs the installed facter with some arguments.
func facter(t *testing.T, argv ...string) *ordered.Map {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	out, err := cmd.Output() // it can fail for one fact and print the others
	v, perr := ordered.ParseJSON(out)
	m, is := v.(*ordered.Map)
	if !is {
		t.Fatalf("run %s: %v, %v", strings.Join(argv, " "), err, perr)
	}
	return m
}

// notCollected are facts of facter that this package does not have.
var notCollected = []string{"ruby", "augeas", "cloud", "ec2_metadata", "ec2_userdata", "gce", "az_metadata", "xen", "zfs_version", "zpool_version",
	"aio_agent_version", "os.distro.specification", "hypervisors.vmware.version"}

// newer are parts of facts that facter had not before 4.11, by their last names.
var newer = []string{"extensions", "operational_state", "physical", "duplex", "speed", "version", "parttype"}

// TestFacter: on this machine, facts have the names and the values that the installed facter gives them. Other tests mount
// file systems, and the machine can change between the two programs in other ways. So the test has its own mounts, and
// compares again if there is a difference.
func TestFacter(t *testing.T) {
	if !roottest.Private(t) {
		return
	}
	var differences []string
	for range 5 {
		withoutTemporaryMounts(t)
		if differences = compareFacter(t); len(differences) == 0 {
			return
		}
		t.Logf("compared once: %q", differences)
	}
	for _, d := range differences {
		t.Error(d)
	}
}

// withoutTemporaryMounts unmounts the file systems that other tests have mounted in their directories.
func withoutTemporaryMounts(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	mounts := parseMounts(string(text))
	slices.Reverse(mounts) // the inner ones first
	for _, m := range mounts {
		if strings.HasPrefix(m.path, os.TempDir()+"/") {
			_ = unix.Unmount(m.path, unix.MNT_DETACH) // the other test can have removed the directory
		}
	}
}

// compareFacter returns the differences.
func compareFacter(t *testing.T) (differences []string) {
	t.Helper()
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	want := facter(t, "facter", "--json")
	installed, _ := want.Value("facterversion").(string)
	old := installed != version
	got := Collect(t.Context(), Options{Env: os.Environ(), Note: func(fact string, err error) { differ("%s: %v", fact, err) }})
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ordered.ParseJSON(text) // numbers become those of the other side
	if err != nil {
		t.Fatal(err)
	}
	ours := v.(*ordered.Map)
	_, dockerErr := os.Stat("/.dockerenv")
	for name, value := range want.All() {
		switch {
		case slices.Contains(notCollected, name), name == "facterversion" && old:
		case old && dockerErr == nil && slices.Contains([]string{"virtual", "is_virtual", "hypervisors", "system_uptime"}, name):
			// facter did not know /.dockerenv then.
		case name == "partitions" && value.(*ordered.Map).Len() == 0: // without sys-filesystem facter leaves it there
		default:
			same(differ, name, value, ours.Value(name), old)
		}
	}
	for name := range ours.All() {
		if _, is := want.Get(name); !is {
			// facter leaves out facts that it fails to collect, such as those that need /proc/1/environ where
			// root cannot read it.
			t.Logf("facter %s has no fact %s here", installed, name)
		}
	}
	return differences
}

// same compares a fact and its parts.
func same(differ func(format string, args ...any), path string, want, got any, old bool) {
	w, is := want.(*ordered.Map)
	g, both := got.(*ordered.Map)
	if !is || !both {
		if !alike(path, want, got) {
			differ("%s is %v, want %v", path, show(got), show(want))
		}
		return
	}
	for name, v := range w.All() {
		if p := path + "." + name; !slices.Contains(notCollected, p) {
			same(differ, p, v, g.Value(name), old)
		}
	}
	for name, v := range g.All() {
		if _, is := w.Get(name); !is && !(old && slices.Contains(newer, name)) {
			differ("%s.%s is %v, want none", path, name, show(v))
		}
	}
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// alike compares values. Those that change all the time need only be near.
func alike(path string, want, got any) bool {
	changing := strings.HasPrefix(path, "memory.") || strings.HasPrefix(path, "mountpoints.")
	last := path[strings.LastIndex(path, ".")+1:]
	switch {
	case changing && slices.Contains([]string{"available_bytes", "used_bytes"}, last):
		return near(want, got, 4<<30)
	case changing && slices.Contains([]string{"available", "used", "capacity"}, last), path == "processors.speed", path == "system_uptime.uptime":
		_, is := got.(string)
		return is
	case strings.HasPrefix(path, "load_averages."):
		return near(want, got, 20)
	case strings.HasPrefix(path, "system_uptime."):
		return near(want, got, 60)
	}
	return show(want) == show(got)
}

func near(want, got any, distance float64) bool {
	a, is := float(want)
	b, both := float(got)
	return is && both && math.Abs(a-b) <= distance
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// oldOS are distributions for which older versions of facter have other values.
var oldOS = []string{"arch", "oracle-9", "amazon-2", "amazon-2023"}

// ofMachine are the parts for which facter asks the programs lsb_release and rpm, or the kernel, of
// this machine.
var ofMachine = map[string][]string{
	"alpine-3.20": {"distro"}, "gentoo": {"distro"}, "arch": {"distro", "release"}, "amazon-2023": {"distro", "release"},
}

// TestDistributionsFacter: the installed facter gives the fact os of the recorded distributions the same
// value. It runs in a mount namespace that has their files in /etc.
func TestDistributionsFacter(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can make a mount namespace")
	}
	t.Parallel()
	old := facter(t, "facter", "--json", "facterversion").Value("facterversion") != version
	machines(t, "testdata/os/*.txtar", func(t *testing.T, m *machine) {
		name := strings.TrimSuffix(filepath.Base(m.path), ".txtar")
		if old && slices.Contains(oldOS, name) {
			return
		}
		script := fmt.Sprintf("cp /etc/ld.so.cache %s/etc && mount --bind %s/etc /etc && exec facter --json os", m.root, m.root)
		want, is := facter(t, "unshare", "-m", "sh", "-c", script).Value("os").(*ordered.Map)
		if !is {
			t.Fatal("facter has no fact os")
		}
		o := Options{Root: m.root, sys: m.sys, Env: []string{"PATH=/usr/bin"}}
		got := Collect(t.Context(), o).Value("os").(*ordered.Map)
		for _, part := range []string{"name", "family", "release", "distro"} {
			if slices.Contains(ofMachine[name], part) {
				continue
			}
			if show(got.Value(part)) != show(want.Value(part)) {
				t.Errorf("os.%s is %s, want %s", part, show(got.Value(part)), show(want.Value(part)))
			}
		}
	})
}
