// Package local is the transport to the machine that we are on: each command
// is a shell below us, in a process group of its own.
//
// Commands start in our working directory and with our environment, as with
// Puppet Bolt's local transport. Staging, run-as, cancellation and cleanup are
// transport/shell's, as on any other machine.
package local

import (
	"context"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"

	"bolt/transport"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// Options are the Dialer's. The zero value is ready.
type Options struct {
	Logger *slog.Logger // nil discards
}

// Dialer reaches the local machine. It is safe for concurrent use.
type Dialer struct {
	log  *slog.Logger
	cred *syscall.Credential // whose processes; nil for ours
	user func() string       // their name, looked up at the first Dial
}

// NewDialer returns a Dialer.
func NewDialer(o Options) *Dialer {
	d := &Dialer{log: o.Logger}
	d.user = sync.OnceValue(func() string { return loginUser(d.cred) })
	return d
}

// Dial returns a Conn at once. Of the destination only Host is used, to name
// the machine in messages.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, &transport.Error{Class: transport.ClassCancelled, Err: context.Cause(ctx), Msg: "connecting to the local machine was cancelled"}
	}
	host := to.Host
	if host == "" {
		host = "localhost"
	}
	return shell.NewConn(starter{cred: d.cred}, shell.Options{Host: host, User: d.user(), Local: true, DownloadCode: "DOWNLOAD_ERROR", Logger: d.log}), nil
}

// loginUser is the name of the user whose processes we start; a user without
// a name has a number.
func loginUser(cred *syscall.Credential) string {
	uid := strconv.Itoa(os.Getuid())
	if cred != nil {
		uid = strconv.FormatUint(uint64(cred.Uid), 10)
	}
	u, err := user.LookupId(uid)
	if err != nil {
		return uid
	}
	return u.Username
}

// starter starts sessions as processes.
type starter struct {
	cred  *syscall.Credential // whose; nil for ours
	shell []string            // instead of sh
}

// Start implements shell.Starter by "sh -c line".
func (s starter) Start(_ context.Context, line string, tty bool) (shell.Session, error) {
	o := process.Options{Path: "/bin/sh", Args: []string{"sh", "-c", line}, Credential: s.cred, TTY: tty}
	if s.shell != nil {
		o.Path, o.Args = s.shell[0], append(s.shell[:len(s.shell):len(s.shell)], "-c", line)
	}
	sess, err := process.Start(o)
	if err != nil {
		return nil, &transport.Error{Class: transport.ClassBootstrap, Err: err, Msg: "Could not start a shell on this machine: " + err.Error()}
	}
	return sess, nil
}
