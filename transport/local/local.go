// Package local is the transport for this machine. Each command is a shell that
// this process starts, in its own process group.
//
// Commands start in the working directory of this process and with its
// environment, as in Puppet Bolt's local transport. Package transport/shell
// does staging, run-as, cancellation and cleanup, as on any other machine.
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

// Options are the options of a Dialer. The zero value can be used.
type Options struct {
	Logger *slog.Logger // nil discards
}

// Dialer opens connections to the local machine. It is safe for concurrent use.
type Dialer struct {
	log  *slog.Logger
	cred *syscall.Credential // user of the processes; nil for this process's user
	user func() string       // name of that user, looked up at the first Dial
}

// NewDialer returns a Dialer.
func NewDialer(o Options) *Dialer {
	d := &Dialer{log: o.Logger}
	d.user = sync.OnceValue(func() string { return loginUser(d.cred) })
	return d
}

// Dial returns a Conn at once. It uses only the Host of the destination, as the
// name of the machine in messages.
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

// loginUser returns the name of the user of the processes, or the user ID if
// there is no name.
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
	cred  *syscall.Credential // user of the processes; nil for this process's user
	shell []string            // instead of sh
}

// Start implements shell.Starter with "sh -c line".
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
