package mount

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

func newResource(title string, params ...any) *resource.Resource {
	return &resource.Resource{Ref: catalog.Ref{Type: "Mount", Title: title}, Params: ordered.Of(params...)}
}

// Each case applies a resource twice; the second time nothing changes.
func TestApply(t *testing.T) {
	const before = "# c\n/dev/x  /srv/x\text4 defaults 0 0\n/dev/y /srv/y xfs\n\nUUID=1 /srv/with\\040space/ ext4 ro 1 2\n"
	x := []any{"device", "/dev/x", "fstype", "ext4"}
	for _, c := range []struct {
		name    string
		before  string
		mounts  string
		title   string
		params  []any
		changes string
		after   string // "" for before
		ran     string
		err     string
	}{
		{name: "present", title: "/srv/x/", params: append(x, "ensure", "present"), before: before},
		{name: "created", title: "/srv/z z", params: []any{"ensure", "present", "device", "/dev/z", "fstype", "nfs", "options", "ro", "pass", int64(2)}, before: before,
			changes: "ensure mount_created absent defined;", after: before + "/dev/z\t/srv/z\\040z\tnfs\tro\t0\t2\n"},
		{name: "created without options", title: "/srv/z", params: append(x, "ensure", "unmounted"), changes: "ensure mount_created absent unmounted;",
			after: "/dev/x\t/srv/z\text4\tdefaults\t0\t0\n"},
		{name: "changed", title: "/srv/with space", params: []any{"ensure", "defined", "options", "rw", "pass", "0", "dump", int64(1)}, before: before,
			changes: "options options_changed ro rw;pass pass_changed 2 0;", after: strings.Replace(before, "UUID=1 /srv/with\\040space/ ext4 ro 1 2", "UUID=1\t/srv/with\\040space\text4\trw\t1\t0", 1)},
		{name: "missing fields are added", title: "/srv/y", params: []any{"ensure", "present"}, before: before,
			changes: "pass pass_changed  0;dump dump_changed  0;", after: strings.Replace(before, "/dev/y /srv/y xfs", "/dev/y\t/srv/y\txfs\tdefaults\t0\t0", 1)},
		{name: "changed and remounted", title: "/srv/x", params: []any{"ensure", "mounted", "options", "ro", "dump", "1"}, before: before, mounts: "/dev/x /srv/x ext4 rw 0 0\n",
			changes: "options options_changed defaults ro;dump dump_changed 0 1;", after: strings.Replace(before, "/dev/x  /srv/x\text4 defaults 0 0", "/dev/x\t/srv/x\text4\tro\t1\t0", 1),
			ran: "mount -o remount /srv/x;"},
		{name: "changed and mounted anew", title: "/srv/x", params: []any{"ensure", "mounted", "options", "ro", "remounts", false}, before: "/dev/x /srv/x ext4 rw 0 0\n",
			mounts: "/dev/x /srv/x ext4 rw 0 0\n", changes: "options options_changed rw ro;", after: "/dev/x\t/srv/x\text4\tro\t0\t0\n", ran: "umount /srv/x;mount /srv/x;"},
		{name: "mounted", title: "/srv/x", params: append(x, "ensure", "mounted"), before: before, mounts: "proc /proc proc rw 0 0\n", changes: "ensure mount_mounted unmounted mounted;",
			ran: "mount /srv/x;"},
		{name: "ghost is added", title: "/srv/g", params: append(x, "ensure", "mounted"), mounts: "/dev/x /srv/g ext4 rw 0 0\n",
			changes: "ensure mount_mounted ghost mounted;", after: "/dev/x\t/srv/g\text4\tdefaults\t0\t0\n"},
		{name: "unmounted", title: "/srv/x", params: []any{"ensure", "unmounted"}, before: before, mounts: "/dev/x /srv/x ext4 rw 0 0\n",
			changes: "ensure mount_unmounted mounted unmounted;", ran: "umount /srv/x;"},
		{name: "absent", title: "/srv/none", params: []any{"ensure", "absent"}, before: before},
		{name: "removed", title: "/srv/y", params: []any{"ensure", "absent"}, before: before, changes: "ensure mount_deleted unmounted absent;",
			after: strings.Replace(before, "/dev/y /srv/y xfs\n", "", 1)},
		{name: "unmounted and removed", title: "/srv/x", params: []any{"ensure", "absent"}, before: before, mounts: "/dev/x /srv/x ext4 rw 0 0\n",
			changes: "ensure mount_deleted mounted absent;", after: strings.Replace(before, "/dev/x  /srv/x\text4 defaults 0 0\n", "", 1), ran: "umount /srv/x;"},
		{name: "no device", title: "/srv/z", params: []any{"ensure", "present", "fstype", "ext4"}, before: before, err: "cannot be added to /etc/fstab without the parameter device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := resource.NewHost()
			h.Root = t.TempDir()
			put := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(h.Path(name), []byte(text), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{"/etc", "/proc/self"} {
				if err := os.MkdirAll(h.Path(dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put("/etc/fstab", c.before)
			put("/proc/self/mounts", c.mounts)
			var ran string
			h.Run = func(_ context.Context, cmd *resource.Command) (*resource.Output, error) {
				ran += strings.Join(cmd.Argv, " ") + ";"
				if dir := cmd.Argv[len(cmd.Argv)-1]; cmd.Argv[0] == "umount" {
					put("/proc/self/mounts", "")
				} else {
					put("/proc/self/mounts", "/dev/x "+dir+" ext4 rw 0 0\n")
				}
				return &resource.Output{}, nil
			}
			apply := func() (changes string, err error) {
				it, err := Type().New(newResource(c.title, c.params...))
				if err != nil {
					t.Fatal(err)
				}
				if err := it.Read(t.Context(), h); err != nil {
					t.Fatal(err)
				}
				plan, err := it.Plan()
				for _, ch := range plan {
					if ch.Name == "" {
						ch.Name = ch.Property + "_changed"
					}
					changes += fmt.Sprintf("%s %s %s %s;", ch.Property, ch.Name, ch.Is, ch.Should)
					if err := it.Do(t.Context(), h, &ch); err != nil {
						t.Error(err)
					}
				}
				if len(plan) > 0 {
					if err := it.(resource.Refresher).Refresh(t.Context(), h, plan); err != nil {
						t.Error(err)
					}
				}
				return changes, err
			}
			changes, err := apply()
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error is %v, want %q", err, c.err)
			}
			if changes != c.changes {
				t.Errorf("changes are %q, want %q", changes, c.changes)
			}
			data, _ := os.ReadFile(h.Path("/etc/fstab"))
			if c.after == "" {
				c.after = c.before
			}
			if string(data) != c.after {
				t.Errorf("fstab is\n%swant\n%s", data, c.after)
			}
			if ran != c.ran {
				t.Errorf("ran %q, want %q", ran, c.ran)
			}
			if info, err := os.Stat(h.Path("/etc/fstab")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode is %v, %v", info.Mode(), err)
			}
			if c.err == "" {
				if changes, err := apply(); changes != "" || err != nil {
					t.Errorf("the second apply changes %q, %v", changes, err)
				}
			}
		})
	}
}

// Without /proc, lines are managed, but nothing is mounted.
func TestWithoutProc(t *testing.T) {
	h := resource.NewHost()
	h.Root = t.TempDir()
	for _, ensure := range []string{"defined", "unmounted", "absent", "mounted"} {
		it, err := Type().New(newResource("/srv/x", "ensure", ensure, "device", "/dev/x", "fstype", "ext4"))
		if err != nil {
			t.Fatal(err)
		}
		if err := it.Read(t.Context(), h); (err != nil) != (ensure == "mounted") {
			t.Errorf("%s: %v", ensure, err)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"dump", int64(2)}, "The parameter dump must be 0 or 1"},
		{[]any{"pass", "x"}, "The parameter pass must be a small number"},
		{[]any{"options", "a b"}, "The parameter options must be one word without spaces"},
		{[]any{"fstype", ""}, "The parameter fstype must be one word without spaces"},
		{[]any{"device", ""}, "The parameter device must be the name of a device"},
		{[]any{"target", "fstab"}, `The parameter target must be an absolute path, and is "fstab"`},
		{[]any{"name", "-a"}, `The parameter name must be the path of a mount, and is "-a"`},
		{[]any{"provider", "aix"}, `The parameter provider must be parsed, and is "aix"`},
		{[]any{"atboot", "perhaps"}, `The parameter atboot must be true or false, and is "perhaps"`},
	} {
		if _, err := Type().New(newResource("/srv", c.params...)); err == nil || err.Error() != c.want {
			t.Errorf("New(%v): error is %v, want %s", c.params, err, c.want)
		}
	}
}

func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{`a b`: `a\040b`, "a\tb\\": `a\011b\134`, "x": "x"} {
		if got := encode(text); got != want || decode(got) != text {
			t.Errorf("encode(%q) = %q, decode is %q", text, got, decode(got))
		}
	}
	if got := decode(`\04`); got != `\04` {
		t.Errorf("decode = %q", got)
	}
	if !slices.Equal([]string{trim("/"), trim("/a//")}, []string{"/", "/a"}) {
		t.Error("trim is wrong")
	}
}
