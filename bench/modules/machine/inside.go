package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideWord is the first argument of the process that becomes process 1 of a machine.
const insideWord = "inside-a-machine"

// Inside does the work of process 1 of a machine and ends this process, if this process was started by Machine.Run. The
// main function calls it first.
func Inside() {
	if len(os.Args) != 4 || os.Args[1] != insideWord {
		return
	}
	code, err := first(os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "process 1 of the machine:", err)
		code = 125
	}
	os.Exit(code)
}

// first enters the root and runs the script. Puppet looks for systemd by the name of process 1.
func first(root, script string) (code int, err error) {
	if err := os.WriteFile("/proc/self/comm", []byte("systemd"), 0o644); err != nil {
		return 0, err
	}
	if err := unix.Sethostname([]byte("web1")); err != nil {
		return 0, err
	}
	if err := loopback(); err != nil {
		return 0, err
	}
	for _, m := range []struct{ kind, dir string }{{"proc", "/proc"}, {"tmpfs", "/dev"}, {"sysfs", "/sys"}} {
		if err := unix.Mount(m.kind, filepath.Join(root, m.dir), m.kind, 0, ""); err != nil {
			return 0, fmt.Errorf("mount %s: %w", m.kind, err)
		}
	}
	// The machine shares the settings of the kernel with the host, so it must not change them.
	for _, dir := range []string{"/proc/sys", "/sys"} {
		dir = filepath.Join(root, dir)
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			return 0, fmt.Errorf("bind %s: %w", dir, err)
		}
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return 0, fmt.Errorf("make %s read-only: %w", dir, err)
		}
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		dev := filepath.Join(root, "dev", name)
		if err := unix.Mknod(dev, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return 0, err
		}
		if err := os.Chmod(dev, 0o666); err != nil {
			return 0, err
		}
	}
	if err := os.Symlink("/proc/self/fd", filepath.Join(root, "dev", "fd")); err != nil {
		return 0, err
	}
	if err := unix.Chroot(root); err != nil {
		return 0, err
	}
	if err := os.Chdir("/root"); err != nil {
		return 0, err
	}
	unix.Umask(0o022)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := serve(ctx); err != nil {
		return 0, fmt.Errorf("the web server: %w", err)
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// loopback starts the loopback interface.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}
