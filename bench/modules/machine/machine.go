// Package machine makes disposable machines for the real puppet and for bolt. A machine is an overlay, in memory, of a
// directory with a minimal Debian 12 that has Puppet. Its network has only the loopback interface. Programs that would
// need a network or an init have stand-ins:
//
//   - apt reads one repository, which has a stub for each package that a catalog names (packages.go).
//   - systemctl is a script that keeps the states of units in files (systemctl).
//   - The first process has the name systemd. It is also a web server for all hosts of URLs that are files to download
//     (web.go).
//
// All machines of one Set have the same files before the first run.
package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The packages that the base root has besides a minimal Debian.
const included = "puppet-agent,ruby-sys-filesystem,ruby-puppet-resource-api,ruby-scanf,augeas-tools,bzip2,ca-certificates,cron,curl,git,gpg," +
	"openssl,procps,python3-venv,sudo,unzip,xz-utils"

// Base returns a directory with a minimal Debian 12 that has Puppet. It makes the directory below cache with debootstrap
// if it is not there.
func Base(ctx context.Context, cache string) (string, error) {
	root := filepath.Join(cache, "bookworm")
	if _, err := os.Stat(filepath.Join(root, "complete")); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	made := root + ".new"
	if err := os.RemoveAll(made); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", "--include="+included, "bookworm", made).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("debootstrap: %w\n%s", err, out[max(0, len(out)-1000):])
	}
	if err := os.WriteFile(filepath.Join(made, "complete"), nil, 0o644); err != nil {
		return "", err
	}
	return root, os.Rename(made, root)
}

// Private restarts this program in a mount namespace of its own, so that no mount outlives it. It returns true in the
// restarted process. In the first process, it returns the exit code of the restarted process.
func Private(ctx context.Context) (inside bool, code int, err error) {
	const mark = "BOLT_BENCH_MODULES_PRIVATE"
	if os.Getenv(mark) != "" {
		return true, 0, nil
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return false, exit.ExitCode(), nil
	}
	return false, 0, err
}

// A Set is the common ground of equal machines: the base and the changes that Prepare made.
type Set struct {
	dir   string // a tmpfs
	lower string
}

// Needs are the packages of apt and the names of the web servers that a catalog uses.
type Needs struct {
	Packages []Package
	Hosts    []string
}

// New returns a Set below dir, which must be an empty directory. The machines have the base, the stand-ins, the stubs of
// the packages, and the files that fill writes into the root. standins has the stand-ins: the script systemctl and the
// tables packages and downloads.
func New(ctx context.Context, dir, base string, standins fs.FS, needs Needs, fill func(root string) error) (*Set, error) {
	s := &Set{dir: dir, lower: base}
	if err := s.mount(); err != nil {
		return nil, err
	}
	m, err := s.Machine("common")
	if err != nil {
		return nil, err
	}
	if err := prepare(m.Root, standins, needs.Packages); err != nil {
		return nil, err
	}
	if err := writeWeb(m.Root, standins, needs.Hosts); err != nil {
		return nil, err
	}
	if err := fill(m.Root); err != nil {
		return nil, err
	}
	if out, code, err := m.Run(ctx, "update-ca-certificates && apt-get -qq update && apt-get -qq install systemd kmod && : >/var/lib/standins/active/systemd-journald.service"); err != nil || code != 0 {
		return nil, fmt.Errorf("prepare a machine: exit code %d, %w\n%s", code, err, out)
	}
	s.lower = m.Upper + ":" + base
	return s, unix.Unmount(m.Root, unix.MNT_DETACH)
}

func (s *Set) mount() error {
	if err := unix.Mount("tmpfs", s.dir, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount a tmpfs (it needs root): %w", err)
	}
	return nil
}

// Close unmounts the machines.
func (s *Set) Close() error { return unix.Unmount(s.dir, unix.MNT_DETACH) }

// A Machine is a root and its changes.
type Machine struct {
	Root  string
	Upper string // the directory of the files that differ from the lower ones
}

// Machine makes a machine.
func (s *Set) Machine(name string) (*Machine, error) {
	dir := filepath.Join(s.dir, name)
	for _, d := range []string{"root", "upper", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	m := &Machine{Root: filepath.Join(dir, "root"), Upper: filepath.Join(dir, "upper")}
	options := "lowerdir=" + s.lower + ",upperdir=" + m.Upper + ",workdir=" + filepath.Join(dir, "work")
	if err := unix.Mount("overlay", m.Root, "overlay", 0, options); err != nil {
		return nil, fmt.Errorf("mount an overlay: %w", err)
	}
	return m, nil
}

// Bind shows a directory of this system, read-only, in the machine.
func (m *Machine) Bind(from, to string) error {
	target := filepath.Join(m.Root, to)
	if err := unix.Mount(from, target, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// Run runs a script of sh in the machine, in namespaces of its own, and returns the end of its output. All processes that it
// started end with it.
func (m *Machine) Run(ctx context.Context, script string) (out []byte, code int, err error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", insideWord, m.Root, script)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
		Unshareflags: syscall.CLONE_NEWNS,
		Pdeathsig:    syscall.SIGKILL,
	}
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "USER=root", "LOGNAME=root",
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb"}
	var end tail
	cmd.Stdout, cmd.Stderr = &end, &end
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return end.bytes, exit.ExitCode(), nil
	}
	return end.bytes, 0, err
}

// A tail keeps the last bytes of an output.
type tail struct{ bytes []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 1 << 20
	t.bytes = append(t.bytes, p...)
	if len(t.bytes) > most {
		t.bytes = t.bytes[len(t.bytes)-most:]
	}
	return len(p), nil
}

var _ io.Writer = (*tail)(nil)
