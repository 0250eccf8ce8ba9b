package resource

import (
	"os"
	"os/exec"
	"syscall"
)

// ownSession gives a program a session of its own, and makes the end of its context kill all processes of
// the group that it leads.
func ownSession(cmd *exec.Cmd, as *Identity) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: as.UID, Gid: as.GID, Groups: as.Groups, NoSetGroups: as.Groups == nil}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// ExitCode returns how a program ended, as Output has it.
func ExitCode(p *os.ProcessState) int {
	if s, is := p.Sys().(syscall.WaitStatus); is && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return p.ExitCode()
}

// signal is the number of the signal that ended a program; 0 for none.
func signal(p *os.ProcessState) int {
	if s, is := p.Sys().(syscall.WaitStatus); is && s.Signaled() {
		return int(s.Signal())
	}
	return 0
}
