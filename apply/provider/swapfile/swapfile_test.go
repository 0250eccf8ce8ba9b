package swapfile

import (
	"context"
	"os"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Swap_file": Type()}

const header = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

const probed = "blkid -p -s TYPE -s PTTYPE /proc/self/fd/3; "

func TestApply(t *testing.T) {
	for _, c := range []struct{ resource, swaps, out, ran string }{
		{`Swap_file[/s] {"ensure":"present"}`, header, "changed swap_file_created", probed + "mkswap /proc/self/fd/3; swapon /proc/self/fd/3"},
		{`Swap_file[x] {"ensure":"present","file":"/a b"}`, header, "changed swap_file_created", probed + "mkswap /proc/self/fd/3; swapon /proc/self/fd/3"},
		{`Swap_file[/s] {"ensure":"present"}`, header + "/s                                      file\t\t4092\t\t0\t\t-2\n", "unchanged", ""},
		{`Swap_file[/a b] {"ensure":"present"}`, header + "/a\\040b file\t4092\t0\t-2\n", "unchanged", ""},
		{`Swap_file[/s] {"ensure":"absent"}`, header + "/s file\t4092\t0\t-2\n", "changed swap_file_removed", "swapoff /s"},
		{`Swap_file[/s] {"ensure":"absent"}`, header + "/dev/sda2 partition\t4092\t0\t-2\n", "unchanged", ""},
		{`Swap_file[/s] {"size":"4092"}`, header, "changed swap_file_created", probed + "mkswap /proc/self/fd/3; swapon /proc/self/fd/3"},
		{`Swap_file[/s]`, header, "unchanged", ""},
		{`Swap_file[/none] {"ensure":"present"}`, header, "failed swap_file_created: change of ensure from absent to present failed: open /none: no such file or directory", ""},
		{`Swap_file[/usr] {"ensure":"present"}`, header, "failed swap_file_created: change of ensure from absent to present failed: /usr is not a regular file", ""},
	} {
		m := providertest.Scripted(t, "blkid mkswap swapon swapoff", types, providertest.Answer{Begin: "blkid", Out: resource.Output{Code: 2}})
		m.Write("proc/swaps", c.swaps, 0o644)
		m.Write("s", "", 0o600)
		m.Write("a b", "", 0o600)
		ref, _, _ := strings.Cut(c.resource, " {")
		if !strings.HasPrefix(c.out, "failed") {
			m.Want("noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		}
		m.Want(c.resource, strings.ReplaceAll(m.Apply(false, c.resource), m.Root, "ROOT"), ref+" "+c.out)
		m.Want("commands", strings.Join(m.Argv, "; "), c.ran)
	}
}

// TestReadOnly checks that a size that differs is not reported as a change, because it cannot be changed.
func TestReadOnly(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	m.Write("proc/swaps", header+"/s file\t4092\t0\t-2\n", 0o644)
	m.Want("size", m.Apply(false, `Swap_file[/s] {"ensure":"present","size":"1068028","priority":"-2"}`), "Swap_file[/s] unchanged")
	m.Want("warning", strings.Join(m.Logs, "\n"), "Swap_file[/s] warning: The size is 4092, not 1068028, and cannot be changed while the file is in use")
}

// TestReal makes a file with the real mkswap. The kernel of the test does not use it: swapon only checks the signature.
func TestReal(t *testing.T) {
	m := providertest.New(t, "/", "dd if=/dev/zero of=/swap bs=4096 count=100 2>/dev/null; chmod 600 /swap; printf '#!/bin/sh\\nblkid -p -o value -s TYPE \"$1\" > /used\\n' > /usr/local/bin/swapon; chmod 755 /usr/local/bin/swapon", types)
	m.Host.Env = append(m.Host.Env, "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	if _, err := os.Stat(m.Root + "/proc/swaps"); err != nil {
		t.Fatal(err)
	}
	m.Want("new", m.Apply(false, `Swap_file[/swap] {"ensure":"present"}`), "Swap_file[/swap] changed swap_file_created")
	m.Want("signature", m.Shell("cat /used"), "swap")
}

// TestData checks with the real blkid and mkswap that files with data are not overwritten, and that a swap file keeps its UUID. The
// stand-in for swapon only writes down the signature, because the kernel of the test must not use the file.
func TestData(t *testing.T) {
	m := providertest.New(t, "/", `cd /
for f in ext4 both parts text late holes; do truncate -s 8M $f; done
mkfs.ext4 -q ext4; mkfs.ext4 -q both; printf '\001CD001\001' | dd of=both bs=1 seek=32768 conv=notrunc 2>/dev/null
printf '\125\252' | dd of=parts bs=1 seek=510 conv=notrunc 2>/dev/null
echo secret > text; printf x | dd of=late bs=1 seek=8388607 conv=notrunc 2>/dev/null
dd if=/dev/zero of=swap bs=4096 count=100 2>/dev/null; mkswap -U 11111111-1111-1111-1111-111111111111 swap >/dev/null 2>&1
truncate -s 8M alien; chown 64001 alien; ln -s holes link
sha256sum ext4 both parts text late swap alien > sums
printf '#!/bin/sh\nblkid -p -o value -s UUID "$1" >> /used\n' > /usr/local/bin/swapon; chmod 755 /usr/local/bin/swapon`, types)
	m.Host.Env = append(m.Host.Env, "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	for name, want := range map[string]string{
		"ext4":  "has data of the type ext4, and is not overwritten",
		"both":  "has other data (more than one signature), and is not overwritten",
		"parts": "has other data (partitions), and is not overwritten",
		"text":  "has data, and is not overwritten. If the data is not needed, remove the file and make it again",
		"late":  "has data, and is not overwritten. If the data is not needed, remove the file and make it again",
		"alien": "has an owner with the UID 64001. This user could read the memory of other users. Change the owner",
		"link":  "is not a regular file",
	} {
		m.Want(name, m.Apply(false, `Swap_file[/`+name+`] {"ensure":"present"}`), "Swap_file[/"+name+"] failed swap_file_created: change of ensure from absent to present failed: /"+name+" "+want)
	}
	m.Want("inactive", m.Apply(false, `Swap_file[/swap] {"ensure":"present"}`), "Swap_file[/swap] changed swap_file_created")
	m.Want("UUID", m.Shell("cat /used"), "11111111-1111-1111-1111-111111111111")
	m.Want("files", m.Shell("cd / && sha256sum --quiet -c sums"), "")
	m.Want("holes", m.Apply(false, `Swap_file[/holes] {"ensure":"present"}`), "Swap_file[/holes] changed swap_file_created")
}

// TestExchanged checks that the programs get the file that was checked, although its path leads to another file by then.
func TestExchanged(t *testing.T) {
	m := providertest.Scripted(t, "blkid mkswap swapon", types)
	m.Write("proc/swaps", header, 0o644)
	m.Write("s", "", 0o600)
	m.Write("other", "", 0o600)
	want, err := os.Stat(m.Root + "/s")
	if err != nil {
		t.Fatal(err)
	}
	m.Host.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		_ = os.Remove(m.Root + "/s")
		_ = os.Symlink("other", m.Root+"/s")
		if len(c.Keep) != 1 || c.Argv[len(c.Argv)-1] != "/proc/self/fd/3" {
			t.Fatalf("%q, %d files", c.Argv, len(c.Keep))
		}
		if is, err := c.Keep[0].Stat(); err != nil || !os.SameFile(is, want) {
			t.Errorf("%q: another file, %v", c.Argv, err)
		}
		if strings.HasSuffix(c.Argv[0], "blkid") {
			return &resource.Output{Code: 2}, nil
		}
		return &resource.Output{}, nil
	}
	m.Want("swap", m.Apply(false, `Swap_file[/s] {"ensure":"present"}`), "Swap_file[/s] changed swap_file_created")
}

func TestFailures(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	m.Want("no proc", m.Apply(false, `Swap_file[/s] {"ensure":"present"}`), "Swap_file[/s] failed: the swap files that are in use are not known: /proc/swaps is missing")
	m.Write("proc/swaps", "\x00\xffnoise\n", 0o644)
	m.Want("noise", m.Apply(false, `Swap_file[/s] {"ensure":"present"}`), "Swap_file[/s] failed: /proc/swaps has no header")
	m.Write("proc/swaps", header, 0o644)
	m.Write("s", "", 0o600)
	m.Want("no program", m.Apply(false, `Swap_file[/s] {"ensure":"present"}`), "Swap_file[/s] failed swap_file_created: change of ensure from absent to present failed: the program blkid is missing. Install the package util-linux on the target")
	m.Write("usr/bin/blkid", "", 0o755)
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, `Swap_file[/s] {"ensure":"present"}`), "Swap_file[/s] failed swap_file_created: change of ensure from absent to present failed: blkid: timed out")
	for text, want := range map[string]string{
		`Swap_file[s]`:                     "The parameter file must be an absolute path",
		`Swap_file[/s] {"ensure":"on"}`:    "The parameter ensure cannot be",
		`Swap_file[/s] {"size":["a","b"]}`: "The parameter size must be a string",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + "/s file 1 0 -2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := parse(text); err == nil && len(all) > strings.Count(text, "\n")+1 {
			t.Errorf("%d files", len(all))
		}
	})
}
