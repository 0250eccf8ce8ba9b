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
		cmd.SysProcAttr.Credential = as.Credential()
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Credential returns the identity as a process gets it.
func (as *Identity) Credential() *syscall.Credential {
	return &syscall.Credential{Uid: as.UID, Gid: as.GID, Groups: as.Groups, NoSetGroups: as.Groups == nil}
}

// ExitCode returns how a program ended, as Output has it.
func ExitCode(p *os.ProcessState) int {
	if s, is := p.Sys().(syscall.WaitStatus); is && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return p.ExitCode()
}

// Signal returns the number of the signal that ended a program; 0 for none.
func Signal(p *os.ProcessState) int {
	if s, is := p.Sys().(syscall.WaitStatus); is && s.Signaled() {
		return int(s.Signal())
	}
	return 0
}
