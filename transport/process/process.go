// Package process runs a program on this machine as a shell.Session, with its
// three streams, its process group and its result.
//
// It is shared by transports that use a local program to reach a machine: the
// local machine with its shell, a container with docker.
package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bolt/internal/pty"
	"bolt/transport"
)

// Options describe the program.
type Options struct {
	Path string   // of the program
	Args []string // including the program's name as the first
	Env  []string // in the format of os.Environ; nil: this process's
	TTY  bool     // use a terminal for its three streams

	Credential *syscall.Credential // user of the process; nil for this process's
}

// heedSignals makes started programs obey the end of their terminal, even if
// this process ignores it. nohup(1), and shells with background jobs, make this
// process ignore signals. A child would inherit that, and a shell cannot undo
// it. Go resets signals in a child if they are caught here; the caught signals
// are not read.
var heedSignals = sync.OnceFunc(func() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})

// Start starts a program as the leader of its own session and process group, as
// sshd does. Errors are those of package os/exec.
func Start(o Options) (*Session, error) {
	cmd := &exec.Cmd{Path: o.Path, Args: o.Args, Env: o.Env}
	heedSignals()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: o.Credential}
	sess := &Session{cmd: cmd, reaped: make(chan struct{})}
	theirs, err := sess.connect(o.TTY)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		sess.closeStreams()
		return nil, err
	}
	go sess.reap()
	return sess, nil
}

// A Session is a started process; it is a shell.Session. The caller of Start
// owns it: after Close and Wait, nothing of it is left.
type Session struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr io.Reader
	files          []*os.File // our ends of the streams

	reaped chan struct{} // closed when the process has ended
	status transport.Status
	err    error

	mu   sync.Mutex
	over bool // Wait has returned or Close was called: nothing must be killed
}

// connect creates the streams and returns the process's ends.
func (s *Session) connect(tty bool) ([]*os.File, error) {
	if tty {
		return s.connectTerminal()
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirs := []*os.File{inR}
	s.files = append(s.files, inW)
	outR, outW, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	theirs, s.files = append(theirs, outW), append(s.files, outR)
	errR, errW, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	theirs, s.files = append(theirs, errW), append(s.files, errR)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inR, outW, errW
	s.stdin, s.stdout, s.stderr = inW, outR, errR
	return theirs, nil
}

func (s *Session) connectTerminal() ([]*os.File, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr.Setctty = true // descriptor 0
	s.files = append(s.files, master)
	s.stdin, s.stdout, s.stderr = nopCloser{master}, master, strings.NewReader("")
	return []*os.File{slave}, nil
}

// nopCloser is the input of a terminal, which cannot be closed separately.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// reap waits for the process and then closes its stdin, as sshd does. A process
// that the leader has left behind detects by that that the leader has ended.
func (s *Session) reap() {
	defer close(s.reaped)
	s.status, s.err = statusOf(s.cmd.Wait())
	s.stdin.Close()
}

func statusOf(err error) (transport.Status, error) {
	if err == nil {
		return transport.Status{}, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return transport.Status{}, &transport.Error{Class: transport.ClassLost, Err: err, Msg: "Could not learn how the command ended: " + err.Error()}
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return transport.Status{Code: -1, Signal: strings.TrimPrefix(unix.SignalName(ws.Signal()), "SIG")}, nil
	}
	return transport.Status{Code: exit.ExitCode()}, nil
}

// Stdin implements shell.Session.
func (s *Session) Stdin() io.WriteCloser { return s.stdin }

// Stdout implements shell.Session.
func (s *Session) Stdout() io.Reader { return s.stdout }

// Stderr implements shell.Session.
func (s *Session) Stderr() io.Reader { return s.stderr }

// Done returns a channel that is closed when the process has ended.
func (s *Session) Done() <-chan struct{} { return s.reaped }

// Wait implements shell.Session.
func (s *Session) Wait() (transport.Status, error) {
	<-s.reaped
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	return s.status, s.err
}

// Close implements shell.Session. It kills the rest of the process group. With
// a terminal, it first closes the terminal, and kills only if the leader does
// not end.
func (s *Session) Close() error {
	s.mu.Lock()
	kill := !s.over
	s.over = true
	s.mu.Unlock()
	if kill && s.cmd.SysProcAttr.Setctty {
		s.closeStreams()
		select {
		case <-s.reaped:
			kill = false
		case <-time.After(transport.DefaultGrace):
		}
	}
	if kill {
		s.killGroup()
	}
	s.closeStreams()
	<-s.reaped
	return nil
}

// Kill kills the rest of the process group. Its streams end with it.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.killGroup()
	}
}

func (s *Session) killGroup() {
	// The group's ID is not reused as long as a member of it lives. If none
	// lives, most likely no process has this ID.
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

func (s *Session) closeStreams() {
	for _, f := range s.files {
		f.Close()
	}
}
