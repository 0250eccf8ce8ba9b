package gitcache

import (
	"os/exec"
	"syscall"
)

// ownSession runs a command in a new session without a terminal, and so in its
// own process group, which can be ended as a whole.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
