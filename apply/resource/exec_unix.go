package resource

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group or a session of its own, and makes the end of its context kill the group.
func ownGroup(cmd *exec.Cmd, session bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !session, Setsid: session}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// ExitCode returns how a program ended, as Output has it.
func ExitCode(p *os.ProcessState) int {
	if s, is := p.Sys().(syscall.WaitStatus); is && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return p.ExitCode()
}
