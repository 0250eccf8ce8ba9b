package lvm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Physical_volume": PhysicalVolume(), "Volume_group": VolumeGroup(), "Logical_volume": LogicalVolume(), "Filesystem": Filesystem()}

func answer(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(text)}}
}

// machine is a host with two volume groups. The programs of LVM are stand-ins that print these columns as lvm2 2.03 does. The
// real programs need devices of the kernel.
func machine(t *testing.T) *providertest.Machine {
	t.Helper()
	return providertest.Scripted(t, "pvs vgs lvs pvcreate pvremove vgcreate vgremove vgextend vgreduce lvcreate lvremove lvextend blkid resize2fs xfs_growfs lsblk swapoff swapon mkswap mkfs.ext4 mkfs.xfs", types,
		answer("pvs --noheadings --separator , --units b --nosuffix -o pv_name,vg_name", "  /dev/sda2,vg0\n  /dev/sdb,vg0\n  /dev/sdc,vg1\n  /dev/sdd,\n"),
		answer("pvs", "  /dev/sda2\n  /dev/sdb\n  /dev/sdc\n  /dev/sdd\n"), answer("vgs", "  vg0\n  vg1\n"),
		answer("lvs", "  root,vg0,10737418240,4194304,1\n  data,vg0,1073741824,4194304,2\n  swap,vg1,1048576000,4194304,1\n"),
		answer("lsblk -o MOUNTPOINT -nr /dev/vg1/swap", "[SWAP]\n"), answer("lsblk", "/srv\n"),
		answer("blkid -p -s TYPE -s PTTYPE /dev/vg0/root", "/dev/vg0/root: TYPE=\"ext4\"\n"), answer("blkid -p -s TYPE -s PTTYPE /dev/vg0/data", "/dev/vg0/data: TYPE=\"xfs\"\n"),
		answer("blkid -p -s TYPE -s PTTYPE /dev/vg1/swap", "/dev/vg1/swap: TYPE=\"swap\"\n"), answer("blkid -p -s TYPE -s PTTYPE /dev/sde", "/dev/sde: PTTYPE=\"gpt\"\n"),
		providertest.Answer{Begin: "blkid", Out: resource.Output{Code: 2}})
}

func TestApply(t *testing.T) {
	const lvs = "lvs --noheadings --separator , --units b --nosuffix -o lv_name,vg_name,lv_size,vg_extent_size,stripes"
	for _, c := range []struct{ resource, out, ran string }{
		{`Physical_volume[/dev/sdb]`, "unchanged", ""},
		{`Physical_volume[/dev/disk/by-id/b]`, "unchanged", ""},
		{`Physical_volume[/dev/sde] {"force":true}`, "changed physical_volume_created", "pvcreate --force /dev/sde"},
		{`Physical_volume[/dev/sde] {"unless_vg":"vg0"}`, "unchanged", ""},
		{`Physical_volume[/dev/sde] {"unless_vg":"vg9"}`, "changed physical_volume_created", "pvcreate /dev/sde"},
		{`Physical_volume[/dev/sdd] {"ensure":"absent"}`, "changed physical_volume_removed", "pvremove /dev/sdd"},
		{`Volume_group[vg0] {"physical_volumes":["/dev/sdb","/dev/sda2"]}`, "unchanged", ""},
		{`Volume_group[vg0] {"physical_volumes":["/dev/sda2","/dev/sde"]}`, "changed physical_volumes_changed", "vgextend vg0 /dev/sde; vgreduce vg0 /dev/sdb"},
		{`Volume_group[vg0] {"physical_volumes":"/dev/sda2","createonly":true}`, "unchanged", ""},
		{`Volume_group[vg1] {"physical_volumes":"/dev/disk/by-id/c","followsymlinks":true}`, "unchanged", ""},
		{`Volume_group[new] {"physical_volumes":["/dev/sdd"],"extent_size":"16M"}`, "changed volume_group_created", "vgcreate new /dev/sdd -s 16M"},
		{`Volume_group[vg1] {"ensure":"absent"}`, "changed volume_group_removed", "vgremove vg1"},
		{`Logical_volume[root] {"volume_group":"vg0","size":"10G"}`, "unchanged", ""},
		{`Logical_volume[root] {"volume_group":"vg0"}`, "unchanged", ""},
		{`Logical_volume[swap] {"volume_group":"vg1","size":"999M"}`, "unchanged", ""},
		{`Logical_volume[root] {"volume_group":"vg0","size":"1T"}`, "changed size_changed", "blkid -p -s TYPE -s PTTYPE /dev/vg0/root; lvextend -L 1T /dev/vg0/root; resize2fs /dev/vg0/root"},
		{`Logical_volume[data] {"volume_group":"vg0","size":"2G"}`, "changed size_changed", "blkid -p -s TYPE -s PTTYPE /dev/vg0/data; lsblk -o MOUNTPOINT -nr /dev/vg0/data; lvextend -L 2G /dev/vg0/data; xfs_growfs /srv"},
		{`Logical_volume[swap] {"volume_group":"vg1","size":"2G"}`, "changed size_changed", "blkid -p -s TYPE -s PTTYPE /dev/vg1/swap; lsblk -o MOUNTPOINT -nr /dev/vg1/swap; lvextend -L 2G /dev/vg1/swap; swapoff /dev/vg1/swap; mkswap /dev/vg1/swap; swapon /dev/vg1/swap"},
		{`Logical_volume[data] {"volume_group":"vg0","size":"2g","resize_fs":false}`, "changed size_changed", "lvextend -L 2g /dev/vg0/data"},
		{`Logical_volume[root] {"volume_group":"vg0","size":"5G","size_is_minsize":true}`, "unchanged", ""},
		{`Logical_volume[root] {"volume_group":"vg0","size":"5G"}`, "failed: the volume has 10G, more than 5G. A smaller size can destroy data, so make the volume smaller by hand, or set size_is_minsize", ""},
		{`Logical_volume[data] {"volume_group":"vg0","stripes":4}`, "failed: the volume has 2 stripes, not 4, and LVM cannot change them", ""},
		{`Logical_volume[root] {"volume_group":"vg1","size":"1.5G","stripes":2,"stripesize":64,"readahead":"auto"}`, "changed logical_volume_created", "lvcreate -n root --size 1.5G --stripes 2 --stripesize 64 --readahead auto vg1"},
		{`Logical_volume[all] {"volume_group":"vg0","yes_flag":true}`, "changed logical_volume_created", "lvcreate -n all --extents 100%FREE vg0 --yes"},
		{`Logical_volume[half] {"volume_group":"vg0","extents":"50%VG","persistent":true,"minor":7}`, "changed logical_volume_created", "lvcreate -n half --extents 50%VG --persistent y --minor 7 vg0"},
		{`Logical_volume[pool] {"volume_group":"vg0","thinpool":true,"initial_size":"1G","poolmetadatasize":"16M"}`, "changed logical_volume_created", "lvcreate --size 1G --poolmetadatasize 16M --thin vg0/pool"},
		{`Logical_volume[thin] {"volume_group":"vg0","thinpool":"pool","size":"1G"}`, "changed logical_volume_created", "lvcreate -n thin --virtualsize 1G --thin vg0/pool"},
		{`Logical_volume[swap] {"volume_group":"vg1","ensure":"absent"}`, "changed logical_volume_removed", "blkid -p -s TYPE -s PTTYPE /dev/vg1/swap; swapoff /dev/vg1/swap; lvremove -f /dev/vg1/swap"},
		{`Filesystem[/dev/vg0/root] {"ensure":"present","fs_type":"ext4"}`, "unchanged", ""},
		{`Filesystem[/dev/vg0/root] {"ensure":"present","fs_type":"xfs"}`, "failed: /dev/vg0/root has a file system of the type ext4, and it is not overwritten. If it is not needed, remove it with wipefs", ""},
		{`Filesystem[/dev/sde] {"ensure":"present","fs_type":"xfs"}`, "failed: /dev/sde has partitions, and these are not overwritten. If they are not needed, remove them with wipefs", ""},
		{`Filesystem[/dev/vg0/new] {"ensure":"present","fs_type":"xfs","options":"-l internal,size=64m"}`, "changed filesystem_created", "blkid -p -s TYPE -s PTTYPE /dev/vg0/new; mkfs.xfs /dev/vg0/new -f -l internal,size=64m"},
		{`Filesystem[/dev/vg0/new] {"fs_type":"xfs"}`, "unchanged", ""},
		{`Filesystem[/dev/vg0/new] {"ensure":"present","fs_type":"swap"}`, "changed filesystem_created", "blkid -p -s TYPE -s PTTYPE /dev/vg0/new; mkswap /dev/vg0/new; swapon /dev/vg0/new"},
		{`Filesystem[/dev/vg0/new] {"ensure":"present","fs_type":"ext4","mkfs_cmd":"/sbin/mke2fs"}`, "changed filesystem_created", "blkid -p -s TYPE -s PTTYPE /dev/vg0/new; mke2fs /dev/vg0/new"},
	} {
		m := machine(t)
		m.Write("dev/sdb", "", 0o600)
		m.Write("dev/sdc", "", 0o600)
		m.Write("dev/vg0/new", "", 0o600)
		m.Write("dev/disk/by-id/x", "", 0o600)
		link(t, m, "../../sdb", "dev/disk/by-id/b")
		link(t, m, "../../sdc", "dev/disk/by-id/c")
		ref, _, _ := strings.Cut(c.resource, " {")
		m.Want(c.resource+" noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		m.Want(c.resource, m.Apply(false, c.resource), ref+" "+c.out)
		var ran []string
		for i, line := range m.Argv {
			if i > 0 && !strings.HasPrefix(line, "pvs ") && !strings.HasPrefix(line, "vgs ") {
				ran = append(ran, line)
			}
		}
		m.Want(c.resource+" commands", strings.Join(ran, "; "), c.ran)
		if strings.HasPrefix(ref, "Logical") {
			m.Want("query", m.Argv[0], lvs)
		}
	}
}

// TestFilesystems makes file systems in files, with the real programs.
func TestFilesystems(t *testing.T) {
	m := providertest.New(t, "/", "for f in new old swap; do truncate -s 8M /$f; done; mkfs.ext2 -q /old; printf '#!/bin/sh\\n:\\n' > /usr/local/sbin/swapon; chmod 755 /usr/local/sbin/swapon", types)
	list := []string{`Filesystem[/new] {"ensure":"present","fs_type":"ext4","options":"-q -L bolt"}`, `Filesystem[/old] {"ensure":"present","fs_type":"ext4"}`, `Filesystem[/swap] {"ensure":"present","fs_type":"swap"}`}
	const failed = "Filesystem[/old] failed: /old has a file system of the type ext2, and it is not overwritten. If it is not needed, remove it with wipefs\n"
	m.Want("noop", m.Apply(true, list...), "Filesystem[/new] noop filesystem_created\n"+failed+"Filesystem[/swap] noop filesystem_created")
	m.Want("queries", strings.Join(m.Argv, "; "), "blkid -p -s TYPE -s PTTYPE /new; blkid -p -s TYPE -s PTTYPE /old; blkid -p -s TYPE -s PTTYPE /swap")
	m.Want("new", m.Apply(false, list...), "Filesystem[/new] changed filesystem_created\n"+failed+"Filesystem[/swap] changed filesystem_created")
	m.Want("again", m.Apply(false, list...), "Filesystem[/new] unchanged\n"+failed+"Filesystem[/swap] unchanged")
	m.Want("label", m.Shell("blkid -o value -s LABEL /new"), "bolt")
}

// TestSeveralSignatures checks that a device with two signatures is not empty: with the real blkid, and ext4 and ISO 9660 in one file.
func TestSeveralSignatures(t *testing.T) {
	m := providertest.New(t, "/", `truncate -s 8M /both; mkfs.ext4 -q /both; printf '\001CD001\001' | dd of=/both bs=1 seek=32768 conv=notrunc 2>/dev/null; sha256sum /both > /sum`, types)
	const failed = "Filesystem[/both] failed: /both has more than one signature, and is not overwritten. If the signatures are not needed, remove them with wipefs"
	for _, kind := range []string{"xfs", "ext4"} {
		m.Want(kind, m.Apply(false, `Filesystem[/both] {"ensure":"present","fs_type":"`+kind+`"}`), failed)
	}
	m.Want("data", m.Shell("sha256sum --quiet -c /sum"), "")
}

// TestConcurrent checks that a file system that another program makes after the first query is not overwritten.
func TestConcurrent(t *testing.T) {
	for kind, want := range map[string]string{
		"ext4": "changed filesystem_created",
		"xfs":  "failed filesystem_created: change of ensure from absent to present failed: /new has a file system of the type ext4, and it is not overwritten. If it is not needed, remove it with wipefs",
	} {
		m := providertest.Scripted(t, "blkid mkfs.ext4 mkfs.xfs", types, providertest.Answer{Begin: "blkid", Out: resource.Output{Code: 2}}, answer("blkid", "/new: TYPE=\"ext4\"\n"))
		m.Write("new", "", 0o600)
		m.Want(kind, m.Apply(false, `Filesystem[/new] {"ensure":"present","fs_type":"`+kind+`"}`), "Filesystem[/new] "+want)
		m.Want("commands", strings.Join(m.Argv, "; "), "blkid -p -s TYPE -s PTTYPE /new; blkid -p -s TYPE -s PTTYPE /new")
	}
}

// TestUnreadable checks that a device that cannot be read is not empty. For both, blkid has the exit code 2.
func TestUnreadable(t *testing.T) {
	m := providertest.Scripted(t, "blkid mkfs.xfs", types, providertest.Answer{Begin: "blkid", Out: resource.Output{Code: 2}})
	m.Write("dev/d/x", "", 0o600)
	if got := m.Apply(false, `Filesystem[/dev/d] {"ensure":"present","fs_type":"xfs"}`); !strings.Contains(got, "Filesystem[/dev/d] failed: read ") {
		t.Error(got)
	}
	m.Want("commands", strings.Join(m.Argv, "; "), "blkid -p -s TYPE -s PTTYPE /dev/d")
}

// TestUnmounted checks that the volume stays as it is if its file system cannot become larger, so that the next run fails, too.
func TestUnmounted(t *testing.T) {
	for kind, want := range map[string]string{"xfs": "", "swap": "; lvextend -L 2G /dev/v/l; mkswap /dev/v/l"} {
		m := providertest.Scripted(t, "lvs lvextend blkid lsblk mkswap", types, answer("lvs", "  l,v,1073741824,4194304,1\n"), answer("blkid", "/dev/v/l: TYPE=\""+kind+"\"\n"))
		out := m.Apply(false, `Logical_volume[l] {"volume_group":"v","size":"2G"}`)
		if strings.Contains(out, "XFS file system that is not mounted") != (kind == "xfs") {
			t.Error(out)
		}
		m.Want(kind, strings.Join(m.Argv[1:], "; "), "blkid -p -s TYPE -s PTTYPE /dev/v/l; lsblk -o MOUNTPOINT -nr /dev/v/l"+want)
	}
}

func TestFailures(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	for _, r := range [][2]string{{"Physical_volume[/dev/a]", "pvs"}, {`Volume_group[v]`, "pvs"}, {`Logical_volume[l] {"volume_group":"v"}`, "lvs"}} {
		ref, _, _ := strings.Cut(r[0], " {")
		m.Want("no program", m.Apply(false, r[0]), ref+" failed: the program "+r[1]+" is missing. Install the package lvm2 on the target")
	}
	m = providertest.Scripted(t, "pvs lvs", types, answer("lvs", "\x00\xff\x1b[31m,x\n"), providertest.Answer{Begin: "pvs", Out: resource.Output{Code: 5, Stderr: []byte("  /run/lock/lvm: not writable\n")}})
	m.Want("noise", m.Apply(false, `Logical_volume[l] {"volume_group":"v"}`), `Logical_volume[l] failed: lvs printed "[31m,x", which does not have 5 columns`)
	m.Want("failure", m.Apply(false, `Physical_volume[/dev/a]`), "Physical_volume[/dev/a] failed: pvs: exit code 5: /run/lock/lvm: not writable")
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, `Physical_volume[/dev/a]`), "Physical_volume[/dev/a] failed: pvs: timed out")
	m = machine(t)
	m.Want("no devices", m.Apply(false, `Volume_group[new]`), "Volume_group[new] failed: the volume group does not exist, and the parameter physical_volumes is not given")
	for text, want := range map[string]string{
		`Physical_volume[sda]`:                                    "The parameter name must be an absolute path",
		`Volume_group[v] {"physical_volumes":["sda"]}`:            "The parameter physical_volumes must be an absolute path",
		`Volume_group[-f]`:                                        "The parameter name must be a word",
		`Volume_group[v] {"physical_volumes":[]}`:                 "The parameter physical_volumes must have at least one device",
		`Logical_volume[l]`:                                       "The parameter volume_group must be given",
		`Logical_volume[a/b] {"volume_group":"v"}`:                "The parameter name must be a name without slashes",
		`Logical_volume[l] {"volume_group":"v","size":"ten"}`:     "The parameter size must be a size",
		`Logical_volume[l] {"volume_group":"v","extents":"half"}`: "The parameter extents must be a number",
		`Logical_volume[l] {"volume_group":"v","mirror":1}`:       "The parameter mirror is not supported: use --engine puppet",
		`Filesystem[/dev/a]`:                                      "The parameter fs_type must be a type",
		`Filesystem[/dev/a] {"fs_type":"ext4","ensure":"absent"}`: "The parameter ensure cannot be absent",
		`Filesystem[/dev/a] {"fs_type":"ext4","size":"1G"}`:       "The parameter size is for AIX only",
		`Filesystem[/dev/a] {"fs_type":"../../bin/rm"}`:           "The parameter fs_type must be a type",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("  a,b\n")
	f.Fuzz(func(t *testing.T, text string) {
		if list, err := rows("pvs", text, 2); err == nil && len(list) > strings.Count(text, "\n")+1 {
			t.Errorf("%d rows", len(list))
		}
	})
}

func link(t *testing.T, m *providertest.Machine, to, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(m.Root, name)); err != nil {
		t.Fatal(err)
	}
}
