package main

import (
	"cmp"
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/term"

	"bolt/audit"
)

// actor is who runs this process.
func (a *app) actor() audit.Actor {
	who := audit.Actor{UID: os.Getuid(), SudoUser: a.sys.env("SUDO_USER"), PID: os.Getpid(), Version: version}
	if u, err := user.Current(); err == nil {
		who.User = u.Username
	}
	who.Host, _ = os.Hostname() // nobody knows it, then
	// proc_pid_loginuid(5); a login that nobody knows of is 4294967295.
	if text, err := os.ReadFile("/proc/self/loginuid"); err == nil {
		if id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil && uint32(id) != ^uint32(0) {
			login := uint32(id)
			who.LoginUID = &login
		}
	}
	for _, f := range []*os.File{a.sys.in, a.sys.err} {
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err == nil && term.IsTerminal(int(f.Fd())) {
			who.TTY = name
			break
		}
	}
	who.Client, _, _ = strings.Cut(cmp.Or(a.sys.env("SSH_CONNECTION"), a.sys.env("SSH_CLIENT")), " ")
	return who
}
