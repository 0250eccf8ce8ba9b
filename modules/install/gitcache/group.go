package gitcache

import (
	"os/exec"
	"syscall"
)

// ownSession gives a command a session, without a terminal, and so a process
// group, which ends with it.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
