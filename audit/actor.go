package audit

import (
	"cmp"
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// ThisProcess returns the Actor that runs this process, a bolt of the given version. getenv
// reads the environment. The TTY is the name of the first of files that is a terminal.
func ThisProcess(version string, getenv func(name string) string, files ...*os.File) Actor {
	who := Actor{UID: os.Getuid(), SudoUser: getenv("SUDO_USER"), PID: os.Getpid(), Version: version}
	if u, err := user.Current(); err == nil {
		who.User = u.Username
	}
	who.Host, _ = os.Hostname() // if it is unknown, the record does not have it
	// proc_pid_loginuid(5); 4294967295 stands for an unknown login.
	if text, err := os.ReadFile("/proc/self/loginuid"); err == nil {
		if id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil && uint32(id) != ^uint32(0) {
			login := uint32(id)
			who.LoginUID = &login
		}
	}
	for _, f := range files {
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err == nil && term.IsTerminal(int(f.Fd())) {
			who.TTY = name
			break
		}
	}
	who.Client, _, _ = strings.Cut(cmp.Or(getenv("SSH_CONNECTION"), getenv("SSH_CLIENT")), " ")
	return who
}
